"""The page that `headgate report` prints, taken apart again; and the figures it is drawn from."""

import re
import time

import msgspec
import pytest

from batches import Op, batch
from headgate.cli.page.story import story_page
from headgate.cli.page.story_frame import pieces, thinned
from headgate.cli.page.time_axis import time_ticks
from headgate.control.actions import Layout, Restart, SetExecutors, SpreadBins
from headgate.control.said import AsPredicted, Failed, Lost, MovingState, Planned, Proposed, Restarting, Steady
from headgate.control.settings import Settings
from headgate.model.microbatch import Executor
from headgate.model.objective import Freshness
from headgate.runtime.entries import Began, Carried, Cluster, Ended, Intent, Needed, Seen, Spoke
from headgate.runtime.timeline import executor_hours, timeline
from pages import Parts, at, drawing, drawings, of_class, told
from virtual_journals import written

ONE, TWO = (Executor("0", "host", 1),), (Executor("0", "host", 1), Executor("1", "host", 1))
SCAN = {"scan": Op([500])}  # 200 ms and 2 ms a record, 300 ms of the driver: 1.5 s

# Batches of 1.5 s every 5 s: the first from 0 to 1.5, the last from 20 to 21.5. A plan at 11.5 that is there at 14.
STORY = (
    Began(0.0, "app-1", "capacity", Settings(most=4)),
    Cluster(0.0, ONE),
    *(Seen(5.0 * n + 1.5, batch(SCAN, number=n, began=5000 * n, waiting=100 * n), 5.0) for n in range(3)),
    Needed(11.5, 2),
    Spoke(11.5, Planned(1, 1, 2, 1.2)),
    Intent(11.5, SetExecutors(1, 2)),
    Cluster(14.0, TWO),
    *(Seen(5.0 * n + 1.5, batch(SCAN, number=n, began=5000 * n, waiting=100 * n), 5.0) for n in (3, 4)),
    Spoke(21.5, AsPredicted(1, 1.2, 1.25)),
)  # fmt: skip
LAST = 21.5
LEFT, RIGHT, TOP, BOTTOM = 64.0, 944.0, 18.0, 168.0


@pytest.fixture(autouse=True)
def greenwich(monkeypatch):
    monkeypatch.setenv("TZ", "UTC")
    time.tzset()
    yield
    monkeypatch.undo()
    time.tzset()


def page(*entries):
    return story_page("job.journal", timeline(entries))


def x(at):
    return LEFT + (RIGHT - LEFT) * at / LAST


def y(value, most):
    return BOTTOM - (BOTTOM - TOP) * value / (1.12 * most)


def corners(element):
    return [float(number) for number in re.findall(r"-?[\d.]+", element.get("d"))]


def flat(*points):
    return pytest.approx([number for point in points for number in point], abs=0.02)


# Figures.


def test_what_came_is_what_was_taken_and_what_waits_more_for_each_second_between_batches():
    (points,) = timeline(STORY).batches.values()
    # 500 were taken and 100 more wait after 5 s: 120 a second. Nobody saw what was before the first batch.
    assert [point.came for point in points] == [None, 120.0, 120.0, 120.0, 120.0]
    assert [point.waiting for point in points] == [0, 100, 200, 300, 400]
    assert {(point.seconds, point.records, point.trigger) for point in points} == {(1.5, 500, 5.0)}
    assert {point.processed for point in points} == {500 / 1.5}


def test_a_batch_that_does_not_follow_on_the_one_before_says_nothing_about_what_came():
    seen = [Seen(float(n), batch(SCAN, number=n, began=5000 * n, waiting=0)) for n in (0, 1, 3)]
    (points,) = timeline(seen).batches.values()
    assert [point.came for point in points] == [None, 100.0, None]


def test_levels_end_where_nobody_looked():
    began = Began(100.0, "", "capacity", Settings())
    story = timeline([*STORY, Ended(30.0, "stopped"), began, Cluster(100.0, ONE)])
    assert [(level.at, level.executors) for level in story.there] == [(0.0, 1), (14.0, 2), (30.0, None), (100.0, 1)]


