"""A checkpoint's folders and files -> the state it holds. Nothing of it is changed, and no query need run."""

from collections.abc import Mapping

import msgspec

from headgate.formats.checkpoint.batch_logs import (
    KNOWN,
    PROVIDER,
    batches,
    bins_of,
    commit_version,
    settings_of,
    text,
)
from headgate.formats.checkpoint.bin_files import bin_files
from headgate.formats.checkpoint.folders import Folders
from headgate.model.errors import InputError
from headgate.model.state_files import UNKNOWN, CheckpointState, Provider, StateOperator, WrittenAs

_PROVIDERS: dict[str, Provider] = {
    "RocksDBStateStoreProvider": "rocksdb",
    "HDFSBackedStateStoreProvider": "in-memory",
}
_STORE = "spark.sql.streaming.stateStore"
_FORMAT_OF = {
    "stateStoreSave": "spark.sql.streaming.aggregation.stateFormatVersion",
    "symmetricHashJoin": "spark.sql.streaming.join.stateFormatVersion",
    "flatMapGroupsWithState": "spark.sql.streaming.flatMapGroupsWithState.stateFormatVersion",
}
"""Operator -> the setting with the version of its layout, as a batch notes it; others have only one layout."""
_SPARKS_DEFAULT = "org.apache.spark.sql.execution.streaming.state.HDFSBackedStateStoreProvider"


class _Query(msgspec.Struct):
    id: str


class _Operator(msgspec.Struct):
    name: str = msgspec.field(name="operatorName")


class _Store(msgspec.Struct):
    name: str = msgspec.field(name="storeName")
    partitions: int = msgspec.field(name="numPartitions")


class _OperatorFile(msgspec.Struct):
    operator: _Operator = msgspec.field(name="operatorInfo")
    stores: list[_Store] = msgspec.field(name="stateStoreInfo")


def provider_of(name: str) -> Provider:
    """Which state store a class is.

    >>> provider_of("org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"), provider_of("a.b.Mine")
    ('rocksdb', 'other')
    """
    return _PROVIDERS.get(name.rpartition(".")[2], "other")


def read_state(folders: Folders, as_of: int | None = None) -> CheckpointState:
    """What a checkpoint holds, as of its last committed batch or an earlier one; `InputError` where it is none."""
    query = _query(folders)
    committed, begun = batches(folders, "commits"), batches(folders, "offsets")
    if as_of is not None:
        committed, begun = ([one for one in log if one <= as_of] for log in (committed, begun))
    last, next_one = committed[-1] if committed else None, begun[-1] if begun else None
    conf = settings_of(folders, last) if last is not None and last in begun else {}
    partitions = bins_of(folders, last) if last is not None and last in begun else None
    provider = conf.get(PROVIDER, _SPARKS_DEFAULT)
    return CheckpointState(
        folders.root,
        query,
        provider_of(provider),
        provider,
        partitions,
        last,
        next_one,
        _rewriting(folders, last, next_one, partitions),
        tuple(_operators(folders, last, partitions, conf)) if last is not None else (),
        commit_version(folders, last) if last is not None else "v1",
        WrittenAs(
            conf.get(f"{_STORE}.encodingFormat"),
            conf.get(f"{_STORE}.rocksdb.formatVersion") if provider_of(provider) == "rocksdb" else None,
            conf.get(f"{_STORE}.compression.codec"),
        ),
    )


def _query(folders: Folders) -> str:
    there = {one.name for one in folders.inside("")}
    if not {"metadata", "offsets"} <= there:
        missing = " and ".join(sorted({"metadata", "offsets"} - there))
        raise InputError(
            f"{folders.root}: is no checkpoint of a streaming query (no {missing} in it); give the folder that was "
            f"set as checkpointLocation"
        )
    try:
        return msgspec.json.decode(text(folders, "metadata"), type=_Query).id
    except msgspec.MsgspecError as error:
        raise InputError(f"{folders.root}/metadata: {error}; the checkpoint is damaged") from None


def _rewriting(folders: Folders, last: int | None, begun: int | None, partitions: int | None) -> int | None:
    """A batch that was begun with another number of bins is a rewrite that did not come to its end."""
    if last is None or begun is None or begun <= last or partitions is None:
        return None
    asked = bins_of(folders, begun)
    return asked if asked != partitions else None


def _operators(folders: Folders, batch: int, partitions: int | None, conf: Mapping[str, str]) -> list[StateOperator]:
    found = []
    for folder in folders.inside("state"):
        if not (folder.folder and folder.name.isascii() and folder.name.isdigit()):
            continue
        told = _operator_file(folders, f"state/{folder.name}/_metadata", batch)
        names = tuple(store.name for store in told.stores)
        # The first version of this file is written once; a rewrite of state leaves it as it was.
        count = partitions or max(store.partitions for store in told.stores)
        bins = tuple(
            bin_files(folders, f"state/{folder.name}/{number}", names, number, batch + 1) for number in range(count)
        )
        layout = conf.get(_FORMAT_OF.get(told.operator.name, ""))
        found.append(StateOperator(int(folder.name), told.operator.name, names, bins, layout))
    return sorted(found, key=lambda one: one.id)


def _without_a_file(folders: Folders, path: str) -> _OperatorFile:
    """By its folders: one for each bin, and in that of a join one for each of its stores."""
    bins = [one.name for one in folders.inside(path) if one.folder and one.name.isascii() and one.name.isdigit()]
    inside = folders.inside(f"{path}/{min(bins, key=int)}") if bins else []
    stores = [one.name for one in inside if one.folder and one.name.startswith(("left-", "right-"))] or ["default"]
    return _OperatorFile(_Operator(UNKNOWN), [_Store(name, max(1, len(bins))) for name in stores])


def _operator_file(folders: Folders, path: str, batch: int) -> _OperatorFile:
    """A file; version 2 is a folder of them, one for each batch that changed it. Spark before 4.0 has none."""
    if not folders.inside(path):
        return _without_a_file(folders, path.removesuffix("/_metadata"))
    newer = [number for number in batches(folders, f"{path}/v2") if number <= batch]
    file = f"{path}/v2/{max(newer)}" if newer else f"{path}/metadata"
    version, _, body = text(folders, file).partition("\n")
    if version.strip() not in KNOWN:
        raise InputError(f"{folders.root}/{file}: version {version.strip()}; Headgate reads {' and '.join(KNOWN)}")
    try:
        told = msgspec.json.decode(body, type=_OperatorFile)
        if not told.stores or min(store.partitions for store in told.stores) < 1:
            raise msgspec.ValidationError("names no state store with bins")
        return told
    except msgspec.MsgspecError as error:
        raise InputError(f"{folders.root}/{file}: {error}; the checkpoint is damaged") from None
