"""What the lab found, as text."""

from collections.abc import Iterator, Sequence
from itertools import groupby

from headgate.cli.text_table import aligned_rows
from headgate.lab.summary import Row, Verdict

HEADINGS = (
    "policy", "slot-hours", "regret", "late time", "late records", "oldest", "rescales", "to settle", "over", "under",
)  # fmt: skip


def fields(row: Row) -> tuple[str, ...]:
    """The cells of a row, below `HEADINGS`."""
    failed = f" ({row.failed} of {row.cells} failed)" if row.failed else ""
    beyond = "" if row.regret is None else f"{row.regret:+.1%}"
    return (
        f"{row.policy}{failed}",
        f"{row.slot_hours:,.1f}",
        beyond,
        f"{row.late_time:.2%}",
        f"{row.late_records:.2%}",
        f"{row.worst_age:,.0f} s",
        f"{row.rescales:,.1f}",
        "" if row.steps_to_settle is None else f"{row.steps_to_settle:.1f}",
        f"{row.over:.1%}",
        f"{row.under:.1%}",
    )


def table_lines(rows: Sequence[Row]) -> Iterator[str]:
    """A table for each load; the cheapest policy first."""
    for load, of_load in groupby(rows, key=lambda row: row.load):
        yield f"{load}: means over jobs and seeds, simulated"
        yield from (f"  {line}" for line in aligned_rows([HEADINGS, *map(fields, of_load)]))
        yield ""


def verdict_lines(verdicts: Sequence[Verdict]) -> Iterator[str]:
    """The targets, those that are missed last."""
    if verdicts:
        yield f"capacity, {sum(one.met for one in verdicts)} of {len(verdicts)} targets met:"
        yield from (f"  {line}" for line in aligned_rows(list(_lines(verdicts)), left=(0, 1, 2)))
        yield ""


def _lines(verdicts: Sequence[Verdict]) -> Iterator[tuple[str, ...]]:
    for one in sorted(verdicts, key=lambda one: not one.met):
        yield ("met" if one.met else "MISSED", one.target, one.found)
