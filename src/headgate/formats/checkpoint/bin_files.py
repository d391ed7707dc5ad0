"""The files of one bin: snapshots, and changes after them.

RocksDB: `12.zip` is version 12 as a whole, with a list of the `.sst` files it needs, which versions share; and
`13.changelog` is what version 13 changed. In memory: `12.snapshot` and `13.delta`. A unique id may follow the version
(`13_1f2e….changelog`) where checkpoints have ids.
"""

import io
import re
import zipfile
import zlib
from collections.abc import Sequence

import msgspec

from headgate.formats.checkpoint.folders import Folders, Found
from headgate.model.state_files import BinFiles

_NAME = re.compile(r"(\d+)(?:_[0-9a-fA-F-]+)?\.(zip|snapshot|changelog|delta)", re.ASCII)
_WHOLE = ("zip", "snapshot")
_DAMAGED = (
    KeyError,
    ValueError,
    EOFError,
    OSError,
    NotImplementedError,
    RuntimeError,
    zlib.error,
    zipfile.BadZipFile,
    msgspec.MsgspecError,
)
"""All that Python's reader of archives says of bytes that are none, or no longer."""


class Table(msgspec.Struct, frozen=True):
    """A file of RocksDB that snapshots share, in the folder `SSTs`."""

    name: str = msgspec.field(name="dfsSstFileName")
    size: int = msgspec.field(default=0, name="sizeBytes")


class _Snapshot(msgspec.Struct):
    tables: tuple[Table, ...] = msgspec.field(default=(), name="sstFiles")


def bin_files(folders: Folders, path: str, stores: Sequence[str], number: int, version: int) -> BinFiles:
    """A bin as of this version."""
    kept = [_store(folders, path if store == "default" else f"{path}/{store}", version) for store in stores]
    snapshots = [one.snapshot for one in kept]
    return BinFiles(
        number,
        None if None in snapshots else min((one for one in snapshots if one is not None), default=None),
        sum(one.changes for one in kept),
        sum(one.snapshot_bytes for one in kept),
        sum(one.change_bytes for one in kept),
    )


def _store(folders: Folders, path: str, version: int) -> BinFiles:
    files = [(int(name[1]), name[2], one) for one in folders.inside(path) if (name := _NAME.fullmatch(one.name))]
    files = [one for one in files if one[0] <= version]
    whole = [one for one in files if one[1] in _WHOLE]
    newest = max(whole, key=lambda one: one[0], default=None)
    after = newest[0] if newest is not None else 0
    changes = [one.bytes for made, kind, one in files if kind not in _WHOLE and made > after]
    size = _snapshot_bytes(folders, path, newest[2]) if newest is not None else 0
    return BinFiles(0, after if newest is not None else None, len(changes), size, sum(changes))


def _snapshot_bytes(folders: Folders, path: str, snapshot: Found) -> int:
    """With the files that it shares with other versions."""
    if not snapshot.name.endswith(".zip"):
        return snapshot.bytes
    try:
        return snapshot.bytes + sum(table.size for table in tables(folders.read(f"{path}/{snapshot.name}")))
    except OSError:
        return snapshot.bytes  # what can be seen of it


def tables(snapshot: bytes) -> tuple[Table, ...]:
    """The files that a snapshot of RocksDB needs beside itself; none where it is damaged."""
    try:
        with zipfile.ZipFile(io.BytesIO(snapshot)) as archive:
            listed = archive.read("metadata").partition(b"\n")[2]
        return msgspec.json.decode(listed, type=_Snapshot).tables
    except _DAMAGED:
        return ()
