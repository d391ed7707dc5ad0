"""`headgate lab`: policies against each other, on a virtual Spark, with a clairvoyant as the yardstick."""

import argparse
import functools
import gc
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from headgate.cli.lab_table import table_lines, verdict_lines
from headgate.cli.lab_twin import add_twin_options, of_a_twin, twin_scenario
from headgate.cli.options import Once, count, file
from headgate.lab.scenario import Scenario, read_scenario
from headgate.lab.sweep import Finished, on_cores, sweep, usual_workers
from headgate.model.errors import InputError

DESCRIPTION = """\
Run every policy of a scenario with every job under every load, by every seed, on a virtual Spark in virtual time; or a
twin of a real job (`headgate twin`) under a load of your own. Everything is simulated: nothing here touches a cluster.
"""

EPILOG = """\
A folder takes what comes of it: results.parquet (a row a cell, with versions and settings), report.html (pictures) and
cells.jsonl, from which the next run goes on: a cell that is finished is not run again.

examples:
  headgate lab examples/lab/policies.toml
  headgate lab scenario.toml -o results --workers 4
  headgate lab scenario.toml --spark spark://host:7077
  headgate lab --twin twin.toml --load 'trace(black-friday.csv)' --for 24h
  headgate lab --twin twin.toml --load 'constant(5k)' --freshness 30s --slots 4 --most 12

exit codes: 0 an answer, 1 an answer, and a target of a judged load was missed, 2 something wrong with the input (one
line on standard error says what and where)
"""

_EVERY = 10.0


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options of this command."""
    parser.register("action", None, Once)
    parser.add_argument("scenario", type=file, metavar="SCENARIO", nargs="?", help="a file of TOML; see docs/lab.md")
    parser.add_argument("-o", "--out", type=file, metavar="FOLDER", help="where to (default: lab-NAME)")
    parser.add_argument("--workers", type=count, metavar="N", help="processes (default: as many as there are cores)")
    parser.add_argument("--spark", metavar="MASTER", help="run the cells as a PySpark job there")
    parser.add_argument("--pictures", action="store_true", help="write every picture as a file of SVG as well")
    add_twin_options(parser)


def run(given: argparse.Namespace) -> int:
    """Read, run, write, print."""
    gc.enable()  # unlike other commands this one runs for long
    scenario = _scenario(given)
    for line in scenario.left_out:
        print(f"headgate: {line}", file=sys.stderr)
    if given.workers is not None and given.workers < 1:
        raise InputError(f"--workers is {given.workers}; give at least 1")
    folder = Path(given.out or f"lab-{Path(given.scenario or given.twin).stem}")
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"{folder}: cannot be made ({error.strerror or error})") from None
    return 0 if _run(scenario, folder, given) else 1


def _scenario(given: argparse.Namespace) -> Scenario:
    if (given.scenario is None) == (given.twin is None):
        raise InputError("give a scenario, or --twin and --load")
    if given.twin is not None:
        return twin_scenario(given)
    for option, value in of_a_twin(given):
        if value is not None:
            raise InputError(f"{option} goes with --twin; what holds for a scenario stands in it")
    return read_scenario(given.scenario)


def _run(scenario: Scenario, folder: Path, given: argparse.Namespace) -> bool:
    """Whether all targets are met; where nothing is judged they are."""
    # Only now: to be told of a mistake nobody should wait for Arrow.
    from headgate.cli.page.lab_page import lab_page, pictures
    from headgate.lab.cell import cells
    from headgate.lab.results import write_results
    from headgate.lab.summary import summed_up, verdicts

    if given.spark is not None:
        from headgate.lab.on_spark import on_spark

        run_all = functools.partial(on_spark, master=given.spark)
    else:
        run_all = functools.partial(on_cores, workers=given.workers or usual_workers())
    outcomes = sweep(cells(scenario), Finished(folder / "cells.jsonl"), run_all, _Progress())
    write_results(folder / "results.parquet", scenario, outcomes)
    rows, judged = summed_up(outcomes), verdicts(outcomes)
    (folder / "report.html").write_text(lab_page(scenario, outcomes), encoding="utf-8")
    if given.pictures:
        (folder / "pictures").mkdir(exist_ok=True)
        for name, drawn in pictures(scenario, outcomes):
            (folder / "pictures" / name).write_text(drawn, encoding="utf-8")
    if not judged and scenario.left_out:
        print("headgate: no target is judged; the loads that were left out may be those for it", file=sys.stderr)
    _print([*table_lines(rows), *verdict_lines(judged), f"{folder / 'report.html'} has the pictures"])
    return all(one.met for one in judged)


def _print(lines: Sequence[str]) -> None:
    print("\n".join(lines))


class _Progress:
    """A line that says how far it is: over and over on a terminal, now and then elsewhere."""

    def __init__(self) -> None:
        self._began, self._told = time.monotonic(), 0.0
        self._at_first: int | None = None

    def __call__(self, done: int, total: int) -> None:
        now = time.monotonic()
        if self._at_first is None:
            self._at_first = done
            if done:
                print(f"headgate: {done:,} of {total:,} cells were run before", file=sys.stderr)
        ran = done - self._at_first
        live = sys.stderr.isatty()
        if not ran or (now - self._told < (0.2 if live else _EVERY) and done < total):
            return
        self._told = now
        left = (now - self._began) / ran * (total - done)
        said = f"{done:,} of {total:,} cells, {now - self._began:,.0f} s, about {left:,.0f} s to go"
        end = "\n" if done == total or not live else ""
        print(f"\r{said}\x1b[K" if live else f"headgate: {said}", end=end or ("" if live else "\n"), file=sys.stderr)
        sys.stderr.flush()
