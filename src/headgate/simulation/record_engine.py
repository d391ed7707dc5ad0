"""A record-at-a-time dataflow in virtual time: the engine that DS2, Dhalion and Flink's policy were made for.

A simulation, and nothing but: records are an amount that flows through queues in steps of half a second, by seed, and
no engine is involved. Every instance has a bounded queue and a capacity. A queue that is full holds back whoever feeds
it (as Flink does) or stops the sources until it is half empty (as Heron does); the time for which it does so, unless it
is held back itself, is its back-pressure. Resizing stops everything for a while; what comes meanwhile waits at the
sources.

What is measured goes the way of real measurements: counters an instance, then an `Estimate`, with `Signals` beside it.
"""

from collections.abc import Callable, Mapping
from typing import NamedTuple

import numpy as np
from msgspec.structs import replace

from headgate.model.columns import Floats, read_only
from headgate.model.dataflow import Dataflow
from headgate.model.estimate import Estimate, estimate
from headgate.model.observation import Observation
from headgate.model.signals import Signals
from headgate.simulation.record_job import RecordJob, even_shares

STEP = 0.5
"""Seconds of a step."""
_HARDLY = 0.01
_LOW = 0.5
"""Part of a full queue down to which sources stay stopped."""


class _Operator:
    """One operator while it runs: its instances' queues and counters."""

    def __init__(self, shares: Floats, capacity: float, queued: float, buffer: float) -> None:
        n = shares.size
        self.shares, self.each = shares, capacity / n
        self.limit = buffer * self.each
        self.queue = queued * shares
        self.full = np.zeros(n, np.bool_)
        self.blocked = False
        """Whether, in the last step, what it feeds held it back: then a full queue is not its own doing."""
        self.forget()

    def forget(self) -> None:
        n = self.shares.size
        self.came, self.began_with = np.zeros(n), self.queue.sum()
        self.taken, self.held = np.zeros(n), np.zeros(n)
        self.queued = 0.0
        """Records times seconds."""

    def put(self, records: float) -> None:
        more = records * self.shares
        self.came += more
        self.queue = self.queue + more

    def room(self) -> tuple[float, int]:
        """Records that can come until the first instance is full, and which one that is."""
        with np.errstate(divide="ignore", invalid="ignore"):
            until = np.where(self.shares > 0, np.maximum(self.limit - self.queue, 0.0) / self.shares, np.inf)
        first = int(np.argmin(until))
        return float(until[first]), first


class _Source:
    def __init__(self, lag: float) -> None:
        self.lag = lag
        self.forget()

    def forget(self) -> None:
        self.emitted, self.came, self.began_with = 0.0, 0.0, self.lag


class Count(NamedTuple):
    """Records since the beginning, over all sources."""

    came: float
    emitted: float
    lost: float


