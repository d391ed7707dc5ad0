"""Inspections as CSV: one row an operator, for spreadsheets and scripts."""

import csv
import io
from collections.abc import Iterator, Sequence

from headgate.model.inspection import Inspection
from headgate.model.profile import OperatorProfile

_COLUMNS = (
    "log",
    "query", "operator", "feeders", "sink", "stateful", "tasks", "records_in", "records_out", "fan_out", "busy_s",
    "useful_s", "cpu_s", "fetch_wait_s", "gc_s", "bytes_spilled", "fixed_cost_s", "fixed_cost_low", "fixed_cost_high",
    "record_cost_s", "record_cost_low", "record_cost_high", "true_rate", "largest_share", "largest_partition",
    "state_rows", "state_bytes",
)  # fmt: skip


def inspection_rows(found: Sequence[tuple[str, Inspection]]) -> Iterator[str]:
    """A heading, then a row for each operator of each query of each log; empty where something is not known."""
    yield _line(_COLUMNS)
    for log, one in found:
        for operator in one.profile.operators:
            yield _line((log, one.profile.name, *_values(operator)))


def _values(one: OperatorProfile) -> tuple[object, ...]:
    fixed, record, state = one.fixed_cost, one.record_cost, one.state
    return (
        one.name, ";".join(one.feeders), one.sink, one.stateful, one.tasks, one.records_in, one.records_out,
        one.fan_out, one.busy, one.useful, one.cpu, one.fetch_wait, one.gc, one.bytes_spilled,
        *((fixed.value, fixed.low, fixed.high) if fixed else (None,) * 3),
        *((record.value, record.low, record.high) if record else (None,) * 3),
        one.true_rate, one.largest_share, one.largest_partition,
        *((state.rows, state.bytes) if state else (None, None)),
    )  # fmt: skip


def _line(values: Sequence[object]) -> str:
    text = io.StringIO()
    csv.writer(text, lineterminator="").writerow(values)
    return text.getvalue()
