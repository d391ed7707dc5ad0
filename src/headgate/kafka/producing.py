"""A workload written to a topic at the rate of a load, by several processes.

Event n is due when the load has come to more than n records, whoever writes it: the processes take turns by stripes of
numbers, and each writes all of its own that are due. So the rate is that of the load however many there are, and an
event is written once: by an idempotent producer, which a retry does not make write it twice.
"""

import multiprocessing
import signal
import time
from collections.abc import Callable, Iterator
from multiprocessing.sharedctypes import Synchronized, SynchronizedArray
from multiprocessing.synchronize import Barrier, Event
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from confluent_kafka import KafkaException, Producer

from headgate.kafka.produce_plan import ProducePlan, Progress
from headgate.model.errors import InputError, in_brief
from headgate.workloads.generated import Rows, SourceOptions
from headgate.workloads.json_rows import json_rows
from headgate.workloads.load import load_from_text
from headgate.workloads.registry import WORKLOADS
from headgate.workloads.scrambled import Numbers

_STRIPE = 100
_AT_A_TIME = 5_000
_LOOK = 0.01
"""Seconds between looks at the clock, where nothing is due."""
_READY = 60.0
_EVERY = 1.0
_FLUSH = 60.0
_DEFAULTS = {
    "enable.idempotence": True,
    "linger.ms": 5,
    "compression.type": "lz4",
    "queue.buffering.max.messages": 200_000,
    "delivery.report.only.error": True,
    "log_level": 0,
}


class _Shared:
    """What the processes have in common; made of shared memory, so that it can be handed to each."""

    def __init__(self, processes: int) -> None:
        context = multiprocessing.get_context("spawn")
        self.delivered: SynchronizedArray[int] = context.Array("q", processes)
        self.began: Synchronized[float] = context.Value("d", 0.0)
        self.ready: Barrier = context.Barrier(processes + 1)
        self.stop: Event = context.Event()
        self.problems: multiprocessing.SimpleQueue[str] = context.SimpleQueue()


def produce(plan: ProducePlan, told: Callable[[Progress], object], stopped: Callable[[], bool]) -> Progress:
    """Write it all; `told` hears every second how far it is. `InputError` where something could not be written."""
    rows_of(plan)  # says what is wrong with the options before anything starts
    shared = _Shared(plan.processes)
    context = multiprocessing.get_context("spawn")
    processes = [
        context.Process(target=_write_part, args=(plan, part, shared), daemon=True) for part in range(plan.processes)
    ]
    for process in processes:
        process.start()
    try:
        _begin_together(shared)
        last = time.time()
        while any(process.is_alive() for process in processes):
            time.sleep(_LOOK)
            if stopped():
                shared.stop.set()
            if time.time() - last >= _EVERY:
                last += _EVERY
                told(_progress(plan, shared))
    finally:
        shared.stop.set()
        for process in processes:
            process.join(_FLUSH)
    if not shared.problems.empty():
        raise InputError(f"{plan.to}: {shared.problems.get()}")
    if any(process.exitcode for process in processes):
        raise InputError(f"{plan.to}: a process that wrote ended with {[one.exitcode for one in processes]}")
    return _progress(plan, shared)


def _begin_together(shared: _Shared) -> None:
    """The load begins when all are ready."""
    try:
        shared.ready.wait(_READY)
        shared.began.value = time.time()
        shared.ready.wait(_READY)
    except BaseException:
        shared.ready.abort()
        if not shared.problems.empty():
            raise InputError(shared.problems.get()) from None
        raise


def _progress(plan: ProducePlan, shared: _Shared) -> Progress:
    seconds = time.time() - shared.began.value
    due = None if plan.load is None else int(load_from_text(plan.load).records(seconds))
    if due is not None and plan.events is not None:
        due = min(due, plan.events)
    return Progress(seconds, sum(shared.delivered[:]), due)


def rows_of(plan: ProducePlan) -> Rows:
    """What makes its rows. `InputError` for options that are none."""
    source = WORKLOADS[plan.workload].source
    return source(dict(plan.options)).rows(SourceOptions(source.name(), plan.options, source.known))


def _write_part(plan: ProducePlan, part: int, shared: _Shared) -> None:
    """One process: connect, wait for the others, write."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for whoever started us: we are told
    try:
        writer = _Writer(plan, part, shared)
        shared.ready.wait(_READY)
        shared.ready.wait(_READY)
        writer.write_all()
    except (InputError, KafkaException, BufferError) as problem:
        shared.problems.put(in_brief(problem))


class _Writer:
    def __init__(self, plan: ProducePlan, part: int, shared: _Shared) -> None:
        self._plan, self._part, self._shared = plan, part, shared
        self._rows = rows_of(plan)
        self._key = WORKLOADS[plan.workload].source.key
        self._load = None if plan.load is None else load_from_text(plan.load)
        self._producer = Producer({**_DEFAULTS, "bootstrap.servers": plan.to.servers, "on_delivery": self._delivered})
        self._failed: list[str] = []
        self._written = 0

    def _delivered(self, error: Any, _: Any) -> None:
        if error is not None:
            self._failed.append(str(error))

    def write_all(self) -> None:
        """All that is this process's, each when it is due."""
        for numbers in self._due():
            rows = self._rows(numbers)
            for key, value in zip(keys(rows, self._key), json_rows(rows).to_pylist(), strict=True):
                self._write(key, value)
            self._written += len(numbers)
            self._count()
        deadline = time.monotonic() + _FLUSH
        while len(self._producer) and time.monotonic() < deadline:
            self._producer.flush(_EVERY)
            self._count()
        if len(self._producer):
            raise InputError(f"{len(self._producer):,} events were not taken within {_FLUSH:.0f} s")
        self._count()

    def _due(self) -> Iterator[Numbers]:
        """The numbers that are this process's, some at a time, as they become due."""
        at, end = 0, self._plan.events
        while not self._shared.stop.is_set() and (end is None or at < end):
            due = self._due_by(time.time() - self._shared.began.value)
            due = due if end is None else min(due, end)
            until = min(due, at + _AT_A_TIME * self._plan.processes)
            numbers = np.arange(at, until, dtype=np.uint64)
            mine = numbers[(numbers // _STRIPE) % self._plan.processes == self._part]
            if len(mine):
                yield mine
            elif until == at:
                self._producer.poll(_LOOK)
                self._count()
            at = until

    def _due_by(self, seconds: float) -> int:
        return 2**62 if self._load is None else int(self._load.records(max(0.0, seconds)))

    def _write(self, key: str, value: str) -> None:
        while True:
            try:
                self._producer.produce(self._plan.to.topic, value, key)
                return
            except BufferError:  # as much as may wait is waiting
                self._producer.poll(_LOOK)
                self._count()

    def _count(self) -> None:
        self._producer.poll(0)
        if self._failed:
            raise InputError(f"an event was not taken: {self._failed[0]}")
        self._shared.delivered[self._part] = self._written - len(self._producer)


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
