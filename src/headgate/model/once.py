"""What is worked out once for each batch, however often it is asked for.

A controller asks the same batches after every new one. The answer is kept in the batch itself, and goes when it goes.
"""

from collections.abc import Callable
from functools import wraps
from typing import TypeVar

from headgate.model.microbatch import MicroBatch

Answer = TypeVar("Answer")


def once_a_batch(work_out: Callable[[MicroBatch], Answer]) -> Callable[[MicroBatch], Answer]:
    """The same function, with a memory."""
    name = f"{work_out.__module__}.{work_out.__qualname__}"

    @wraps(work_out)
    def remembered(batch: MicroBatch) -> Answer:
        known: dict[str, Answer] = batch.__dict__
        try:
            return known[name]
        except KeyError:
            answer = known[name] = work_out(batch)
            return answer

    return remembered
