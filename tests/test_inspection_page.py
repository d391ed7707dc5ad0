"""The page that `headgate inspect --format html` prints, taken apart again."""

import re
from itertools import pairwise
from pathlib import Path
from xml.etree import ElementTree

import msgspec
import numpy as np
import pytest

from batches import Op, batch, batches
from headgate.cli.inspection_table import inspection_lines
from headgate.cli.page.capacity_curve import steps
from headgate.cli.page.gantt import gantt
from headgate.cli.page.graph import graph
from headgate.cli.page.palette import colours
from headgate.cli.page.running import at_once
from headgate.model.inspection import Question, Rate, inspection
from headgate.model.learned_capacity import capacity
from headgate.model.microbatch import Executor
from headgate.model.profile import profile
from pages import Parts, at, drawing, drawings, of_class, page_of, told

LOGS = Path(__file__).parent / "data" / "eventlogs"

# Tasks of 400 and 800 ms on two executors of a slot each, then two of 300 ms; 300 ms of the driver at the end.
TWO = {"scan": Op([100, 300]), "count": Op([50, 50], feeders=("scan",), homes=["0", "1"], state=(7, 3_000_000))}


def two():
    """Batches of 1.4 s whose tasks begin when they begin."""
    return [batch(TWO, number=n, slots=(1, 1), began=1_000_000) for n in range(6)]


def every_five_seconds(operators, slots, count=6):
    return [batch(operators, number=n, slots=slots, began=5000 * n) for n in range(count)]


def test_the_page_says_all_that_the_table_says():
    seen, question = every_five_seconds(TWO, (1, 1)), Question(rate=Rate(2.0, times=True))
    lines = list(inspection_lines(inspection(seen, question)))
    said = " ".join(Parts(page_of(seen, question)).said.split())
    sentences = [line for line in lines if not line.startswith(("operator ", "scan ", "count "))]
    assert len(sentences) == len(lines) - 3
    for line in sentences:
        assert re.sub(r"^(query query|limit|what if): ", "", line.strip()) in said


def test_a_bar_of_the_gantt_chart_is_a_task_from_launch_to_finish():
    chart = drawing(page_of(two()), "when each of 4 tasks")
    bars = of_class(chart, "task")
    # 1.4 s lie on 848 of the 960 pixels, from 96 on.
    drawn = [((x - 96) / 848 * 1.4, width / 848 * 1.4) for x, width in (at(bar, "x", "width") for bar in bars)]
    expected = [(0.0, 0.4), (0.8, 0.3), (0.0, 0.8), (0.8, 0.3)]
    assert [value for bar in drawn for value in bar] == pytest.approx([v for bar in expected for v in bar], abs=1e-3)
    assert told(bars[0]) == "scan\npartition 0 on executor 0\n0.40 s, from 0.00 to 0.40\n100 records in, 100 out"


def test_the_drivers_time_is_a_gap_as_long_as_no_task_ran():
    (gap,) = of_class(drawing(page_of(two()), "when each"), "gap")
    x, width = at(gap, "x", "width")
    assert ((x - 96) / 848 * 1.4, width / 848 * 1.4) == (pytest.approx(1.1, abs=1e-3), pytest.approx(0.3, abs=1e-3))
    assert told(gap) == "no task ran for 0.30 s, from 1.10 to 1.40"


def test_tasks_of_one_executor_at_a_time_lie_in_rows_of_their_own():
    chart, said = gantt(batch({"scan": Op([10] * 5)}, slots=(2, 1)), {"scan": "c0"}, waits_for_driver=False)
    rows = {}
    for bar in of_class(ElementTree.fromstring(chart), "task"):
        x, y, width = at(bar, "x", "y", "width")
        rows.setdefault(y, []).append((x, x + width))
    assert len(rows) == 3
    for spans in rows.values():
        spans.sort()
        assert all(end <= start + 0.02 for (_, end), (start, _) in pairwise(spans))
    assert "5 tasks on 3 slots" in said


def test_an_executor_whose_name_does_not_fit_is_named_by_its_end():
    one = batch({"scan": Op([10])})
    named = msgspec.structs.replace(
        one, tasks=msgspec.structs.replace(one.tasks, executor=("app-20261116-worker-17",)), executors=()
    )
    chart, _ = gantt(named, {"scan": "c0"}, waits_for_driver=False)
    assert "…116-worker-17" in [text.text for text in of_class(ElementTree.fromstring(chart), "tick")]


