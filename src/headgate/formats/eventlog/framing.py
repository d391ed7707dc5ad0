"""The two compressed formats of Java libraries that Spark uses and no Python library reads: LZ4Block and Snappy's.

Both are a row of blocks, each with its lengths in front. Only the framing is read here; a block's content is
decompressed by Arrow. LZ4Block's checksums (xxHash) are not verified: a flipped bit shows as a line that is no JSON.

    LZ4Block    "LZ4Block", method and level (1 byte), length packed, length unpacked, checksum (4 bytes each, little
                end first); method 0x10 is stored, 0x20 is LZ4; a block of length 0 ends a stream, others may follow
    Snappy      0x82 "SNAPPY" 0x00, version, oldest version (4 bytes each), then blocks: length packed (4 bytes, big
                end first), raw Snappy; another header may follow where a block could
"""

import struct
from collections.abc import Callable, Iterator

import pyarrow as pa

LZ4_MAGIC = b"LZ4Block"
SNAPPY_MAGIC = b"\x82SNAPPY\x00"

_LZ4_HEADER = struct.Struct("<8sBIII")
_LZ4_STORED, _LZ4_PACKED = 0x10, 0x20
_SNAPPY_HEADER = 16
_LARGEST_BLOCK = 1 << 25  # LZ4Block allows no more, Spark writes 32 kB: larger lengths are damage


class DamagedData(Exception):  # noqa: N818 - never leaves the reader, which makes a note of it
    """Bytes that cannot be decompressed."""


Block = tuple[bytes, int]
"""What a block holds, and where the next one begins."""


class Framed:
    """Decompresses a row of blocks, however the bytes come in."""

    def __init__(self, next_block: Callable[[bytes, int], Block | None]) -> None:
        self._next_block = next_block
        self._rest = b""

    @property
    def pending(self) -> bool:
        """Part of a block is here and the rest is not."""
        return bool(self._rest)

    def feed(self, data: bytes) -> Iterator[bytes]:
        """All blocks that are complete with these bytes."""
        data, at = self._rest + data, 0
        while (block := self._next_block(data, at)) is not None:
            content, at = block
            if content:
                yield content
        self._rest = data[at:]


def lz4_block(data: bytes, at: int) -> Block | None:
    """The block at this place, or None if it is not all here."""
    if len(data) - at < _LZ4_HEADER.size:
        return None
    magic, token, packed, unpacked, _checksum = _LZ4_HEADER.unpack_from(data, at)
    method = token & 0xF0
    if magic != LZ4_MAGIC or method not in {_LZ4_STORED, _LZ4_PACKED} or max(packed, unpacked) > _LARGEST_BLOCK:
        raise DamagedData("no LZ4 block where one should begin")
    start = at + _LZ4_HEADER.size
    end = start + packed
    if len(data) < end:
        return None
    content = data[start:end]
    return (content if method == _LZ4_STORED else _unpacked(content, unpacked, "lz4_raw")), end


def snappy_block(data: bytes, at: int) -> Block | None:
    """The block at this place, or None if it is not all here. A header counts as an empty block."""
    if len(data) - at < 4:
        return None
    if data.startswith(SNAPPY_MAGIC[:4], at):
        return (b"", at + _SNAPPY_HEADER) if len(data) - at >= _SNAPPY_HEADER else None
    packed = int.from_bytes(data[at : at + 4], "big")
    if packed > _LARGEST_BLOCK:
        raise DamagedData("no Snappy block where one should begin")
    end = at + 4 + packed
    if len(data) < end:
        return None
    content = data[at + 4 : end]
    return (_unpacked(content, _snappy_length(content), "snappy") if content else b""), end


def _snappy_length(content: bytes) -> int:
    """The length that raw Snappy begins with: seven bits a byte, least first, at most five bytes."""
    length = 0
    for place, byte in enumerate(content[:5]):
        length |= (byte & 0x7F) << (7 * place)
        if byte < 0x80:
            break
    return length


def _unpacked(content: bytes, length: int, codec: str) -> bytes:
    if length == 0:
        return b""
    if length > _LARGEST_BLOCK:
        raise DamagedData("a compressed block that claims to be huge")
    try:
        unpacked: bytes = pa.decompress(content, decompressed_size=length, codec=codec, asbytes=True)
    except (OSError, pa.ArrowException) as error:
        raise DamagedData(f"a compressed block that cannot be decompressed ({str(error).rstrip('.')})") from None
    return unpacked
