"""What a new executor costs: its first tasks start Python workers, load classes and state, and take longer."""

from collections.abc import Sequence

import msgspec
import numpy as np

from headgate.model.microbatch import MicroBatch
from headgate.model.warm import warm


class ColdStart(msgspec.Struct, frozen=True):
    """How much longer the first task of each operator on a new executor took, added up over a batch; seconds."""

    seconds: float
    """Median over executors."""
    executors: int
    """So many were seen to start."""


def cold_start(batches: Sequence[MicroBatch]) -> ColdStart | None:
    """Of the executors that came into use in these batches; None if none did, or none was warm later."""
    typical = _typical(batches)
    known: set[str] = set()
    excess: dict[str, float] = {}
    for batch in batches:
        tasks = batch.tasks
        first_seen = [executor for executor in dict.fromkeys(tasks.executor) if executor not in known]
        executors = np.array(tasks.executor, dtype=object)
        for executor in first_seen:
            here = np.flatnonzero(executors == executor)
            here = here[np.argsort(tasks.launched[here], kind="stable")]
            operators, first = np.unique(tasks.operator[here], return_index=True)
            for operator, row in zip(operators, here[first], strict=True):
                usual = typical.get(batch.dataflow.ids[operator])
                if usual is not None:
                    longer = float(tasks.occupied_seconds[row]) - usual
                    excess[executor] = excess.get(executor, 0.0) + max(longer, 0.0)
        known.update(first_seen)
    return ColdStart(float(np.median(list(excess.values()))), len(excess)) if excess else None


def _typical(batches: Sequence[MicroBatch]) -> dict[str, float]:
    """Median slot time of a task of each operator, in batches that are warm; empty where none are."""
    counted = warm(batches)
    if len(counted) == len(batches):
        return {}
    times: dict[str, list[float]] = {}
    for batch in counted:
        occupied = batch.tasks.occupied_seconds
        for place, name in enumerate(batch.dataflow.ids):
            times.setdefault(name, []).extend(occupied[batch.tasks.operator == place].tolist())
    return {name: float(np.median(seconds)) for name, seconds in times.items() if seconds}
