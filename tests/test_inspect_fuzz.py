"""Whatever is wrong with a log, `headgate inspect` ends in an answer, or in one line that says what to do.

Where events are missing, the answer says on standard error what it is not based on.
"""

import json
import random
import re

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from eventlogs import VERSIONS, text

LINES = text("4.3.0").splitlines(keepends=True)
STREAMING = "org.apache.spark.sql.streaming.StreamingQueryListener$"
SQL = "org.apache.spark.sql.execution.ui.SparkListener"
quick = settings(
    max_examples=60,
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)


def inspected(headgate, tmp_path, lines, *options):
    """Run it, and hold it to its promise: an answer, or one line of refusal; and no line that is not a sentence."""
    path = tmp_path / "app"
    path.write_bytes(b"".join(lines))
    ran = headgate("inspect", path, *options)
    said = ran.err.splitlines()
    assert ran.code in (0, 2)
    assert all(line.startswith(f"headgate: {path}") for line in said), ran.err
    assert bool(ran.out) == (ran.code == 0)
    assert ran.code == 0 or said
    return ran


def without(event):
    return [line for line in LINES if event.encode() not in line[:150]]


def names_of_events():
    return sorted({json.loads(line)["Event"] for line in LINES})


@pytest.mark.parametrize("event", names_of_events())
def test_a_log_that_lacks_all_events_of_one_kind_is_answered_as_far_as_it_goes(headgate, tmp_path, event):
    inspected(headgate, tmp_path, without(f'"{event}"'))


# The first of the three batches has no records, so that only its stateful stage ran: five stages in all.
@pytest.mark.parametrize(
    ("event", "said"),
    [
        (f"{SQL}SQLExecutionStart", "no plan for 5 stages: they are named by their place in the batch"),
        ("SparkListenerStageCompleted", "no end of 5 stages: rows inside, and so the fan-out, are missing"),
        ("SparkListenerJobStart", "no task in the log for 2 batches with records: left out"),
        ("SparkListenerTaskEnd", "no task in the log for 2 batches with records: left out"),
        (f"{STREAMING}QueryProgressEvent", "3 batches have no report (failed, or under way when the log ended, or"),
        ("SparkListenerLogStart", "the log does not begin with SparkListenerLogStart"),
        ("SparkListenerApplicationEnd", "the log has no end"),
    ],
)
def test_what_a_missing_kind_of_event_costs_is_said(headgate, tmp_path, event, said):
    assert said in inspected(headgate, tmp_path, without(f'"{event}"')).err


def test_a_whole_log_has_nothing_to_complain_about(headgate, tmp_path):
    for version in VERSIONS:
        assert inspected(headgate, tmp_path, [text(version)]).err == ""


@pytest.mark.parametrize("version", ["2.4.8", "5.0.0", "soon", ""])
def test_a_log_of_a_spark_that_is_not_known_is_answered_with_a_word_about_that(headgate, tmp_path, version):
    lines = [LINES[0].replace(b"4.3.0", version.encode()), *LINES[1:]]
    ran = inspected(headgate, tmp_path, lines)
    assert (ran.code, "known are 3.5 to 4.3" in ran.err) == (0, True)


def test_the_log_of_an_application_whose_queries_never_ran_a_batch_is_refused_in_one_line(headgate, tmp_path):
    lines = [line for line in LINES if b"streaming.sql.batchId" not in line and b"QueryProgress" not in line]
    ran = inspected(headgate, tmp_path, lines)
    assert (ran.code, ran.err.count("\n")) == (2, 1)
    assert "no batch of a streaming query in it" in ran.err


def test_a_log_with_every_line_twice_gives_the_same_operators_and_records(headgate, tmp_path):
    def figures(lines):
        (query,) = json.loads(inspected(headgate, tmp_path, lines, "--format", "json").out)
        return [(o["name"], o["tasks"], o["records_in"], o["records_out"]) for o in query["profile"]["operators"]]

    assert figures([line for line in LINES for _ in range(2)]) == figures(LINES)


@quick
@given(cut=st.floats(0, 1))
def test_a_log_that_is_cut_anywhere_is_answered_or_refused(headgate, tmp_path, cut):
    whole = b"".join(LINES)
    inspected(headgate, tmp_path, [whole[: int(cut * len(whole))]])


