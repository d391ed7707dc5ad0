"""A decision as text: a table for people, CSV for spreadsheets, reasons as a list."""

import csv
import io
from collections.abc import Sequence

from headgate.cli.text_table import aligned_rows
from headgate.model.dataflow import Dataflow
from headgate.model.decision import Decision, Sizing
from headgate.model.reasons import number

_HEADINGS = ("operator", "now", "needed", "answer", "true rate/s", "demand/s", "utilisation", "")
_MOST_REASONS = 12
_BOLD, _RED, _DIM, _PLAIN = "\x1b[1m", "\x1b[31m", "\x1b[2m", "\x1b[0m"


def table_lines(decision: Decision, flow: Dataflow, *, colour: bool) -> list[str]:
    """One row an operator, upstream first, the bottleneck marked."""
    bottleneck = decision.bottleneck
    worst = bottleneck.operator if bottleneck else None
    rows = [_HEADINGS, *(_row(sizing, flow, worst) for sizing in decision.sizings)]
    lines = aligned_rows(rows, left=(0, 7))
    if colour:
        lines[0] = f"{_BOLD}{lines[0]}{_PLAIN}"
        lines[1:] = [
            f"{_RED}{line}{_PLAIN}" if sizing.operator == worst else line
            for line, sizing in zip(lines[1:], decision.sizings, strict=True)
        ]
    if decision.workers is not None:
        lines.append(f"workers shared by all operators: {decision.workers:,}")
    return lines


def _row(sizing: Sizing, flow: Dataflow, worst: str | None) -> tuple[str, ...]:
    if sizing.source:
        note = "source"
    elif sizing.operator == worst:
        note = "<- bottleneck"
    else:
        note = ""
    label = sizing.operator
    if label.isdigit():  # Timely's ids say nothing; its names do
        label = f"{label} {flow.operators[flow.index[label]].name}".rstrip()
    return (
        label,
        f"{sizing.now:,}",
        "" if sizing.need is None else (f"{sizing.need:,.2f}" if sizing.need < 1e9 else f"{sizing.need:.4g}"),
        f"{sizing.instances:,}",
        "?" if sizing.true_rate is None else number(sizing.true_rate),
        "" if sizing.source else ("?" if sizing.demand is None else number(sizing.demand)),
        "" if sizing.utilisation is None else f"{sizing.utilisation:.0%}",
        note,
    )


def reason_lines(decision: Decision, *, colour: bool) -> list[str]:
    """The reasons, a line each; a long list is cut, with a word on where the rest is."""
    lines = [f"{reason.aspect:>7}: {reason}" for reason in decision.reasons[:_MOST_REASONS]]
    left = len(decision.reasons) - _MOST_REASONS
    if left > 0:
        lines.append(f"         … and {left:,} more reasons; --format json has them all")
    tightest = decision.tightest
    all_known = all(sizing.source or sizing.need is not None for sizing in decision.sizings)
    quiet = not any(reason.aspect == "limits" for reason in decision.reasons)
    if quiet and tightest is not None and tightest.load is not None and all_known:
        lines.append(
            f"every operator keeps up; the tightest is {tightest.operator} at {tightest.load:.0%} of what it has"
        )
    return [f"{_DIM}{line}{_PLAIN}" for line in lines] if colour else lines


def csv_lines(decisions: Sequence[Decision]) -> list[str]:
    """One line per window and operator; figures in full precision."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow("window,at,operator,now,needed,answer,true_rate,demand,utilisation,bottleneck,source".split(","))
    for window, decision in enumerate(decisions):
        worst = decision.bottleneck
        for s in decision.sizings:
            need, *rates = ("" if x is None else repr(x) for x in (s.need, s.true_rate, s.demand, s.utilisation))
            flags = int(s is worst), int(s.source)
            writer.writerow((window, decision.at, s.operator, s.now, need, s.instances, *rates, *flags))
    return text.getvalue().removesuffix("\n").split("\n")
