import math
from itertools import accumulate, pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from headgate.model.errors import InputError
from headgate.workloads.load import (
    Climb,
    Constant,
    LoadError,
    Product,
    Ramp,
    Sine,
    Spike,
    Square,
    Step,
    Trace,
    Walk,
    load_from_text,
)
from headgate.workloads.scrambled import unit_interval

rates = st.floats(0, 1e6)
times = st.floats(0.1, 100)
points = st.lists(st.tuples(st.floats(0.5, 20), rates), min_size=1, max_size=6)


def trace(pieces, scale, speed):
    moments = [sum(gap for gap, _ in pieces[:place]) for place in range(len(pieces))]
    return Trace(tuple((at, rate) for at, (_, rate) in zip(moments, pieces, strict=True)), scale, speed)


shapes = st.one_of(
    st.builds(Constant, rates),
    st.builds(Step, rates, rates, times),
    st.builds(lambda a, b, c, at, later: Step(a, b, at, ((at + later, c),)), rates, rates, rates, times, times),
    st.builds(Ramp, rates, rates, times),
    st.builds(lambda mean, part, period: Sine(mean, mean * part, period), rates, st.floats(0, 1), st.floats(1, 100)),
    st.builds(Square, rates, rates, st.floats(1, 100)),
    st.builds(Spike, rates, rates, times, times),
    st.builds(Climb, st.floats(1, 1e6), st.floats(1, 1e6), st.floats(0.001, 0.999), st.floats(1, 30)),
    st.builds(Walk, rates, st.floats(0, 0.5), st.floats(1, 30), st.integers(0, 1000)),
)
loads = st.one_of(shapes, st.builds(trace, points, st.floats(0.1, 3), st.floats(0.1, 10)))


def area(load, seconds, strips=1):
    """Midpoints of strips between corners: independent of how the profile adds up, exact for straight lines."""
    cuts = [0.0, *load.corners(seconds), seconds]
    return sum(
        load.rate(begin + (strip + 0.5) * (end - begin) / strips) * (end - begin) / strips
        for begin, end in pairwise(cuts)
        for strip in range(strips)
    )


@given(loads, st.floats(0, 200))
def test_records_due_are_the_area_under_the_rate(load, seconds):
    if isinstance(load, Sine):
        # Of a wave, strips of h radians give h^2 / 24 too much. Of a quarter of it, 32 are pi / 64 wide: 0.0001.
        assert load.records(seconds) == pytest.approx(area(load, seconds, strips=32), rel=2e-4, abs=1e-9)
    else:
        assert load.records(seconds) == pytest.approx(area(load, seconds), rel=1e-6, abs=1e-9)


@given(loads, st.floats(0, 100), st.floats(0, 100))
def test_records_never_become_fewer(load, first, more):
    assert load.records(first + more) >= load.records(first) - 1e-6 * load.records(first)


@given(loads, loads, st.floats(0, 100))
def test_a_sum_emits_what_its_parts_emit(one, other, seconds):
    assert (one + other).records(seconds) == pytest.approx(one.records(seconds) + other.records(seconds))


def test_a_product_emits_what_calculus_says():
    # (1 + sin t)(2 + cos t): its integral is 2t + sin t - 2 cos t + 2 + sin^2 t / 2.
    load = Sine(1.0, 1.0, 2 * math.pi) * (Sine(2.0, 0.0, 1.0) + Product((Constant(1.0), Shifted())))
    for t in (0.3, 5.0, 40.0, 12.0):
        assert load.records(t) == pytest.approx(2 * t + math.sin(t) - 2 * math.cos(t) + 2 + math.sin(t) ** 2 / 2)


class Shifted(Sine, frozen=True):
    """A cosine; it is negative at times, which no load of ours may be, and is good for calculus."""

    mean: float = 0.0
    amplitude: float = 0.0
    period: float = 2 * math.pi

    def rate(self, seconds):
        return math.cos(seconds)


