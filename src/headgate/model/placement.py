"""Which executor should hold which bin of state: even by load, with as few moves as that takes.

Bins whose executor is gone go first, the heaviest to wherever there is most room. Then, as long as the busiest executor
would still be the busier one if the idlest took the heaviest bin there is, the busiest gives the idlest the bin that
comes nearest to evening them out. Executors that joined take lighter bins after that for as long as it helps: one hot
bin is no reason to leave the rest of a new executor idle. What follows from that:

* executors end up within one bin of each other, by load per slot;
* with bins of one weight no bin moves that need not;
* when executors join a balanced pool, bins move to the new ones only, and those draw from all the old ones: old ones
  never differ by more than a bin, since it is always the busiest that gives.
"""

import heapq
from bisect import bisect_left, insort
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import NamedTuple

import msgspec

from headgate.model.microbatch import Executor


class Bin(msgspec.Struct, frozen=True):
    """One partition of a query's state, all its stores together."""

    number: int
    load: float = 1.0
    """What it costs its executor: seconds a batch, or 1 where that is not known."""
    bytes: int = 0
    """What has to be loaded when it moves."""


class Move(NamedTuple):
    """A bin goes from one executor to another; `source` is None where its executor is gone."""

    bin: Bin
    source: str | None
    target: str


def placement(bins: Sequence[Bin], now: Mapping[int, str], executors: Sequence[Executor]) -> dict[int, str]:
    """Bin -> the executor that should hold it, for every bin.

    >>> a, b = Executor("a", "h", 1), Executor("b", "h", 1)
    >>> placement([Bin(0), Bin(1), Bin(2), Bin(3)], {0: "a", 1: "a", 2: "a", 3: "gone"}, [a, b])
    {0: 'a', 1: 'a', 2: 'b', 3: 'b'}
    """
    held = _Held(executors, bins, now)
    orphans = [one for one in bins if now.get(one.number) not in held.slots]
    for one in sorted(orphans, key=lambda one: (-one.load, one.number)):
        held.put(one, held.idlest())
    heaviest = max((one.load for one in bins), default=0.0)
    while (busy := held.busiest()) != (idle := held.idlest()) and held.better_off(busy, idle, heaviest):
        held.put(held.take(busy, held.surplus(busy, idle)), idle)
    while (new := held.idlest_newcomer()) is not None and (busy := held.busiest()) not in held.newcomers:
        surplus = held.surplus(busy, new)
        if not held.better_off(busy, new, held.nearest(busy, surplus)):
            break
        held.put(held.take(busy, surplus), new)
    return dict(sorted(held.home.items()))


def moves(
    bins: Iterable[Bin],
    now: Mapping[int, str],
    target: Mapping[int, str],
    there: Iterable[str],
    parts: Mapping[int, Collection[str]] | None = None,
) -> list[Move]:
    """What has to go elsewhere, by bin; a bin without a target stays.

    `parts` are the executors that hold a bin where it has no home, because the stages of two operators do not agree.

    >>> moves([Bin(0), Bin(1), Bin(2)], {0: "a"}, {0: "b", 1: "b"}, ["a", "b"], {1: {"a", "b"}})
    ... # doctest: +NORMALIZE_WHITESPACE
    [Move(bin=Bin(number=0, load=1.0, bytes=0), source='a', target='b'),
     Move(bin=Bin(number=1, load=1.0, bytes=0), source='a', target='b')]
    """
    known = set(there)

    def source(number: int, to: str) -> str | None:
        holding = {now[number]} if number in now else set((parts or {}).get(number, ()))
        return min((holding & known) - {to}, default=None)

    return [
        Move(one, source(one.number, target[one.number]), target[one.number])
        for one in sorted(bins, key=lambda one: one.number)
        if one.number in target and now.get(one.number) != target[one.number]
    ]


