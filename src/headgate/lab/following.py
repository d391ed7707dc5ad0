"""How a policy's answers are followed: by Headgate's controller, or at once.

Policies that only size (`capacity`, `ds2`) leave it to the controller when to ask, when to believe and how to move: the
same reducer that runs in production. Policies that bring their own timing (thresholds that must hold, cool downs) are
asked after every batch and taken at their word, within the bounds. Moving state is the same for all: bins are spread
over the executors that are there whenever those have changed. While nothing comes no batch begins, no policy is asked
and what is there is held; only who goes by the clock is asked all the same.
"""

import math
from collections import deque
from collections.abc import Iterator

from headgate.control.settings import Settings
from headgate.model.microbatch import MicroBatch
from headgate.policies.bare import followed
from headgate.policies.pool import Evidence, PoolPolicy
from headgate.simulation.closed_loop import ControlledLoop
from headgate.simulation.virtual_spark import VirtualSpark

_LAST = 40
"""Batches that a policy is shown: as many as the controller keeps."""


def controlled(spark: VirtualSpark, policy: PoolPolicy, settings: Settings, until: float) -> Iterator[MicroBatch]:
    """Under Headgate's controller."""
    loop = ControlledLoop(spark, settings, policy)
    while spark.now < until and spark.wait(until):
        yield loop.turn().batch


def followed_at_once(
    spark: VirtualSpark, policy: PoolPolicy, settings: Settings, until: float, every: float = math.inf
) -> Iterator[MicroBatch]:
    """Asked after every batch, and after so many seconds in which none began; taken at its word."""
    memory, seen = policy.start(), deque[MicroBatch](maxlen=_LAST)
    known = spark.executors()
    while spark.now < until:
        begins = spark.wait(min(until, spark.now + every))
        if not begins and spark.now >= until:
            return
        if begins:
            seen.append(spark.run_batch())
        there = spark.executors()
        evidence = Evidence(tuple(seen), there, spark.slots, spark.job.trigger)
        memory, target = followed(
            policy, memory, evidence, settings.objective, spark.now, least=settings.least, most=settings.most
        )
        if target == len(there) and spark.now < spark.replaced_by:
            target = spark.asked  # who is content with what is there did not mean that one is missing
        if target != spark.asked or len(there) + len(spark.coming) < target:
            spark.set_executors(target)
        if spark.executors() is not known:
            known = spark.executors()
            spark.spread_bins()
        if begins:
            yield seen[-1]
