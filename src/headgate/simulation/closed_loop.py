"""A controller and a virtual Spark, hour after hour in milliseconds."""

from collections.abc import Callable
from typing import NamedTuple

from headgate.control.actions import Action, SetExecutors, SpreadBins, StopAsking
from headgate.control.events import BatchSeen, ClusterSeen, Event, Tick
from headgate.control.reducer import step
from headgate.control.said import Said
from headgate.control.settings import Settings
from headgate.control.state import State
from headgate.model.microbatch import MicroBatch
from headgate.policies.pool import PoolPolicy
from headgate.simulation.virtual_spark import VirtualSpark


class Moment(NamedTuple):
    """What was at the end of one batch."""

    at: float
    executors: int
    batch: MicroBatch
    said: tuple[Said, ...]


class History(NamedTuple):
    """All that happened."""

    moments: list[Moment]
    moves: list[tuple[float, int]]
    """When so many executors were asked for."""
    state: State

    @property
    def said(self) -> list[Said]:
        """Everything that was said, in order."""
        return [one for moment in self.moments for one in moment.said]


class ControlledLoop:
    """One batch a turn; the controller sees it, decides, and has its way."""

    def __init__(self, spark: VirtualSpark, settings: Settings, policy: PoolPolicy) -> None:
        self.spark, self.settings, self.policy = spark, settings, policy
        self.state = State()
        self.moves: list[tuple[float, int]] = []

    def turn(self, seen: Callable[[MicroBatch], MicroBatch | None] = lambda batch: batch) -> Moment:
        """Run a batch; `seen` is what the probe makes of it."""
        spark = self.spark
        batch = spark.run_batch()
        said = self._take(ClusterSeen(spark.now, spark.executors()))
        visible = seen(batch)
        if visible is not None:
            said += self._take(BatchSeen(spark.now, visible, spark.job.trigger))
        said += self._take(Tick(spark.now))
        return Moment(spark.now, len(spark.there), batch, said)

    def _take(self, event: Event) -> tuple[Said, ...]:
        self.state, actions, said = step(self.state, event, self.settings, self.policy)
        for action in actions:
            _carry_out(self.spark, action)
            if isinstance(action, SetExecutors):
                self.moves.append((self.spark.now, action.executors))
        return said


def closed_loop(
    spark: VirtualSpark,
    settings: Settings,
    policy: PoolPolicy,
    *,
    until: float,
    meddle: Callable[[VirtualSpark], None] = lambda _: None,
    seen: Callable[[MicroBatch], MicroBatch | None] = lambda batch: batch,
) -> History:
    """Run until this virtual time. `meddle` may change the cluster before each batch, `seen` what the probe sees."""
    loop, moments = ControlledLoop(spark, settings, policy), []
    while spark.now < until:
        meddle(spark)
        moments.append(loop.turn(seen))
    return History(moments, loop.moves, loop.state)


def _carry_out(spark: VirtualSpark, action: Action) -> None:
    if isinstance(action, SetExecutors):
        spark.set_executors(action.executors)
    elif isinstance(action, StopAsking):
        spark.stop_asking()
    elif isinstance(action, SpreadBins):
        spark.spread_bins()
