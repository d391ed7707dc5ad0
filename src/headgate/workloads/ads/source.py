"""The source `ads`: what people do with advertisements.

    spark.dataSource.register(AdsSource)
    spark.readStream.format("ads").option("load", "constant(10k)").load()

Options beyond those of every generated source (`generated.py`): `event_rate` (10,000 events for each second of event
time). There are 1,000 advertisements of 100 campaigns.
"""

from functools import partial

import pyarrow as pa

from headgate.workloads.ads.events import SCHEMA, Settings, events
from headgate.workloads.event_time import EventTime
from headgate.workloads.generated import GeneratedSource, Rows, SourceOptions
from headgate.workloads.scrambled import Numbers


class AdsSource(GeneratedSource):
    """Register it with `spark.dataSource.register(AdsSource)`."""

    known = ("event_rate",)

    @classmethod
    def name(cls) -> str:
        return "ads"

    def schema(self) -> str:
        return SCHEMA

    def rows(self, options: SourceOptions) -> Rows:
        return partial(_rows, Settings(EventTime(options.number("event_rate", EventTime().rate, least=1e-3))))


def _rows(settings: Settings, numbers: Numbers) -> pa.RecordBatch:
    return events(numbers, settings)