def test_a_step_times_a_square_is_exact_piece_by_piece():
    load = Step(1.0, 3.0, at=45.0) * Square(10.0, 100.0, period=60.0)
    # 10 for 30 s, 100 for 15 s, then three times that: 300 for 15 s, 30 for 30 s.
    assert load.records(90.0) == pytest.approx(10 * 30 + 100 * 15 + 300 * 15 + 30 * 30)
    assert load.records(20.0) == pytest.approx(200)


@given(shapes, shapes, shapes)
def test_a_load_survives_being_text(one, other, third):
    for load in (one, one + other, one * other, (one + other) * third):
        assert load_from_text(str(load)) == load


def test_a_ramp_by_parts_is_a_rate_for_each_stretch():
    # 100 for 10 s, 150 for 10 s, then 225 would be too much: 200.
    up = load_from_text("ramp(100 -> 200 by 50% every 10s)")
    assert [up.records(second) for second in (5, 10, 20, 25, 30)] == pytest.approx([500, 1000, 2500, 3500, 4500])
    # 100 for 10 s, 50 for 10 s, then 25 would be too little: 30.
    down = load_from_text("ramp(100 -> 30 by 50% every 10s)")
    assert [down.rate(second) for second in (0, 10, 20, 30)] == [100, 50, 30, 30]
    assert [down.records(second) for second in (10, 20, 40)] == pytest.approx([1000, 1500, 2100])
    same = load_from_text("ramp(7 -> 7 by 5% every 10s)")
    assert (same.rate(25), same.records(30)) == (7, 210)


def test_five_per_cent_every_interval_from_low_to_max_takes_as_many_as_it_must():
    # 1.05^28 is 3.92 and 1.05^29 is 4.12: the 29th change is the last. The sum before it is (1.05^29 - 1) / 0.05.
    load = load_from_text("ramp(1k -> 4k by 5% every 10s)")
    assert load.rate(289) == pytest.approx(3920.13, abs=0.01)
    assert load.rate(290) == 4000
    assert load.records(300) == pytest.approx(sum(10 * 1000 * 1.05**number for number in range(29)) + 40_000)
    assert list(load.corners(1e9)) == [10.0 * number for number in range(1, 30)]
    # An end that a whole number of changes leads to is the last of them.
    assert len(list(load_from_text("ramp(1000 -> 1331 by 10% every 1s)").corners(60))) == 3


def test_a_walk_goes_the_same_way_every_time_and_stays_within_a_factor_of_four():
    walk = Walk(1000.0, by=0.3, every=1.0, seed=5)
    rates = [walk.rate(second) for second in range(5000)]
    assert rates == [Walk(1000.0, by=0.3, every=1.0, seed=5).rate(second) for second in range(5000)]
    assert 250 <= min(rates) < 500
    assert 2000 < max(rates) <= 4000
    assert all(abs(math.log(later / one)) <= math.log(1.3) + 1e-9 for one, later in pairwise(rates))
    assert rates != [Walk(1000.0, by=0.3, every=1.0, seed=6).rate(second) for second in range(5000)]


def way(seed, by, steps):
    """The first steps as they are defined, one after the other: drawn by number, turned back at a factor of four."""
    far, place, found = math.log(4), 0.0, [1.0]
    for chance in unit_interval(np.arange(1, steps, dtype=np.uint64), salt=seed).tolist():
        place += math.log1p(by) * (chance * 2 - 1)
        if abs(place) > far:
            place = math.copysign(2 * far, place) - place
        found.append(math.exp(place))
    return found


@pytest.mark.parametrize(("seed", "by"), [(0, 0.1), (3, 0.3), (2**53, 1.0)])
def test_a_walk_is_the_same_to_the_last_bit_whichever_way_it_is_asked(seed, by):
    steps = way(seed, by, 5000)
    sums = list(accumulate(steps, initial=0.0))
    walk = Walk(1000.0, by=by, every=10.0, seed=seed)
    for at in (4999, 0, 1023, 1024, 1025, 3000, 2047, 2048):
        assert walk.rate(10.0 * at + 3.0) == 1000.0 * steps[at]
        assert walk.records(10.0 * at) == 1000.0 * (sums[at] * 10.0)