def test_ten_thousand_tasks_are_added_up_and_the_page_says_so():
    many = batch({"scan": Op([10] * 9_999 + [100_000])}, slots=(8,) * 10)
    chart, said = gantt(many, {"scan": "c0"}, waits_for_driver=False)
    assert not of_class(ElementTree.fromstring(chart), "task")
    assert len(of_class(ElementTree.fromstring(chart), "area")) == 1
    assert "10,000 tasks on 80 slots" in said
    assert "Too many to draw one by one" in said
    assert len(chart) < 50_000


def test_a_batch_on_more_slots_than_memory_holds_is_added_up_without_a_row_for_each():
    huge = batch({"scan": Op([10] * 3)}, slots=(1,))
    huge = msgspec.structs.replace(huge, executors=(Executor("0", "host", 2**40),))
    chart, said = gantt(huge, {"scan": "c0"}, waits_for_driver=False)
    assert len(of_class(ElementTree.fromstring(chart), "area")) == 1
    assert "3 tasks on 1,099,511,627,776 slots" in said


def test_more_tasks_at_once_than_slots_are_said_to_be_there_count_as_slots():
    many = batch({"scan": Op([10] * 3_200)}, slots=(1_600, 1_600))
    unknown = msgspec.structs.replace(many, executors=())
    assert "3,200 tasks on 3,200 slots" in gantt(unknown, {"scan": "c0"}, waits_for_driver=False)[1]


def test_a_task_whose_sink_does_not_count_is_not_said_to_put_out_nothing():
    silent = batch({"write": Op([3000], out=[0])})
    chart, _ = gantt(silent, {"write": "c0"}, waits_for_driver=False)
    (bar,) = of_class(ElementTree.fromstring(chart), "task")
    assert told(bar).splitlines()[-1] == "3,000 records in"


def test_added_up_nothing_is_left_of_tasks_that_are_over():
    launched = np.linspace(0.0, 0.7, 4001)
    running = at_once(launched, launched + 0.1, np.linspace(0.0, 14.21, 401))
    assert set(running[24:].tolist()) == {0.0}
    assert running.sum() * 14.21 / 400 == pytest.approx(4001 * 0.1, rel=1e-6)


def test_a_bar_for_each_batch_is_as_high_as_it_took_and_the_trigger_is_a_line():
    longer = {"scan": Op([400]), "sink": Op([1])}
    seen = [batch({"scan": Op([100])} if n != 4 else longer, number=n, began=5000 * n) for n in range(6)]
    chart = drawing(page_of(seen), "time and records of 6 batches")
    bars = of_class(chart, "batch")
    heights = [at(bar, "height")[0] for bar in bars]
    # 0.7 s, and for the fifth 1.0 + 0.202 + 0.3; the axis ends at 1.12 times the trigger interval of 5 s.
    assert [height / 150 * 5.6 for height in heights] == pytest.approx([0.7, 0.7, 0.7, 0.7, 1.502, 0.7], abs=1e-3)
    assert ["pale" in bar.get("class") for bar in bars] == [True] * 3 + [False] * 3
    (line,) = of_class(chart, "deadline")
    assert (166 - at(line, "y1")[0]) / 150 * 5.6 == pytest.approx(5.0, abs=1e-3)
    assert told(bars[4]) == "batch 4: 1.50 s, 400 records"


def test_a_thousand_batches_share_bars_and_the_page_says_so():
    html = page_of([batch({"scan": Op([100])}, number=n) for n in range(1000)])
    assert len(of_class(drawing(html, "time and records"), "batch")) == 200
    assert "Each bar stands for 5 batches in a row" in Parts(html).said


def test_a_slow_first_batch_does_not_flatten_the_others():
    seen = [batch({"scan": Op([100 if n else 50_000])}, number=n) for n in range(6)]
    bars = of_class(drawing(page_of(seen), "time and records"), "batch")
    assert at(bars[0], "height")[0] == 150
    assert at(bars[5], "height")[0] == pytest.approx(150 / 1.12, abs=0.01)
    assert "go on beyond the plot" in Parts(page_of(seen)).said


