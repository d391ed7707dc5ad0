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
    state, moments, moves = State(), [], []

    def take(event: Event) -> tuple[Said, ...]:
        nonlocal state
        state, actions, said = step(state, event, settings, policy)
        for action in actions:
            _carry_out(spark, action)
            if isinstance(action, SetExecutors):
                moves.append((spark.now, action.executors))
        return said

    while spark.now < until:
        meddle(spark)
        batch = spark.run_batch()
        said = take(ClusterSeen(spark.now, spark.executors()))
        visible = seen(batch)
        if visible is not None:
            said += take(BatchSeen(spark.now, visible, spark.job.trigger))
        said += take(Tick(spark.now))
        moments.append(Moment(spark.now, len(spark.there), batch, said))
    return History(moments, moves, state)


def _carry_out(spark: VirtualSpark, action: Action) -> None:
    if isinstance(action, SetExecutors):
        spark.set_executors(action.executors)
    elif isinstance(action, StopAsking):
        spark.stop_asking()
    elif isinstance(action, SpreadBins):
        spark.spread_bins()
