"""The campaigns of advertisements in Redis, and the query that looks them up there, as the original does.

    query = views_from_redis("redis://127.0.0.1:6379")

writes the campaigns of all advertisements into a hash in Redis, which does no harm a second time, and is the query
`views` that reads them from there. Each Arrow batch asks once for all its advertisements, and nothing is remembered
between two batches: as many questions as batches reach Redis. An advertisement that Redis does not know has no
campaign and is left out, as a join with a table would have it.

Needs the extra `redis` (`pip install "headgate[redis]"`), on executors too.
"""

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, TypeAlias

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import DataFrame

from headgate.model.errors import InputError, one_line
from headgate.workloads.ads.events import campaigns_of_ads
from headgate.workloads.ads.views_by_campaign import ASKS, NAME, counted, views
from headgate.workloads.query import WATERMARK, Query

if TYPE_CHECKING:
    from redis import Redis

Batches: TypeAlias = Iterator[pa.RecordBatch]

KEY = "headgate:campaigns"
"""A hash: advertisement -> campaign."""


def views_from_redis(address: str) -> Query:
    """The query, with campaigns from a Redis that is there; it gets them now."""
    fill(address)

    def views_by_campaign(events: DataFrame) -> DataFrame:
        """Window, campaign, and views."""
        owned = views(events).mapInArrow(look_up(address), "campaign bigint, event_time timestamp")
        # Behind the operator: Spark forgets a watermark on the way through one.
        return counted(owned.withWatermark("event_time", WATERMARK))

    return Query(NAME, ASKS, views_by_campaign)


def fill(address: str) -> None:
    """Write down all campaigns."""
    with _connected(address) as redis:
        from redis.exceptions import RedisError  # noqa: PLC0415 - it is there, or there were no connection

        try:
            redis.hset(KEY, mapping={str(ad): campaign for ad, campaign in enumerate(campaigns_of_ads())})
        except RedisError as problem:
            raise InputError(f"{address}: Redis does not take the campaigns ({one_line(str(problem))})") from None


def look_up(address: str) -> Callable[[Batches], Batches]:
    """For `mapInArrow`: views with their advertisement in, views with its campaign out."""

    def look_up_campaigns(batches: Batches) -> Batches:
        with _connected(address) as redis:
            for batch in batches:
                if batch.num_rows:
                    ads = pc.dictionary_encode(batch.column("ad"))
                    found = redis.hmget(KEY, [str(ad) for ad in ads.dictionary.to_pylist()])
                    campaigns = pa.array([None if one is None else int(one) for one in found], pa.int64())
                    columns = [campaigns.take(ads.indices), batch.column("event_time")]
                    owned = pa.RecordBatch.from_arrays(columns, names=["campaign", "event_time"])
                    yield owned.filter(pc.is_valid(owned.column("campaign")))

    return look_up_campaigns


def _connected(address: str) -> "Redis":
    try:
        from redis import Redis  # noqa: PLC0415 - only who asks for it needs it
    except ImportError:
        raise InputError('redis is not installed; get it with: pip install "headgate[redis]"') from None
    try:
        connection = Redis.from_url(address)
    except ValueError:
        raise InputError(f'"{address}" is no address of Redis; give it as redis://HOST:PORT') from None
    try:
        connection.ping()
    except Exception as problem:
        raise InputError(f"{address}: no answer from Redis ({one_line(str(problem))}); is it running?") from None
    return connection
