"""The source `cars`: how fast and how far cars drive.

    spark.dataSource.register(CarsSource)
    spark.readStream.format("cars").option("load", "constant(1k)").load()

Options beyond those of every generated source with event time (`generated.py`): `cars` (100).
"""

from functools import partial

from headgate.workloads.cars.events import SCHEMA, Settings, events
from headgate.workloads.generated import EVENT_TIME, GeneratedSource, Rows, SourceOptions, event_time


class CarsSource(GeneratedSource):
    """Register it with `spark.dataSource.register(CarsSource)`."""

    known = (*EVENT_TIME, "cars")
    key = ("car",)

    @classmethod
    def name(cls) -> str:
        return "cars"

    def schema(self) -> str:
        return SCHEMA

    def rows(self, options: SourceOptions) -> Rows:
        cars = options.count("cars", Settings().cars, least=1)
        return partial(events, settings=Settings(event_time(options), cars))
