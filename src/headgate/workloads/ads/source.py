"""The source `ads`: what people do with advertisements.

    spark.dataSource.register(AdsSource)
    spark.readStream.format("ads").option("load", "constant(10k)").load()

Options are those of every generated source with event time (`generated.py`). There are 1,000 advertisements of 100
campaigns.
"""

from functools import partial

from headgate.workloads.ads.events import SCHEMA, Settings, events
from headgate.workloads.generated import EVENT_TIME, GeneratedSource, Rows, SourceOptions, event_time


class AdsSource(GeneratedSource):
    """Register it with `spark.dataSource.register(AdsSource)`."""

    known = EVENT_TIME
    key = ("ad",)

    @classmethod
    def name(cls) -> str:
        return "ads"

    def schema(self) -> str:
        return SCHEMA

    def rows(self, options: SourceOptions) -> Rows:
        return partial(events, settings=Settings(event_time(options)))
