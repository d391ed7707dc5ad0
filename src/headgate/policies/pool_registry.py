"""Policies for a pool of executors, by name."""

from collections.abc import Callable
from typing import NamedTuple

from headgate.model.errors import InputError, did_you_mean
from headgate.policies.capacity import CapacityPolicy
from headgate.policies.conttune import ContTune
from headgate.policies.daedalus import Daedalus
from headgate.policies.dhalion import Dhalion
from headgate.policies.dstreams import DStreams
from headgate.policies.flink import Flink
from headgate.policies.for_pool import ForPool
from headgate.policies.hpa import Hpa
from headgate.policies.latency_rule import LatencyRule
from headgate.policies.managed import Managed
from headgate.policies.mpc import Mpc
from headgate.policies.pid import Pid
from headgate.policies.pool import PoolPolicy
from headgate.policies.protocol import Policy
from headgate.policies.queueing import Queueing
from headgate.policies.reactive import Reactive
from headgate.policies.shared_slots import SharedSlots
from headgate.policies.spark_dra import SparkDra
from headgate.policies.static import Static
from headgate.policies.threshold import Threshold
from headgate.policies.varga import Varga


class PoolEntry(NamedTuple):
    """How to make a policy, and whether its answers come at the times at which they are to be followed."""

    make: Callable[[], PoolPolicy]
    own_timing: bool = True
    """False: it answers what is needed now, and a controller decides when to follow."""


def _of_operators(policy: Callable[[], Policy]) -> PoolEntry:
    return PoolEntry(lambda: ForPool(policy()))


POOL_POLICIES: dict[str, PoolEntry] = {
    "capacity": PoolEntry(CapacityPolicy, own_timing=False),
    "ds2": PoolEntry(SharedSlots, own_timing=False),
    "static": PoolEntry(Static),
    "conttune": _of_operators(ContTune),
    "daedalus": _of_operators(Daedalus),
    "dhalion": _of_operators(Dhalion),
    "dstreams": PoolEntry(DStreams),
    "flink": _of_operators(Flink),
    "hpa": _of_operators(Hpa),
    "latency-rule": _of_operators(LatencyRule),
    "managed": _of_operators(Managed),
    "mpc": _of_operators(Mpc),
    "pid": _of_operators(Pid),
    "queueing": _of_operators(Queueing),
    "reactive": _of_operators(Reactive),
    "spark-dra": PoolEntry(SparkDra),
    "threshold": _of_operators(Threshold),
    "varga": _of_operators(Varga),
}


def pool_policy(name: str) -> PoolPolicy:
    """The policy of this name.

    >>> pool_policy("capacity").name
    'capacity'
    """
    if name not in POOL_POLICIES:
        raise InputError(f'policy "{name}" is not one for executors{did_you_mean(name, POOL_POLICIES)}')
    return POOL_POLICIES[name].make()
