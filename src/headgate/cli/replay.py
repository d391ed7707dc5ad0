"""`headgate replay`: what another policy or setting would have decided on what a journal recorded."""

import argparse
from textwrap import fill
from typing import Any

import msgspec
from msgspec.structs import replace

from headgate.cli.local_time import moment
from headgate.cli.options import Once, add_objective, count, file, objective
from headgate.cli.text_table import aligned_rows
from headgate.control.settings import Settings
from headgate.model.errors import InputError
from headgate.policies.pool import PoolPolicy
from headgate.policies.pool_registry import POOL_POLICIES, pool_policy
from headgate.runtime.chronicle import settings_in_words
from headgate.runtime.entries import Began
from headgate.runtime.journal import Journal
from headgate.runtime.replay import Asked, Moment, Replayed, replayed

DESCRIPTION = """\
What another policy, objective or bound would have decided, from the batches and executors that a journal recorded.
"""

EPILOG = f"""\
This is open loop. Each decision is about batches as they really ran, on the executors that were really there; what the
other choice would have done to the batches after it is not simulated. So the first place where the two differ is
exact, and what comes after it is what the other would have said in that situation, not what would have come of it.
Nothing is carried out, so nothing is under way and nothing cools down either, and words of people are not repeated.

policies: {fill(", ".join(POOL_POLICIES), 106)}.
What is not given is as it was when the journal was written.

columns:
  there             executors that were there
  decided then      what whoever wrote the journal wanted
  would be          what would have been wanted; a row for each change of either

examples:
  headgate replay job.journal                          the same again: what differs even so is due to open loop
  headgate replay job.journal --policy ds2
  headgate replay job.journal --freshness 10s --executors 1-20

exit codes: 0 an answer, 2 something wrong with the input (one line on standard error says what and where)
"""

_HEADINGS = ("time", "there", "decided then", "would be", "")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options of this command."""
    parser.register("action", None, Once)
    parser.add_argument("journal", type=file, metavar="JOURNAL", help="the file that was given as journal=")
    parser.add_argument("--policy", metavar="NAME", help="another policy")
    add_objective(parser.add_mutually_exclusive_group())
    parser.add_argument("--executors", type=bounds, metavar="LO-HI", help="other bounds: 1-20")
    parser.add_argument("--format", choices=("table", "json"), default="table", help="(default: table)")


def bounds(text: str) -> tuple[int, int]:
    """`1-20`."""
    low, dash, high = text.partition("-")
    if not dash:
        raise argparse.ArgumentTypeError(f'"{text}" is no range; give the fewest and the most executors: 1-20')
    return count(low), count(high)


def run(given: argparse.Namespace) -> int:
    """Read, ask again, print."""
    changes = _changes(given)
    # What makes no sense is refused before anything is read.
    replace(Settings(), **changes)
    if given.policy is not None:
        pool_policy(given.policy)
    used: list[tuple[Began, PoolPolicy]] = []

    def policy(began: Began) -> PoolPolicy:
        chosen = pool_policy(given.policy or began.policy)
        used.append((began, chosen))
        return chosen

    with Journal(given.journal, read_only=True) as journal:
        told = replayed(journal.everything(), Asked(policy, lambda settings: replace(settings, **changes)))
    if told is None:
        raise InputError(f"{given.journal}: no batch in it; let a controller watch a query with this journal first")
    if given.format == "json":
        print(msgspec.json.format(msgspec.json.encode(told), indent=2).decode())
        return 0
    began, asked = used[-1]
    print(f"then:  {began.policy}, {settings_in_words(began.settings)}")
    print(f"asked: {asked.name}, {settings_in_words(replace(began.settings, mode='act', **changes))}")
    print()
    print("\n".join(aligned_rows([_HEADINGS, *map(_row, told.moments)], left=(0, 4))))
    print()
    print(_summary(told))
    return 0


def _changes(given: argparse.Namespace) -> dict[str, Any]:
    changes: dict[str, Any] = {}
    wanted = objective(given)
    if wanted is not None:
        changes["objective"] = wanted
    if given.executors is not None:
        changes["least"], changes["most"] = given.executors
    return changes


def _row(one: Moment) -> tuple[str, ...]:
    return moment(one.at), f"{one.there}", f"{one.then}", f"{one.would}", "" if one.then == one.would else "<- differ"


def _summary(told: Replayed) -> str:
    share = f" ({told.differing / told.batches:.0%})" if told.differing else ""
    return (
        f"{told.batches:,} batches from {moment(told.began)} to {moment(told.ended)}; the two differ after "
        f"{told.differing:,} of them{share}\n"
        f"executor-hours: {told.hours_there:.2f} were there, {told.hours_then:.2f} were decided on then, "
        f"{told.hours_would:.2f} would have been"
    )
