"""In which steps bins of state move, one step at each boundary between two batches; and what each step delays.

A bin that has moved is loaded by its new executor in the batch after, before its task can begin: that batch takes
longer. The strategies differ in how much of that they put into one batch:

* `sudden`: all bins in one step. The shortest migration, the longest batch.
* `fluid`: one bin a step. The shortest batches, the most of them.
* `batched`: as many bins a step as fit into the delay that is allowed, no executor twice in a step (a matching, so that
  no executor loads two bins in one batch, and none loses two).
* `hottest-first`: a bin of the executor that holds the batch back, until none does any more: what gains most comes
  first, and what need not move for that stays. Which one that is, is asked anew after every batch.

`sudden`, `fluid` and `batched` are the strategies of Megaphone (VLDB'19), with batches in place of its times.
"""

from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from statistics import median
from types import MappingProxyType
from typing import Literal, NamedTuple, TypeAlias, get_args

import msgspec

from headgate.model.microbatch import Executor
from headgate.model.placement import Bin, Move, moves, placement

Strategy: TypeAlias = Literal["sudden", "fluid", "batched", "hottest-first"]
STRATEGIES: tuple[Strategy, ...] = get_args(Strategy)
_FAR_OFF = 20.0
"""A measured load that differs by more than this many times was something else."""


class LoadTime(msgspec.Struct, frozen=True):
    """What loading a bin takes, in seconds.

    >>> LoadTime(fixed=0.2, per_byte=1e-8, at_once=2).of([30_000_000, 10_000_000])
    0.8
    """

    fixed: float = 0.3
    per_byte: float = 1e-8
    """A hundred megabytes a second."""
    at_once: int = 2
    """Loads that can go on side by side on one machine without slowing each other down."""

    def of(self, sizes: Sequence[int]) -> float:
        """Of bins that one slot loads, one after the other."""
        return sum(self.fixed + self.per_byte * size for size in sizes)

    def learned(self, seen: Sequence[tuple[int, float]]) -> "LoadTime":
        """The same in the proportion that loads (bytes, seconds) really took, by the middle one of them.

        >>> LoadTime(fixed=0.5, per_byte=1e-8).learned([(50_000_000, 2.0), (50_000_000, 2.2), (50_000_000, 1.9)])
        LoadTime(fixed=1.0, per_byte=2e-08, at_once=2)
        """
        if not seen:
            return self
        times = median(seconds / self.of([size]) for size, seconds in seen)
        times = min(max(times, 1 / _FAR_OFF), _FAR_OFF)
        return LoadTime(self.fixed * times, self.per_byte * times, self.at_once)


class Step(msgspec.Struct, frozen=True):
    """Bins that move between the same two batches."""

    moves: tuple[Move, ...]
    delay: float
    """Seconds by which the batch after it is longer, predicted."""

    @property
    def bytes(self) -> int:
        """What is loaded."""
        return sum(one.bin.bytes for one in self.moves)


class Migration(msgspec.Struct, frozen=True):
    """All steps of a migration; none where nothing need move."""

    strategy: Strategy
    steps: tuple[Step, ...]

    @property
    def moved(self) -> int:
        """Bins."""
        return sum(len(step.moves) for step in self.steps)

    @property
    def bytes(self) -> int:
        """What is loaded, over all steps."""
        return sum(step.bytes for step in self.steps)

    @property
    def longest(self) -> float:
        """The longest delay of any batch."""
        return max((step.delay for step in self.steps), default=0.0)


def migration(
    bins: Sequence[Bin],
    now: Mapping[int, str],
    executors: Sequence[Executor],
    strategy: Strategy,
    loading: LoadTime = LoadTime(),  # noqa: B008 - a value
    allowed: float = 0.0,
    leaving: Sequence[Executor] = (),
) -> Migration:
    """The steps from the present placement to an even one on `executors`; those that are `leaving` still hold bins.

    `allowed` is the delay that a batch of `batched` may have: what is left of the freshness that was promised. A step
    has one bin at the least.
    """
    slots = {one.id: one.slots for one in (*executors, *leaving)}
    todo = moves(bins, now, placement(bins, now, executors), slots)
    route = Route(bins, slots, frozenset(one.id for one in executors), strategy, loading, allowed)
    return Migration(strategy, tuple(steps(todo, now, route)))


class Route(NamedTuple):
    """All that decides how moves are cut into steps."""

    bins: Sequence[Bin]
    slots: Mapping[str, int]
    """Of all executors that hold bins or will."""
    staying: frozenset[str]
    """Those that are there afterwards."""
    strategy: Strategy
    loading: LoadTime
    allowed: float
    """Seconds that a batch may be longer."""
    hosts: Mapping[str, str] = MappingProxyType({})
    """Executor -> its machine; those of which nobody knows share one."""


