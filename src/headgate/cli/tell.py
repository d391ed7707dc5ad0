"""`headgate tell`: a word for a running controller, left in the journal it writes."""

import argparse
import re
import time
from collections.abc import Sequence
from typing import Literal

from headgate.cli.listening import nobody_listens
from headgate.cli.options import Once, count, file
from headgate.control.actions import Layout
from headgate.control.events import Command
from headgate.model.errors import InputError
from headgate.runtime.journal import Journal

DESCRIPTION = """\
Leave a word for the controller that writes a journal. It takes it within a second, once; `headgate history` shows that
it did, and what it answered.
"""

EPILOG = """\
words:
  pause      change nothing by yourself from now on, whatever happens; a controller that is started again stays
             paused. What a person says is done all the same: approve, scale, restart, `headgate state move`
  resume     go on
  approve    carry out what was advised last
  scale N    have N executors now, within the bounds the controller was given; afterwards it decides again
  restart …  under `headgate run`: drain the job at the end of a batch and start it again, with NAME=N partitions for
             the exchange of that name, with state=N bins of state (which rewrites it), or with cores=N or memory=SIZE
             for each executor (as a new application)

examples:
  headgate tell job.journal pause
  headgate tell job.journal scale 6
  headgate tell job.journal restart parse=16
  headgate tell job.journal restart memory=2g

exit codes: 0 the word is left, 2 something wrong with the input (one line on standard error says what and where)
"""

_WORDS = ("pause", "resume", "approve", "scale", "restart")
_MOST = 100_000


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options of this command."""
    parser.register("action", None, Once)
    parser.add_argument("journal", type=file, metavar="JOURNAL", help="the file that was given as journal=")
    parser.add_argument("word", choices=_WORDS, metavar="WORD", help="pause, resume, approve, scale or restart")
    # With a default, argparse does not call them required where the word is missing.
    parser.add_argument(
        "rest", nargs="*", default=[], metavar="N | NAME=VALUE", help="for scale: executors; for restart: changes"
    )


def run(given: argparse.Namespace) -> int:
    """Leave it, and say whether anyone is there to take it."""
    command = _command(given.word, given.rest)
    with Journal(given.journal, make=False) as journal:
        nobody = nobody_listens(journal)
        journal.tell(command)
    print(f"left for the controller: {' '.join([given.word, *given.rest])}")
    if nobody is not None:
        print(nobody)
    return 0


def _command(word: Literal["pause", "resume", "approve", "scale", "restart"], rest: Sequence[str]) -> Command:
    """The word, with what it needs and no more."""
    now = time.time()
    if word == "restart":
        return Command(now, word, layout=_layout(rest))
    if word != "scale":
        if rest:
            raise InputError(f"{word} takes no {'number' if rest[0].isdigit() else rest[0]}; only scale and restart do")
        return Command(now, word)
    if len(rest) != 1:
        raise InputError("scale needs a number of executors: scale 6")
    try:
        executors = count(rest[0])
    except argparse.ArgumentTypeError as error:
        raise InputError(f"scale: {error}") from None
    return Command(now, word, executors)


def _layout(rest: Sequence[str]) -> Layout:
    """From NAME=VALUE, as many as there are."""
    numbers: dict[str, int] = {}
    memory = None
    for word in rest:
        name, equals, value = word.partition("=")
        if not equals or not name:
            raise InputError(f"restart: {word} is not NAME=VALUE, such as parse=16 or memory=2g")
        if name == "memory":
            if not re.fullmatch(r"[1-9]\d*[mgMG]", value):
                raise InputError(f"restart: memory is {value}; give it as 512m or 4g")
            memory = value
        elif value.isdigit() and 1 <= int(value) <= _MOST:
            numbers[name] = int(value)
        else:
            raise InputError(f"restart: {word} needs a number from 1 to {_MOST:,}")
    cores = numbers.pop("cores", None)
    return Layout(numbers, cores, memory)
