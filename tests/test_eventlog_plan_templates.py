"""Templates of plans give what cutting the plan gives, whatever its numbers."""

import json
import re

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import Raw

from eventlogs import DATA
from headgate.formats.eventlog import plan_templates
from headgate.formats.eventlog.events import SQLAdaptiveExecutionUpdate, SQLExecutionStart
from headgate.formats.eventlog.plan_templates import PlanTemplates
from headgate.formats.eventlog.plans import parts
from headgate.formats.eventlog.reader import read_events
from headgate.formats.eventlog.sql import PlanMetric, PlanNode, read_plan
from headgate.formats.eventlog.tasks import TaskEnd

LOGS = sorted(path for path in DATA.iterdir() if path.suffix == ".zstd")


def plans(log):
    events = read_events(str(log), wanted={SQLExecutionStart, SQLAdaptiveExecutionUpdate})
    return [bytes(event.plan) for event in events]


def the_long_way(text):
    plan = read_plan(Raw(text))
    return parts(plan) if plan else ()


def other_ids(text, shift):
    """The same plan with other accumulators, of as many digits."""

    def shifted(found):
        low = 10 ** (len(found[1]) - 1)
        return b'"accumulatorId":%d' % (low + (int(found[1]) + shift) % (9 * low))

    return re.sub(rb'"accumulatorId":(\d+)', shifted, text)


@pytest.fixture
def cuts(monkeypatch):
    """The texts that were cut the long way."""
    texts = []

    def counted(text, cut=plan_templates._cut):
        texts.append(text)
        return cut(text)

    monkeypatch.setattr(plan_templates, "_cut", counted)
    return texts


@pytest.mark.parametrize("log", LOGS, ids=lambda log: log.name)
def test_plans_of_real_logs_are_cut_once_and_filled_in_from_then_on(log, cuts):
    templates = PlanTemplates()
    for text in plans(log):
        assert templates.cut(Raw(text)).parts == the_long_way(text)
    cuts.clear()
    for text in plans(log):
        for shift in (0, 1, 77):
            assert templates.cut(Raw(other_ids(text, shift))).parts == the_long_way(other_ids(text, shift))
    assert cuts == []


def named(column, id=41):
    rows = PlanMetric("number of output rows", id)
    scan = PlanNode("MicroBatchScan", f"MicroBatchScan[{column}#7] (Python)", (PlanMetric("number of output rows", 9),))
    aggregate = PlanNode("HashAggregate", f"HashAggregate(keys=[{column}#7], functions=[count(1)])", (rows,), (scan,))
    return msgspec.json.encode(aggregate)


def test_numbers_that_show_in_names_are_told_apart():
    templates = PlanTemplates()
    for column in ("key1", "key2", "key1", "key3", "keys"):
        (part,) = templates.cut(Raw(named(column))).parts
        assert f"by {column}" in part.fragment.name


def test_a_name_with_a_number_in_it_does_not_stand_in_the_way_of_its_template(cuts):
    templates = PlanTemplates()
    assert templates.cut(Raw(named("key1"))).parts
    cuts.clear()
    text = named("key1", 52).replace(b"#7", b"#3")
    assert templates.cut(Raw(text)).parts == the_long_way(text)
    assert cuts == []


@pytest.mark.parametrize(
    ("first", "second"),
    [
        (named("key", 41).replace(b'Id":41', b'Id" : 41'), named("key", 52).replace(b'Id":52', b'Id" : 52')),
        (named("key", 41).replace(b"accumulatorId", rb"\u0061ccumulatorId"),
         named("key", 52).replace(b"accumulatorId", rb"\u0061ccumulatorId")),
        (named("key").replace(b"key", rb"k\u0041"), named("key").replace(b"key", rb"k\u0042")),
        (named("key", 41), named("key", 52).replace(b":52", b":02")),
        (named("key", 41).replace(b":41", b":4e1"), named("key", 41).replace(b":41", b":5e1")),
        (named("key", 41).replace(b":41", b":-41"), named("key", 41).replace(b":41", b":-52")),
        (b'{"metrics":[1]}', b'{"metrics":[2]}'),
        (b"[1]", b"[2]"),
        (b"null", b"null"),
        (b"", b""),
    ],
    ids=["spaces", "key-escaped", "escaped", "zero", "exponent", "negative", "no-metric", "no-plan", "null", "empty"],
)  # fmt: skip
def test_a_plan_in_an_unusual_form_is_cut_the_long_way(first, second):
    templates = PlanTemplates()
    for text in (first, second, first):
        assert templates.cut(Raw(text)).parts == the_long_way(text)