class RecordEngine:
    """The job, its instances and the time.

    `arrived` gives, for each source, all records that came to it until a time.
    """

    def __init__(
        self,
        job: RecordJob,
        arrived: Mapping[str, Callable[[float], float]],
        instances: Mapping[str, int] | None = None,
        *,
        began: float = 0.0,
        seed: int = 0,
    ) -> None:
        self.job, self.arrived = job, arrived
        self.flow: Dataflow = job.dataflow(instances or {})
        self.now = began
        self.rescales: list[tuple[float, dict[str, int]]] = []
        """When anything was resized, and what was then there."""
        self.total = Count(0.0, 0.0, 0.0)
        self._dice = np.random.default_rng(seed)
        self._made = {one.name: one for one in job.operators}
        self._sources = {id: _Source(0.0) for id in self.flow.sources}
        self._running: dict[str, _Operator] = {}
        self._rooms: dict[tuple[int, int], float] = {}
        self._resume = 0.0
        self._since = 0.0
        self._start({})

    @property
    def instances(self) -> dict[str, int]:
        """Of every operator but the sources."""
        counts = zip(self.flow.ids, self.flow.instances.tolist(), strict=True)
        return {id: count for id, count in counts if id not in self._sources}

    @property
    def lag(self) -> float:
        """Records that wait at the sources."""
        return sum(source.lag for source in self._sources.values())

    def rescale(self, instances: Mapping[str, int]) -> bool:
        """Have so many; True if that is another number, and a pause."""
        wanted = {id: count for id, count in instances.items() if self.instances[id] != count}
        if not wanted:
            return False
        self.flow = self.flow.resized(wanted)
        self.rescales.append((self.now, self.instances))
        self._start({id: float(one.queue.sum()) for id, one in self._running.items()})
        self._resume = self.now + self.job.pause
        return True

    def _start(self, queued: Mapping[str, float]) -> None:
        """Everything begins anew, with the records that were under way."""
        for id, count in self.instances.items():
            made = self._made[id]
            uneven = self._dice.normal(0.0, self.job.spread, count) if self.job.spread else np.zeros(count)
            shares = np.array(even_shares(count, made.hot, uneven.tolist()))
            self._running[id] = _Operator(shares, made.capacity(count), queued.get(id, 0.0), self.job.buffer)
        self._forget()

    def _forget(self) -> None:
        self._since = self.now
        for source in self._sources.values():
            source.forget()
        for one in self._running.values():
            one.forget()

    # Time.

    def advance(self, seconds: float) -> None:
        """Let time pass. What is measured begins anew when a pause is over."""
        until = self.now + seconds
        while self.now < until - 1e-9:
            paused = self.now < self._resume
            self._come(STEP, lost=paused and not self.job.keeps)
            if not paused:
                self._run(STEP)
            self.now += STEP
            if paused and self.now >= self._resume:
                self._forget()

    def _come(self, seconds: float, *, lost: bool) -> None:
        for id, source in self._sources.items():
            # Records come whole: an amount that is off in its last digits would be a need of one instance more.
            more = round(self.arrived[id](self.now + seconds)) - round(self.arrived[id](self.now))
            source.lag += 0 if lost else more
            source.came += more
            came, emitted, gone = self.total
            self.total = Count(came + more, emitted, gone + (more if lost else 0))

    def _run(self, seconds: float) -> None:
        """Upstream first: what is left in a queue after a step is what could not be worked on in it."""
        stopped = self.job.holds == "sources" and any(one.full.any() for one in self._running.values())
        self._rooms = self._shared_rooms(seconds) if self.job.holds == "upstream" else {}
        for at, id in enumerate(self.flow.ids):
            if id in self._sources:
                self._emit(at, 0.0 if stopped else self._wanted(at, id, seconds), seconds)
            else:
                self._process(at, seconds)
        if self.job.holds == "sources":
            for one in self._running.values():
                one.full = (one.queue >= one.limit) | (one.full & (one.queue > _LOW * one.limit))
                one.held += seconds * one.full

    def _shared_rooms(self, seconds: float) -> dict[tuple[int, int], float]:
        """For each feeder of an operator with several, its part of the room where they have more for it than that."""
        given: dict[int, dict[int, float]] = {}
        for at, id in enumerate(self.flow.ids):
            wanted = self._wanted(at, id, seconds) * (1.0 if id in self._sources else self._made[id].selectivity)
            for target, share in self.flow.outgoing[at]:
                given.setdefault(target, {})[at] = wanted * share
        rooms = {}
        for target, of_feeders in given.items():
            if len(of_feeders) > 1:
                room, total = self._running[self.flow.ids[target]].room()[0], sum(of_feeders.values())
                if total > room:
                    rooms.update({(at, target): room * much / total for at, much in of_feeders.items()})
        return rooms

    def _wanted(self, at: int, id: str, seconds: float) -> float:
        """Records that an operator could work on in this step, if what they give finds room."""
        if id in self._sources:
            most = self._made[id].each * float(self.flow.instances[at]) * seconds or np.inf
            return min(self._sources[id].lag, most)
        one = self._running[id]
        return float(np.minimum(one.queue, one.each * seconds).sum())

    def _emit(self, at: int, wanted: float, seconds: float) -> None:
        source = self._sources[self.flow.ids[at]]
        emitted = self._pushed(at, wanted, 1.0, seconds)
        source.lag -= emitted
        source.emitted += emitted
        lost = 0.0 if self.job.keeps else source.lag
        source.lag -= lost
        self.total = Count(self.total.came, self.total.emitted + emitted, self.total.lost + lost)

    def _process(self, at: int, seconds: float) -> None:
        id = self.flow.ids[at]
        one = self._running[id]
        can = np.minimum(one.queue, one.each * seconds)
        wanted = float(can.sum())
        if wanted > 0:
            done = self._pushed(at, wanted, self._made[id].selectivity, seconds)
            one.blocked = done < (1 - _HARDLY) * wanted
            did = can * (done / wanted)
            one.queue = one.queue - did
            one.taken += did
        one.queued += float(one.queue.sum()) * seconds

    def _pushed(self, at: int, records: float, selectivity: float, seconds: float) -> float:
        """Records that could be worked on, as what they give found room; it is put where it goes."""
        edges = [
            (self._running[self.flow.ids[target]], share * selectivity, self._rooms.get((at, target), np.inf))
            for target, share in self.flow.outgoing[at]
            if share * selectivity > 0
        ]
        done = records
        if self.job.holds == "upstream" and records > 0:
            rooms = [(*target.room(), target, out, most) for target, out, most in edges]
            for left, first, target, out, most in rooms:
                room = min(left, most)
                if records * out > room and not target.blocked:
                    # So long, of this step, the first full instance held back what feeds it.
                    target.held[first] += seconds * (1 - room / (records * out))
                done = min(done, room / out)
        for target, out, _ in edges:
            target.put(done * out)
        return done

    # What is measured.

    def observe(self) -> Estimate:
        """What was measured since the last call, or since the last pause was over; then it begins anew."""
        wall = max(self.now - self._since, STEP)
        operator: list[str] = []
        instance: list[int] = []
        taken, out, useful = [], [], []
        for id in self.flow.ids:
            if id in self._sources:
                continue
            one = self._running[id]
            operator += [id] * one.shares.size
            instance += range(one.shares.size)
            taken.append(one.taken)
            out.append(one.taken * self._made[id].selectivity)
            useful.append(one.taken / one.each)
        seen = Observation.of_counters(
            self.flow, operator=operator, instance=instance, records_in=np.concatenate(taken),
            records_out=np.concatenate(out), useful_time=np.concatenate(useful), wall_time=wall, at=self._since,
        )  # fmt: skip
        with np.errstate(invalid="ignore", divide="ignore"):
            told = self._with_sources(estimate(seen), wall)
        signals = tuple(self._signals(id, wall) for id in self.flow.ids)
        self._forget()
        return replace(told, signals=signals, at=self.now)

    def _with_sources(self, told: Estimate, wall: float) -> Estimate:
        """Sources: what comes to them is their true rate, what they emitted the observed one."""
        known, true, observed = told.known.copy(), told.true_output.copy(), told.observed_output.copy()
        for id, source in self._sources.items():
            at = self.flow.index[id]
            known[at], true[at], observed[at] = True, source.came / wall, source.emitted / wall
        return replace(
            told, known=read_only(known), true_output=read_only(true), observed_output=read_only(observed), reasons=()
        )

    def _signals(self, id: str, wall: float) -> Signals:
        if id in self._sources:
            source = self._sources[id]
            emitted = source.emitted / wall
            return Signals(
                int(self.flow.instances[self.flow.index[id]]),
                came=source.came / wall,
                taken=emitted,
                waiting=source.lag,
                growth=(source.lag - source.began_with) / wall,
                latency=source.lag / emitted if emitted > 0 else None,
            )
        one = self._running[id]
        taken = one.taken / wall
        total, busy, queue = float(taken.sum()), taken / one.each, one.queue
        return Signals(
            one.shares.size,
            came=float(one.came.sum()) / wall,
            taken=total,
            busy=float(busy.mean()),
            busiest=float(busy.max()),
            pressure=float(1000 * one.held.sum() / wall),
            waiting=float(queue.sum()),
            growth=float(queue.sum() - one.began_with) / wall,
            latency=one.queued / wall / total + 1 / one.each if total > 0 else None,
            uneven=float(taken.max() / max(taken.min(), 1e-9)) if total > 0 else None,
            uneven_queues=float((queue.max() + 1) / (queue.min() + 1)),
            windowed=self._made[id].windowed,
        )
