"""Bytes as they come -> whole lines. What follows the last line end waits for more.

A line that never ends must not fill the memory: beyond a limit it is dropped up to its end and comes out as None.
"""

_LONGEST = 64 << 20


class Lines:
    """Puts lines together across the pieces they come in."""

    def __init__(self, longest: int = _LONGEST) -> None:
        self._longest = longest
        self._begun: list[bytes] = []
        self._length = 0
        self._dropping = False

    def feed(self, data: bytes) -> list[bytes | None]:
        r"""The lines that are complete with these bytes, without their ends.

        >>> lines = Lines()
        >>> lines.feed(b"one\ntw"), lines.feed(b"o\n"), lines.rest
        ([b'one'], [b'two'], b'')
        """
        if b"\n" not in data:
            self._keep(data)
            return []
        lines: list[bytes | None] = data.split(b"\n")  # type: ignore[assignment]
        first, last = lines[0], lines.pop()
        if self._dropping:
            lines[0] = None
        elif self._begun:
            lines[0] = b"".join([*self._begun, first or b""])
        self._begun, self._length, self._dropping = [], 0, False
        self._keep(last or b"")
        return lines

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
