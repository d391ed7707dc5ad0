"""`headgate history`: what a controller decided, why, what it did and what came of it."""

import argparse
from collections.abc import Sequence

import msgspec

from headgate.cli.local_time import moment
from headgate.cli.options import Once, count, file
from headgate.cli.text_table import aligned_rows
from headgate.model.errors import InputError, one_line
from headgate.runtime.chronicle import Line, chronicle
from headgate.runtime.journal import Journal

DESCRIPTION = """\
What a controller decided, why, what it did and what came of it, oldest first, from the journal it writes. The journal
may be in use: reading disturbs nobody.
"""

EPILOG = """\
columns:
  time                   local time
  plan                   the plan that the line belongs to
  predicted, measured    seconds a batch should take by the plan, and took once it was carried out; beside the plan
                         itself and beside its outcome. Empty where nothing was predicted, or is known yet

Lines that say that the controller waits or that all is well are left out, and so is what another line says already
(what is about to be done, what the policy asks for, which executors are there); --all shows them.

examples:
  headgate history job.journal
  headgate history job.journal --plan 3        all about one plan
  headgate history job.journal --format json

exit codes: 0 an answer, 2 something wrong with the input (one line on standard error says what and where)
"""

_HEADINGS = ("time", "plan", "predicted", "measured", "what")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options of this command."""
    parser.register("action", None, Once)
    parser.add_argument("journal", type=file, metavar="JOURNAL", help="the file that was given as journal=")
    parser.add_argument("--plan", type=count, metavar="N", help="only what belongs to this plan, all of it")
    parser.add_argument("--all", action="store_true", help="also waiting, steady states and intents")
    parser.add_argument("--format", choices=("table", "json"), default="table", help="(default: table)")


def run(given: argparse.Namespace) -> int:
    """Read, choose, print."""
    with Journal(given.journal, read_only=True) as journal:
        lines = chronicle(entry for _, entry in journal.entries())
    if not lines:
        raise InputError(f"{given.journal}: nothing is written in it yet; start a controller with this journal")
    chosen = _of_plan(given.journal, lines, given.plan) if given.plan is not None else lines
    shown = chosen if given.all or given.plan is not None else [line for line in chosen if not line.routine]
    if given.format == "json":
        print(msgspec.json.format(msgspec.json.encode(shown), indent=2).decode())
        return 0
    print("\n".join(aligned_rows([_HEADINGS, *map(_row, shown)], left=(0, 4))))
    if len(shown) < len(chosen):
        print(f"{len(chosen) - len(shown):,} lines about waiting and steady states are left out; --all shows them")
    return 0


def _of_plan(path: str, lines: Sequence[Line], plan: int) -> list[Line]:
    chosen = [line for line in lines if line.plan == plan]
    if not chosen:
        known = sorted({line.plan for line in lines if line.plan is not None})
        there = f"there are {known[0]} to {known[-1]}" if known else "nothing was planned yet"
        raise InputError(f"{path}: no plan {plan} in it; {there}")
    return chosen


def _row(line: Line) -> tuple[str, ...]:
    plan = "" if line.plan is None else str(line.plan)
    return moment(line.at), plan, _seconds(line.predicted), _seconds(line.measured), one_line(line.what)


def _seconds(value: float | None) -> str:
    return "" if value is None else f"{value:.2f} s"