def test_a_walk_of_large_steps_turns_back_as_often_as_it_must():
    # By 2,000 % a step goes up to 3.04 of a logarithm of which there are 2.77 from end to end.
    rates = [Walk(1000.0, by=20.0, every=1.0, seed=1).rate(second) for second in range(5000)]
    assert 250 * (1 - 1e-9) <= min(rates) < 260
    assert 3900 < max(rates) <= 4000 * (1 + 1e-9)


def test_going_on_with_a_walk_costs_as_much_as_the_steps_that_are_new(monkeypatch):
    drawn = []

    def counted(numbers, salt):
        drawn.append(len(numbers))
        return unit_interval(numbers, salt)

    monkeypatch.setattr("headgate.workloads.load.walk.unit_interval", counted)
    walk = Walk(1000.0, every=1.0, seed=987_654_321)
    for second in range(0, 300_000, 500):
        walk.records(second + 0.5)
    assert 299_500 <= sum(drawn) <= 302_000  # each once, and the last few ahead of time


def test_a_seed_is_taken_to_its_last_digit():
    one, other = (load_from_text(f"walk(1k seed {seed})") for seed in (2**53 + 1, 2**53))
    assert (one.seed, other.seed) == (9007199254740993, 9007199254740992)
    assert one.rate(15) != other.rate(15)
    assert load_from_text(f"walk(1k seed {2**64 - 1})").seed == 2**64 - 1


@pytest.mark.parametrize(
    ("text", "why"),
    [
        # 10^9 days less one are 8.64e13 seconds.
        ("walk(1k)", "walk: 8.64e+12 steps of 10s are too many to go, 100,000,000 are the most; give less time"),
        ("walk(1k every 1e-320)", "walk: inf steps of"),
        ("walk(1k) * sine(2 +- 1 every 1h)", "product: its rates change more than 10,000,000 times, too often to"),
    ],
)
def test_more_time_than_a_load_can_be_followed_for_is_refused(text, why):
    with pytest.raises(InputError) as told:
        load_from_text(text).records(999_999_999 * 86_400.0)
    assert str(told.value).startswith(why)


@pytest.mark.parametrize(
    ("text", "load"),
    [
        ("constant(5k)", Constant(5000.0)),
        ("5k", Constant(5000.0)),
        ("step(2k -> 8k @ 60s)", Step(2000.0, 8000.0, 60.0)),
        ("step(2k->8k@1m)", Step(2000.0, 8000.0, 60.0)),
        ("step(10 -> 80 @ 30 -> 40 @ 2m)", Step(10.0, 80.0, 30.0, ((120.0, 40.0),))),
        ("ramp(0 -> 1M over 1.5h)", Ramp(0.0, 1e6, 5400.0)),
        ("ramp(1k -> 4k by 5% every 10s)", Climb(1000.0, 4000.0, 0.05, 10.0)),
        ("ramp(80 -> 20 every=1m, by=0.5)", Climb(80.0, 20.0, 0.5, 60.0)),
        ("sine(100 ± 50 every 500ms)", Sine(100.0, 50.0, 0.5)),
        ("sine(100, +- 50, every=1d)", Sine(100.0, 50.0, 86400.0)),
        ("square(1 -> 2 every 60s)", Square(1.0, 2.0, 60.0)),
        ("spike(1k -> 10k @ 60s for 10s)", Spike(1000.0, 10000.0, 60.0, 10.0)),
        ("walk(5k, seed=3)", Walk(5000.0, seed=3)),
        ("walk(5k seed 3 by 5%)", Walk(5000.0, by=0.05, seed=3)),
        (" 2 * ( 1 + 3 ) ", Constant(2.0) * (Constant(1.0) + Constant(3.0))),
        ("1 + 2 * 3", Constant(1.0) + Constant(2.0) * Constant(3.0)),
    ],
)
def test_loads_are_read_as_people_write_them(text, load):
    assert load_from_text(text) == load


