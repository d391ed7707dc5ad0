"""A line that says how far a long read is; on a terminal only, and only after it has begun to feel long."""

import sys
import time
from collections.abc import Iterator
from typing import Protocol, TextIO, TypeVar

_PATIENCE = 1.0
_EVERY = 0.1
_WIDTH = 30

_Item_co = TypeVar("_Item_co", covariant=True)


class Reading(Protocol[_Item_co]):
    """Something that is gone through and knows how many bytes it has read."""

    @property
    def bytes_read(self) -> int:
        """How many."""

    def __iter__(self) -> Iterator[_Item_co]:
        """Go through it."""


def shown(reading: Reading[_Item_co], total: int, label: str, stream: TextIO | None = None) -> Iterator[_Item_co]:
    """The same items; meanwhile the stream shows a bar, which is gone in the end."""
    stream = stream or sys.stderr  # asked for now: tests and embedders exchange it
    if not stream.isatty():
        yield from reading
        return
    next_time, drawn = time.monotonic() + _PATIENCE, False
    try:
        for item in reading:
            if time.monotonic() >= next_time:
                stream.write("\r" + bar(reading.bytes_read, total, label))
                stream.flush()
                next_time, drawn = time.monotonic() + _EVERY, True
            yield item
    finally:  # what comes next, an error above all, gets a line of its own
        if drawn:
            stream.write("\r\x1b[K")
            stream.flush()


def bar(done: int, total: int, label: str) -> str:
    """How it looks.

    >>> bar(50_000_000, 100_000_000, "app-1")
    'app-1 [###############               ]  50 % of 100 MB'
    """
    part = min(1.0, done / total) if total else 0.0
    filled = round(part * _WIDTH)
    return f"{label} [{'#' * filled}{' ' * (_WIDTH - filled)}] {part * 100:3.0f} % of {total / 1e6:,.0f} MB"
