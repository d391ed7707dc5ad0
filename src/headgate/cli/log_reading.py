"""An event log read for a command: the last batches of each query, with a progress bar, and a word on what was odd."""

import os
import sys
from collections import deque
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from headgate.cli.progress import shown
from headgate.formats.eventlog.batches import WANTED, Batches
from headgate.formats.eventlog.found import size_of
from headgate.formats.eventlog.gaps import BatchesIncomplete, BatchesUnreported
from headgate.formats.eventlog.reader import read_events
from headgate.model.microbatch import MicroBatch

_MOST_BATCHES = 2000
"""Of each query so many of the last batches are kept: memory does not grow with the log."""


class LogRead(NamedTuple):
    """What a log has."""

    queries: Mapping[str, Sequence[MicroBatch]]
    """Query -> its last batches."""
    notes: Sequence[str]
    left_out: int
    """Batches that are not over, or not whole."""


def read_log(log: str) -> LogRead:
    """Read one; what was odd goes to standard error, too. `InputError` for what is no event log."""
    of_query: dict[str, deque[MicroBatch]] = {}
    events = read_events(log, wanted=WANTED)
    batches = Batches(shown(events.pieces(), size_of(log), os.path.basename(log)))
    for batch in batches:
        of_query.setdefault(batch.query, deque(maxlen=_MOST_BATCHES)).append(batch)
    notes = [str(note) for note in (*events.notes, *batches.gaps)]
    for note in notes:
        print(f"headgate: {note}" if note.startswith(log) else f"headgate: {log}: {note}", file=sys.stderr)
    left_out = sum(gap.count for gap in batches.gaps if isinstance(gap, BatchesUnreported | BatchesIncomplete))
    return LogRead({query: list(seen) for query, seen in of_query.items()}, notes, left_out)