NEXT = Began(100.0, "", "capacity", Settings())
LEFT_SO = Carried(95.0, 0, "as restarts have left it, whatever the file says: state=5")


@pytest.mark.parametrize(
    "between",
    [
        (Ended(30.0, "stopped"), LEFT_SO),
        (Ended(30.0, "stopped"), Spoke(95.0, Failed(1, "the state cannot be read"))),
        (Needed(30.0, 2), LEFT_SO),  # killed: no word of its end
        (Needed(30.0, 2), Carried(95.0, 1, "finished what was under way")),
    ],
)
def test_what_a_job_notes_before_it_has_a_controller_is_not_watched(between):
    story = timeline([*STORY, *between, NEXT, Cluster(100.0, ONE), Ended(136.0, "stopped")])
    assert [(level.at, level.executors) for level in story.there] == [(0.0, 1), (14.0, 2), (30.0, None), (100.0, 1)]
    # By hand: 1 x 14 + 2 x 16 before, 1 x 36 after; 30 s and 36 s watched, of 136 in all.
    assert executor_hours(story.there, story.last) == pytest.approx((14 + 32 + 36) / 3600)
    assert story.watched == pytest.approx(66.0)


def test_what_a_running_controller_did_last_is_watched():
    story = timeline([*STORY, Carried(40.0, 2, "asked executor 1 to leave")])
    assert executor_hours(story.there, story.last) == pytest.approx((14 + 2 * 26) / 3600)
    assert story.watched == pytest.approx(40.0)


def test_a_job_that_never_got_a_controller_adds_nothing():
    story = timeline([*STORY, Ended(30.0, "stopped"), LEFT_SO])
    assert executor_hours(story.there, story.last) == pytest.approx((14 + 32) / 3600)
    assert story.watched == pytest.approx(30.0)


def test_an_adviser_desires_what_it_advised():
    story = timeline([*STORY[:5], Spoke(11.5, Proposed(1, 3, None))])
    assert [(level.at, level.executors) for level in story.desired] == [(11.5, 3)]


def test_a_journal_without_a_batch_has_no_story():
    assert timeline([STORY[0], STORY[1]]) is None


# Drawings.


def test_executors_there_desired_and_needed_are_steps():
    chart = drawing(page(*STORY), "executors over time")
    (there,) = of_class(chart, "records")
    assert corners(there) == flat(
        (x(0), BOTTOM), (x(0), y(1, 2)), (x(14), y(1, 2)), (x(14), y(2, 2)), (x(LAST), y(2, 2)), (x(LAST), BOTTOM)
    )
    needed, desired = of_class(chart, "curve")
    assert "need" in needed.get("class")
    assert corners(desired) == flat((x(11.5), y(2, 2)), (x(LAST), y(2, 2)))
    assert corners(needed) == corners(desired)


def test_batch_times_lie_below_their_interval_and_beside_what_was_predicted():
    chart = drawing(page(*STORY), "batch times of query")
    (took,) = of_class(chart, "curve")
    assert corners(took) == flat(*((x(5 * n + 1.5), y(1.5, 5)) for n in range(5)))
    (deadline,) = of_class(chart, "deadline")
    assert at(deadline, "y1") == pytest.approx((y(5, 5),), abs=0.02)
    (predicted,) = of_class(chart, "accent")
    assert at(predicted, "x", "width") == pytest.approx((x(11.5), x(LAST) - x(11.5)), abs=0.02)
    assert told(predicted) == "1.20 s predicted"


def test_rates_are_two_curves_and_what_waits_is_an_area():
    html = page(*STORY)
    processed, came = of_class(drawing(html, "records per second"), "curve")
    assert corners(came) == flat(*((x(5 * n + 1.5), y(120, 500 / 1.5)) for n in range(1, 5)))
    assert corners(processed) == flat(*((x(5 * n + 1.5), y(1, 1)) for n in range(5)))
    (waiting,) = of_class(drawing(html, "records waiting"), "records")
    assert corners(waiting)[2:4] == flat((x(1.5), BOTTOM))
    assert corners(waiting)[10:12] == flat((x(21.5), y(400, 400)))


