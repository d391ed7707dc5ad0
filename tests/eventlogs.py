"""Event logs for tests: real ones, small made-up ones, and writers of Spark's formats independent of the readers."""

import json
import struct
from pathlib import Path

import pyarrow as pa

DATA = Path(__file__).parent / "data" / "eventlogs"
VERSIONS = ("3.5.9", "4.0.5", "4.1.4", "4.2.1", "4.3.0")


def text(version: str = "3.5.9") -> bytes:
    """A real log, decompressed in one go by Arrow."""
    with pa.CompressedInputStream(pa.OSFile(str(DATA / f"spark-{version}.zstd")), "zstd") as stream:
        return stream.read()


def parsed(version: str, event: str) -> list[dict]:
    """All events whose name ends like this, the slow and independent way."""
    return [fields for line in text(version).splitlines() if (fields := json.loads(line))["Event"].endswith(event)]


START = b'{"Event":"SparkListenerLogStart","Spark Version":"4.3.0"}\n'
END = b'{"Event":"SparkListenerApplicationEnd","Timestamp":99}\n'


def job_end(id: int) -> bytes:
    result = b'{"Result":"JobSucceeded"}'
    return b'{"Event":"SparkListenerJobEnd","Job ID":%d,"Completion Time":5,"Job Result":%s}\n' % (id, result)


def lz4_blocks(data: bytes, block: int = 1000, stored: bool = False) -> bytes:
    """As Java's LZ4BlockOutputStream writes; the checksum, which is not verified, is left 0."""
    out = []
    for at in range(0, len(data), block):
        raw = data[at : at + block]
        packed = raw if stored else pa.compress(raw, codec="lz4_raw", asbytes=True)
        token = (0x10 if stored else 0x20) | 5
        out.append(b"LZ4Block" + struct.pack("<BIII", token, len(packed), len(raw), 0) + packed)
    return b"".join(out) + b"LZ4Block" + struct.pack("<BIII", 0x15, 0, 0, 0)


def snappy_blocks(data: bytes, block: int = 1000) -> bytes:
    """As Java's SnappyOutputStream writes."""
    out = [b"\x82SNAPPY\x00" + struct.pack(">II", 1, 1)]
    for at in range(0, len(data), block):
        packed = pa.compress(data[at : at + block], codec="snappy", asbytes=True)
        out.append(struct.pack(">I", len(packed)) + packed)
    return b"".join(out)


def zstd_frames(data: bytes, block: int = 1000) -> bytes:
    """A frame for every so many bytes, as flushing makes them."""
    return b"".join(pa.compress(data[at : at + block], codec="zstd", asbytes=True) for at in range(0, len(data), block))
