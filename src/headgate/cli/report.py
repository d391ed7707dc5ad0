"""`headgate report`: the story of a journal as one HTML page."""

import argparse

from headgate.cli.options import Once, file
from headgate.cli.page.story import story_page
from headgate.model.errors import InputError
from headgate.runtime.journal import Journal
from headgate.runtime.timeline import timeline

DESCRIPTION = """\
The story of a journal as one HTML page, on standard output: executors there, desired and needed, batch times beside
their interval and beside what was predicted, records that came and were processed, what waited; with every decision
marked on the time axis, and listed. The page needs nothing but itself.
"""

EPILOG = """\
Batches are drawn as far back as the journal keeps them (the last 20,000); decisions are kept for ever.

examples:
  headgate report job.journal > story.html

exit codes: 0 an answer, 2 something wrong with the input (one line on standard error says what and where)
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options of this command."""
    parser.register("action", None, Once)
    parser.add_argument("journal", type=file, metavar="JOURNAL", help="the file that was given as journal=")


def run(given: argparse.Namespace) -> int:
    """Read, draw, print."""
    with Journal(given.journal, read_only=True) as journal:
        story = timeline(journal.everything())
    if story is None:
        raise InputError(f"{given.journal}: no batch in it; let a controller watch a query with this journal first")
    print(story_page(given.journal, story))
    return 0