def test_where_nothing_waits_nothing_is_drawn():
    seen = [Seen(5.0 * n, batch(SCAN, number=n, began=5000 * n, waiting=0)) for n in range(3)]
    assert "Records waiting" not in page(STORY[0], *seen)


def test_every_decision_is_a_mark_on_each_time_axis_and_a_line_in_the_list():
    html = page(*STORY)
    assert sum(one.get("width") == "960" for one in drawings(html)) == 4
    for label in ("executors over time", "batch times", "records per second", "records waiting"):
        (mark,) = of_class(drawing(html, label), "here")
        assert at(mark, "cx", "cy") == pytest.approx((x(11.5), BOTTOM), abs=0.02)
        assert told(mark) == "1970-01-01 00:00:11\nplan 1: 1 -> 2 executors"
    said = " ".join(Parts(html).text)
    assert "1970-01-01 00:00:11 plan 1: 1 -> 2 executors; predicted 1.20 s a batch, measured 1.25 s" in said
    assert "1970-01-01 00:00:21 plan 1: batches take 1.25 s, 1.20 s were predicted" in said


def test_the_figures_at_the_top_are_those_of_the_story():
    said = " ".join(Parts(page(*STORY)).text)
    # One executor for 14 s, two for 7.5 s: 29 executor-seconds. 1.25 s for 1.2 s: 4 % off.
    for tile in ("22 s watched", "5 batches", "1 plan", "1 to 2 executors", "0.0 executor-hours", "4% off predicted"):
        assert tile in said


def test_plans_are_all_that_were_numbered_restarts_and_moves_of_state_too():
    told_to = (
        Spoke(22.0, Restarting(2, "state=5")), Intent(22.0, Restart(2, Layout({"state": 5}))),
        Spoke(23.0, MovingState(3, {0: "1"})), Intent(23.0, SpreadBins(3, "q", None, {0: "1"})),
        Spoke(24.0, Lost(2, 1)), Intent(24.0, SetExecutors(4, 2)),
    )  # fmt: skip
    said = " ".join(Parts(page(*STORY, *told_to)).text)
    assert "4 plans" in said
    assert "plan 2: restart with state=5" in said
    assert "plan 3: move bin 0 to executor 1" in said


def test_without_an_interval_half_of_the_freshness_is_what_a_batch_may_take():
    began = Began(0.0, "", "capacity", Settings(objective=Freshness("4s")))
    html = page(began, *(msgspec.structs.replace(one, trigger=None) for one in STORY if isinstance(one, Seen)))
    (deadline,) = of_class(drawing(html, "batch times"), "deadline")
    assert at(deadline, "y1") == pytest.approx((y(2, 2),), abs=0.02)
    assert "half of the freshness wanted 2 s" in html


def test_a_very_long_batch_is_cut_off_and_said_to_be():
    long = Seen(80.0, batch({"scan": Op([20_000])}, number=5, began=25_000), 5.0)
    html = page(*STORY, long)
    assert "Cut off at 15 s: the longest took 40.5 s." in html


def test_where_most_batches_are_long_the_plot_reaches_up_to_them():
    # Ten batches of 30.5, 31.5, ... 39.5 s and one of 100.5 s, every 4 s one should begin: nine of ten take at most
    # 39.5 s, and 1.3 times that is 51.35 s.
    took = [*range(30, 40), 100]
    seen = [
        Seen(
            110.0 * n + took[n],
            batch({"scan": Op([500 * took[n] - 100])}, number=n, began=110_000 * n, driver=500),
            4.0,
        )
        for n in range(11)
    ]
    html = page(STORY[0], *seen)
    assert "Cut off at 51.4 s: the longest took 100.5 s." in html
    (curve,) = of_class(drawing(html, "batch times"), "curve")
    heights = corners(curve)[1::2]
    assert heights[:10] == pytest.approx([BOTTOM - (BOTTOM - TOP) * (one + 0.5) / 51.35 for one in took[:10]], abs=0.02)
    assert heights[10] == pytest.approx(TOP, abs=0.02)


