"""A simulated copy of a real job: what its batches say about each operator, put into a virtual job.

    fixed, per record   the fitted line of slot time, without contention; all per record where tasks were too alike
    selectivity         records that reached the next operator for each that came in
    distinct            where output grew slower than input: the level at which it would stop
    shares              the part of the records that each partition had, unless they were even
    driver, noise       median time without a task; spread of task times about the line
    contention, cold    as far as it was seen

What a twin does not know: the load (that is given), memory, other queries of the application, and sizes far from those
that were seen. Nor how long bins take to load, how often a task straggles and what the driver takes for each task:
moving state is free, stragglers are noise, and the driver takes as long as it did. Whoever knows them writes them into
the file (`bin-load`, `stragglers`, `driver-per-task`).
"""

import math
from collections.abc import Sequence
from statistics import median

import msgspec
import numpy as np

from headgate.lab.job_table import JobTable, table_from_job
from headgate.model.bins import homes
from headgate.model.capacity import Capacity, OperatorCapacity
from headgate.model.columns import Floats
from headgate.model.learned_capacity import capacity
from headgate.model.microbatch import MicroBatch
from headgate.model.profile import QueryProfile, profile
from headgate.model.warm import on_the_last_pool, warm
from headgate.simulation.virtual_job import VirtualJob, VirtualOperator
from headgate.simulation.virtual_spark import VirtualSpark

_EVEN = 1.2
"""A partition with less than so many times its even share is as large as the others, but for chance."""
_LINEAR = 0.95
"""Output that grows with at least this power of the input grows in proportion."""


def twin(batches: Sequence[MicroBatch], name: str = "") -> JobTable:
    """The twin of one query, from batches that ran."""
    counted = on_the_last_pool(warm(batches))
    known, told = capacity(batches), profile(batches)
    fitted = tuple(_operator(place, known) for place in range(len(known.operators)))
    noise = _noise(fitted, known)
    operators = tuple(_without_noise(one, noise) for one in fitted)
    cold = told.cold.seconds / len(operators) if told.cold is not None else 0.0
    job = VirtualJob(
        operators,
        driver=_figures(told.driver),
        trigger=told.arrivals.trigger,
        limit=told.arrivals.limit,
        noise=_figures(noise),
        cold=_figures(cold),
    )
    slots = max(known.pool.slots)
    title = name or counted[-1].name or counted[-1].query
    return table_from_job(title, job, executors=len(known.pool.slots), slots=slots, about=_about(told))


def _about(told: QueryProfile) -> str:
    return f"a twin of {told.counted} batches at {told.arrivals.rate:,.0f} records/s on {told.slots} slots"


def _operator(place: int, known: Capacity) -> VirtualOperator:
    one = known.operators[place]
    ran = [replay for replay in known.replays if replay.seconds[place].size]
    tasks = one.partitions
    usual = [(float(replay.seconds[place].mean()), float(replay.taken[place].mean())) for replay in ran]
    fixed, per_record = _costs(one, usual)
    slower = one.contention.slowdown(min(tasks, known.pool.total))
    selectivity, distinct = _output(place, known)
    source = not one.feeders
    return VirtualOperator(
        one.name,
        tasks,
        _figures(fixed / slower + max(known.dispatch, 0.0)),
        _figures(per_record / slower),
        one.feeders,
        _figures(selectivity),
        stateful=one.stateful,
        shares=_shares([replay.taken[place] for replay in ran], tasks),
        distinct=_figures(distinct),
        contention=one.contention.seen if len(one.contention.seen) > 1 else (),
        weight=_figures(_taken(place, known) if one.source else 0.0) if source else 1.0,
    )


def _without_noise(fitted: VirtualOperator, noise: float) -> VirtualOperator:
    """Costs are those of the mean task, and noise makes tasks longer on average: exp(noise^2 / 2) times."""
    longer = math.exp(noise**2 / 2)
    return msgspec.structs.replace(
        fitted, fixed=_figures(fitted.fixed / longer), per_record=_figures(fitted.per_record / longer)
    )


