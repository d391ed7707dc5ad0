"""`headgate.attach`: keep the executors of a running application right-sized, from inside its driver.

    with headgate.attach(spark, query, objective=headgate.Freshness("10s"), executors=(1, 20)) as scaler:
        query.awaitTermination()

It needs nothing from the job but a running query. Several queries of one application share its executors: the sum of
what they need decides.
"""

import os
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Literal

from headgate.control.settings import Settings
from headgate.jobs.scaler import Scaler
from headgate.model.errors import InputError, did_you_mean
from headgate.model.objective import KeepUp, Objective
from headgate.policies.pool import PoolPolicy
from headgate.policies.pool_registry import pool_policy
from headgate.runtime.entries import Entry, Seen
from headgate.runtime.journal import Journal
from headgate.spark.engine import SparkEngine
from headgate.spark.moving import way_of

if TYPE_CHECKING:
    from pyspark.sql import SparkSession
    from pyspark.sql.streaming.query import StreamingQuery

_OURS = ("objective", "least", "most", "mode", "slots_each")


def attach(
    spark: "SparkSession",
    query: "StreamingQuery | None" = None,
    *,
    objective: Objective = KeepUp(headroom=0.2),  # noqa: B008 - a value
    executors: tuple[int, int] = (1, 8),
    mode: Literal["act", "advise"] = "act",
    policy: str | PoolPolicy = "capacity",
    journal: str | os.PathLike[str] | None = None,
    warm: bool = True,
    watch: "Callable[[Entry | Seen], object] | None" = None,
    **settings: Any,
) -> Scaler:
    """A scaler for one query, or for all of a session; start it with `with` or `.start()`.

    `executors` are the fewest and the most there may be. `mode="advise"` says what it would do and does nothing.
    `journal` is a file to write everything to; one that is there already is gone on with. `warm=False` lets new
    executors take work at once. Further settings by name: see `headgate.control.settings.Settings`.
    """
    unknown = [name for name in settings if name not in Settings.__struct_fields__ or name in _OURS]
    if unknown:
        known = [name for name in Settings.__struct_fields__ if name not in _OURS]
        raise InputError(f"attach has no setting {unknown[0]}{did_you_mean(unknown[0], known)}")
    if mode not in ("act", "advise"):
        raise InputError(f'mode is {mode!r}; give "act" or "advise"')
    least, most = executors
    chosen = Settings(objective=objective, least=least, most=most, mode=mode, **settings)
    acts = mode == "act"
    engine = SparkEngine(spark, query, must_act=acts, warm=warm and acts, way=way_of(chosen))
    return Scaler(
        engine,
        chosen,
        pool_policy(policy) if isinstance(policy, str) else policy,
        application=spark.sparkContext.applicationId,
        journal=Journal(journal) if journal is not None else None,
        watch=watch,
    )