def test_where_all_batches_are_long_none_is_cut_off():
    seen = [
        Seen(60.0 * n + 50, batch({"scan": Op([25_000])}, number=n, began=60_000 * n, driver=0), 4.0) for n in range(3)
    ]
    html = page(STORY[0], *seen)
    assert "Cut off" not in html
    (curve,) = of_class(drawing(html, "batch times"), "curve")
    assert corners(curve)[1::2] == pytest.approx([y(1, 1)] * 3, abs=0.02)


def test_two_queries_have_plots_of_their_own_and_share_the_executors():
    other = msgspec.structs.replace(batch(SCAN, number=0, began=0), query="p", name="other")
    html = page(*STORY, Seen(2.0, other, None))
    headings = re.findall("<h3>(.*?)</h3>", html)
    assert headings == [
        "Executors", "Batch time of query", "Records per second of query", "Records waiting of query",
        "Batch time of other", "Records per second of other", "What was decided and done",
    ]  # fmt: skip


def test_names_from_elsewhere_are_text():
    odd = msgspec.structs.replace(batch(SCAN), name="<script>alert(1)</script>")
    html = page(Began(0.0, "<b>", "capacity", Settings()), Seen(2.0, odd))
    assert "<script" not in html
    assert "<b>," not in html
    assert "&lt;script&gt;" in html
    Parts(html)


def test_nothing_on_the_page_comes_from_elsewhere():
    html = page(*STORY)
    assert not re.search(r"https?:|src=|href=|url\(", html)
    assert "default-src 'none'" in html


def test_a_single_batch_has_a_page():
    Parts(page(STORY[0], STORY[2]))


def test_routine_is_not_part_of_the_story():
    assert "are what is needed" not in page(*STORY, Spoke(30.0, Steady(2)))


# Axes.


@pytest.mark.parametrize(
    ("low", "high", "first", "count", "written"),
    [
        (3.0, 63.0, 10.0, 6, "00:00:10"),
        (100.0, 3700.0, 600.0, 6, "00:10"),
        (100.0, 86_400.0 + 100, 10_800.0, 8, "03:00"),
        (100.0, 10 * 86_400.0, 2 * 86_400.0, 5, "Jan 3"),
    ],
)
def test_ticks_are_round_on_the_clock(low, high, first, count, written):
    ticks, label = time_ticks(low, high)
    assert (ticks[0], len(ticks), label(ticks[0])) == (first, count, written)


def test_ticks_are_round_on_the_local_clock(monkeypatch):
    monkeypatch.setenv("TZ", "XYZ-5:30")
    time.tzset()
    ticks, label = time_ticks(0.0, 6 * 3600.0)
    assert [label(tick) for tick in ticks] == ["06:00", "07:00", "08:00", "09:00", "10:00", "11:00"]


def test_many_points_become_few_and_the_highest_stays():
    few = thinned([(float(n), float(n == 777)) for n in range(1000)], max)
    assert few.each == 3
    assert len(few.points) == 334
    assert sum(value for _, value in few.points) == 1.0


def test_a_long_silence_breaks_a_curve():
    assert [len(piece) for piece in pieces([(n * 1.0, 0.0) for n in (*range(10), *range(100, 105))])] == [10, 5]


# The command.


def test_the_command_prints_the_page_of_a_journal(headgate, tmp_path):
    ran = headgate("report", written(tmp_path / "job.journal"))
    assert ran.code == 0
    said = Parts(ran.out).said
    assert "plan 1: 2 -> 3 executors" in said
    assert "capacity: keep up with 10 % to spare, 1 to 8 executors" in said


def test_a_journal_without_batches_is_refused_in_one_line(headgate, tmp_path):
    path = written(tmp_path / "job.journal", until=0.0)
    ran = headgate("report", path)
    assert (ran.code, ran.out) == (2, "")
    assert "no batch in it" in ran.err
