"""Bytes as they come -> whole lines. What follows the last line end waits for more.

Most lines lie whole in the bytes as they came, and are pointed to there instead of being copied: a line is a `Span`.
A line that never ends must not fill the memory: beyond a limit it is dropped up to its end and comes out as None.
"""

from collections.abc import Iterator

_LONGEST = 64 << 20

Span = tuple[bytes, int, int]
"""Some bytes, where the line begins in them, and where it ends."""


class Lines:
    """Puts lines together across the pieces they come in."""

    def __init__(self, longest: int = _LONGEST) -> None:
        self._longest = longest
        self._begun: list[bytes] = []
        self._length = 0
        self._dropping = False

    def feed(self, data: bytes) -> Iterator[Span | None]:
        r"""The lines that are complete with these bytes, without their ends.

        >>> lines = Lines()
        >>> list(lines.feed(b"one\ntw")), list(lines.feed(b"o\n")), lines.rest
        ([(b'one\ntw', 0, 3)], [(b'two', 0, 3)], b'')
        """
        find = data.find
        end = find(b"\n")
        if end < 0:
            self._keep(data)
            return
        start = 0
        if self._dropping or self._begun:
            whole = b"".join([*self._begun, data[:end]])
            yield None if self._dropping else (whole, 0, len(whole))
            start = end + 1
            end = find(b"\n", start)
        self._begun, self._length, self._dropping = [], 0, False
        while end >= 0:
            yield data, start, end
            start = end + 1
            end = find(b"\n", start)
        self._keep(data[start:])

    @property
    def rest(self) -> bytes:
        """The line that has begun and not ended."""
        return b"".join(self._begun)

    def _keep(self, data: bytes) -> None:
        self._length += len(data)
        if self._length > self._longest:
            self._begun, self._dropping = [], True
        elif data:
            self._begun.append(data)
