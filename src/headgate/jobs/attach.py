"""`headgate.attach`: keep the executors of a running application right-sized, from inside its driver.

    with headgate.attach(spark, query, objective=headgate.Freshness("10s"), executors=(1, 20)) as scaler:
        query.awaitTermination()

It needs nothing from the job but a running query. Several queries of one application share its executors: the sum of
what they need decides.
"""

import os
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Literal

from headgate.control.settings import TIMES, Settings
from headgate.jobs.scaler import Scaler
from headgate.model.durations import seconds
from headgate.model.errors import InputError, did_you_mean, in_brief
from headgate.model.objective import KeepUp, Objective
from headgate.policies.pool import PoolPolicy
from headgate.policies.pool_registry import pool_policy
from headgate.runtime.entries import Entry, Seen
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
    `journal` is a file to write everything to, from its start on; one that is there already is gone on with.
    `warm=False` lets new executors take work at once. Further settings by name: see
    `headgate.control.settings.Settings`.
    """
    unknown = [name for name in settings if name not in Settings.__struct_fields__ or name in _OURS]
    if unknown:
        known = [name for name in Settings.__struct_fields__ if name not in _OURS]
        raise InputError(f"attach has no setting {unknown[0]}{did_you_mean(unknown[0], known)}")
    if mode not in ("act", "advise"):
        raise InputError(f'mode is {mode!r}; give "act" or "advise"')
    if watch is not None and not callable(watch):
        raise InputError(f"watch is {watch!r}; give a function that takes an entry")
    sizing = pool_policy(policy) if isinstance(policy, str) else policy
    if not callable(getattr(sizing, "size", None)):
        raise InputError(f'policy is {policy!r}; give a name, such as "capacity", or a policy of your own')
    if not isinstance(journal, str | os.PathLike | None):
        raise InputError(f"journal is {journal!r}; give the path of a file")
    _check_query(query)
    least, most = _bounds(executors)
    times = {name: _time(name, given) for name, given in settings.items() if name in TIMES and isinstance(given, str)}
    chosen = Settings(objective=objective, least=least, most=most, mode=mode, **{**settings, **times})
    acts = mode == "act"
    engine = SparkEngine(spark, query, must_act=acts, warm=warm and acts, way=way_of(chosen))
    return Scaler(
        engine,
        chosen,
        sizing,
        application=spark.sparkContext.applicationId,
        journal=journal,
        watch=watch,
    )


def _bounds(executors: tuple[int, int]) -> tuple[int, int]:
    """The fewest and the most, if that is what was given."""
    whole = isinstance(executors, tuple | list) and all(type(one) is int for one in executors)
    if not whole or len(executors) != 2:
        raise InputError(f"executors is {executors!r}; give the fewest and the most, such as executors=(1, 8)")
    return executors[0], executors[1]


def _time(name: str, given: str) -> float:
    try:
        return seconds(given)
    except InputError as problem:
        raise InputError(f"{name}: {problem}") from None


def _check_query(query: "StreamingQuery | None") -> None:
    """Refuse what is no running query: it would be waited for in silence."""
    if query is None:
        return
    if not (hasattr(query, "id") and hasattr(query, "isActive")):
        raise InputError(f"query is {query!r}; give what writeStream….start() gave, or nothing for all queries")
    if not query.isActive:
        failed = query.exception()
        why = "" if failed is None else f" ({in_brief(failed)})"
        raise InputError(f"query {query.name or query.id} has ended{why}; there is nothing to scale")
