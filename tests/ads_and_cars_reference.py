"""What the queries about advertisements and cars should give, over the same events at rest: written from their
definitions."""

import duckdb
import numpy as np
import pyarrow as pa

from headgate.workloads.ads.events import campaigns_of_ads
from headgate.workloads.ads.events import events as ads
from headgate.workloads.cars.events import events as cars

LATE = 4_000_000
"""Microseconds by which an event may be late."""
SECOND = 1_000_000

ADS = {
    "views": f"""
        with seen as (select campaign, t from stream join owners using (ad) where event_type = 'view')
        select s, campaign, count(*) from seen,
            unnest(generate_series((t // {SECOND} - 9) * {SECOND}, t // {SECOND} * {SECOND}, {SECOND})) as u(s)
        where s + {10 * SECOND} <= (select max(t) - {LATE} from stream where event_type = 'view') group by s, campaign
    """,
}


def ads_at_rest(rows, settings):
    """A database with so many events, and the campaign of each advertisement."""
    database = _at_rest(ads(np.arange(rows, dtype=np.uint64), settings))
    campaigns = campaigns_of_ads()
    owners = pa.table({"ad": list(range(len(campaigns))), "campaign": campaigns})
    database.register("owners", owners)
    return database


def cars_at_rest(rows, settings):
    """A database with so many reports."""
    return _at_rest(cars(np.arange(rows, dtype=np.uint64), settings))


def _at_rest(made):
    database = duckdb.connect()
    database.register("made", pa.Table.from_batches([made]))
    database.execute("create table stream as select *, epoch_us(event_time) t from made")
    return database


def top_speeds(database):
    """Of each report whether the car is 50 m further than where it told last; if so, its top speed of the last 10 s."""
    for (car,) in database.execute("select distinct car from stream").fetchall():
        reports = database.execute("select t, distance, speed from stream where car = ? order by number", [car])
        times, distances, speeds = (np.array(column) for column in zip(*reports.fetchall(), strict=True))
        told = distances[0]
        for at in range(len(times)):
            if distances[at] - told > 50:
                told = distances[at]
                since = np.searchsorted(times, times[at] - 10 * SECOND, side="right")
                yield car, int(times[at]), float(speeds[since : at + 1].max())


CARS = {"top-speed": top_speeds}
