"""How often advertisements of each campaign were seen in the last 10 seconds, every second.

The campaign of an advertisement stands in a table at rest, which the original looks up in Redis.
"""

from pyspark.sql import DataFrame
from pyspark.sql import functions as f

from headgate.workloads.ads.events import campaigns_of_ads
from headgate.workloads.query import WATERMARK, Query


def views_by_campaign(events: DataFrame) -> DataFrame:
    """Window, campaign, and views."""
    table = events.sparkSession.createDataFrame(list(enumerate(campaigns_of_ads())), "id bigint, campaign bigint")
    seen = events.where("event_type = 'view'").select("ad", "event_time").withWatermark("event_time", WATERMARK)
    owned = seen.join(f.broadcast(table), seen.ad == table.id).select("campaign", "event_time")
    windows = f.window("event_time", "10 seconds", "1 second")
    counted = owned.groupBy(windows, "campaign").count()
    return counted.selectExpr("window.start as starts", "campaign", "count as views")


VIEWS_BY_CAMPAIGN = Query("views", "views of each campaign's advertisements in 10 s, every second", views_by_campaign)
