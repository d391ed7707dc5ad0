"""The definitions that queries of NexMark are held to, and operators of theirs, on events whose answers are found by
hand. No Spark: tests/spark/test_workload_queries.py has it."""

import pytest
from pyspark.sql import Row

import few_events
from comparable_rows import in_order
from headgate.workloads.nexmark.queries.q19 import Highest
from headgate.workloads.nexmark.queries.winning import WinningBids
from nexmark_reference import REFERENCE, in_tables


@pytest.mark.parametrize("query", list(few_events.TRUE))
def test_a_definition_gives_what_is_found_by_hand(query):
    found = in_tables(few_events.table()).execute(REFERENCE[query]).fetchall()
    assert in_order(found) == in_order(few_events.TRUE[query])


@pytest.fixture
def tester():
    """What Spark has to try an operator without a stream; from 4.2 on."""
    return pytest.importorskip("pyspark.sql.streaming.tws_tester").TwsTester


def auction(opened, expires, **kept):
    return Row(auction=7, opened=opened * 1000, expires=expires * 1000, price=None, bid_at=None, **kept)


def bid(price, moment, **kept):
    return Row(auction=7, opened=None, expires=None, price=price, bid_at=moment * 1000, **kept)


def winning(tester, of_auction=(), of_bid=()):
    """The operator, with moments of milliseconds; nothing is late."""
    return tester(WinningBids(of_auction, of_bid), timeMode="EventTime", eventTimeExtractor=lambda row: 10**9)


def test_a_winning_bid_brings_the_columns_that_were_asked_for_and_no_others(tester):
    operator = winning(tester, ["itemName", "extra"], ["extra"])
    nothing, lamp = (
        {"auction_itemName": None, "auction_extra": None},
        {"auction_itemName": "lamp", "auction_extra": "x"},
    )
    # One waits for its auction, one is after its end, one is lower.
    assert operator.test(7, [bid(300, 150, bid_extra="won", **nothing)]) == []
    assert operator.test(7, [auction(100, 200, bid_extra=None, **lamp), bid(900, 201, bid_extra="", **nothing)]) == []
    assert operator.test(7, [bid(200, 160, bid_extra="lost", **nothing)]) == []
    (row,) = operator.setWatermark(201)
    assert row.asDict() == {
        "auction": 7,
        "opened": 100_000,
        "expires": 200_000,
        "auction_itemName": "lamp",
        "auction_extra": "x",
        "price": 300,
        "bid_at": 150_000,
        "bid_extra": "won",
    }


def test_state_has_what_a_query_needs_and_nothing_else(tester):
    operator = winning(tester, ["category"])
    # As q4 has it; whatever else a row has is left where it is.
    operator.test(7, [auction(100, 200, auction_category=12, seller=3), bid(5, 150, auction_category=None, bidder=4)])
    assert operator.peekValueState("open", 7) == (100_000, 200_000, 12)
    assert operator.peekValueState("best", 7) == (5, 150_000)
    assert WinningBids(["category"], []).schema == (
        "auction bigint, opened bigint, expires bigint, auction_category bigint, price bigint, bid_at bigint"
    )


def test_the_ten_highest_bids_are_whole_and_of_equals_the_earlier_is_higher(tester):
    operator = tester(Highest(), outputMode="Update")

    def made(price, moment):
        return Row(
            auction=7, price=price, moment=moment, bidder=moment, channel="c", url=f"u{moment}", extra=f"{price}"
        )

    first = operator.test(7, [made(price, moment=price) for price in range(1, 13)])
    assert [(row["rank"], row["price"]) for row in first] == [(rank, 13 - rank) for rank in range(1, 11)]
    again = operator.test(7, [made(12, moment=99), made(2, moment=98)])
    assert [row["moment"] for row in again] == [12, 99, 11, 10, 9, 8, 7, 6, 5, 4]
    second = {"price": 12, "moment": 99, "bidder": 99, "channel": "c", "url": "u99", "extra": "12"}
    assert again[1].asDict() == {"auction": 7, "rank": 2, **second}