def test_the_curve_has_the_batch_time_for_each_number_of_slots():
    # Four tasks of a second and 0.3 s of the driver: four, two, two waves, one.
    seen = every_five_seconds({"scan": Op([400] * 4)}, (1, 1))
    tried = steps(inspection(seen, Question()), capacity(seen))
    took = {step.slots: round(step.fares.batch.value, 3) for step in tried}
    assert took == {1: 4.3, 2: 2.3, 3: 2.3, 4: 1.3}
    assert [step.fares.unseen for step in tried] == [False, False, True, True]


def test_the_curve_is_dashed_beyond_what_was_seen_and_marks_now_and_the_least():
    html = page_of(every_five_seconds({"scan": Op([400] * 4)}, (1, 1)))
    chart = drawing(html, "predicted batch time")
    solid, dashed = of_class(chart, "curve")
    assert "dashed" in dashed.get("class")
    assert solid.get("d").split("L")[-1] == dashed.get("d").removeprefix("M").split("L")[0]
    # 0 to 4 slots lie on 396 pixels, from 56 on.
    (least,), (present,) = of_class(chart, "least"), of_class(chart, "present")
    assert [at(line, "x1")[0] for line in (least, present)] == [56 + 396 / 4, 56 + 396 / 2]
    assert "least: 1 slot" in "".join(chart.itertext())
    assert "Dashed: more tasks at once than were seen" in Parts(html).said


def test_a_curve_of_which_no_part_keeps_up_says_so():
    seen = [batch({"scan": Op([1000])}, number=n, driver=6000, began=5000 * n) for n in range(6)]
    html = page_of(seen, Question(trigger=5.0))
    assert "No number of executors would keep up: the limit is another." in Parts(html).said
    assert not of_class(drawing(html, "predicted batch time"), "least")


def test_the_shares_are_of_the_most_uneven_operator_with_the_even_one_as_a_line():
    operators = {"scan": Op([100, 100]), "count": Op([100, 300, 100, 100], feeders=("scan",))}
    html = page_of(batches(4, operators, slots=(4,)))
    chart = drawing(html, "share of records by partition of count")
    bars = of_class(chart, "share")
    # Half the records in partition 1; the axis ends at 1.1 times that, 218 pixels high.
    assert [at(bar, "height")[0] / 218 * 0.55 for bar in bars] == pytest.approx([1 / 6, 0.5, 1 / 6, 1 / 6], abs=1e-3)
    (even,) = of_class(chart, "deadline")
    assert (252 - at(even, "y1")[0]) / 218 * 0.55 == pytest.approx(0.25, abs=1e-3)
    assert told(bars[1]) == "partition 1: 50%, 300 records"
    assert [("accent" in bar.get("class")) for bar in bars] == [False, True, False, False]


def test_the_graph_runs_from_left_to_right_along_shuffles():
    operators = {
        "left": Op([10]), "right": Op([10]), "join": Op([10, 10], feeders=("left", "right")),
        "sink": Op([10], feeders=("join", "left")),
    }  # fmt: skip
    chart, _ = graph(profile([batch(operators)]).operators, "join", dict.fromkeys(operators, "c0"))
    boxes = {told(one).split(" (")[0]: one for one in of_class(ElementTree.fromstring(chart), "operator")}
    x = {name: at(one.find("rect"), "x")[0] for name, one in boxes.items()}
    assert x["left"] == x["right"] < x["join"] < x["sink"]
    assert [name for name, one in boxes.items() if "limit" in one.get("class").split()] == ["join"]
    words = {name: [line.text for line in one.iter("text")] for name, one in boxes.items()}
    assert "source" in words["left"]
    assert "sink" in words["sink"]
    assert "the limit" in words["join"]
    assert len(of_class(ElementTree.fromstring(chart), "edge")) == 4


def test_a_box_has_the_figures_of_its_operator():
    chart = drawing(page_of(two()), "operators and what feeds them")
    (box,) = [one for one in of_class(chart, "operator") if told(one).startswith("count")]
    lines = [line.text for line in box.iter("text")]
    assert [line for line in lines if line != "the limit"] == [
        "stateful · sink", "count", "2 tasks, 0.60 s busy", "100 in, 100 out", "state: 7 rows, 3.0 MB",
    ]  # fmt: skip


