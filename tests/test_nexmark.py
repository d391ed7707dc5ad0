"""The events of NexMark: what they are made of, by counting."""

from itertools import pairwise

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest

from headgate.workloads.event_time import BASE, EventTime
from headgate.workloads.nexmark.events import Settings, events
from headgate.workloads.nexmark.shares import HotShares

MANY = 200_000


AS_USUAL = Settings()


def some(first, last, settings=AS_USUAL):
    return events(np.arange(first, last, dtype=np.uint64), settings)


@pytest.fixture(scope="module")
def lot():
    """Events from the middle of a stream, where as many persons and auctions are active as ever will be."""
    return pa.Table.from_batches([some(100_000, 100_000 + MANY)])


def of(table, kind):
    """The events of a kind as columns, with the number of each."""
    chosen = table.filter(pc.is_valid(table[kind]))
    flat = chosen[kind].combine_chunks().flatten()
    names = [field.name for field in table.schema.field(kind).type]
    return dict(zip(names, flat, strict=True)) | {"number": chosen["number"].combine_chunks()}


def test_of_fifty_events_one_is_a_person_three_are_auctions_and_the_others_bids(lot):
    kinds = np.array(lot["event_type"])
    assert np.bincount(kinds).tolist() == [MANY // 50, 3 * MANY // 50, 46 * MANY // 50]
    assert kinds[:6].tolist() == [0, 1, 1, 1, 2, 2]
    for kind, name in enumerate(("person", "auction", "bid")):
        assert np.array_equal(np.array(pc.is_valid(lot[name])), kinds == kind)


@pytest.mark.parametrize("cuts", [(0, 5000), (0, 1, 2, 49, 50, 51, 3333, 5000), tuple(range(0, 5001, 625))])
def test_however_a_stream_is_cut_every_event_is_the_same_to_the_byte(cuts):
    whole = some(0, 5000)
    pieces = pa.Table.from_batches([some(first, last) for first, last in pairwise(cuts)])
    assert pieces.combine_chunks().to_batches()[0].equals(whole)


def test_persons_and_auctions_are_numbered_without_a_gap(lot):
    for kind, each in (("person", 1), ("auction", 3)):
        ids = np.array(of(lot, kind)["id"])
        first = 1000 + 100_000 // 50 * each
        assert ids.tolist() == list(range(first, first + MANY // 50 * each))


def test_half_of_the_bids_go_to_the_first_auction_of_its_hundred_and_three_quarters_come_from_one_bidder(lot):
    bids = of(lot, "bid")
    group = np.array(bids["number"]) // 50
    newest_auction, newest_person = group * 3 + 2, group
    hot_auction = newest_auction // 100 * 100 + 1000
    hot_bidder = newest_person // 100 * 100 + 1 + 1000
    auction, bidder = np.array(bids["auction"]), np.array(bids["bidder"])
    # Those drawn from all that are active hit the hot one by chance, where it is among the last hundred.
    assert np.mean(auction == hot_auction) == pytest.approx(0.5 + 0.5 / 110, abs=0.01)
    assert np.mean(bidder == hot_bidder) == pytest.approx(0.75, abs=0.01)
    cold = auction[auction != hot_auction] - 1000 - newest_auction[auction != hot_auction]
    assert (cold.min(), cold.max()) == (-99, 10)
    assert np.bincount(cold + 99) / cold.size == pytest.approx(1 / 110, abs=0.004)
    cold = bidder[bidder != hot_bidder] - 1000 - newest_person[bidder != hot_bidder]
    assert (cold.min(), cold.max()) == (-999, 10)


def test_three_quarters_of_the_auctions_come_from_one_seller(lot):
    auctions = of(lot, "auction")
    hot = np.array(auctions["number"]) // 50 // 100 * 100 + 1000
    assert np.mean(np.array(auctions["seller"]) == hot) == pytest.approx(0.75, abs=0.015)


def test_hot_shares_can_be_set():
    bids = of(pa.Table.from_batches([some(10_000, 30_000, Settings(hot=HotShares(0.0, 1.0, 0.0)))]), "bid")
    assert len(np.unique(np.array(bids["bidder"]))) == 20_000 // 50 // 100
    assert np.bincount(np.array(bids["auction"])).max() < 0.02 * 20_000


def test_every_magnitude_of_a_price_is_equally_likely(lot):
    prices = np.log10(np.array(of(lot, "bid")["price"], dtype=float))
    assert (prices.min() >= 2, prices.max() <= 8) == (True, True)
    assert np.histogram(prices, bins=6, range=(2, 8))[0] / prices.size == pytest.approx(1 / 6, abs=0.01)


def test_categories_and_states_are_even(lot):
    categories = np.array(of(lot, "auction")["category"])
    assert np.bincount(categories)[10:15] / categories.size == pytest.approx(0.2, abs=0.02)
    states = pc.value_counts(of(lot, "person")["state"]).to_pylist()
    assert sorted(one["values"] for one in states) == ["AZ", "CA", "ID", "OR", "WA", "WY"]


def test_half_of_the_channels_are_the_four_large_ones_and_most_others_name_their_id(lot):
    bids = of(lot, "bid")
    large = pc.is_in(bids["channel"], pa.array(["Google", "Facebook", "Baidu", "Apple"]))
    assert np.mean(np.array(large)) == pytest.approx(0.5, abs=0.01)
    named = pc.match_substring(bids["url"], "&channel_id=")
    assert not np.any(np.array(pc.and_(large, named)))
    assert np.mean(np.array(named)) / 0.5 == pytest.approx(0.9, abs=0.02)
    others = bids["channel"].filter(pc.invert(large))
    assert len(others.unique()) > 9_900
    assert pc.all(pc.match_substring_regex(others, r"^channel-\d{1,4}$")).as_py()
    assert pc.all(pc.match_substring_regex(bids["url"], r"^https://www\.nexmark\.com/\w+/\w+/\w+/item\.htm\?")).as_py()


@pytest.mark.parametrize(("kind", "size"), [("person", 200), ("auction", 500), ("bid", 100)])
def test_rows_are_as_large_as_they_should_be(lot, kind, size):
    columns = of(lot, kind)
    columns.pop("number")
    bytes_each = sum(np.array(pc.binary_length(one)) if pa.types.is_string(one.type) else 8 for one in columns.values())
    assert np.mean(bytes_each) == pytest.approx(size, rel=0.1)
    assert (
        pc.max(
            pc.binary_length(of(pa.Table.from_batches([some(0, 100, Settings(padding=False))]), kind)["extra"])
        ).as_py()
        == 0
    )


def test_an_event_happens_when_its_number_says_and_auctions_end_after_they_begin(lot):
    at = np.array(lot["dateTime"].cast(pa.int64()))
    assert at.tolist()[:3] == [BASE + n * 100 for n in range(100_000, 100_003)]  # 10,000 a second
    auctions = of(lot, "auction")
    lasting = np.array(pc.subtract(auctions["expires"].cast(pa.int64()), auctions["dateTime"].cast(pa.int64())))
    # A hundred auctions come in 100 x 50 / 3 events, which is 1/6 s: up to twice that.
    assert lasting.min() >= 1
    assert lasting.max() <= 2 * 166_667
    assert lasting.mean() == pytest.approx(166_667, rel=0.03)


def test_some_events_come_late_if_asked_for():
    late = Settings(time=EventTime(rate=1000.0, out_of_order=0.2, delay=2.0))
    table = some(50_000, 70_000, late)
    due = BASE + np.arange(50_000, 70_000) * 1000
    early = due - np.array(table["dateTime"].cast(pa.int64()))
    assert np.mean(early > 0) == pytest.approx(0.2, abs=0.01)
    assert early.max() <= 2_000_000
    assert early[early > 0].mean() == pytest.approx(1_000_000, rel=0.03)