@quick
@given(seed=st.integers(0, 2**32))
def test_lines_lost_repeated_shuffled_and_between_garbage_are_answered_or_refused(headgate, tmp_path, seed):
    dice = random.Random(seed)
    lines = [line for line in LINES if dice.random() > 0.1]
    lines += [dice.choice(LINES) for _ in range(dice.randrange(20))]
    for _ in range(dice.randrange(30)):
        one, other = dice.randrange(len(lines)), dice.randrange(len(lines))
        lines[one], lines[other] = lines[other], lines[one]
    for _ in range(dice.randrange(5)):
        lines.insert(dice.randrange(len(lines)), dice.randbytes(dice.randrange(100)) + b"\n")
    inspected(headgate, tmp_path, lines)


FIGURES = re.compile(rb"(?<=[:,\[\"])-?\d+(?=[,}\]\"])")
STRANGE = [
    b"-1",
    b"0",
    b"9007199254740993",
    b"9223372036854775808",
    b"1e999",
    b"9" * 400,
    b"9" * 5000,
    b"400000000",
    b"null",
    b"-0",
    b"1.5",
    b'"x"',
]


@quick
@given(seed=st.integers(0, 2**32))
def test_figures_that_are_negative_or_huge_or_none_are_answered_or_refused(headgate, tmp_path, seed):
    dice = random.Random(seed)
    share = dice.choice([0.0005, 0.005, 0.05])

    def other(found):
        return dice.choice(STRANGE) if dice.random() < share else found[0]

    inspected(headgate, tmp_path, [FIGURES.sub(other, line) for line in LINES])
    inspected(headgate, tmp_path, [FIGURES.sub(other, line) for line in LINES], "--format", "json")


@pytest.mark.parametrize("figure", ["Launch Time", "Executor Run Time", "Total Records Read", "Partition ID"])
@pytest.mark.parametrize("strange", [b"-5", b"9" * 30])
def test_tasks_with_figures_that_cannot_be_are_left_out_and_said(headgate, tmp_path, figure, strange):
    name = re.compile(b'"' + figure.encode() + rb'":\d+')
    broken = [name.sub(b'"%s":%s' % (figure.encode(), strange), line) for line in LINES]
    ran = inspected(headgate, tmp_path, broken)
    if (figure, strange) != ("Partition ID", b"-5"):  # without it the task's place among its stage's says the same
        assert "left out" in ran.err


@pytest.mark.parametrize(
    "figure", ["memoryUsedBytes", "commitTimeMs", "numRowsTotal", "loadedMapCacheHitCount", "Total Cores"]
)
@pytest.mark.parametrize("form", ["table", "json", "html"])
def test_state_and_executors_with_figures_that_cannot_be_are_answered_and_said(headgate, tmp_path, figure, form):
    name = re.compile(b'"' + figure.encode() + rb'" ?: ?\d+')
    strange = b"400000000" if figure == "Total Cores" else b"9" * 400
    broken = [name.sub(b'"%s":%s' % (figure.encode(), strange), line) for line in LINES]
    assert broken != LINES
    ran = inspected(headgate, tmp_path, broken, "--format", form)
    assert (ran.code, "cannot be true: taken as unknown" in ran.err) == (0, True)


def test_a_query_whose_batches_never_close_is_forgotten_and_the_others_are_not():
    from headgate.formats.eventlog.batches import read_batches
    from headgate.formats.eventlog.streaming import QueryTerminated
    from test_eventlog_batches import job, report, task

    def events():
        for number in range(3000):
            yield job(number, (number, []), run="silent", batch=number)
            yield task(number)
            yield job(10_000 + number, (10_000 + number, []), run="sound", batch=number)
            yield task(10_000 + number)
            yield report(number, run="sound")
        for number in range(3000):  # runs that fail in their first batch, one after the other
            yield job(number, (20_000 + number, []), run=f"failed {number}", batch=0)
            yield task(20_000 + number)
            if number % 2:
                yield QueryTerminated("q", f"failed {number}", "for a reason")

    batches = read_batches(events())
    kept = [len(batches._assembly.stages) for _ in batches]
    assert len(kept) == 3000
    assert max(kept) < 20
    assert not batches._assembly.stages
    assert str(batches.gaps[0]).startswith("6,000 batches have no report")
