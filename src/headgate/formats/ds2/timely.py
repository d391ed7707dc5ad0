"""Timely's log lines, as DS2 reads them.

    Operates(OperatesEvent { id: 2, addr: [0, 0, 2], name: "FilterMap" })
    Channels(ChannelsEvent { id: 3, scope_addr: [0, 0], source: (2, 0), target: (3, 0) })
    replayed converted: <window start> (Rates(Op(<worker>, <operator>)), (p, o, p^, o^))

Every worker logs the whole dataflow. An operator's address is [worker, …scope, place in the scope]; channels name
operators by that place. Other lines are passed over, as these logs are full of them.
"""

import re

import numpy as np

from headgate.formats.ds2.lines import Place, content_lines, read_bytes
from headgate.formats.ds2.topology import placed_dataflow
from headgate.formats.ds2.windows import RatesLog, in_windows
from headgate.model.columns import read_only
from headgate.model.dataflow import Dataflow, Edge, Operator
from headgate.model.errors import InputError, did_you_mean
from headgate.model.observation import Rates

_INTEGER = r"\d{1,20}"
_INTEGERS = rf"{_INTEGER}(?:\s*,\s*{_INTEGER})*"
_OPERATES = re.compile(
    rf'Operates\(OperatesEvent\s*\{{\s*id:\s*({_INTEGER}),\s*addr:\s*\[({_INTEGERS})\],\s*name:\s*"((?:[^"\\]|\\.)*)"'
)
_CHANNELS = re.compile(
    rf"Channels\(ChannelsEvent\s*\{{\s*id:\s*{_INTEGER},\s*scope_addr:\s*\[({_INTEGERS})\],"
    rf"\s*source:\s*\(({_INTEGER}),[^)]*\),\s*target:\s*\(({_INTEGER}),[^)]*\)"
)
_NUMBER = r"[-+]?(?:\d+\.?\d*(?:[eE][-+]?\d+)?|NaN|nan|inf|Infinity)"
_RATES = re.compile(
    rf"replayed converted:\s*({_INTEGER})\s*\(Rates\(Op\(({_INTEGER}),\s*({_INTEGER})\)\),\s*"
    rf"\(({_NUMBER}),\s*({_NUMBER}),\s*({_NUMBER}),\s*({_NUMBER})\)\)"
)
_RATES_HEAD = re.compile(r"replayed converted:.*Rates\(")
_TOPOLOGY_HEAD = re.compile(r"(Operates|Channels)\(")

_Address = tuple[int, ...]


def read_timely_topology(path: str) -> Dataflow:
    """The dataflow in a Timely log; every operator has as many instances as there are workers."""
    names: dict[str, str] = {}
    workers: dict[str, set[int]] = {}
    by_address: dict[_Address, str] = {}
    channels: list[tuple[_Address, int, int, Place]] = []
    for place, text in content_lines(path, read_bytes(path)):
        if found := _OPERATES.search(text):
            address = _address(found[2])
            names.setdefault(found[1], found[3].strip())
            workers.setdefault(found[1], set()).add(address[0])
            by_address[address] = found[1]
        elif found := _CHANNELS.search(text):
            channels.append((_address(found[1]), int(found[2]), int(found[3]), place))
        elif found := _TOPOLOGY_HEAD.search(text):
            place.refuse(f"a line of {found[1]} that cannot be read; is it cut off?")
    counts = {id: len(seen) for id, seen in workers.items()}
    if not counts:
        raise InputError(f'{path}: no Timely operators; expected lines with "Operates(OperatesEvent {{ … }})"')
    most = max(counts.values())
    for id, count in counts.items():
        if count != most:
            raise InputError(
                f'{path}: operator {id} "{names[id]}" is logged by {count} of {most} workers; log all of them'
            )
    if len(counts) > 1 and not channels:
        raise InputError(f'{path}: no channels between its operators; log "Channels(ChannelsEvent {{ … }})" too')
    edges: list[tuple[Edge, Place]] = []
    for scope, source, target, place in channels:
        for end in (source, target):
            if (*scope, end) not in by_address:
                place.refuse(
                    f"no operator at address {[*scope, end]}; "
                    + ("nested scopes are not supported, log the outer one" if end == 0 else "log all operators")
                )
        edges.append((Edge(by_address[*scope, source], by_address[*scope, target]), place))
    return placed_dataflow(path, (Operator(id, most, names[id]) for id in counts), edges)


def read_timely_rates(path: str, dataflow: Dataflow, *, by_rank: bool = False) -> RatesLog:
    """The observations in a Timely log; `by_rank` numbers windows as the original does (see `windows.py`)."""
    operator, worker, start = [], [], []
    rates: list[tuple[float, ...]] = []
    for place, text in content_lines(path, read_bytes(path)):
        found = _RATES.search(text)
        if not found:
            if _RATES_HEAD.search(text):
                place.refuse("rates that cannot be read; expected (Rates(Op(worker, operator)), (p, o, p^, o^))")
            continue
        began, by, id, *numbers = found.groups()
        if id not in dataflow.index:
            place.refuse(f'operator "{id}" is not in the topology{did_you_mean(id, dataflow.index)}')
        values = tuple(map(float, numbers))
        if any(value < 0 for value in values):
            place.refuse("a rate is negative; give numbers from 0 up")
        operator.append(dataflow.index[id])
        worker.append(by)
        start.append(place.whole_number("window start", began, most=2**64 - 1))
        rates.append(values)
    if not rates:
        raise InputError(f'{path}: no rates; expected lines with "replayed converted: … (Rates(Op(…"')
    labels = {label: at for at, label in enumerate(dict.fromkeys(worker))}
    columns = [read_only(np.array(column, np.float64)) for column in zip(*rates, strict=True)]
    return in_windows(
        path,
        dataflow,
        np.array(operator, np.int32),
        np.array([labels[label] for label in worker], np.int32),
        list(labels),
        np.array(start, np.uint64),
        Rates(*columns),
        by_rank=by_rank,
    )


def _address(text: str) -> _Address:
    return tuple(map(int, text.split(",")))