@pytest.mark.parametrize(
    ("text", "at", "why"),
    [
        ("", 0, "expected a load such as constant(5k)"),
        ("fast", 0, "there is no load fast (there are"),
        ("stp(2k -> 8k @ 60s)", 0, 'did you mean "step"'),
        ("step 2k", 5, 'expected "("; write step(2k -> 8k @ 60s)'),
        ("step(2k => 8k @ 60s)", 8, "does not belong here; write step(2k -> 8k @ 60s)"),
        ("step(2k -> 8k)", 13, "@ is missing; write step(2k -> 8k @ 60s)"),
        ("step(2k -> 8k @ 60s -> 4k)", 25, "expected @ and the moment"),
        ("constant(-5)", 9, "expected a rate from 0 on"),
        ("constant(5q)", 10, '"q" is no unit of a rate (k, M, G)'),
        ("sine(5 +- 2 every 1y)", 19, '"y" is no unit of a time'),
        ("sine(5 +- 20 every 1s)", 0, "a rate cannot be negative"),
        ("1 + sine(5 +- 2 every 0s)", 4, "period is 0"),
        ("constant(5k", 11, "the end"),
        ("constant(5k) 3", 13, "join loads with + or *"),
        ("walk(5k seed 3.5)", 13, "whole number"),
        ("walk(5k seed 3 seed 4)", 15, "seed is there twice"),
        ("walk(5k seed 3e5)", 13, "whole number"),
        ("walk(5k seed " + "9" * 400 + ")", 13, "a whole number of 400 digits; 20 are the most"),
        ("walk(5k seed " + "9" * 9000 + ")", 13, "a whole number of 9,000 digits; 20 are the most"),
        ("1 + walk(5k seed 18446744073709551616)", 4, "give a whole number from 0 to 18446744073709551615"),
        ("ramp(1 -> 2 over 5s for 3s)", 20, "does not belong here"),
        ("ramp(1 -> 2)", 11, "over is missing; write ramp(0 -> 8k over 10m) or ramp(1k -> 4k by 5% every 10s)"),
        ("ramp(1 -> 2 by 5%)", 17, "every is missing; write ramp(1k -> 4k by 5% every 10s)"),
        ("ramp(1 -> 2 over 5s by 5%)", 20, "does not belong here; write ramp(0 -> 8k over 10m)"),
        ("ramp(1 -> 2 by 5% over 5s)", 18, "does not belong here; write ramp(1k -> 4k by 5% every 10s)"),
        ("5 + ramp(0 -> 2 by 5% every 9s)", 4, "no rate comes from 0 or to 0"),
        ("ramp(2 -> 1 by 100% every 9s)", 0, "no rate falls by 100% of itself; give less than 100%"),
        ("ramp(1 -> 2 by 0% every 9s)", 0, "by is 0; give a number above 0"),
        ("ramp(1 -> 2 by 1e-320 every 9s)", 0, "it never comes to its end; give a larger part, or a shorter time"),
        ("ramp(1 -> 2 by 1% every 1e15)", 0, "it never comes to its end; give a larger part, or a shorter time"),
        ("trace(no-such-file.csv)", 0, "no-such-file.csv: cannot be read (No such file or directory)"),
        ("trace()", 6, "expected the name of a file"),
        ("(" * 99 + "1" + ")" * 99, 50, "brackets in brackets"),
        ("step(1 -> 2 @ 60s -> 3 @ 10s)", 0, "not in order"),
        ("step(1 -> 1e999 @ 60s)", 0, "rate is inf"),
        ("constant(1e308)", 0, "give a number from 0 to 1e+15"),
        ("1 + 1e10 * 1e10", 4, "product: rate is 1e+20; give a number from 0 to 1e+15"),
        ("5 * (9e14 + walk(9e14))", 5, "sum: rate is 4.5e+15; give a number from 0 to 1e+15"),
    ],
)
def test_what_is_no_load_is_pointed_at(text, at, why):
    with pytest.raises(LoadError) as told:
        load_from_text(text)
    assert told.value.at == at
    assert why in str(told.value)


