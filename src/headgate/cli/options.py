"""What commands share in reading their options."""

import argparse
from collections.abc import Sequence
from typing import Any

from headgate.model.durations import seconds
from headgate.model.errors import InputError
from headgate.model.objective import CatchUp, Freshness, KeepUp, Objective

WORKLOADS = ("nexmark", "psm", "ads", "cars")
"""Those of `workloads/registry.py`, by name: to ask that would bring in Spark."""
SOURCES = (*WORKLOADS, "sentences")
"""The same of its sources."""


class Once(argparse.Action):
    """An option that may be given once: of two answers to one question, neither is silently dropped."""

    def __call__(
        self,
        parser: argparse.ArgumentParser,
        namespace: argparse.Namespace,
        values: str | Sequence[Any] | None,
        option_string: str | None = None,
    ) -> None:
        """Keep the value; refuse a second one."""
        seen = namespace.__dict__.setdefault("_given", set())
        if self.dest in seen:
            parser.error(f"{option_string} is given twice")
        seen.add(self.dest)
        setattr(namespace, self.dest, values)


def number(text: str) -> float:
    """A number as people write it; Python alone would also take 1_0 and digits of other scripts."""
    if not text.isascii() or "_" in text:
        raise argparse.ArgumentTypeError(f'"{text}" is not a number')
    try:
        return float(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f'"{text}" is not a number') from None


def count(text: str) -> int:
    """A whole number."""
    digits = text.removeprefix("-")
    if not (digits.isascii() and digits.isdigit() and len(digits) <= 18):
        raise argparse.ArgumentTypeError(f'"{text}" is not a whole number')
    return int(text)


def duration(text: str) -> float:
    """`10s`, `500ms`, `2m`, `1h` in seconds."""
    try:
        return seconds(text)
    except InputError as error:
        raise argparse.ArgumentTypeError(str(error)) from None


def add_objective(wanted: argparse._MutuallyExclusiveGroup) -> None:
    """The options that say what is wanted, of which one may be given."""
    wanted.add_argument("--headroom", type=number, metavar="X", help="keep up with so much to spare: 0.2 is a fifth")
    wanted.add_argument("--freshness", type=duration, metavar="T", help="results at most so old: 10s, 500ms, 2m")
    wanted.add_argument("--catch-up", type=duration, metavar="T", help="whatever waits is gone after this time")


def objective(given: argparse.Namespace) -> Objective | None:
    """What those options ask for; None where none was given."""
    if given.headroom is not None:
        return keep_up("--headroom", given.headroom)
    if given.freshness is not None:
        return Freshness(given.freshness)
    return CatchUp(given.catch_up) if given.catch_up is not None else None


def keep_up(option: str, headroom: float) -> KeepUp:
    """The objective that an option asks for; what is wrong with it names the option.

    >>> keep_up("--factor", 0.2)
    KeepUp(headroom=0.2)
    """
    try:
        return KeepUp(headroom)
    except InputError as error:
        raise InputError(f"{option}: {error}") from None


def file(text: str) -> str:
    """A path; an empty one is most likely a shell variable that is not set."""
    if not text:
        raise argparse.ArgumentTypeError("the path is empty; is a variable not set?")
    return text


def name_and_value(text: str) -> tuple[str, str]:
    """An option of a workload's source.

    >>> name_and_value("padding=false")
    ('padding', 'false')
    """
    name, equals, value = text.partition("=")
    if not equals:
        raise InputError(f"--option {text}: give it as NAME=VALUE")
    return name, value
