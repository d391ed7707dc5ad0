"""What is worked out once for each batch, however often it is asked for.

A controller asks the same batches after every new one. Nothing is kept for batches that nobody holds any more.
"""

from collections.abc import Callable
from functools import wraps
from typing import TypeVar
from weakref import WeakKeyDictionary

from headgate.model.microbatch import MicroBatch

Answer = TypeVar("Answer")


def once_a_batch(work_out: Callable[[MicroBatch], Answer]) -> Callable[[MicroBatch], Answer]:
    """The same function, with a memory."""
    known: WeakKeyDictionary[MicroBatch, Answer] = WeakKeyDictionary()

    @wraps(work_out)
    def remembered(batch: MicroBatch) -> Answer:
        try:
            return known[batch]
        except KeyError:
            answer = known[batch] = work_out(batch)
            return answer

    return remembered