def steps(todo: Sequence[Move], now: Mapping[int, str], route: Route) -> Iterator[Step]:
    """What is left to do, step by step; none where nothing is, or nothing that would help."""
    for group in _groups(todo, now, route):
        yield Step(tuple(group), delay(group, route.slots, route.loading, route.hosts))


def _groups(todo: Sequence[Move], now: Mapping[int, str], route: Route) -> Iterator[Sequence[Move]]:
    strategy = route.strategy
    if strategy == "sudden":
        if todo:
            yield todo
        return
    # Bins without a home have to be loaded in the next batch wherever they go; no strategy can spare them.
    homeless = [one for one in todo if one.source is None]
    rest = sorted((one for one in todo if one.source is not None), key=lambda one: (-one.bin.load, one.bin.number))
    if homeless:
        yield homeless
    if strategy == "batched":
        yield from _matchings(rest, route)
    elif strategy == "fluid":
        yield from ([one] for one in rest)
    else:
        home = {**now, **{one.bin.number: one.target for one in homeless}}
        yield from ([one] for one in _hottest_first(rest, home, route))


def _matchings(rest: list[Move], route: Route) -> Iterator[list[Move]]:
    """No executor takes part twice, so a step delays by its longest load, or by all of a machine as that allows."""
    loading, allowed, hosts = route.loading, route.allowed, route.hosts
    seconds = {one.bin.number: loading.of([one.bin.bytes]) for one in rest}
    quickest = min(seconds.values(), default=0.0)
    machines = {hosts.get(one.target) for one in rest}
    while rest:
        step, busy, left = [rest[0]], {rest[0].source, rest[0].target}, list[Move]()
        longest = seconds[rest[0].bin.number]
        total = dict.fromkeys(machines, 0.0)
        total[hosts.get(rest[0].target)] = longest
        full = {host for host, load in total.items() if (load + quickest) / loading.at_once > allowed}
        for place, one in enumerate(rest[1:], 1):
            if len(full) == len(machines) or longest > allowed:
                left += rest[place:]  # nothing more fits
                break
            load, host = seconds[one.bin.number], hosts.get(one.target)
            fits = load <= allowed and (total[host] + load) / loading.at_once <= allowed
            if fits and not busy & {one.source, one.target}:
                step.append(one)
                busy |= {one.source, one.target}
                longest, total[host] = max(longest, load), total[host] + load
                if (total[host] + quickest) / loading.at_once > allowed:
                    full.add(host)
            else:
                left.append(one)
        yield step
        rest = left


def delay(
    moved: Sequence[Move],
    slots: Mapping[str, int],
    loading: LoadTime,
    hosts: Mapping[str, str] = MappingProxyType({}),
) -> float:
    """What moving these in one step adds to the batch after it.

    An executor loads as many bins side by side as it has slots; all on one machine no faster than that allows.

    >>> move = Move(Bin(0, bytes=10_000_000), "a", "b")
    >>> round(delay([move, move], {"b": 1}, LoadTime(0.3, 1e-8, at_once=4)), 3)
    0.8
    >>> round(delay([move, move], {"b": 2}, LoadTime(0.3, 1e-8, at_once=1)), 3)
    0.8
    """
    at: dict[str, list[int]] = {}
    together: dict[str | None, list[int]] = {}
    for one in moved:
        at.setdefault(one.target, []).append(one.bin.bytes)
        together.setdefault(hosts.get(one.target), []).append(one.bin.bytes)
    if not at:
        return 0.0
    slowest = max(max(loading.of(sizes) / slots.get(id, 1), loading.of([max(sizes)])) for id, sizes in at.items())
    return max(slowest, max(map(loading.of, together.values())) / loading.at_once)


def _hottest_first(rest: Sequence[Move], now: Mapping[int, str], route: Route) -> Iterator[Move]:
    """Of the moves that are left, always the one that relieves the executor that holds the batch back.

    It ends where that executor has nothing left to give: nothing else that moves would make the batch shorter. What is
    on executors that do not stay has to move in any case, and goes first. `rest` has the heaviest bins first.
    """
    load = dict.fromkeys(route.slots, 0.0)

    def change(id: str | None, by: float) -> None:
        if id in load:
            load[id] += by / max(1, route.slots[id])

    for kept in route.bins:
        change(now.get(kept.number), kept.load)
    due = deque(one for one in rest if one.source not in route.staying)
    giving: dict[str | None, deque[Move]] = {}
    for one in rest:
        if one.source in route.staying:
            giving.setdefault(one.source, deque()).append(one)
    while load:
        busiest = max(load, key=load.__getitem__)
        if due:
            move = due.popleft()
        elif giving.get(busiest):
            move = giving[busiest].popleft()
        else:
            return
        yield move
        change(move.source, -move.bin.load)
        change(move.target, move.bin.load)
