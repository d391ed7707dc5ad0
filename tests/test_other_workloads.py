"""Price search, advertisements and cars: events are what their numbers say, in any cut, and shares as described."""

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest

from headgate.workloads.ads.events import Settings as AdsSettings
from headgate.workloads.ads.events import campaigns_of_ads
from headgate.workloads.ads.events import events as ads
from headgate.workloads.ads.source import AdsSource
from headgate.workloads.cars.events import Settings as CarsSettings
from headgate.workloads.cars.events import events as cars
from headgate.workloads.cars.source import CarsSource
from headgate.workloads.event_time import BASE, EventTime
from headgate.workloads.generated import SourceOptions
from headgate.workloads.nexmark.source import NexmarkSource
from headgate.workloads.psm.events import Settings as PsmSettings
from headgate.workloads.psm.events import events as psm
from headgate.workloads.psm.source import PsmSource

ROWS = 60_000


def numbers(first, last):
    return np.arange(first, last, dtype=np.uint64)


@pytest.mark.parametrize(
    ("events", "settings"),
    [(psm, PsmSettings()), (ads, AdsSettings()), (cars, CarsSettings())],
    ids=["psm", "ads", "cars"],
)
def test_events_are_the_same_in_any_cut(events, settings):
    whole = events(numbers(0, 1000), settings)
    cut = [events(numbers(first, last), settings) for first, last in ((0, 1), (1, 333), (333, 1000))]
    assert pa.Table.from_batches(cut).combine_chunks().equals(pa.Table.from_batches([whole]))
    assert events(numbers(500, 600), settings).equals(whole.slice(500, 100))


@pytest.mark.parametrize("source", [AdsSource, CarsSource, NexmarkSource, PsmSource], ids=lambda one: one.name())
def test_every_source_puts_the_part_of_its_events_out_of_order_that_it_is_asked_to(source):
    def moments(**given):
        options = SourceOptions(source.name(), given, source.known)
        made = source({}).rows(options)(numbers(0, ROWS))
        column = next(name for name in made.schema.names if pa.types.is_timestamp(made.schema.field(name).type))
        return made[column].cast(pa.int64()).to_numpy()

    on_time, late = moments(event_rate="1000"), moments(event_rate="1000", out_of_order="0.2", delay="3")
    assert (np.diff(on_time) >= 0).all()
    earlier = (on_time - late) / 1e6
    assert np.mean(earlier > 0) == pytest.approx(0.2, abs=0.01)
    assert 2.9 < earlier.max() <= 3
    assert earlier.min() == 0


def test_of_price_search_half_are_searches_and_a_quarter_clicks_with_a_price_and_a_shop():
    made = psm(numbers(0, ROWS), PsmSettings())
    kinds = np.bincount(made["kind"].to_numpy()) / ROWS
    assert kinds == pytest.approx([0.25, 0.25, 0.5], abs=0.01)
    clicked = made.filter(pc.equal(made["kind"], 0))
    assert (clicked["price"].null_count, clicked["owner"].null_count) == (0, 0)
    assert pc.min_max(clicked["price"]).as_py() == {"min": 0.2, "max": 0.7}
    others = made.filter(pc.not_equal(made["kind"], 0))
    assert others["price"].null_count == others["owner"].null_count == others.num_rows
    assert made.filter(pc.equal(made["kind"], 2))["rank"].null_count == 0
    assert made.filter(pc.not_equal(made["kind"], 2))["rank"].null_count == pytest.approx(ROWS / 2)


def test_a_product_has_one_category():
    made = psm(numbers(0, ROWS), PsmSettings(products=50, categories=7))
    pairs = set(zip(made["product"].to_pylist(), made["category"].to_pylist(), strict=True))
    assert len(pairs) == 50
    assert {category for _, category in pairs} == set(range(7))


def test_a_third_of_what_happens_to_advertisements_are_views_and_each_has_a_campaign():
    made = ads(numbers(0, ROWS), AdsSettings())
    told = {one["values"]: one["counts"] / ROWS for one in pc.value_counts(made["event_type"]).to_pylist()}
    assert told == pytest.approx({"view": 1 / 3, "click": 1 / 3, "purchase": 1 / 3}, abs=0.01)
    campaigns = campaigns_of_ads()
    assert set(made["ad"].to_pylist()) == set(range(len(campaigns)))
    assert set(campaigns) == set(range(100))


def test_a_car_has_driven_what_its_speeds_add_up_to():
    rate, count = 200.0, 4
    made = cars(numbers(0, 40_000), CarsSettings(EventTime(rate), cars=count))
    for car in range(count):
        mine = made.filter(pc.equal(made["car"], car))
        speed, distance = mine["speed"].to_numpy(), mine["distance"].to_numpy()
        # By the trapezoidal rule, over 200 s in steps of 20 ms.
        driven = np.sum((speed[1:] + speed[:-1]) / 2) * count / rate
        assert distance[-1] - distance[0] == pytest.approx(driven, rel=1e-4)
        assert speed.min() > 0


def test_event_time_goes_by_the_rate():
    made = ads(numbers(0, 11), AdsSettings(EventTime(10.0)))
    moments = pc.cast(made["event_time"], pa.int64()).to_pylist()
    assert moments[0] == BASE
    assert moments[10] - moments[0] == 1_000_000
