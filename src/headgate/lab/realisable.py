"""What of a scenario a real Spark can be made to do: waiting is easily had, chance and interference are its own.

An operator becomes a stage whose tasks wait. Effects that a real cluster has by itself (cold executors, bins that load,
noise, the driver's time) are left to it; those that would have to be acted out, and layouts that one streaming query
does not have, are refused.
"""

from collections import Counter
from pathlib import Path

from msgspec.structs import replace

from headgate.model.errors import InputError
from headgate.simulation.virtual_job import VirtualJob, VirtualOperator
from headgate.workloads.load import Load, Product, Sum, Trace

_MOST_SLOTS = 64
"""Of a cluster on one machine."""


def refuse_what_spark_cannot_be_made_to_do(job: VirtualJob, slots: int) -> None:
    """`InputError` for the first thing about a job, or a cluster of so many slots, that cannot be had."""
    if slots > _MOST_SLOTS:
        raise InputError(
            f"[executors] most: {slots} slots in all are more than a cluster on this machine is given; with engine = "
            f'"spark" give up to {_MOST_SLOTS}'
        )
    why_not = _why_not(job)
    if why_not:
        raise InputError(f'{why_not}; leave that out, or run it with engine = "simulation"')


def _why_not(job: VirtualJob) -> str:
    """Why a job cannot be run for real, in words; empty where it can."""
    for name in ("drift", "stragglers", "cores"):
        if getattr(job, name):
            return f"{name} cannot be acted out on a real cluster"
    fed = Counter(up for one in job.operators for up in one.feeders)
    ends = [one.name for place, one in enumerate(job.operators) if not fed[place]]
    if len(ends) > 1:
        return f"operators {' and '.join(ends)} feed nothing, and a query ends in one sink"
    for place, one in enumerate(job.operators):
        if fed[place] > 1:
            return f"operator {one.name} feeds {fed[place]} others, for each of which Spark would run it anew"
        why_not = _why_not_operator(one)
        if why_not:
            return f"operator {one.name}: {why_not}"
    stateful = [one.name for one in job.operators if one.stateful]
    if len(stateful) > 1:
        return f"operators {' and '.join(stateful)} keep state, and only one of a query can here"
    return ""


def _why_not_operator(one: VirtualOperator) -> str:
    if one.contention or one.distinct:
        return f"{'contention' if one.contention else 'distinct'} cannot be acted out on a real cluster"
    if one.feeders:
        return ""
    if one.stateful:
        return "it reads the stream and keeps state, and state is kept by key, after an exchange"
    if one.hot or one.shares:
        return "it reads the stream, which comes in even parts; give the skew to an operator that is fed"
    return "" if one.weight else "weight is 0: it reads nothing that could be run"


def found_from_anywhere(load: Load, folder: Path) -> Load:
    """The same load with whole paths of its files: a source reads them from another process."""
    if isinstance(load, Trace):
        return replace(load, file=str((folder / load.file).absolute()))
    if isinstance(load, Sum | Product):
        return replace(load, parts=tuple(found_from_anywhere(part, folder) for part in load.parts))
    return load
