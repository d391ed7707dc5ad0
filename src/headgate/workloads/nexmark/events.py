"""The events themselves: columns of persons, auctions and bids, each a pure function of the numbers of the events.

What is drawn by chance is drawn by the number of the event and a salt for each field, so that any range of events can
be made again, on any machine, in any cut.
"""

from collections.abc import Mapping
from enum import IntEnum
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from headgate.workloads.arrow_text import digits, nonsense, one_of, sizes, spaced_text
from headgate.workloads.event_time import TIMESTAMP, EventTime
from headgate.workloads.nexmark.numbering import (
    AUCTION,
    AUCTIONS,
    BID,
    FIRST_ID,
    GROUP,
    PERSON,
    Ids,
    kinds,
    there,
)
from headgate.workloads.nexmark.shares import ACTIVE_AUCTIONS, ACTIVE_PERSONS, HotShares, drawn
from headgate.workloads.scrambled import Numbers, mixed, unit_interval

PERSON_SCHEMA = (
    "id bigint, name string, emailAddress string, creditCard string, city string, state string, dateTime timestamp, "
    "extra string"
)
AUCTION_SCHEMA = (
    "id bigint, itemName string, description string, initialBid bigint, reserve bigint, dateTime timestamp, "
    "expires timestamp, seller bigint, category bigint, extra string"
)
BID_SCHEMA = "auction bigint, bidder bigint, price bigint, channel string, url string, dateTime timestamp, extra string"
SCHEMA = (
    f"number bigint, event_type int, person struct<{PERSON_SCHEMA}>, auction struct<{AUCTION_SCHEMA}>, "
    f"bid struct<{BID_SCHEMA}>, dateTime timestamp"
)

PERSON_BYTES, AUCTION_BYTES, BID_BYTES = 200, 500, 100
"""What a row has on average, its padding included."""
_WITHIN = 0.2
_CATEGORIES, _FIRST_CATEGORY = 5, 10
_CHEAPEST, _MAGNITUDES = 100, 6
_MICROSECONDS = 1

_STATES = pa.array(["AZ", "CA", "ID", "OR", "WA", "WY"])
_CITIES = pa.array("Phoenix,Los Angeles,San Francisco,Boise,Portland,Bend,Redmond,Seattle,Kent,Cheyenne".split(","))
_NAMES = pa.array(
    [
        f"{first} {last}"
        for first in "Peter,Paul,Luke,John,Saul,Vicky,Kate,Julie,Sarah,Deiter,Walter".split(",")
        for last in "Shultz,Abrams,Spencer,White,Bartels,Walton,Smith,Jones,Noris".split(",")
    ]
)
_MEMBERS = 10_000
"""Channels that are not hot."""
_HOT_CHANNELS = ("Google", "Facebook", "Baidu", "Apple")
_WITH_ID = 0.9
"""The part of other channels whose address names their id."""


class Salt(IntEnum):
    """One for each draw; they stay as they are, or every recorded result becomes another. Some take the next too."""

    NAME = 1
    MAIL = 2
    HOST = 3
    CITY = 4
    STATE = 5
    PERSON_EXTRA = 6
    CARD = 10
    ITEM = 30
    DESCRIPTION = 32
    FIRST_PRICE = 34
    RESERVE = 35
    SELLER = 36
    CATEGORY = 38
    LENGTH = 39
    AUCTION_EXTRA = 40
    BID_AUCTION = 50
    BIDDER = 52
    PRICE = 54
    CHANNEL_KIND = 55
    CHANNEL = 56
    BID_EXTRA = 57
    LATE = 60
    CHANNELS = 70


class Settings(NamedTuple):
    """What a stream of events is made by."""

    time: EventTime = EventTime()
    hot: HotShares = HotShares()
    padding: bool = True
    """Whether rows are filled up to their size; without, `extra` is empty."""


