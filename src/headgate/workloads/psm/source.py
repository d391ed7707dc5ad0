"""The source `psm`: clicks, impressions and searches in one stream.

    spark.dataSource.register(PsmSource)
    spark.readStream.format("psm").option("load", "ramp(1k -> 4k over 10m)").load()

Options beyond those of every generated source with event time (`generated.py`): `products` (1,000), `categories` (20),
`owners` (100 shops).
"""

from functools import partial

from pyspark.sql import DataFrame

from headgate.workloads.generated import EVENT_TIME, GeneratedSource, Rows, SourceOptions, event_time
from headgate.workloads.psm.events import CLICK, SCHEMA, Settings, events


class PsmSource(GeneratedSource):
    """Register it with `spark.dataSource.register(PsmSource)`."""

    known = (*EVENT_TIME, "products", "categories", "owners")
    key = ("product",)

    @classmethod
    def name(cls) -> str:
        return "psm"

    def schema(self) -> str:
        return SCHEMA

    def rows(self, options: SourceOptions) -> Rows:
        given, default = options, Settings()
        settings = Settings(
            event_time(given),
            given.count("products", default.products, least=1),
            given.count("categories", default.categories, least=1),
            given.count("owners", default.owners, least=1),
        )
        return partial(events, settings=settings)


def clicks(stream: DataFrame) -> DataFrame:
    """The clicks of a stream of events."""
    return stream.where(f"kind = {CLICK}")
