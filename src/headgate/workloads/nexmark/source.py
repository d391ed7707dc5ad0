"""The source `nexmark`: one stream of persons, auctions and bids.

    spark.dataSource.register(NexmarkSource)
    spark.readStream.format("nexmark").option("load", "step(20k -> 60k @ 2m)").load()

Columns: `number`, `event_type` (0 a person, 1 an auction, 2 a bid), `person`, `auction` and `bid`, of which one is
there, and `dateTime`, the event's time. `persons`, `auctions` and `bids` take a stream of one kind out of it.

Options beyond those of every generated source with event time (`generated.py`): `hot_auctions` (0.5 of bids),
`hot_bidders` (0.75 of bids), `hot_sellers` (0.75 of auctions), `padding` (true: rows as large as NexMark's).
"""

from functools import partial

from pyspark.sql import DataFrame

from headgate.workloads.generated import EVENT_TIME, GeneratedSource, Rows, SourceOptions, event_time
from headgate.workloads.nexmark.events import SCHEMA, Settings, events
from headgate.workloads.nexmark.numbering import AUCTION, BID, PERSON
from headgate.workloads.nexmark.shares import HotShares


class NexmarkSource(GeneratedSource):
    """Register it with `spark.dataSource.register(NexmarkSource)`."""

    known = (*EVENT_TIME, "hot_auctions", "hot_bidders", "hot_sellers", "padding")
    key = ("bid.auction", "auction.id", "person.id")

    @classmethod
    def name(cls) -> str:
        return "nexmark"

    def schema(self) -> str:
        return SCHEMA

    def rows(self, options: SourceOptions) -> Rows:
        return partial(events, settings=settings_of(options))


def settings_of(options: SourceOptions) -> Settings:
    """What the options say."""
    return Settings(
        event_time(options),
        HotShares(
            options.number("hot_auctions", HotShares().auction, most=1.0),
            options.number("hot_bidders", HotShares().bidder, most=1.0),
            options.number("hot_sellers", HotShares().seller, most=1.0),
        ),
        padding=options.yes("padding", default=True),
    )


def persons(stream: DataFrame) -> DataFrame:
    """The persons of a stream of events."""
    return stream.where(f"event_type = {PERSON}").select("person.*")


def auctions(stream: DataFrame) -> DataFrame:
    """Its auctions."""
    return stream.where(f"event_type = {AUCTION}").select("auction.*")


def bids(stream: DataFrame) -> DataFrame:
    """Its bids."""
    return stream.where(f"event_type = {BID}").select("bid.*")
