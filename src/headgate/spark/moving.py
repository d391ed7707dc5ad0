"""Bins of state move from executor to executor while their query runs: step by step, each seen to have happened.

A step is placed right after a batch was reported and takes effect in the next one, unless that has begun already; so
where a bin lives is believed only from the executor that its task ran on. A bin that stays is told again, and in the
end given up.
"""

from collections import Counter, deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from statistics import median
from types import MappingProxyType
from typing import NamedTuple

from headgate.control.settings import Settings
from headgate.model.bins import homes, task_seconds, weighed, whereabouts
from headgate.model.microbatch import Executor, MicroBatch
from headgate.model.migration import LoadTime, Route, Step, Strategy, steps
from headgate.model.objective import Freshness
from headgate.model.placement import Bin, moves, placement
from headgate.model.reasons import many

_TRIES = 5
"""Steps after which a bin that does not move is given up."""
_HALF_AGAIN = 0.5
"""Where nobody says how long a batch may take, it may take this part of its time longer."""


class Way(NamedTuple):
    """How bins move where nobody says otherwise."""

    strategy: Strategy = "batched"
    freshness: float | None = None
    """Seconds from a record's arrival to its result that were promised."""


def way_of(settings: Settings) -> Way:
    """As a controller's settings have it."""
    objective = settings.objective
    return Way(settings.moves, float(objective.within) if isinstance(objective, Freshness) else None)


class Query(NamedTuple):
    """What is needed of a running query."""

    name: str
    trigger: float | None
    batches: Callable[[], Sequence[MicroBatch]]
    """Its last ones."""
    place: Callable[[Mapping[int, str]], None]
    """Say where bins live from now on."""
    next_batch: Callable[[], bool]
    """Wait for its end; False where none comes."""
    executors: Callable[[], frozenset[str]]
    """Those that are there, by id."""
    sizes: Mapping[int, int] = MappingProxyType({})
    """Bin -> its bytes, where somebody knows."""


class Moving:
    """Moves bins, and learns from each how long loading takes."""

    def __init__(self, way: Way) -> None:
        self._way = way
        self._loads: deque[tuple[int, float]] = deque(maxlen=20)
        """Bytes of a bin, and how much longer its first batch elsewhere took."""

    @property
    def loading(self) -> LoadTime:
        """What loading a bin takes, by what was seen."""
        return LoadTime().learned(self._loads)

    def allowed(self, took: float, trigger: float | None) -> float:
        """Seconds that a batch may take longer: what is left of the freshness promised, or of its interval."""
        if self._way.freshness is not None:
            return max(0.0, self._way.freshness - max(trigger or 0.0, took) - took)
        return max(0.0, trigger - took) if trigger is not None else _HALF_AGAIN * took

    def settle(
        self,
        query: Query,
        executors: Sequence[Executor],
        strategy: Strategy | None = None,
        to: Mapping[int, str] | None = None,
    ) -> Iterator[str]:
        """Put all bins evenly on these executors, or some where they are told; what was done, as it is done."""
        batches = query.batches()
        if not batches or not batches[-1].stateful or not executors:
            return
        plan = self._planned(query, batches, executors, strategy, to)
        now, tried, moved = dict(homes(batches[-1])), Counter[int](), 0
        while True:
            gone = set(plan.target.values()) - query.executors()
            if gone:
                yield f"executor {', '.join(sorted(gone))} is gone; bins of {query.name} stay where they are for now"
                return
            last = query.batches()[-1]
            known = whereabouts(last)
            now = {number: home for number, home in now.items() if number not in known} | dict(homes(last))
            route = plan.route._replace(loading=self.loading)
            left = moves(route.bins, now, plan.target, route.slots, known)
            todo = [one for one in left if tried[one.bin.number] < _TRIES]
            step = next(steps(todo, now, route), None)
            if step is None:
                break
            tried.update(one.bin.number for one in step.moves)
            query.place({one.bin.number: one.target for one in step.moves})
            shown = self._shown(query, step, plan.route.bins)
            if shown is None:
                # Nothing runs: no batch is there to be made longer, and what is left unsaid would stay where it is.
                query.place({one.bin.number: one.target for one in todo})
                told = f"{many(len(todo), 'bin')} of {query.name} {'is' if len(todo) == 1 else 'are'} told to move"
                yield f"{told}; no batch has shown it"
                return
            there, batch = shown
            moved += there
            yield (
                f"{_named(step)}: {there} of {len(step.moves)} there in batch {batch.number}, "
                f"which took {batch.duration / 1000:.1f} s; {step.delay:.1f} s of it were expected for that"
            )
        yield _ended(query.name, now, plan.target, moved, len(todo), tried)

    def _planned(
        self,
        query: Query,
        batches: Sequence[MicroBatch],
        executors: Sequence[Executor],
        strategy: Strategy | None,
        to: Mapping[int, str] | None,
    ) -> "_Plan":
        bins, now = weighed(batches, query.sizes), homes(batches[-1])
        took = median(batch.duration / 1000 for batch in batches)
        how = strategy or self._way.strategy
        if strategy is None and query.trigger is not None and took > query.trigger:
            how = "sudden"  # it is late already: what counts is when it no longer is
        return _Plan(
            {**now, **to} if to else placement(bins, now, executors),
            Route(
                bins,
                # Those that are about to leave hold bins too, and are in the last batch.
                {one.id: one.slots for one in (*batches[-1].executors, *executors)},
                frozenset(one.id for one in executors),
                how,
                self.loading,
                self.allowed(took, query.trigger),
                {one.id: one.host for one in executors},
            ),
        )

    def _shown(self, query: Query, step: Step, bins: Sequence[Bin]) -> tuple[int, MicroBatch] | None:
        """How many bins are where the step put them, and the batch that shows it."""
        usual = {one.number: one.load for one in bins}
        there: set[int] = set()
        # One batch may have begun before the bins were placed: only the one after it shows them for certain.
        for _ in range(2):
            if not query.next_batch():
                return None
            batch = query.batches()[-1]
            now, took = homes(batch), task_seconds(batch)
            for one in step.moves:
                number = one.bin.number
                if now.get(number) == one.target and number not in there:
                    there.add(number)
                    if number in took:  # by chance shorter than usual, too, or all loads would seem long
                        self._loads.append((one.bin.bytes, max(0.0, took[number] - usual[number])))
            if len(there) == len(step.moves):
                break
        return len(there), batch


class _Plan(NamedTuple):
    """What a migration is to come to, fixed when it begins."""

    target: Mapping[int, str]
    route: Route


def _ended(
    name: str, now: Mapping[int, str], target: Mapping[int, str], moved: int, left: int, tried: Counter[int]
) -> str:
    stuck = [number for number, home in target.items() if now.get(number) != home and tried[number] >= _TRIES]
    if stuck:
        return f"{many(len(stuck), 'bin')} of {name} did not move: {', '.join(map(str, stuck))}"
    done = f"{many(moved, 'bin')} of {name} {'has' if moved == 1 else 'have'} moved"
    if left:
        return f"{done}; the other {left} {'does' if left == 1 else 'do'} not hold it back"
    return f"{done}: all are where they should be"


def _named(step: Step) -> str:
    """What a step does, in words."""
    where: dict[str, list[int]] = {}
    for one in step.moves:
        where.setdefault(one.target, []).append(one.bin.number)
    return "; ".join(
        f"bin{'s' if len(numbers) > 1 else ''} {', '.join(map(str, numbers))} to executor {target}"
        for target, numbers in where.items()
    )