@given(st.text(alphabet="step(cona)2k->8@60 s+*.,=-walk%±e\"'", max_size=40))
def test_any_text_is_a_load_or_refused(text):
    try:
        load = load_from_text(text)
    except InputError:
        return
    assert load.records(10.0) >= 0


def test_a_trace_is_read_with_its_units_scaled_and_sped_up(tmp_path):
    file = tmp_path / "day.tsv"
    file.write_text("minute\trate\n0\t100\n1\t160\n2\t100\n")
    load = load_from_text(f'trace("{file}" scale 3 speed 2)')
    assert [load.rate(second) for second in (0, 15, 30, 60, 1000)] == [300, 390, 480, 300, 300]
    assert load.records(60) == pytest.approx(3 * (130 * 60 + 130 * 60) / 2)
    assert load_from_text(str(load)) == load


def test_a_trace_that_is_scaled_or_slowed_beyond_all_bounds_is_refused(tmp_path):
    (tmp_path / "t.csv").write_text("0,10\n60,2000\n")
    with pytest.raises(LoadError, match=r"t\.csv: rate is 2e\+16; give a number from 0 to 1e\+15"):
        load_from_text(f"trace({tmp_path / 't.csv'} scale 1e13)")
    with pytest.raises(LoadError, match=r"t\.csv: moment is 6e\+15; give a number from 0 to 1e\+15"):
        load_from_text(f"trace({tmp_path / 't.csv'} speed 1e-14)")


@given(loads, loads, st.floats(0, 200))
def test_no_rate_is_higher_than_the_highest(one, other, seconds):
    for load in (one, one + other, one * other):
        assert load.rate(seconds) <= load.highest() * (1 + 1e-9)


@pytest.mark.parametrize(
    ("text", "points"),
    [
        ("0,5\n10,7\n", ((0, 5), (10, 7))),
        ("# a comment\nseconds;what;rate\n0;x;5\n1;y;7\n", ((0, 5), (1, 7))),
        ("time,events\n2026-11-16T12:00:00,5\n2026-11-16T12:01:00,7\n", ((0, 5), (60, 7))),
        ("2026-11-16 12:00:00,5\n2026-11-16 12:00:01,7\n", ((0, 5), (1, 7))),
        ("timestamp,rate\n1794787824,5\n1794787884,7\n", ((0, 5), (60, 7))),
    ],
)
def test_traces_come_in_several_forms(tmp_path, text, points):
    (tmp_path / "t.csv").write_text(text)
    assert load_from_text(f"trace({tmp_path / 't.csv'})").points == points


@pytest.mark.parametrize(
    ("text", "why"),
    [
        (b"", "has no points"),
        (b"rate\n", "has no points"),
        (b"0,5\n0,6\n", ":2: its time is not after the one before"),
        (b"0,5\n1\n", ":2: has 1 columns"),
        (b"0,5\n1,fast\n", ':2: "fast" is no rate'),
        (b"0,5\nlater,6\n", ':2: "later" is no time'),
        (b"0,-5\n", ':1: "-5" is no rate'),
        (b"0,nan\n", ':1: "nan" is no rate'),
        (b"0,5\n1,1e300\n", ':2: "1e300" is no rate; give a number from 0 to 1e+15'),
        (b"0,5\n1e200,5\n", ':2: "1e200" is no time; give a number from 0 to 1e+15, or a date'),
        (b"hour,rate\n0,5\n1e15,5\n", "t.csv: moment is 3.6e+18; give a number from 0 to 1e+15"),
        (b"\xff\xfe\x00", "is not text"),
        (b"2026-11-16T12:00:00,5\n2026-11-16T12:00:01Z,5\n", ":2: some of its dates have a time zone"),
    ],
)
def test_what_is_no_trace_is_refused_by_file_and_line(tmp_path, text, why):
    (tmp_path / "t.csv").write_bytes(text)
    with pytest.raises(InputError, match=r"t\.csv") as told:
        load_from_text(f"trace({tmp_path / 't.csv'})")
    assert why in str(told.value)
