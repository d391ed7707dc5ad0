"""A large text file in pieces that end at line ends, which several threads may read at once."""

import os
import stat
from types import TracebackType
from typing import NamedTuple, Self

from headgate.formats.files import cannot_read
from headgate.model.errors import InputError

_PIECE = 4 << 20
_LONGEST_LINE = 1 << 20


class Span(NamedTuple):
    """Bytes of the file, from start up to but not including end: whole lines."""

    start: int
    end: int


class Pieces:
    """An open file and where to cut it. What cannot be read at any place, such as a pipe, is read whole first."""

    def __init__(self, path: str, size: int = _PIECE) -> None:
        self.path = path
        self._whole: bytes | None = None
        self._counted, self._lines = 0, 1
        try:
            self._file = os.open(path, os.O_RDONLY)
        except OSError as error:
            raise cannot_read(path, error) from None
        try:
            status = os.fstat(self._file)
            if not stat.S_ISREG(status.st_mode):
                with open(self._file, "rb", closefd=False) as file:
                    self._whole = file.read()
            self.size = status.st_size if self._whole is None else len(self._whole)
            self.spans = self._cut(size)
        except BaseException as error:
            os.close(self._file)
            if isinstance(error, OSError):
                raise cannot_read(path, error) from None
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        os.close(self._file)

    def _bytes(self, start: int, count: int) -> bytes:
        if self._whole is not None:
            return self._whole[start : start + count]
        return os.pread(self._file, count, start)

    def _cut(self, size: int) -> list[Span]:
        """About every `size` bytes, at the next line end."""
        spans, start = [], 0
        while start + size < self.size:
            at = start + size
            end = self._bytes(at, 4096).find(b"\n")
            if end < 0:
                end = self._bytes(at, _LONGEST_LINE).find(b"\n")
            if end < 0 and at + _LONGEST_LINE < self.size:
                raise InputError(f"{self.path}: has a line longer than 1 MiB; is this a rates log?")
            stop = at + end + 1 if end >= 0 else self.size
            spans.append(Span(start, stop))
            start = stop
        if start < self.size or not spans:
            spans.append(Span(start, self.size))
        return spans

    def read(self, span: Span) -> bytes:
        """The lines of a piece."""
        return self._bytes(span.start, span.end - span.start)

    def progress(self, span: Span) -> float:
        """Which part of the file lies before the end of a piece."""
        return span.end / self.size if self.size else 1.0

    def line_at(self, span: Span) -> int:
        """The number of the first line of a piece; asked in order, so each piece is counted once at most."""
        while self.spans[self._counted].start < span.start:
            self._lines += self.read(self.spans[self._counted]).count(b"\n")
            self._counted += 1
        return self._lines
