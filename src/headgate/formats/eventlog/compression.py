"""How a log file is compressed, and one small shape for every way to undo it: bytes in, bytes out, as they come.

Files say it twice: by their extension (Spark puts the codec's name after the application's id) and by their first
bytes. All formats have unmistakable first bytes, so these decide, and a log that was renamed or unpacked is read just
as well; the extension only matters for what does not begin like anything known.
"""

from collections.abc import Iterator
from typing import Protocol

import pyarrow as pa

from headgate.formats.eventlog.framing import (
    LZ4_MAGIC,
    SNAPPY_MAGIC,
    DamagedData,
    Framed,
    lz4_block,
    snappy_block,
)
from headgate.model.errors import InputError

IN_PROGRESS, COMPACT = ".inprogress", ".compact"
_MAGIC = {b"\x28\xb5\x2f\xfd": "zstd", LZ4_MAGIC: "lz4", SNAPPY_MAGIC: "snappy", b"\x1f\x8b": "gzip", b"ZV": "lzf"}
_EXTENSIONS = {"zstd": "zstd", "zst": "zstd", "lz4": "lz4", "snappy": "snappy", "gz": "gzip", "lzf": "lzf"}
LONGEST_MAGIC = max(map(len, _MAGIC))
_OUT = 1 << 20
_NEVER_IN_TEXT = b"\xff"  # no UTF-8 text contains this byte


class Decompressor(Protocol):
    """Bytes in, bytes out; what is incomplete waits for the next bytes. Raises `DamagedData`."""

    @property
    def pending(self) -> bool:
        """Stopping now would stop in the middle of something."""

    def feed(self, data: bytes) -> Iterator[bytes]:
        """What can be decompressed with these bytes."""


def codec_of(path: str, head: bytes) -> str:
    """The codec of a file that begins like this.

    >>> codec_of("app-1.lz4.inprogress", b""), codec_of("app-1.zstd", b'{"Event":"Spark'), codec_of("events_1_a", b"{")
    ('lz4', 'plain', 'plain')
    """
    for magic, codec in _MAGIC.items():
        if head.startswith(magic):
            return codec
    if head.lstrip()[:1] == b"{":
        return "plain"
    name = path.removesuffix(COMPACT).removesuffix(IN_PROGRESS)
    return _EXTENSIONS.get(name.rpartition(".")[2], "plain")


def decompressor(path: str, codec: str) -> Decompressor:
    """A fresh decompressor; LZF is the one codec of Spark that is refused."""
    if codec == "lzf":
        raise InputError(
            f"{path}: compressed with LZF, which cannot be read; set spark.eventLog.compression.codec to zstd"
        )
    if codec == "lz4":
        return Framed(lz4_block)
    if codec == "snappy":
        return Framed(snappy_block)
    return Plain() if codec == "plain" else ArrowStream(codec)


class Plain:
    """Not compressed."""

    pending = False

    def feed(self, data: bytes) -> Iterator[bytes]:
        """The bytes as they are."""
        yield data


class ArrowStream:
    """Zstandard and gzip through Arrow's stream, any number of frames.

    Arrow pulls its input and takes a dry input for an error, and with an error it does not say how many bytes it had
    written. A log that is being written or was cut off is dry all the time. So the buffer is filled beforehand with a
    byte that text cannot contain: what remains of the filling at its end was not written.
    """

    def __init__(self, codec: str) -> None:
        self._input = _Trough()
        self._stream = pa.CompressedInputStream(pa.PythonFile(self._input, mode="r"), codec)
        self._buffer = bytearray(_OUT)
        self._filling = _NEVER_IN_TEXT * _OUT
        self.pending = False

    def feed(self, data: bytes) -> Iterator[bytes]:
        """All that comes out until Arrow asks for more input than there is."""
        self._input.fill(data)
        while True:
            self._buffer[:] = self._filling
            problem = None
            try:
                written = self._stream.readinto(self._buffer)
            except (OSError, pa.ArrowException) as error:
                written, problem = len(self._buffer.rstrip(_NEVER_IN_TEXT)), error
            if written:
                yield bytes(memoryview(self._buffer)[:written])
            if problem is not None and not self._input.ran_dry:
                raise DamagedData(f"compressed data that cannot be decompressed ({str(problem).rstrip('.')})")
            if written < _OUT:
                self.pending = problem is not None
                return


class _Trough:
    """What Arrow reads from: the bytes fed last, and whether it wanted more than those."""

    closed = False

    def __init__(self) -> None:
        self._data = b""
        self.ran_dry = False

    def fill(self, data: bytes) -> None:
        self._data += data
        self.ran_dry = False

    def read(self, size: int) -> bytes:
        taken, self._data = self._data[:size], self._data[size:]
        self.ran_dry = not taken
        return taken

    def close(self) -> None:
        pass
