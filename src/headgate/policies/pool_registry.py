"""Policies for a pool of executors, by name."""

from collections.abc import Callable

from headgate.model.errors import InputError, did_you_mean
from headgate.policies.capacity import CapacityPolicy
from headgate.policies.pool import PoolPolicy
from headgate.policies.shared_slots import SharedSlots
from headgate.policies.static import Static

POOL_POLICIES: dict[str, Callable[[], PoolPolicy]] = {
    "capacity": CapacityPolicy,
    "ds2": SharedSlots,
    "static": Static,
}


def pool_policy(name: str) -> PoolPolicy:
    """The policy of this name.

    >>> pool_policy("capacity").name
    'capacity'
    """
    if name not in POOL_POLICIES:
        raise InputError(f'policy "{name}" is not one for executors{did_you_mean(name, POOL_POLICIES)}')
    return POOL_POLICIES[name]()