def _costs(one: OperatorCapacity, usual: Sequence[tuple[float, float]]) -> tuple[float, float]:
    """Of a task and of a record, so that tasks of the usual records take the usual seconds; a pair a batch."""
    if one.line is not None:
        fixed, per_record = max(one.line.base.value, 0.0), max(one.line.slope.value, 0.0)
    elif not usual:
        return 0.0, 0.0  # so rare that no batch that is looked at again has it: it costs next to nothing
    else:
        fixed, per_record = (0.0, 1.0) if usual[-1][1] >= 1 else (1.0, 0.0)
    factors = [
        seconds / (fixed + per_record * records) for seconds, records in usual if fixed + per_record * records > 0
    ]
    factor = median(factors) if factors else 1.0
    return fixed * factor, per_record * factor


def _taken(place: int, known: Capacity) -> float:
    """Records of a batch that reach an operator."""
    return float(np.mean([replay.taken[place].sum() for replay in known.replays]))


def _output(place: int, known: Capacity) -> tuple[float, float]:
    """Records out for each record in, and the keys of a task at which that levels off (0: it does not)."""
    one, came = known.operators[place], _taken(place, known)
    fed = [other for other, operator in enumerate(known.operators) if place in operator.feeders]
    if len(fed) == 1 and known.operators[fed[0]].feeders == (place,):
        out = _taken(fed[0], known)  # what arrives is what counts, whatever the writer says
    else:
        out = float(np.mean([replay.put_out[place] for replay in known.replays]))
    if came <= 0:
        return 1.0, 0.0
    if one.growth >= _LINEAR or out <= 0:
        return out / came, 0.0
    # out = d (1 - exp(-x)) with x = s n / d grows with the power x / (exp(x) - 1) of n: find x, then d and s.
    x = _where_growth_is(one.growth)
    distinct = out / one.partitions / -math.expm1(-x)
    return x * distinct / (came / one.partitions), distinct


def _where_growth_is(power: float) -> float:
    """The x with x / (exp(x) - 1) = power, by halving.

    >>> round(_where_growth_is(1 / (2.718281828 - 1)), 4)
    1.0
    """
    low, high = 1e-6, 20.0
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if middle / math.expm1(middle) > power else (low, middle)
    return low


def _shares(taken: Sequence[Floats], tasks: int) -> tuple[float, ...]:
    """Of each partition, over all batches that were cut alike; empty where they are even."""
    alike = [one for one in taken if one.size == tasks and one.sum() > 0]
    if not alike:
        return ()
    parts = np.mean([one / one.sum() for one in alike], axis=0)
    return () if parts.max() <= _EVEN / tasks else tuple(_figures(part) for part in parts.tolist())


def _noise(operators: Sequence[VirtualOperator], known: Capacity) -> float:
    """Spread of the logarithm of task times about what the costs say, by medians: a straggler or two do not count."""
    left = []
    for place, operator in enumerate(operators):
        for replay in known.replays:
            said = operator.fixed + operator.per_record * replay.taken[place]
            good = (replay.seconds[place] > 0) & (said > 0)
            left.append(np.log(replay.seconds[place][good] / said[good]))
    rest = np.concatenate(left) if left else np.zeros(1)
    return float(1.4826 * np.median(np.abs(rest - np.median(rest)))) if rest.size else 0.0


def _figures(value: float) -> float:
    """Six figures: a file is for people to read."""
    return float(f"{value:.6g}")


def batch_times(job: VirtualJob, batches: Sequence[MicroBatch], seed: int = 0) -> list[float]:
    """How long the twin takes for batches of these very records, on executors like theirs, with state where it lay."""
    last = batches[-1]
    due = [0]
    virtual = VirtualSpark(
        VirtualJob(job.operators, job.driver, None, None, job.noise, driver_per_task=job.driver_per_task),
        lambda at: due[0],
        executors=max(1, len(last.executors)),
        slots=max([executor.slots for executor in last.executors], default=1) or 1,
        seed=seed,
    )
    names = {executor.id: there.id for executor, there in zip(last.executors, virtual.executors(), strict=False)}
    lie = homes(last)
    for operator in job.operators:
        if operator.stateful:
            places = [names.get(lie.get(number, ""), "0") for number in range(operator.partitions)]
            virtual.homes[operator.name] = places
    took = []
    for batch in batches:
        if batch.input_rows:
            due[0] += batch.input_rows
            took.append(virtual.run_batch().duration / 1000)
    return took
