"""A virtual Spark behind the door of real ones: the real controller runs on it for hours, in seconds.

Time passes only in `seen`, one batch a call; the controller is handed `clock` so that it lives in the same time.
"""

from collections.abc import Sequence

from headgate.control.actions import Action, SetExecutors, SpreadBins, StopAsking
from headgate.control.events import ActionFailed, BatchSeen
from headgate.model.errors import InputError
from headgate.model.microbatch import Executor
from headgate.ports import Done
from headgate.simulation.virtual_spark import VirtualSpark


class VirtualEngine:
    """A `headgate.ports.Engine`.

    `controller = Controller(engine, settings, policy, clock=engine.clock)`, then `controller.turn()` again and again:
    each turn is one batch.
    """

    def __init__(self, spark: VirtualSpark) -> None:
        self.spark = spark
        self.actions: list[Action] = []
        """All that was asked for, in order."""
        self._happened: list[Done | ActionFailed] = []
        self._plan: SetExecutors | None = None
        self._asked_at = 0.0
        """The last wish for executors, and when it came: who joins, joins because of it."""

    def clock(self) -> float:
        """The virtual time."""
        return self.spark.now

    def seen(self, timeout: float) -> Sequence[BatchSeen]:
        """Run one batch; however long that takes, nobody waits."""
        del timeout
        before = {executor.id for executor in self.spark.executors()}
        batch = self.spark.run_batch()
        joined = [executor.id for executor in self.spark.executors() if executor.id not in before]
        if joined and self._plan is not None:
            waited = self.spark.now - self._asked_at
            self._tell(self._plan.plan, f"executor {', '.join(joined)} is there after {waited:.0f} s")
        return (BatchSeen(self.spark.now, batch, self.spark.job.trigger),)

    def executors(self) -> tuple[Executor, ...]:
        """Those that are there."""
        return self.spark.executors()

    def queries(self) -> None:
        """There is one, which never ends."""

    def carry_out(self, action: Action) -> None:
        """At once, as far as it depends on the virtual cluster: executors that are asked for come later."""
        self.actions.append(action)
        if isinstance(action, SetExecutors):
            self._set_executors(action)
        elif isinstance(action, StopAsking):
            self.spark.stop_asking()
        elif isinstance(action, SpreadBins):
            self.spark.spread_bins()
            self._tell(action.plan, f"state spread over {len(self.spark.there)} executors")
        else:
            if action.layout.needs_another_application:
                raise InputError("virtual executors have one size; only parallelism can be changed by a restart")
            self.spark.restart(action.layout.parallelism)
            self._tell(action.plan, f"started again with {action.layout}")

    def happened(self) -> Sequence[Done | ActionFailed]:
        """What was done since the last call."""
        told, self._happened = self._happened, []
        return told

    def _set_executors(self, action: SetExecutors) -> None:
        self._plan, self._asked_at = action, self.spark.now
        before = self.spark.executors()
        self.spark.set_executors(action.executors)
        gone = [executor.id for executor in before[action.executors :]]
        if gone:
            self._tell(action.plan, f"executor {', '.join(gone)} left")
        else:
            self._tell(action.plan, f"asked the cluster for {action.executors} executors in all")

    def _tell(self, plan: int, what: str) -> None:
        self._happened.append(Done(self.spark.now, plan, what))
