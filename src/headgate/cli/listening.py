"""Whether a controller is there to take a word that is left in its journal."""

from collections.abc import Iterable

from headgate.cli.local_time import moment
from headgate.runtime.entries import Began, Ended, Entry
from headgate.runtime.journal import Journal
from headgate.runtime.journal_lock import is_held


def nobody_listens(journal: Journal) -> str | None:
    """A sentence where none is; None where one is, or where that cannot be told."""
    ended, last = _last_words(entry for _, entry in journal.entries())
    if ended is not None:
        return f"none is running: the last one ended at {moment(ended.at)}; the next one takes it"
    if is_held(journal.path) is not False:
        return None
    if last is None:
        return "none is running: none has begun with this journal yet; the first one takes it"
    written = moment(max(last, journal.last_batch_at()))
    return f"none is running: the last one wrote last at {written}, without a word of its end; the next one takes it"


def _last_words(entries: Iterable[Entry]) -> tuple[Ended | None, float | None]:
    """The end of the last controller (None where it left none), and when it last wrote (None where there was none)."""
    ended, last = None, None
    for entry in entries:
        match entry:
            case Began():
                ended, last = None, entry.at
            case Ended():
                ended = entry
            case _:
                last = None if last is None else entry.at
    return ended, last
