"""The source `nexmark`: one stream of persons, auctions and bids.

    spark.dataSource.register(NexmarkSource)
    spark.readStream.format("nexmark").option("load", "step(20k -> 60k @ 2m)").load()

Columns: `number`, `event_type` (0 a person, 1 an auction, 2 a bid), `person`, `auction` and `bid`, of which one is
there, and `dateTime`, the event's time. `persons`, `auctions` and `bids` take a stream of one kind out of it.

Options beyond those of every generated source (`generated.py`): `event_rate` (10,000 events for each second of event
time), `hot_auctions` (0.5 of bids), `hot_bidders` (0.75 of bids), `hot_sellers` (0.75 of auctions), `out_of_order` (0
of events) by up to `delay` (1 s), `padding` (true: rows as large as NexMark's).
"""

from functools import partial

from pyspark.sql import DataFrame

from headgate.workloads.event_time import EventTime
from headgate.workloads.generated import GeneratedSource, Rows, SourceOptions
from headgate.workloads.nexmark.events import SCHEMA, Settings, events
from headgate.workloads.nexmark.numbering import AUCTION, BID, PERSON
from headgate.workloads.nexmark.shares import HotShares


class NexmarkSource(GeneratedSource):
    """Register it with `spark.dataSource.register(NexmarkSource)`."""

    known = ("event_rate", "hot_auctions", "hot_bidders", "hot_sellers", "out_of_order", "delay", "padding")
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
        EventTime(
            rate=options.number("event_rate", EventTime().rate, least=1e-3),
            out_of_order=options.number("out_of_order", 0.0, most=1.0),
            delay=options.number("delay", 1.0),
        ),
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
