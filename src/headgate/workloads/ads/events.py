"""What people do with advertisements, each event a pure function of its number; and whose advertisements they are."""

from enum import IntEnum
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from headgate.workloads.event_time import TIMESTAMP, EventTime
from headgate.workloads.scrambled import Numbers, whole_below

SCHEMA = "number bigint, user bigint, page bigint, ad bigint, ad_type string, event_type string, event_time timestamp"
USERS, PAGES = 100_000, 1_000
CAMPAIGNS, ADS = 100, 1_000
_AD_TYPES = pa.array(["banner", "modal", "sponsored-search", "mail", "mobile"])
_EVENT_TYPES = pa.array(["view", "click", "purchase"])


class _Salt(IntEnum):
    """One for each draw."""

    USER = 1
    PAGE = 2
    AD = 3
    AD_TYPE = 4
    EVENT_TYPE = 5
    LATE = 6
    CAMPAIGN = 8


class Settings(NamedTuple):
    """What a stream of events is made by."""

    time: EventTime = EventTime()


def events(numbers: Numbers, settings: Settings) -> pa.RecordBatch:
    """All of them in order; a third are views.

    >>> some = events(np.arange(3000, dtype=np.uint64), Settings())
    >>> 900 < some["event_type"].to_pylist().count("view") < 1100
    True
    """
    return pa.RecordBatch.from_arrays(
        [
            pa.array(numbers.astype(np.int64)),
            pa.array(whole_below(USERS, numbers, _Salt.USER)),
            pa.array(whole_below(PAGES, numbers, _Salt.PAGE)),
            pa.array(whole_below(ADS, numbers, _Salt.AD)),
            _AD_TYPES.take(pa.array(whole_below(len(_AD_TYPES), numbers, _Salt.AD_TYPE))),
            _EVENT_TYPES.take(pa.array(whole_below(len(_EVENT_TYPES), numbers, _Salt.EVENT_TYPE))),
            pa.array(settings.time.of(numbers, _Salt.LATE)).cast(TIMESTAMP),
        ],
        names=["number", "user", "page", "ad", "ad_type", "event_type", "event_time"],
    )


def campaigns_of_ads() -> list[int]:
    """The campaign of each advertisement, by its number."""
    return [int(one) for one in whole_below(CAMPAIGNS, np.arange(ADS, dtype=np.uint64), _Salt.CAMPAIGN)]
