"""The source `cars`: how fast and how far cars drive.

    spark.dataSource.register(CarsSource)
    spark.readStream.format("cars").option("load", "constant(1k)").load()

Options beyond those of every generated source (`generated.py`): `event_rate` (10,000 reports for each second of event
time), `cars` (100).
"""

from functools import partial

from headgate.workloads.cars.events import SCHEMA, Settings, events
from headgate.workloads.event_time import EventTime
from headgate.workloads.generated import GeneratedSource, Rows, SourceOptions


class CarsSource(GeneratedSource):
    """Register it with `spark.dataSource.register(CarsSource)`."""

    known = ("event_rate", "cars")
    key = ("car",)

    @classmethod
    def name(cls) -> str:
        return "cars"

    def schema(self) -> str:
        return SCHEMA

    def rows(self, options: SourceOptions) -> Rows:
        default = Settings()
        rate = options.number("event_rate", default.time.rate, least=1e-3)
        return partial(events, settings=Settings(EventTime(rate), options.count("cars", default.cars, least=1)))
