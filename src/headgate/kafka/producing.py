"""A workload written to a topic at the rate of a load, by several processes.

Event n is due when the load has come to more than n records, less the number that it begins with, whoever writes it:
the processes take turns by stripes of numbers, and each writes all of its own that are due. So the rate is that of the
load however many there are, and an event is written once: by an idempotent producer, which a retry does not make write
it twice.

The processes share one clock, which is never set back, and end with whoever started them, however that ends.
"""

import multiprocessing
import signal
import time
from collections.abc import Callable, Iterator, Sequence
from ctypes import Array, c_byte, c_double, c_longlong
from multiprocessing.context import SpawnProcess
from multiprocessing.synchronize import Event
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from confluent_kafka import KafkaException, Producer

from headgate.kafka.produce_plan import ProducePlan, Progress
from headgate.kafka.topic import PATIENCE, what_it_says
from headgate.model.errors import InputError, in_brief
from headgate.workloads.generated import Rows
from headgate.workloads.json_rows import json_rows
from headgate.workloads.load import load_from_text
from headgate.workloads.registry import SOURCES, rows_of
from headgate.workloads.scrambled import Numbers

_STRIPE = 100
_AT_A_TIME = 5_000
_LOOK = 0.01
"""Seconds between looks at the clock, where nothing is due."""
_WORTH = 1_000
"""Rows of a process that are made as soon as they are due: to begin with some costs as much as about so many."""
_LONGEST = 0.025
"""Seconds that fewer of them may wait; with a look every 10 ms that makes 30 ms at most. So ten seconds at an even rate
are off by 0.3 % at most, and by 0.6 % where the rate becomes three times as high within them."""
_READY = 120.0
_EVERY = 1.0
_STUCK = 60.0
"""Seconds in which the broker takes nothing of what waits for it."""
_DEFAULTS = {
    "enable.idempotence": True,
    "linger.ms": 5,
    "compression.type": "lz4",
    "queue.buffering.max.messages": 200_000,
    "delivery.report.only.error": True,
    "log_level": 0,
}


class Shared:
    """What the processes have in common, in shared memory. Without locks: each place has one writer."""

    def __init__(self, processes: int) -> None:
        context = multiprocessing.get_context("spawn")
        self.ready: Array[c_byte] = context.RawArray(c_byte, processes)
        self.delivered: Array[c_longlong] = context.RawArray(c_longlong, processes)
        self.last: Array[c_double] = context.RawArray(c_double, processes)
        """When the last event of each was delivered."""
        self.began: c_double = context.RawValue(c_double)
        self.go: Event = context.Event()
        self.stop: Event = context.Event()
        self.problems: multiprocessing.SimpleQueue[str] = context.SimpleQueue()


def produce(plan: ProducePlan, told: Callable[[Progress], object], stopped: Callable[[], bool]) -> Progress:
    """Write it all; `told` hears every second how far it is. `InputError` where something could not be written.

    Once `stopped()`, what is under way is finished and the rest left.
    """
    plan_rows(plan)  # says what is wrong with the options before anything starts
    shared = Shared(plan.processes)
    processes = _started(plan, shared)
    try:
        _begin_together(plan, shared, processes, stopped)
        last = time.monotonic()
        while any(process.is_alive() for process in processes):
            time.sleep(_LOOK)
            if stopped() or _failed(shared, processes):
                shared.stop.set()
            if time.monotonic() - last >= _EVERY:
                last += _EVERY
                told(progress(plan, shared, time.monotonic()))
    finally:
        shared.stop.set()
        shared.go.set()
        for process in processes:
            process.join()
    if not shared.problems.empty():
        raise InputError(f"{plan.to}: {shared.problems.get()}")
    if _failed(shared, processes):
        raise InputError(f"{plan.to}: of the processes that wrote, one ended with {_failed(shared, processes)}")
    # Not now: that the processes end takes its time, too, and has nothing to do with how fast they wrote.
    return progress(plan, shared, max(shared.last) if any(shared.delivered) else time.monotonic())


def _started(plan: ProducePlan, shared: Shared) -> list[SpawnProcess]:
    context = multiprocessing.get_context("spawn")
    processes = [
        context.Process(target=write_part, args=(plan, part, shared), daemon=True) for part in range(plan.processes)
    ]
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)  # which they inherit: Ctrl-C is for us, and they are told
    try:
        for process in processes:
            process.start()
    finally:
        signal.signal(signal.SIGINT, before)
    return processes


def _begin_together(
    plan: ProducePlan, shared: Shared, processes: Sequence[SpawnProcess], stopped: Callable[[], bool]
) -> None:
    """The load begins when all are ready."""
    deadline = time.monotonic() + _READY
    while not all(shared.ready) and not _failed(shared, processes) and not stopped():
        if time.monotonic() > deadline:
            raise InputError(f"{plan.to}: {plan.processes} processes were not ready within {_READY:.0f} s; take fewer")
        time.sleep(_LOOK)
    shared.began.value = time.monotonic()
    shared.go.set()


def _failed(shared: Shared, processes: Sequence[SpawnProcess]) -> int:
    """Not 0 if one of them has failed."""
    code = next((process.exitcode for process in processes if process.exitcode), 0) or 0
    return code or int(not shared.problems.empty())


