"""A micro-batch as bytes, for the journal: columns as they lie in memory, the rest as MessagePack, compressed."""

import zlib
from typing import Any

import msgspec
import numpy as np

from headgate.model.columns import read_only
from headgate.model.dataflow import Dataflow, Edge, Operator
from headgate.model.microbatch import Executor, KeptState, MicroBatch, NodeOutput, Processors, SourceRead, Tasks

_COLUMNS = tuple(field for field in Tasks.__struct_fields__ if field != "executor")
_PACKED_HERE = ("dataflow", "tasks")
_DECODER = msgspec.msgpack.Decoder(dict[str, Any])
_KINDS: dict[str, Any] = {
    "stateful": frozenset[str],
    "nodes": dict[str, tuple[NodeOutput, ...]],
    "sources": tuple[SourceRead, ...],
    "state": tuple[KeptState, ...],
    "executors": tuple[Executor, ...],
    "reading": frozenset[str],
    "writing": frozenset[str],
    "processors": Processors | None,
}


def pack(batch: MicroBatch) -> bytes:
    """As bytes; `unpack` gives the same batch again, to the last figure."""
    plain = {name: getattr(batch, name) for name in MicroBatch.__struct_fields__ if name not in _PACKED_HERE}
    flow = batch.dataflow
    plain["operators"] = [flow.operators[flow.index[id]] for id in flow.declared]
    plain["edges"] = flow.edges
    ids = list(dict.fromkeys(batch.tasks.executor))
    place = {id: number for number, id in enumerate(ids)}
    plain["ran_on"] = ids
    plain["executor"] = np.array([place[id] for id in batch.tasks.executor], np.int32).tobytes()
    for name in _COLUMNS:
        column = getattr(batch.tasks, name)
        plain[f"tasks.{name}"] = (column.dtype.str, column.tobytes())
    return zlib.compress(msgspec.msgpack.encode(plain), 1)


def unpack(packed: bytes) -> MicroBatch:
    """The batch that was packed."""
    plain = _DECODER.decode(zlib.decompress(packed))
    columns = {}
    for name in _COLUMNS:
        kind, values = plain.pop(f"tasks.{name}")
        columns[name] = read_only(np.frombuffer(values, np.dtype(kind)))
    ids = plain.pop("ran_on")
    ran_on = tuple(ids[place] for place in np.frombuffer(plain.pop("executor"), np.int32))
    flow = Dataflow(
        msgspec.convert(plain.pop("operators"), list[Operator]), msgspec.convert(plain.pop("edges"), list[Edge])
    )
    for name, kind in _KINDS.items():
        if name in plain:  # a journal of an earlier version lacks what was added since
            plain[name] = msgspec.convert(plain[name], kind)
    return MicroBatch(dataflow=flow, tasks=Tasks(executor=ran_on, **columns), **plain)