def events(numbers: Numbers, settings: Settings) -> pa.RecordBatch:
    """All of them in order; of each row one of person, auction and bid is there."""
    kind = kinds(numbers)
    moments = settings.time.of(numbers, Salt.LATE)
    return pa.RecordBatch.from_arrays(
        [
            pa.array(numbers.astype(np.int64)),
            pa.array(kind),
            _among(kind == PERSON, persons(numbers[kind == PERSON], settings)),
            _among(kind == AUCTION, auctions(numbers[kind == AUCTION], settings)),
            # Nearly all are bids: to make one of every number and cover those that are none takes half the time.
            _only(kind == BID, bids(numbers, settings)),
            _moments(moments),
        ],
        names=["number", "event_type", "person", "auction", "bid", "dateTime"],
    )


def persons(numbers: Numbers, settings: Settings) -> pa.StructArray:
    """The persons that these events are."""
    mail = pc.binary_join_element_wise(
        nonsense(numbers, Salt.MAIL, np.full(len(numbers), 7)),
        nonsense(numbers, Salt.HOST, np.full(len(numbers), 5)),
        "@",
    )
    columns = {
        "id": pa.array(there(numbers).person + FIRST_ID),
        "name": one_of(numbers, Salt.NAME, _NAMES),
        "emailAddress": pc.binary_join_element_wise(mail, "com", "."),
        "creditCard": digits(numbers, Salt.CARD, "#### #### #### ####"),
        "city": one_of(numbers, Salt.CITY, _CITIES),
        "state": one_of(numbers, Salt.STATE, _STATES),
        "dateTime": _moments(settings.time.of(numbers, Salt.LATE)),
    }
    return _padded(numbers, columns, PERSON_BYTES, Salt.PERSON_EXTRA, settings)


def auctions(numbers: Numbers, settings: Settings) -> pa.StructArray:
    """The auctions that these events open."""
    newest = there(numbers)
    opened = settings.time.of(numbers, Salt.LATE)
    first = _prices(numbers, Salt.FIRST_PRICE)
    # Half of all auctions are over by the time that a hundred more were opened.
    usual = settings.time.lasting(ACTIVE_AUCTIONS * GROUP / AUCTIONS)
    lasting = _MICROSECONDS + np.floor(unit_interval(numbers, Salt.LENGTH) * (2 * usual)).astype(np.int64)
    columns = {
        "id": pa.array(newest.auction + FIRST_ID),
        "itemName": nonsense(numbers, Salt.ITEM, _about(numbers, Salt.ITEM + 1, 10, 20)),
        "description": nonsense(numbers, Salt.DESCRIPTION, _about(numbers, Salt.DESCRIPTION + 1, 50, 100)),
        "initialBid": pa.array(first),
        "reserve": pa.array(first + _prices(numbers, Salt.RESERVE)),
        "dateTime": _moments(opened),
        "expires": _moments(opened + lasting),
        "seller": pa.array(
            drawn(numbers, newest.person, Salt.SELLER, hot=settings.hot.seller, hot_place=0, active=ACTIVE_PERSONS)
        ),
        "category": pa.array(
            (mixed(numbers, Salt.CATEGORY) % np.uint64(_CATEGORIES)).astype(np.int64) + _FIRST_CATEGORY
        ),
    }
    return _padded(numbers, columns, AUCTION_BYTES, Salt.AUCTION_EXTRA, settings)


def bids(numbers: Numbers, settings: Settings) -> pa.StructArray:
    """The bids that these events are."""
    newest, hot = there(numbers), settings.hot
    channel = _channels(numbers)
    columns = {
        "auction": pa.array(
            drawn(numbers, newest.auction, Salt.BID_AUCTION, hot=hot.auction, hot_place=0, active=ACTIVE_AUCTIONS)
        ),
        "bidder": pa.array(
            drawn(numbers, newest.person, Salt.BIDDER, hot=hot.bidder, hot_place=1, active=ACTIVE_PERSONS)
        ),
        "price": pa.array(_prices(numbers, Salt.PRICE)),
        "channel": _CHANNELS.take(channel),
        "url": _URLS.take(channel),
        "dateTime": _moments(settings.time.of(numbers, Salt.LATE)),
    }
    return _padded(numbers, columns, BID_BYTES, Salt.BID_EXTRA, settings)


def _prices(numbers: Numbers, salt: int) -> Ids:
    """From a dollar to a million, every magnitude equally likely; in cents."""
    return np.round(_CHEAPEST * 10.0 ** (_MAGNITUDES * unit_interval(numbers, salt))).astype(np.int64)


