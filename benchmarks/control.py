"""What the controller itself costs: a step for a large job, and a year of decisions replayed.

* A step: a virtual job of 50 operators with 200 tasks each, batch after batch through the reducer. What is held to the
  limit is every step without the time that its policy took, which is somebody else's: the `capacity` policy, which runs
  ten thousand tasks again in virtual time for each number of executors it thinks of, is reported beside it, and so is
  how often it was asked. Where nothing has changed the last answer stands. What counts is the processor time of the
  step's own thread: one step in a few is cut off in the middle by whatever else runs on a machine.
* A year: a journal keeps every decision for ever, and the last 20,000 batches. A virtual job with a day and a night is
  watched until its journal has those, and is then replayed with another objective.

    make bench-control              (or: python benchmarks/control.py --batches 2000)
"""

import argparse
import math
import statistics
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import msgspec

from headgate.control.events import BatchSeen, ClusterSeen, Tick
from headgate.control.reducer import step
from headgate.control.settings import Settings
from headgate.control.state import State
from headgate.model.objective import KeepUp, Objective
from headgate.policies.capacity import CapacityPolicy
from headgate.policies.pool import Evidence, PoolAnswer, PoolPolicy
from headgate.runtime.controller import Controller
from headgate.runtime.journal import Journal
from headgate.runtime.replay import Asked, replayed
from headgate.simulation.virtual_engine import VirtualEngine
from headgate.simulation.virtual_spark import VirtualJob, VirtualOperator, VirtualSpark
from verdicts import exit_code, verdict

OPERATORS, TASKS = 50, 200
STEP_LIMIT, REPLAY_LIMIT = 0.002, 60.0


def large_job() -> VirtualJob:
    """A chain of operators, every tenth with state."""
    operators = [
        VirtualOperator(
            f"operator {n}", TASKS, fixed=0.01, per_record=0.0005, feeders=(n - 1,) if n else (), stateful=n % 10 == 9
        )
        for n in range(OPERATORS)
    ]
    return VirtualJob(tuple(operators), trigger=60.0, noise=0.05)


class Timed:
    """A policy, and the time it has taken."""

    def __init__(self, policy: PoolPolicy) -> None:
        self._policy, self.took = policy, list[float]()

    @property
    def name(self) -> str:
        """The same."""
        return self._policy.name

    def start(self) -> Any:
        """The same."""
        return self._policy.start()

    def size(self, memory: Any, evidence: Evidence, objective: Objective, now: float) -> tuple[Any, PoolAnswer]:
        """The same."""
        began = time.thread_time()
        answer = self._policy.size(memory, evidence, objective, now)
        self.took.append(time.thread_time() - began)
        return answer


def steps(batches: int) -> None:
    """Time every step; whether each was within the limit."""
    spark = VirtualSpark(large_job(), lambda at: 1000 * at, executors=40, slots=2)
    state, settings, policy = State(), Settings(most=200), Timed(CapacityPolicy())
    own: list[float] = []
    for _ in range(batches):
        batch = spark.run_batch()
        for event in (ClusterSeen(spark.now, spark.executors()), BatchSeen(spark.now, batch, 60.0), Tick(spark.now)):
            asked, began = len(policy.took), time.thread_time()
            state, actions, _ = step(state, event, settings, policy)
            took = time.thread_time() - began - sum(policy.took[asked:])
            if isinstance(event, BatchSeen):
                own.append(took)
            for action in actions:
                spark.set_executors(getattr(action, "executors", len(spark.there)))
    print(f"{OPERATORS} operators with {TASKS} tasks each, {batches} batches")
    print(f"  a step for a batch: median {1000 * statistics.median(own):.2f} ms, most {1000 * max(own):.2f} ms")
    print(
        f"  the policy, asked {len(policy.took)} times: median {1000 * statistics.median(policy.took):.0f} ms, "
        f"most {1000 * max(policy.took):.0f} ms; {1000 * sum(policy.took) / batches:.0f} ms for each batch"
    )
    print(verdict(f"  every step under {1000 * STEP_LIMIT:g} ms", max(own) < STEP_LIMIT))


def year(batches: int) -> None:
    """Watch a job for so many batches, then replay its journal; whether that was within the limit."""
    operators = (
        VirtualOperator("map", 16, fixed=0.1, per_record=0.004),
        VirtualOperator("count", 8, fixed=0.1, per_record=0.0005, feeders=(0,), stateful=True),
    )
    job = VirtualJob(operators, trigger=60.0, noise=0.05)
    day = 86400.0
    # Between 30 and 170 records a second, from night to day.
    spark = VirtualSpark(job, lambda at: 100 * at - 70 * day / math.tau * math.sin(math.tau * at / day), executors=2)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "year.db"
        began = time.perf_counter()
        with Journal(path) as journal:
            engine = VirtualEngine(spark)
            controller = Controller(
                engine, Settings(most=16), CapacityPolicy(), journal=journal, clock=lambda: spark.now
            )
            for _ in range(batches):
                controller.turn(0.0)
        watched = time.perf_counter() - began
        size = path.stat().st_size / 1e6
        began = time.perf_counter()
        with Journal(path, read_only=True) as journal:
            asked = Asked(lambda _: CapacityPolicy(), lambda then: msgspec.structs.replace(then, objective=KeepUp(0.5)))
            replayed(journal.everything(), asked)
        took = time.perf_counter() - began
    print(f"{batches:,} batches watched in {watched:.0f} s, {size:.0f} MB of journal; replayed in {took:.1f} s")
    print(verdict(f"  replay under {REPLAY_LIMIT:g} s", took < REPLAY_LIMIT))


def main() -> int:
    """Both."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--batches", type=int, default=20_000, help="in the journal that is replayed")
    parser.add_argument("--steps", type=int, default=60, help="batches of the large job")
    given = parser.parse_args()
    steps(given.steps)
    year(given.batches)
    return exit_code()


if __name__ == "__main__":
    sys.exit(main())