class _Held:
    """Who holds what, while bins are being dealt out."""

    def __init__(self, executors: Sequence[Executor], bins: Sequence[Bin], now: Mapping[int, str]) -> None:
        self.slots = {one.id: one.slots for one in executors if one.slots > 0}
        if not self.slots:
            raise ValueError("there is no executor to hold the bins")
        self._rank = {id: place for place, id in enumerate(self.slots)}
        self._bins: dict[str, list[tuple[float, int, Bin]]] = {id: [] for id in self.slots}
        """By load; of equals the one with the higher number moves first, so that low ones stay put."""
        self._load = dict.fromkeys(self.slots, 0.0)
        self.newcomers = self.slots.keys() - now.values()
        """Those that hold nothing yet."""
        self.home: dict[int, str] = {}
        for one in bins:
            home = now.get(one.number)
            if home in self.slots:
                self._bins[home].append((one.load, one.number, one))
                self._load[home] += one.load
                self.home[one.number] = home
        for kept in self._bins.values():
            kept.sort()
        # Heaps that are never tidied up: an entry counts only if its load is the present one.
        self._busy = [(-self._per_slot(id), self._rank[id], id) for id in self.slots]
        self._idle = [(self._per_slot(id), self._rank[id], id) for id in self.slots]
        self._idle_new = [one for one in self._idle if one[2] in self.newcomers]
        heapq.heapify(self._busy)
        heapq.heapify(self._idle)
        heapq.heapify(self._idle_new)

    def _per_slot(self, id: str) -> float:
        return self._load[id] / self.slots[id]

    def busiest(self) -> str:
        while -self._busy[0][0] != self._per_slot(self._busy[0][2]):
            heapq.heappop(self._busy)
        return self._busy[0][2]

    def idlest(self) -> str:
        while self._idle[0][0] != self._per_slot(self._idle[0][2]):
            heapq.heappop(self._idle)
        return self._idle[0][2]

    def idlest_newcomer(self) -> str | None:
        while self._idle_new and self._idle_new[0][0] != self._per_slot(self._idle_new[0][2]):
            heapq.heappop(self._idle_new)
        return self._idle_new[0][2] if self._idle_new else None

    def better_off(self, busy: str, idle: str, load: float) -> bool:
        """Whether the one would still be the busier if the other took a bin of this load; not by a rounding error."""
        with_it = (self._load[idle] + load) / self.slots[idle]
        return self._per_slot(busy) > with_it * (1 + 1e-9) and load > 0

    def surplus(self, busy: str, idle: str) -> float:
        """What must go from one to the other to make them even."""
        here, there = self.slots[busy], self.slots[idle]
        return (self._load[busy] * there - self._load[idle] * here) / (here + there)

    def nearest(self, id: str, load: float) -> float:
        """The load of the bin of an executor that is nearest to this."""
        return self._bins[id][self._place(id, load)][0]

    def take(self, id: str, load: float) -> Bin:
        """The bin of an executor whose load is nearest to this."""
        _, _, taken = self._bins[id].pop(self._place(id, load))
        self._change(id, -taken.load)
        return taken

    def _place(self, id: str, load: float) -> int:
        kept = self._bins[id]
        above = bisect_left(kept, (load,))
        if above == len(kept):
            return above - 1
        if above == 0 or kept[above][0] - load < load - kept[above - 1][0]:
            # Of all that weigh the same the last one.
            return bisect_left(kept, (kept[above][0], float("inf"))) - 1
        return above - 1

    def put(self, one: Bin, id: str) -> None:
        insort(self._bins[id], (one.load, one.number, one))
        self.home[one.number] = id
        self._change(id, one.load)

    def _change(self, id: str, by: float) -> None:
        self._load[id] += by
        heapq.heappush(self._busy, (-self._per_slot(id), self._rank[id], id))
        heapq.heappush(self._idle, (self._per_slot(id), self._rank[id], id))
        if id in self.newcomers:
            heapq.heappush(self._idle_new, (self._per_slot(id), self._rank[id], id))
