"""`headgate load show`: what a load profile looks like, before anything runs on it."""

import argparse
import math
import shutil
import sys
from collections.abc import Iterator, Sequence
from itertools import pairwise

from headgate.cli.options import Once
from headgate.cli.page.scales import short
from headgate.cli.page.time_axis import clock_step
from headgate.model.durations import seconds
from headgate.workloads.load import Load, LoadError
from headgate.workloads.load.language import EXAMPLES, load_from_text
from headgate.workloads.load.units import time_text

DESCRIPTION = """\
Draw a load profile: records per second over time, as a source given this profile emits them.
"""

EPILOG = f"""\
loads, which + and * combine:
{chr(10).join(f"  {example}" for example in EXAMPLES)}

Rates have k, M and G, times ms, s, m, h and d. A trace is a file of two columns, a time and a rate.

examples:
  headgate load show 'step(2k -> 8k @ 60s)'
  headgate load show 'trace(day.csv, scale=3, speed=60) + spike(0 -> 20k @ 5m for 10s)' --for 20m
  headgate load show 'walk(5k, seed=3)' --format csv > walk.csv

exit codes: 0 drawn, 2 something wrong with the input (one line on standard error says what and where)
"""

_ROWS = 10
_PARTS = " ▁▂▃▄▅▆▇█"
_LEFT = 8
_NARROW, _WIDE = 30, 160
_LINES = 600
"""Of a table: no more than so many."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options of this command."""
    parser.register("action", None, Once)
    parser.add_argument("what", choices=["show"], metavar="show", help="draw it")
    parser.add_argument("load", metavar="LOAD", help="for example 'step(2k -> 8k @ 60s)'")
    parser.add_argument("--for", dest="lasting", metavar="TIME", help="how much of it (default: what is worth it)")
    parser.add_argument(
        "--format", choices=["chart", "csv"], default="chart", help="chart (default), or csv: second, rate, records due"
    )


def run(given: argparse.Namespace) -> int:
    """Draw it."""
    try:
        load = load_from_text(given.load)
    except LoadError as problem:
        if problem.text.isprintable() and sys.stderr.isatty():
            print(f"  {problem.text}\n  {' ' * problem.at}^", file=sys.stderr)
        raise
    lasting = _rounded(load.worth_seeing()) if given.lasting is None else seconds(given.lasting)
    print("\n".join(table(load, lasting) if given.format == "csv" else chart(load, lasting, _width())))
    return 0


def _rounded(lasting: float) -> float:
    """Up to a time that people would say."""
    step = clock_step(lasting, 20)
    return math.ceil(lasting / step) * step


def chart(load: Load, lasting: float, width: int) -> list[str]:
    """Columns of blocks, as high as the mean rate of their time; below it the time, and what it comes to."""
    columns = width - _LEFT - 2
    cuts = [lasting * place / columns for place in range(columns + 1)]
    means = [(load.records(end) - load.records(begin)) / (end - begin) for begin, end in pairwise(cuts)]
    highest = max(means)
    total = load.records(lasting)
    return [
        *_bars(means, highest),
        f"{'0':>{_LEFT}} +{'-' * columns}",
        _times(lasting, columns),
        f"{load}: {total:,.0f} records in {time_text(lasting)}, {short(float(f'{total / lasting:.3g}'))}/s on average, "
        f"{short(float(f'{highest:.3g}'))}/s at most",
    ]


def _bars(means: Sequence[float], highest: float) -> Iterator[str]:
    eighths = [round(8 * _ROWS * mean / highest) if highest else 0 for mean in means]
    for row in reversed(range(_ROWS)):
        label = short(float(f"{highest:.3g}")) if row == _ROWS - 1 else ""
        yield f"{label:>{_LEFT}} |{''.join(_PARTS[min(8, max(0, one - 8 * row))] for one in eighths)}".rstrip()


def _times(lasting: float, columns: int) -> str:
    """Round times below the columns, as far as there is room for them."""
    step, line = clock_step(lasting, max(2, columns // 10)), ""
    for number in range(int(lasting / step) + 1):
        place = _LEFT + 2 + round(columns * number * step / lasting)
        if place >= len(line) + (2 if line else 0):
            line = line.ljust(place) + time_text(number * step)
    return line


def table(load: Load, lasting: float) -> Iterator[str]:
    """A line every second, or as many as make sense."""
    step = max(1.0, lasting / _LINES)
    yield "second,rate,records"
    number = 0
    while number * step <= lasting:
        at = number * step
        yield f"{at:g},{load.rate(at):g},{int(load.records(at))}"
        number += 1


def _width() -> int:
    return min(max(shutil.get_terminal_size().columns, _NARROW), _WIDE)
