"""`headgate`: finds the command, runs it, and turns what a user can cause into one line and exit code 2.

argparse, and each command imported only when it is the one asked for: start-up is part of every answer
(docs/decisions/0003).
"""

import argparse
import atexit
import gc
import io
import os
import sys
from collections.abc import Sequence
from importlib import import_module
from typing import NoReturn

from headgate import __version__
from headgate.model.errors import InputError, PolicyError

COMMANDS = {
    "decide": "how many instances does each operator need? from DS2's files",
    "inspect": "what a Spark event log says about the streaming queries in it",
    "run": "start a job and keep it right-sized",
    "demo": "a word count on a local cluster under a load that rises and falls",
    "doctor": "what this machine has and what Headgate can do with it",
    "lab": "policies against each other, simulated, with a clairvoyant as the yardstick",
    "load": "a load profile, drawn",
    "produce": "write a workload to Kafka at the rate of a load",
    "bench": "how fast the queries of a workload (NexMark and others) run here",
    "history": "what a controller decided, why, and what came of it; from its journal",
    "replay": "what another policy or setting would have decided on what a journal recorded",
    "report": "the story of a journal as one HTML page with plots",
    "state": "the state a query keeps: look at it, move it, cut it into another number of bins",
    "twin": "a simulated copy of a real job, from its event log",
    "tell": "a word for a running controller: pause, resume, approve, scale, restart",
}

_INTRODUCTION = """\
Headgate sizes streaming dataflows: it works out the least resources that keep up with the input, and says why.
"""

_EXAMPLES = """\
examples:
  headgate inspect app-20261116000919-0000.zstd
  headgate inspect LOG --rate 2x --slots 8
  headgate decide --topology topology.csv --rates rates.log
  headgate decide --topology topology.csv --rates rates.log --explain
  headgate decide --topology topology.csv --rates rates.log --factor 0.2 --max 32 --format json
  headgate doctor
  headgate demo
  headgate run job.toml
  headgate lab examples/lab/policies.toml
  headgate twin app-20261116000919-0000.zstd -o twin.toml
  headgate load show 'step(2k -> 8k @ 60s)'
  headgate produce nexmark --to kafka://127.0.0.1:9092/nexmark --load 'constant(5k)' --for 5m
  headgate bench nexmark --queries 1,2,5
  headgate history job.journal
  headgate replay job.journal --policy ds2
  headgate report job.journal > story.html
  headgate state show checkpoint
  headgate state repartition checkpoint 24
  headgate tell job.journal pause
  headgate tell job.journal restart parse=16

`headgate COMMAND --help` tells all about a command. Exit codes: 0 an answer, or done; 1 it ran, and not all is as it
should be (inspect, run, demo, doctor, produce, bench, lab); 2 something wrong with the input.
"""


class Parser(argparse.ArgumentParser):
    """One line for a mistake, instead of the whole usage."""

    def error(self, message: str) -> NoReturn:
        """What argparse calls when a command line makes no sense."""
        raise InputError(f"{message}; `{self.prog} --help` lists the options")


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command; the exit code is returned, not raised."""
    given = list(sys.argv[1:] if arguments is None else arguments)
    parser = Parser(
        "headgate",
        description=_INTRODUCTION,
        epilog=_EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.add_argument("--version", action="version", version=f"headgate {__version__}")
    commands = parser.add_subparsers(dest="command", metavar="COMMAND", required=True, title="commands")
    named = next((word for word in given if not word.startswith("-")), None)
    for name, summary in COMMANDS.items():
        if name == named:
            module = import_module(f"headgate.cli.{name}")
            module.add_arguments(
                commands.add_parser(
                    name,
                    help=summary,
                    description=module.DESCRIPTION,
                    epilog=module.EPILOG,
                    formatter_class=argparse.RawDescriptionHelpFormatter,
                    allow_abbrev=False,
                )
            )
        else:
            commands.add_parser(name, help=summary, add_help=False)
    try:
        if sys.stdout is None:
            raise InputError("standard output is closed; there is nowhere to put the answer")
        parsed, unknown = parser.parse_known_args(given)
        if unknown:
            raise InputError(f"{' '.join(unknown)}: no such option; `headgate {parsed.command} --help` lists them")
        code: int = import_module(f"headgate.cli.{parsed.command}").run(parsed)
        sys.stdout.flush()
        return code
    except (InputError, PolicyError) as error:
        print(f"headgate: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("headgate: interrupted", file=sys.stderr)
        return 130
    except BrokenPipeError:
        # The reader of our output has gone (`… | head`): nobody is left to tell.
        _forget_output()
        return 0
    except OSError as error:
        _forget_output()
        print(f"headgate: cannot write the answer ({error.strerror or error})", file=sys.stderr)
        return 2


def _forget_output() -> None:
    """What is still to be written goes nowhere, instead of failing once more at the end."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def run_and_leave() -> None:
    """The program itself: run one command and end the process.

    A command is short and holds little but arrays, so neither collecting cycles while it runs nor taking
    everything apart at the end earns anything: together they are a tenth of the time of a large decision.
    """
    gc.disable()
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")  # a name that the terminal cannot show is no reason to fail
    try:
        code = main()
    except SystemExit as leaving:  # --help and --version
        code = int(leaving.code or 0)
    if sys.stdout is not None:
        sys.stdout.flush()
    sys.stderr.flush()
    atexit._run_exitfuncs()  # what was fetched is deleted there
    os._exit(code)
