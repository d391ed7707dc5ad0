"""Batches that ran -> the capacity of their query: what scaling needs to know of each operator, with the evidence."""

from collections.abc import Sequence
from statistics import median

import numpy as np

from headgate.model.batch_times import dispatch_seconds, driver_seconds, most_at_once
from headgate.model.capacity import Capacity, OperatorCapacity, Pool, Replay
from headgate.model.contention import Computing, contention
from headgate.model.line import Line, line_through, weighted_median
from headgate.model.microbatch import MicroBatch
from headgate.model.schedule import ANYWHERE
from headgate.model.warm import on_the_last_pool, warm
from headgate.model.work import Work, work

_MOST_REPLAYS = 15
_MOST_POINTS = 300
_MOST_TASKS_REPLAYED = 10_000
_MOST_TASKS_LOOKED_AT = 30_000
_FIT = 0.2
_MOST_BEYOND = 3.0
"""So many times what tasks account for is the most processor time that is taken for theirs."""
_WIDER = 2.0
"""Batches of other pools are asked as well where they differ so many times as much in size: that tells fixed cost."""


def capacity(batches: Sequence[MicroBatch], replays: int = _MOST_REPLAYS, points: int = _MOST_POINTS) -> Capacity:
    """What these batches of one query say; those on the last pool are run again, the others teach contention.

    At most `replays` are run again, evenly chosen, and at most `points` tasks tell fixed cost from cost per record:
    fewer are faster, more know it better.
    """
    counted = _thinned(warm(batches))
    last = on_the_last_pool(counted)
    flow = whole_dataflow(last)
    executors = [executor for executor in last[-1].executors if executor.slots > 0]
    places = {executor.id: place for place, executor in enumerate(executors)}
    tasks = max(1, *(batch.tasks.operator.size for batch in last))
    some = min(len(last), replays, max(1, _MOST_TASKS_REPLAYED // tasks))
    chosen = [last[place] for place in np.unique(np.linspace(0, len(last) - 1, some).astype(int)).tolist()]
    return Capacity(
        tuple(_operator(name, flow, counted, last, batches, points) for name in flow),
        Pool(tuple(executor.slots for executor in executors) or (most_at_once(last),)),
        float(np.median([batch.input_rows for batch in last])),
        float(np.median([dispatch_seconds(batch) for batch in chosen])),
        tuple(_replay(batch, list(flow), places) for batch in chosen),
    )


def _thinned(batches: Sequence[MicroBatch]) -> Sequence[MicroBatch]:
    """Of batches with very many tasks a few are enough: the last ones, and the last of every other pool."""
    kept, tasks, pools = [], 0, set[int]()
    for batch in reversed(batches):
        if tasks < _MOST_TASKS_LOOKED_AT or batch.slots not in pools:
            kept.append(batch)
            tasks += batch.tasks.operator.size
            pools.add(batch.slots)
    return kept[::-1]


def whole_dataflow(batches: Sequence[MicroBatch]) -> dict[str, tuple[str, ...]]:
    """All operators of these batches, upstream first, each with those that feed it, whichever batch they ran in."""
    feeders: dict[str, dict[str, None]] = {}
    for batch in sorted(batches, key=lambda one: -len(one.dataflow.operators)):
        for name in batch.dataflow.ids:
            feeders.setdefault(name, {})
        for edge in batch.dataflow.edges:
            feeders[edge.target].setdefault(edge.source)
    ordered: dict[str, tuple[str, ...]] = {}
    while len(ordered) < len(feeders):
        ready = [name for name in feeders if name not in ordered and feeders[name].keys() <= ordered.keys()]
        # Batches that disagree about who feeds whom make a circle; it is cut where it was first met.
        for name in ready or [next(name for name in feeders if name not in ordered)]:
            ordered[name] = tuple(up for up in feeders[name] if up in ordered)
    return ordered


def _operator(
    name: str,
    flow: dict[str, tuple[str, ...]],
    counted: Sequence[MicroBatch],
    last: Sequence[MicroBatch],
    seen: Sequence[MicroBatch],
    points: int,
) -> OperatorCapacity:
    tasks = [work(name, batch) for batch in last]
    line = _line(tasks, points)
    if line is None or _range(counted) > _WIDER * _range(last):
        # What a record costs depends little on the pool. Cold batches say least, but a query that falls behind has no
        # others of different size; what they say must fit what the warm ones took.
        others = (_line([work(name, one) for one in more], points) for more in (counted, seen))
        line = next((one for one in others if one is not None and _fits(one, tasks)), line)
    index = {one: place for place, one in enumerate(flow)}
    feeders = tuple(index[up] for up in flow[name])
    reading = {one for batch in last for one in batch.reading}
    return OperatorCapacity(
        name,
        feeders,
        any(name in batch.stateful for batch in last),
        line,
        _growth(name, last),
        contention(_slowdowns(name, counted, line), _computing(name, counted)),
        int(median(one.rows.size for one in tasks if one.rows.size)),
        name in reading if reading else not feeders,
    )


def _range(batches: Sequence[MicroBatch]) -> float:
    """How many times the records of the smallest batch the largest one has."""
    sizes = [batch.input_rows for batch in batches if batch.input_rows > 0]
    return max(sizes) / min(sizes) if sizes else 1.0


def _line(tasks: Sequence[Work], points: int) -> Line | None:
    """Slot time against records, over tasks of several batches."""
    records = np.concatenate([one.records for one in tasks]).astype(np.float64)
    return line_through(records, np.concatenate([one.seconds for one in tasks]), points)


def _fits(line: Line, tasks: Sequence[Work]) -> bool:
    """Whether a line that other tasks gave explains these, on the whole."""
    records = sum(one.taken for one in tasks) / sum(one.rows.size for one in tasks)
    measured = float(np.median(np.concatenate([one.seconds for one in tasks])))
    said = line.base.value + line.slope.value * records
    believable = line.slope.value > 0 and line.base.value >= -_FIT * measured
    return believable and abs(said - measured) <= _FIT * measured


def _growth(name: str, batches: Sequence[MicroBatch]) -> float:
    """The power of records in with which records out grow, by the line through their logarithms; 1 if untold."""
    taken, put_out = [], []
    for batch in batches:
        did = work(name, batch)
        if did.taken > 0 and did.put_out > 0:
            taken.append(did.taken)
            put_out.append(did.put_out)
    if not taken or max(taken) < 1.25 * min(taken):
        return 1.0
    # Doubling is what matters, so a logarithm; its scale is stretched because a line asks for a spread of values.
    scale = 100.0
    through = line_through(
        scale * np.log(np.array(taken, float) / min(taken)), scale * np.log(np.array(put_out, float))
    )
    return 1.0 if through is None else min(1.0, max(0.0, through.slope.value))


def _slowdowns(name: str, counted: Sequence[MicroBatch], line: Line | None) -> list[tuple[int, float]]:
    """For each batch, its tasks at once and how long they took, made comparable by the line where there is one."""
    points = []
    fixed, per_record = (max(line.base.value, 0.0), max(line.slope.value, 0.0)) if line is not None else (1.0, 0.0)
    for batch in counted:
        did = work(name, batch)
        if did.rows.size:
            expected = fixed + per_record * did.taken / did.rows.size or 1.0
            points.append((_at_once(name, batch, did), did.mean_seconds / expected))
    return points


def _at_once(name: str, batch: MicroBatch, did: Work) -> int:
    """By what the pool allows: how many happened to run side by side differs from batch to batch by chance."""
    return min(_slots_for(name, batch, did) or most_at_once([batch]), did.rows.size)


def _computing(name: str, counted: Sequence[MicroBatch]) -> Computing | None:
    """How much tasks compute in the batches with the fewest of them at once; None where nobody knows.

    A task's own account has only its thread in the JVM. What the machine spent beyond that (Python workers, compilers,
    flushes of state) is dealt out in proportion to it, up to a limit: far more than that is somebody else's.

    Batches count by the time of their tasks: in small ones most of that is fixed cost, which computes, and of large
    ones, which are what is asked about where a load has grown, it is a small part.
    """
    did = [(batch, work(name, batch)) for batch in counted]
    at_once = [(_at_once(name, batch, one), batch, one) for batch, one in did if one.rows.size]
    fewest = min((number for number, _, _ in at_once), default=0)
    parts, times, processors = [], [], 0
    for number, batch, one in at_once:
        accounted = float(batch.tasks.cpu_ns.sum()) / 1e9
        if number == fewest and batch.processors is not None and accounted > 0 and one.mean_seconds > 0:
            processors = max(1, batch.processors.count)
            beyond = min(max(batch.processors.busy / accounted, 1.0), _MOST_BEYOND)
            own = float(batch.tasks.cpu_ns[one.rows].mean()) / 1e9 * beyond
            parts.append(min(1.0, own * max(1.0, number / processors) / one.mean_seconds))
            times.append(float(one.seconds.sum()))
    return Computing(weighted_median(np.array(parts), np.array(times)), processors) if parts else None


def _slots_for(name: str, batch: MicroBatch, did: Work) -> int:
    """Slots that could take its tasks: all there are or, of an operator with state, those where its state lives."""
    if name not in batch.stateful:
        return batch.slots
    return sum(executor.slots for executor in batch.executors if executor.id in did.held_by)


def _replay(batch: MicroBatch, names: Sequence[str], places: dict[str, int]) -> Replay:
    did = [work(name, batch) for name in names]
    homes = tuple(tuple(places.get(batch.tasks.executor[row], ANYWHERE) for row in one.rows.tolist()) for one in did)
    return Replay(
        driver_seconds(batch),
        float(batch.input_rows),
        tuple(one.seconds for one in did),
        tuple(one.records.astype(np.float64) for one in did),
        tuple(float(one.put_out) for one in did),
        homes,
    )
