"""The source `ads`: what people do with advertisements.

    spark.dataSource.register(AdsSource)
    spark.readStream.format("ads").option("load", "constant(10k)").load()

Options beyond those of every generated source (`generated.py`): `event_rate` (10,000 events for each second of event
time). There are 1,000 advertisements of 100 campaigns.
"""

from functools import partial

from headgate.workloads.ads.events import SCHEMA, Settings, events
from headgate.workloads.event_time import EventTime
from headgate.workloads.generated import GeneratedSource, Rows, SourceOptions


class AdsSource(GeneratedSource):
    """Register it with `spark.dataSource.register(AdsSource)`."""

    known = ("event_rate",)
    key = ("ad",)

    @classmethod
    def name(cls) -> str:
        return "ads"

    def schema(self) -> str:
        return SCHEMA

    def rows(self, options: SourceOptions) -> Rows:
        return partial(events, settings=Settings(EventTime(options.number("event_rate", EventTime().rate, least=1e-3))))