def test_of_five_hundred_operators_the_busiest_are_drawn_and_the_limit():
    operators = {f"op {n}": Op([n], fixed=1, feeders=(f"op {n - 1}",) if n else ()) for n in range(500)}
    known = profile([batch(operators)]).operators
    chart, said = graph(known, "op 3", colours(known))
    names = [told(one) for one in of_class(ElementTree.fromstring(chart), "operator")]
    assert names == ["op 3 (the limit)", *(f"op {n}" for n in range(477, 500))]
    edges = [edge.get("class") for edge in of_class(ElementTree.fromstring(chart), "edge")]
    assert edges.count("edge dashed") == 1
    assert len(edges) == 23
    assert "Of 500 operators the 24 busiest are drawn" in said


def test_boxes_never_overlap_and_all_lie_within_the_drawing():
    operators = {f"op {n}": Op([10], feeders=tuple(f"op {m}" for m in {n // 2, n // 3} if m < n)) for n in range(20)}
    chart, _ = graph(profile([batch(operators)]).operators, None, dict.fromkeys(operators, "c0"))
    svg = ElementTree.fromstring(chart)
    places = [at(box, "x", "y", "width", "height") for box in of_class(svg, "box")]
    wide, high = at(svg, "width", "height")
    for place, (x, y, w, h) in enumerate(places):
        assert 0 <= x <= x + w <= wide
        assert 0 <= y <= y + h <= high
        assert all(x + w <= x2 or x2 + w2 <= x or y + h <= y2 or y2 + h2 <= y for x2, y2, w2, h2 in places[:place])


HOSTILE = (
    '</title></svg><script>alert("1")</script><img src=x onerror=alert(1)> & ]]> \' \x00\x1b\u202e 日本語 ' + "w" * 300
)


def test_names_from_users_code_are_text_and_nothing_else():
    operators = {HOSTILE: Op([10, 20]), "b": Op([10, 20], feeders=(HOSTILE,))}
    html = page_of(batches(4, operators, slots=(2,)), log="<b>log</b>")
    parts = Parts(html)
    tags = {tag for tag, _ in parts.elements}
    assert not tags & {"script", "img"}
    assert not [key for _, attributes in parts.elements for key in attributes if key.startswith("on")]
    assert not set(html) & set("\x00\x1b\u202e")
    assert '<script>alert("1")</script>' in parts.said
    assert drawings(html)


@pytest.mark.parametrize("log", ["wordcount-4.3.0.zstd", "spark-3.5.9.zstd", "spark-4.3.0.zstd"])
def test_a_page_from_a_real_log_needs_nothing_from_elsewhere(headgate, log):
    ran = headgate("inspect", LOGS / log, "--format", "html")
    assert ran.code == 0
    parts = Parts(ran.out)
    assert not re.search(r"https?://|@import|url\(", ran.out)
    assert not {"script", "link", "img", "iframe", "object"} & {tag for tag, _ in parts.elements}
    assert not [key for _, attributes in parts.elements for key in attributes if key in ("src", "href", "xlink:href")]
    assert len(drawings(ran.out)) >= 5


def test_one_batch_of_one_operator_without_executors_has_a_page():
    seen = [msgspec.structs.replace(batch({"scan": Op([100])}), executors=())]
    html = page_of(seen)
    assert len(of_class(drawing(html, "when each"), "task")) == 1
    assert "share of records" not in html


def test_records_that_never_come_leave_a_page_all_the_same():
    assert drawings(page_of(batches(5, {"scan": Op([0, 0])}, slots=(2,))))


def test_every_query_of_every_log_has_a_section(headgate):
    ran = headgate("inspect", LOGS / "wordcount-4.3.0.zstd", LOGS / "spark-4.3.0.zstd", "--format", "html")
    assert [attributes for tag, attributes in Parts(ran.out).elements if tag == "section"] == [{"class": "query"}] * 2


def test_every_column_of_the_table_is_in_the_legend():
    from headgate.cli.inspection_sentences import COLUMNS
    from headgate.cli.page.legend import WORDS

    explained = {word for words, _ in WORDS for word in words.split(", ")}
    assert {column for column in COLUMNS if column != "tasks"} <= explained
