"""Who has how much: the share of records of each partition, for the operator where they differ most."""

from collections.abc import Sequence

import numpy as np

from headgate.cli.page.markup import Markup
from headgate.cli.page.scales import Scale
from headgate.cli.page.svg import drawing, line, marks, rectangle, rungs, text
from headgate.model.microbatch import MicroBatch
from headgate.model.profile import OperatorProfile

WIDTH = 468.0
_HEIGHT, _LEFT, _RIGHT, _TOP, _BOTTOM = 300.0, 56.0, 16.0, 34.0, 252.0
_MOST_BARS = 100


def most_uneven(operators: Sequence[OperatorProfile]) -> OperatorProfile | None:
    """The one whose largest partition has most times its even share; None where none has two partitions."""
    several = [one for one in operators if one.tasks > 1 and one.largest_partition >= 0]
    return max(several, key=lambda one: one.largest_share * one.tasks, default=None)


def records_by_partition(name: str, counted: Sequence[MicroBatch]) -> dict[int, int]:
    """All records that each partition of an operator took, by partition."""
    totals: dict[int, int] = {}
    for batch in counted:
        mine = batch.tasks.operator == batch.dataflow.index.get(name, -1)
        for partition in np.unique(batch.tasks.partition[mine]).tolist():
            rows = mine & (batch.tasks.partition == partition)
            totals[partition] = totals.get(partition, 0) + int(batch.tasks.records_in[rows].sum())
    return dict(sorted(totals.items()))


def shares(operator: OperatorProfile, counted: Sequence[MicroBatch], *, is_limit: bool) -> tuple[Markup, str]:
    """The drawing, and what must be said about it; the largest stands out where skew is the limit."""
    records = records_by_partition(operator.name, counted)
    total = max(sum(records.values()), 1)
    share = {partition: count / total for partition, count in records.items()}
    even = 1 / len(share)
    shown = list(share)
    if len(shown) > _MOST_BARS:
        shown = sorted(shown, key=lambda partition: (-share[partition], partition))[:_MOST_BARS]
    x = Scale(0, len(shown), _LEFT, WIDTH - _RIGHT)
    y = Scale(0, max(*share.values(), even) * 1.1, _BOTTOM, _TOP)
    shapes = [rungs(y, _LEFT, WIDTH - _RIGHT, label=lambda part: f"{part * 100:.3g}%")]
    for place, partition in enumerate(shown):
        width = x.at(place + 1) - x.at(place)
        wide = min(width * 0.8, 40.0)
        top = y.at(share[partition])
        hot = " accent" if is_limit and partition == operator.largest_partition else ""
        told = f"partition {partition:,}: {100 * share[partition]:.3g}%, {records[partition]:,} records"
        shapes.append(rectangle(x.at(place) + (width - wide) / 2, top, wide, _BOTTOM - top, f"share{hot}", told=told))
    shapes.append(line(_LEFT, y.at(even), WIDTH - _RIGHT, y.at(even), "deadline"))
    shapes.append(text(WIDTH - _RIGHT, y.at(even) - 5, f"even share {100 * even:.3g}%", "note", anchor="end"))
    step = -(-len(shown) // 10)
    ticks = [place + 0.5 for place in range(0, len(shown), step)]
    shapes.append(marks(x, _BOTTOM, ticks, lambda place: f"{shown[int(place)]}"))
    shapes.append(text(WIDTH - _RIGHT, _BOTTOM + 36, "partition", "note", anchor="end"))
    label = f"share of records by partition of {operator.name}"
    return drawing(WIDTH, _HEIGHT, label, *shapes), _caption(operator, len(shown), len(share))


def _caption(operator: OperatorProfile, shown: int, there: int) -> str:
    said = f"Records that each partition of {operator.name} took, over the batches counted; no other is less even."
    return said if shown == there else f"{said} The {shown:,} largest of {there:,} are drawn, the largest first."
