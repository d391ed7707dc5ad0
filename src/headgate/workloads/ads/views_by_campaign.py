"""How often advertisements of each campaign were seen in the last 10 seconds, every second.

The campaign of an advertisement stands in a table at rest that the stream is joined with; or in Redis, where the
original looks it up (`campaigns_in_redis.py`).
"""

from pyspark.sql import DataFrame
from pyspark.sql import functions as f

from headgate.workloads.ads.events import campaigns_of_ads
from headgate.workloads.query import WATERMARK, Query

NAME = "views"
ASKS = "views of each campaign's advertisements in 10 s, every second"


def views(events: DataFrame) -> DataFrame:
    """Advertisement, and when it was seen."""
    return events.where("event_type = 'view'").select("ad", "event_time")


def counted(owned: DataFrame) -> DataFrame:
    """Window, campaign, and views; of views by campaign, with a watermark."""
    windows = f.window("event_time", "10 seconds", "1 second")
    return owned.groupBy(windows, "campaign").count().selectExpr("window.start as starts", "campaign", "count as views")


def views_by_campaign(events: DataFrame) -> DataFrame:
    """Window, campaign, and views."""
    table = events.sparkSession.createDataFrame(list(enumerate(campaigns_of_ads())), "id bigint, campaign bigint")
    seen = views(events).withWatermark("event_time", WATERMARK)
    return counted(seen.join(f.broadcast(table), seen.ad == table.id).select("campaign", "event_time"))


VIEWS_BY_CAMPAIGN = Query(NAME, ASKS, views_by_campaign)