def test_only_the_last_few_plans_are_remembered_and_no_long_one(cuts):
    templates = PlanTemplates(most=2)

    def cut(column):
        cuts.clear()
        assert templates.cut(Raw(named(column))).parts
        return bool(cuts)

    assert [cut(name) for name in ("a", "bb", "a", "ccc", "a", "bb")] == [True, True, False, True, False, True]
    long = "x" * 300_000
    assert [cut(long), cut(long)] == [True, True]


def test_a_text_that_is_none_where_nobody_reads_it_does_no_harm():
    broken = named("key").replace(b'{"nodeName"', b'{"metadata":{"simpleString":"\xff"},"nodeName"', 1)
    templates = PlanTemplates(most=1)
    for text in (broken, named("key"), broken):
        assert templates.cut(Raw(text)).parts == the_long_way(text)


NUMBERS = st.integers(0, 120)
COLUMNS = st.builds("{}#{}{}".format, st.sampled_from(["word", "key1", "t#2", "n_10", '"q"', "é"]), NUMBERS,
                    st.sampled_from(["", "L", "-T2000ms"]))  # fmt: skip
TEXTS = st.one_of(
    st.builds("HashAggregate(keys=[{}], functions=[partial_{}(1)])".format, COLUMNS, st.sampled_from(["sum", "f2"])),
    st.builds("MicroBatchScan[{}] class org.kafka0{}.KafkaScan".format, COLUMNS, NUMBERS),
    st.builds("MapInArrow f{}({})#{}, [x]".format, NUMBERS, COLUMNS, NUMBERS),
    st.builds("ArrowEvalPython [slow({})#{}], [pythonUDF0#8], 200".format, COLUMNS, NUMBERS),
    st.builds("StateStoreSave [{}], state info [ opId = {}, ver = 3 ]".format, COLUMNS, NUMBERS),
    st.builds("Exchange hashpartitioning({}, 4), [plan_id={}]".format, COLUMNS, NUMBERS),
    st.builds("WholeStageCodegen ({})".format, NUMBERS),
    st.just("WriteToDataSourceV2"),
    st.just("SortMergeJoin [a#1], [b#2], Inner"),
)
METRICS = st.builds(
    PlanMetric,
    st.sampled_from(["number of output rows", "shuffle records written", "data size", "duration"]),
    st.integers(0, 30),
)


def node(text, metrics, children):
    kind = text if text.startswith("Whole") else re.split(r"[\[( ]", text)[0]
    return PlanNode(kind, text, tuple(metrics), tuple(children))


NODES = st.recursive(
    st.builds(node, TEXTS, st.lists(METRICS, max_size=4), st.just(())),
    lambda deeper: st.builds(node, TEXTS, st.lists(METRICS, max_size=4), st.lists(deeper, min_size=1, max_size=2)),
    max_leaves=6,
)


def with_other_digits(text, random, share):
    return re.sub(rb"\d", lambda old: b"%d" % random.randint(1, 9) if random.random() < share else old[0], text)


@given(NODES, st.lists(st.tuples(st.randoms(use_true_random=False), st.floats(0, 1)), min_size=1, max_size=4))
def test_plans_that_differ_only_in_digits_are_cut_as_if_each_were_the_first(plan, changes):
    templates = PlanTemplates()
    text = msgspec.json.encode(plan)
    assert templates.cut(Raw(text)).parts == the_long_way(text)
    for random, share in changes:
        other = with_other_digits(text, random, share)
        for same in (other, other_ids(other, 3)):
            assert templates.cut(Raw(same)).parts == the_long_way(same)


def the_long_way_for_a_task(text, accumulables):
    """The part that shares most accumulators with a task; of two, the smaller one."""
    updated = {one["ID"] for one in json.loads(accumulables)}
    shared = {part: len(part.accumulators & updated) for part in the_long_way(text)}
    best = max(shared, key=lambda part: (shared[part], -len(part.accumulators)), default=None)
    return best._replace(accumulators=frozenset()) if best and shared[best] else None


