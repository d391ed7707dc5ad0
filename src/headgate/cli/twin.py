"""`headgate twin`: a simulated copy of a real job, from its event log."""

import argparse
import sys
from pathlib import Path
from statistics import median

from headgate.cli.log_reading import read_log
from headgate.cli.options import Once, file
from headgate.lab.job_table import job_from_table, written
from headgate.lab.twin import batch_times, twin
from headgate.model.errors import InputError
from headgate.model.warm import on_the_last_pool, warm

DESCRIPTION = """\
Make a twin of a streaming query: a virtual job with the costs, the spread of records and the driver time that its
batches show. The lab runs it under any load: what would happen, before it does.
"""

EPILOG = """\
The twin is a file of TOML that can be read and changed by hand. What it cannot know is said in docs/lab.md.

examples:
  headgate twin app-20261116000919-0000.zstd -o twin.toml
  headgate lab --twin twin.toml --load 'trace(black-friday.csv)' --for 24h

exit codes: 0 an answer, 2 something wrong with the input (one line on standard error says what and where)
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options of this command."""
    parser.register("action", None, Once)
    parser.add_argument("log", type=file, metavar="EVENTLOG", help="of Spark 3.5 to 4.3")
    parser.add_argument("-o", "--out", type=file, metavar="FILE", help="where to (default: standard output)")
    parser.add_argument("--query", metavar="NAME", help="the query of this name or id, where there are several")


def run(given: argparse.Namespace) -> int:
    """Read, copy, compare, write."""
    queries = read_log(given.log).queries
    named = {query: seen for query, seen in queries.items() if given.query in (None, query, seen[-1].name)}
    if len(named) != 1:
        names = ", ".join(seen[-1].name or query for query, seen in queries.items())
        raise InputError(f"{given.log}: which query? give --query one of: {names or 'none, it has no batches'}")
    batches = next(iter(named.values()))
    table = twin(batches, Path(given.log).name.split(".")[0] if not batches[-1].name else "")
    counted = [batch for batch in on_the_last_pool(warm(batches)) if batch.input_rows]
    text = written(table)
    if given.out is None:
        print(text, end="")
    else:
        try:
            Path(given.out).write_text(text, encoding="utf-8")
        except OSError as error:
            raise InputError(f"{given.out}: cannot be written ({error.strerror or error})") from None
    real = median(batch.duration / 1000 for batch in counted)
    copied = median(batch_times(job_from_table(table), counted))
    print(
        f"headgate: a twin of {table.name}: its batches take {copied:.2f} s, those of the log {real:.2f} s "
        f"({copied / real - 1:+.0%}); median of {len(counted)}",
        file=sys.stderr,
    )
    return 0