def progress(plan: ProducePlan, shared: Shared, moment: float) -> Progress:
    """How far it is at a moment of the clock that the processes share."""
    seconds = moment - shared.began.value
    due = None if plan.load is None else int(load_from_text(plan.load).records(seconds))
    if due is not None and plan.events is not None:
        due = min(due, plan.events)
    return Progress(seconds, sum(shared.delivered), due)


def plan_rows(plan: ProducePlan) -> Rows:
    """What makes its rows. `InputError` for options that are none."""
    return rows_of(plan.workload, plan.options, "--load, --events and --for")


def write_part(plan: ProducePlan, part: int, shared: Shared) -> None:
    """One process: connect, wait for the others, write."""
    try:
        writer = _Writer(plan, part, shared)
        shared.ready[part] = 1
        while not shared.go.wait(_EVERY):
            if writer.is_over():
                return
        writer.write_all()
    except InputError as problem:
        shared.problems.put(in_brief(problem))
    except KafkaException as problem:
        shared.problems.put(what_it_says(problem))


class _Writer:
    def __init__(self, plan: ProducePlan, part: int, shared: Shared) -> None:
        self._plan, self._part, self._shared = plan, part, shared
        self._rows = plan_rows(plan)
        self._key = SOURCES[plan.workload].key
        self._load = None if plan.load is None else load_from_text(plan.load)
        self._producer = Producer({**_DEFAULTS, "bootstrap.servers": plan.to.servers, "on_delivery": self._delivered})
        # Connects: who has still to do that when the load begins is late with the first events.
        self._producer.list_topics(plan.to.topic, timeout=PATIENCE)
        self._refused: list[str] = []
        self._written = 0

    def _delivered(self, error: Any, _: Any) -> None:
        if error is not None:
            self._refused.append(str(error))

    def is_over(self) -> bool:
        """Whether to stop: somebody says so, or whoever started us is gone."""
        parent = multiprocessing.parent_process()
        return self._shared.stop.is_set() or (parent is not None and not parent.is_alive())

    def write_all(self) -> None:
        """All that is this process's, each when it is due; and wait until the broker has it."""
        for numbers in self._due():
            rows = self._rows(numbers)
            for key, value in zip(keys(rows, self._key), json_rows(rows).to_pylist(), strict=True):
                if not self._write(key, value):
                    break
            self._count()
        waiting, since = len(self._producer), time.monotonic()
        while len(self._producer):
            self._producer.flush(_EVERY)
            self._count()
            if len(self._producer) < waiting:
                waiting, since = len(self._producer), time.monotonic()
            elif time.monotonic() - since > _STUCK:
                raise InputError(f"the broker has taken nothing for {_STUCK:.0f} s, {waiting:,} events wait for it")
        self._count()

    def _due(self) -> Iterator[Numbers]:
        """The numbers that are this process's, some at a time, as they become due."""
        at, last = self._plan.first, 0.0
        end = None if self._plan.events is None else at + self._plan.events
        while not self.is_over() and (end is None or at < end):
            now = time.monotonic() - self._shared.began.value
            due = self._due_by(now)
            due = due if end is None else min(due, end)
            if due != end and not worth_making((due - at) / self._plan.processes, now - last):
                self._producer.poll(_LOOK)
                self._count()
                continue
            until = max(at, min(due, at + _AT_A_TIME * self._plan.processes))
            numbers = np.arange(at, until, dtype=np.uint64)
            mine = numbers[(numbers // _STRIPE) % self._plan.processes == self._part]
            if len(mine):
                yield mine
            at, last = until, now

    def _due_by(self, seconds: float) -> int:
        return self._plan.first + (2**62 if self._load is None else int(self._load.records(seconds)))

    def _write(self, key: str, value: str) -> bool:
        """False if it is over before there is room for it."""
        while True:
            try:
                self._producer.produce(self._plan.to.topic, value, key)
            except BufferError:  # as much as may wait is waiting
                self._producer.poll(_LOOK)
                self._count()
                if self.is_over():
                    return False
            else:
                self._written += 1
                return True

    def _count(self) -> None:
        self._producer.poll(0)
        if self._refused:
            raise InputError(f"an event was not taken: {self._refused[0]}")
        delivered = self._written - len(self._producer)
        if delivered > self._shared.delivered[self._part]:
            self._shared.last[self._part] = time.monotonic()
        self._shared.delivered[self._part] = delivered


def worth_making(rows: float, waited: float) -> bool:
    """Whether so many rows that are due are made now; few of them wait for more, for so many seconds at most.

    >>> worth_making(40, waited=0.01), worth_making(40, waited=0.03), worth_making(5000, waited=0.01)
    (False, True, True)
    """
    return rows >= _WORTH or (rows > 0 and waited >= _LONGEST)


def keys(rows: pa.RecordBatch, columns: tuple[str, ...]) -> list[str]:
    """The key of each row: the first of these columns that it has.

    >>> rows = pa.RecordBatch.from_pylist([{"bid": {"auction": 7}, "person": None}, {"bid": None, "person": {"id": 3}}])
    >>> keys(rows, ("bid.auction", "person.id"))
    ['7', '3']
    """
    values = []
    for column in columns:
        name, _, field = column.partition(".")
        values.append(pc.struct_field(rows[name], field) if field else rows[name])
    found: list[str] = pc.coalesce(*values).cast(pa.string()).to_pylist()
    return found