@pytest.fixture
def lists_read(monkeypatch):
    """The lists of accumulables that were read in full."""
    lists = []

    def counted(accumulables, updated=plan_templates.updated_accumulators):
        lists.append(bytes(accumulables))
        return updated(accumulables)

    monkeypatch.setattr(plan_templates, "updated_accumulators", counted)
    return lists


def lists_of(log):
    """Accumulables of tasks, some of each stage."""
    by_stage = {}
    for task in read_events(str(log), wanted={TaskEnd}):
        if listed := bytes(task.info.accumulables):
            by_stage.setdefault(task.stage_id, []).append(listed)
    return [listed for stage in by_stage.values() for listed in stage[:3]][:60]


@pytest.mark.parametrize("log", LOGS, ids=lambda log: log.name)
def test_what_a_task_carries_out_is_the_same_by_a_witness_and_by_all_it_updated(log):
    templates = PlanTemplates()
    for text in dict.fromkeys(plans(log)):
        for listed in lists_of(log) * 2:
            found = templates.cut(Raw(text)).carried_out(Raw(listed))
            assert found == the_long_way_for_a_task(text, listed)


def test_once_all_stages_of_a_word_count_were_seen_no_list_is_read(lists_read):
    log = DATA / "wordcount-4.3.0.zstd"
    text, templates = plans(log)[0], PlanTemplates()
    of_plan = [listed for listed in lists_of(log) if the_long_way_for_a_task(text, listed)]
    assert len(of_plan) > 2
    for _ in range(2):
        lists_read.clear()
        for accumulables in of_plan:
            templates.cut(Raw(text)).carried_out(Raw(accumulables))
    assert lists_read == []


def listed(*ids):
    return Raw(b"[" + b",".join(b'{"ID":%d,"Update":1}' % id for id in ids) + b"]")


def two_stages(scanned, counted):
    written, read = PlanMetric("data size", 1), PlanMetric("records read", 2)
    scan = PlanNode("MicroBatchScan", "", (PlanMetric("number of output rows", scanned),))
    exchange = PlanNode("Exchange", "Exchange hashpartitioning(word#7, 4)", (written, read), (scan,))
    return msgspec.json.encode(PlanNode("Filter", "", (PlanMetric("number of output rows", counted),), (exchange,)))


@pytest.mark.parametrize(
    "learned", [(), ("scan",), ("pass on",), ("scan", "pass on"), ("pass on", "scan")], ids="+".join
)
def test_an_accumulator_that_tasks_of_two_fragments_update_decides_nothing(learned):
    usual = {"scan": listed(11), "pass on": listed(2, 12)}
    plan = PlanTemplates().cut(Raw(two_stages(scanned=11, counted=12)))
    for name in learned:
        assert plan.carried_out(usual[name]).fragment.name == name
    odd = listed(1, 11, 12)  # most of it is the scan's, though one of the other's is there
    assert [plan.carried_out(odd).fragment.name for _ in range(3)] == ["scan", "scan", "scan"]
    assert [plan.carried_out(usual[name]).fragment.name for name in ("pass on", "scan")] == ["pass on", "scan"]


def test_an_exchange_that_is_used_twice_is_nobodys_witness():
    scan = PlanNode("MicroBatchScan", "", (PlanMetric("number of output rows", 10),))
    exchange = PlanNode("Exchange", "", (PlanMetric("data size", 11), PlanMetric("records read", 90)), (scan,))

    def reader(name, first, below):
        counted = (PlanMetric("number of output rows", first), PlanMetric("time", first + 1))
        return PlanNode("Exchange", "", (PlanMetric("data size", first + 2),), (PlanNode(name, "", counted, (below,)),))

    again = PlanNode("ReusedExchange", "", (), (exchange,))
    union = PlanNode("Union", "", (), (reader("Filter", 40, exchange), reader("Generate", 50, again)))
    text = msgspec.json.encode(union)
    plan = PlanTemplates().cut(Raw(text))
    for ids in ((40, 41, 90), (50, 51, 90), (40, 41, 90), (50, 51, 90)):
        assert plan.carried_out(listed(*ids)) == the_long_way_for_a_task(text, bytes(listed(*ids)))


def test_an_id_that_json_does_not_take_for_a_number_is_never_a_rows():
    templates = PlanTemplates()
    for _ in range(2):
        assert templates.cut(Raw(named("key", 41))).carried_out(listed(9)).counters == (9, 41)
    assert templates.cut(Raw(named("key", 52).replace(b":52", b":02"))).carried_out(listed(9)) is None