def _about(numbers: Numbers, salt: int, least: int, most: int) -> npt.NDArray[np.int64]:
    return least + np.floor(unit_interval(numbers, salt) * (most - least + 1)).astype(np.int64)


def _channels(numbers: Numbers) -> pa.Array:
    """Places in `_CHANNELS`: half of all are hot ones."""
    hot = mixed(numbers, Salt.CHANNEL) % np.uint64(len(_HOT_CHANNELS))
    other = mixed(numbers, Salt.CHANNEL) % np.uint64(_MEMBERS) + np.uint64(len(_HOT_CHANNELS))
    chosen = mixed(numbers, Salt.CHANNEL_KIND) % np.uint64(2) == 0
    return pa.array(np.where(chosen, hot, other).astype(np.int64))


def _addresses() -> tuple[pa.StringArray, pa.StringArray]:
    """Every channel, and its address."""
    names = [*_HOT_CHANNELS, *(f"channel-{number}" for number in range(_MEMBERS))]
    numbers = np.arange(len(names), dtype=np.uint64)
    folders = [nonsense(numbers, Salt.CHANNELS + place, np.full(len(names), 5)).to_pylist() for place in range(3)]
    named = unit_interval(numbers, Salt.CHANNELS + 3) < _WITH_ID
    named[: len(_HOT_CHANNELS)] = False
    ids = mixed(numbers, Salt.CHANNELS + 4) % np.uint64(_MEMBERS)
    addresses = [
        f"https://www.nexmark.com/{one}/{two}/{three}/item.htm?query=1{f'&channel_id={id}' if known else ''}"
        for one, two, three, id, known in zip(*folders, ids.tolist(), named.tolist(), strict=True)
    ]
    return pa.array(names), pa.array(addresses)


_CHANNELS, _URLS = _addresses()


def _moments(moments: npt.NDArray[np.int64]) -> pa.Array:
    return pa.array(moments).view(TIMESTAMP)


def _padded(
    numbers: Numbers, columns: Mapping[str, pa.Array], size: int, salt: int, settings: Settings
) -> pa.StructArray:
    """With `extra`, which brings a row to its size, a fifth more or less."""
    lengths = np.zeros(len(numbers), dtype=np.int64)
    if settings.padding:
        own = sum(sizes(one) if pa.types.is_string(one.type) else np.full(len(numbers), 8) for one in columns.values())
        missing = np.maximum(size - own, 0)
        part = 1 - _WITHIN + 2 * _WITHIN * unit_interval(numbers, salt)
        lengths = np.round(missing * part).astype(np.int64)
    extra = nonsense(numbers, salt + 1, lengths)
    return pa.StructArray.from_arrays([*columns.values(), extra], names=[*columns, "extra"])


def _only(chosen: npt.NDArray[np.bool_], values: pa.StructArray) -> pa.Array:
    """Of values for all rows, those where they are chosen."""
    names = [values.type.field(place).name for place in range(values.type.num_fields)]
    return pa.StructArray.from_arrays(values.flatten(), names=names, mask=pa.array(~chosen))


def _among(chosen: npt.NDArray[np.bool_], values: pa.StructArray) -> pa.Array:
    """Values where they are chosen, and nothing elsewhere.

    Column by column: what is nothing has no text, so the letters stay where they are and only their places are told
    anew. To take each value by its place would cost as much as making it.
    """
    before = np.concatenate(([0], np.cumsum(chosen)))
    names = [values.type.field(place).name for place in range(values.type.num_fields)]
    columns = [_spaced(chosen, before, column) for column in values.flatten()]
    return pa.StructArray.from_arrays(columns, names=names, mask=pa.array(~chosen))


def _spaced(chosen: npt.NDArray[np.bool_], before: npt.NDArray[np.int64], column: pa.Array) -> pa.Array:
    """A column's values where they are chosen; `before` has, for each place, how many were chosen before it."""
    if pa.types.is_string(column.type):
        return spaced_text(before, column)
    spaced = np.zeros(len(chosen), dtype=np.int64)
    spaced[chosen] = column.view(pa.int64()).to_numpy()
    return pa.array(spaced).view(column.type)
