"""Which entries of a journal were written while a controller watched; between two of them nothing is known.

A controller watches from its `Began` to its `Ended`. One that was killed leaves no `Ended`, and the job that is started
after it notes what it does before it has a controller: such notes must not be taken for the last words of the one that
is gone. Only what nobody but a controller writes shows that it still watched.
"""

from collections.abc import Iterable, Iterator

from headgate.control.said import Failed
from headgate.runtime.entries import Began, Carried, Ended, Entry, Seen, Spoke


def watched(entries: Iterable[Entry | Seen]) -> Iterator[tuple[Entry | Seen, bool]]:
    """Each entry, in order, with whether a controller watched when it was written.

    >>> from headgate.control.settings import Settings
    >>> from headgate.runtime.entries import Cluster
    >>> began, there, note = Began(0.0, "", "capacity", Settings()), Cluster(1.0, ()), Carried(90.0, 0, "as left")
    >>> [watching for _, watching in watched([began, there, note, began])]
    [True, True, False, True]
    >>> [watching for _, watching in watched([began, note, there, Ended(91.0, "stopped"), note])]
    [True, True, True, True, False]
    """
    watching, doubtful = False, list[Carried | Spoke]()
    for entry in entries:
        if isinstance(entry, Carried) or (isinstance(entry, Spoke) and isinstance(entry.said, Failed)):
            doubtful.append(entry)  # of a controller, or of a job that has none: what comes next shows it
            continue
        yield from ((one, watching and not isinstance(entry, Began)) for one in doubtful)
        doubtful.clear()
        yield entry, True
        watching = not isinstance(entry, Ended)
    # Of one that may still be running; what belongs to no plan is written before there is a controller.
    yield from ((one, watching and not (isinstance(one, Carried) and not one.plan)) for one in doubtful)
