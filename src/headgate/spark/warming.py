"""Warming executors before they get work: a throw-away job that does on every slot what the first task pays for.

A new executor loads classes, compiles code, starts Python workers and has them import Arrow and pandas; the first task
of every slot pays for it. A task of a query whose state lies elsewhere does not go to a new executor by itself, so
there is time to do all that beforehand. Tasks without state go wherever a slot is free, from the first moment on: for
those this comes too late, and says so in docs/attach.md.
"""

import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from importlib import import_module

import pyarrow as pa
from pyspark.sql import SparkSession

from headgate.model.errors import HeadgateError
from headgate.model.microbatch import Executor
from headgate.spark.internals.placed_jobs import one_row_for_each_slot

_ROCKSDB = "RocksDBStateStoreProvider"
_HELD = 0.5
"""Seconds that a slot is held, so that each task finds one of its own."""
_PATIENCE = 30.0
"""Seconds, for slots to be free: tasks without state may have taken them all, and then they get warm by themselves."""
_TAG = "headgate-warming"


def warm_executors(spark: SparkSession, executors: Sequence[Executor]) -> float:
    """Run the job on every slot of these executors; the seconds it took. `HeadgateError` where they are not free."""
    began = time.monotonic()
    rows = one_row_for_each_slot(spark, executors)
    # With state in RocksDB, its native library is the largest thing to load. `reflect` is plain SQL.
    if _ROCKSDB in spark.conf.get("spark.sql.streaming.stateStore.providerClass", ""):  # type: ignore[operator]
        rows = rows.selectExpr("id", "reflect('org.rocksdb.RocksDB', 'loadLibrary') as loaded").select("id")
    context = spark.sparkContext
    context.setJobDescription("headgate: warming new executors")
    context.addJobTag(_TAG)
    late = threading.Timer(_PATIENCE, context.cancelJobsWithTag, (_TAG,))
    late.start()
    try:
        rows.mapInArrow(_holding(_HELD), "id int").groupBy("id").count().write.format("noop").mode("overwrite").save()
    except Exception:
        if time.monotonic() - began < _PATIENCE:
            raise
        raise HeadgateError(f"other tasks had their slots for {_PATIENCE:.0f} s") from None
    finally:
        late.cancel()
        context.removeJobTag(_TAG)
        context.setJobDescription(None)  # type: ignore[arg-type]
    return time.monotonic() - began


def _holding(seconds: float) -> Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    """An operator that holds its slot. Made here, so that it goes along to executors that do not have Headgate."""

    def hold(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        with suppress(ImportError):
            import_module("pandas")  # what most Python operators import
        for batch in batches:
            time.sleep(seconds)
            yield batch

    return hold
