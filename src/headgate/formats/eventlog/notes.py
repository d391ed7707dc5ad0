"""What was odd about an event log: small typed values, each a sentence when printed.

A log that is damaged or unfinished is still read as far as it goes; notes say what is missing from the answer. Lines
are numbered from 1 in the file they stand in, after decompression.
"""

from typing import TypeAlias

import msgspec


class _Note(msgspec.Struct, frozen=True, tag_field="kind"):
    """Common shape: a tag in JSON, and `str()` for one sentence."""


class LinesSkipped(_Note, frozen=True, tag="lines-skipped"):
    """Lines that are no events, or events that cannot be read."""

    count: int
    path: str
    first_line: int

    def __str__(self) -> str:
        lines = "1 line" if self.count == 1 else f"{self.count:,} lines, from this one on,"
        return f"{self.path}:{self.first_line}: {lines} could not be read as an event and left out"


class CutOff(_Note, frozen=True, tag="cut-off"):
    """A file ends in the middle of a line, or of a compressed block."""

    path: str
    line: int

    def __str__(self) -> str:
        return f"{self.path}:{self.line}: the file is cut off here; what was lost is not known"


class Damaged(_Note, frozen=True, tag="damaged"):
    """Compressed data that cannot be decompressed: the rest of its file is lost."""

    path: str
    line: int
    problem: str

    def __str__(self) -> str:
        return f"{self.path}:{self.line}: {self.problem}; the rest of this file is left out"


class FilesMissing(_Note, frozen=True, tag="files-missing"):
    """Files of a rolling log that should be there by their numbers."""

    path: str
    numbers: tuple[int, ...]

    def __str__(self) -> str:
        return f"{self.path}: lacks events_{', events_'.join(map(str, self.numbers))}; their events are missing"


class UnknownVersion(_Note, frozen=True, tag="unknown-version"):
    """Written by a Spark outside those this reader was tried on."""

    version: str

    def __str__(self) -> str:
        return f"written by Spark {self.version}; known are 3.5 to 4.3, so some figures may be missing"


class NoLogStart(_Note, frozen=True, tag="no-log-start"):
    """The line with Spark's version is not there: the beginning may be missing too."""

    def __str__(self) -> str:
        return "the log does not begin with SparkListenerLogStart; its beginning may be missing"


class Unfinished(_Note, frozen=True, tag="unfinished"):
    """The application has not said that it ended: it runs still, or it died, or the log is not whole."""

    def __str__(self) -> str:
        return "the log has no end: the application still runs, or died, or the log is not whole"


Note: TypeAlias = LinesSkipped | CutOff | Damaged | FilesMissing | UnknownVersion | NoLogStart | Unfinished
