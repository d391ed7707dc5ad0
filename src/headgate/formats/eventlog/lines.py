"""Bytes as they come -> whole lines. What follows the last line end waits for more.

Most lines lie whole in the bytes as they came, and are pointed to there instead of being copied: a `Span` of lines.
A line that never ends must not fill the memory: beyond a limit it is dropped up to its end and comes out as None.
"""

from collections.abc import Iterator

_LONGEST = 64 << 20

Span = tuple[bytes, int]
"""Some bytes, and where the first of the lines in them begins; each has its end, and what follows the last is none."""


class Lines:
    """Puts lines together across the pieces they come in."""

    def __init__(self, longest: int = _LONGEST) -> None:
        self._longest = longest
        self._begun: list[bytes] = []
        self._length = 0
        self._dropping = False

    def feed(self, data: bytes) -> Iterator[Span | None]:
        r"""The lines that are complete with these bytes: the one that had begun before, and those that lie in them.

        >>> lines = Lines()
        >>> list(lines.feed(b"one\ntw")), list(lines.feed(b"o\nthree\n")), lines.rest
        ([(b'one\ntw', 0)], [(b'two\n', 0), (b'o\nthree\n', 2)], b'')
        """
        last = data.rfind(b"\n") + 1
        if not last:
            self._keep(data)
            return
        start = 0
        if self._dropping or self._begun:
            start = data.find(b"\n") + 1
            yield None if self._dropping else (b"".join([*self._begun, data[:start]]), 0)
        self._begun, self._length, self._dropping = [], 0, False
        if start < last:
            yield data, start
        self._keep(data[last:])

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
