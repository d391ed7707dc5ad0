"""What the options of a job make of a workload's stream, without Spark: which source, and how much a batch may take."""

from pathlib import Path

import pytest

from headgate.jobs.build_function import load_build
from headgate.jobs.job_file import read_job
from headgate.jobs.job_settings import JobSettings
from headgate.jobs.workload_stream import workload_stream
from headgate.model.errors import InputError
from headgate.workloads.nexmark.source import NexmarkSource

JOBS = Path(__file__).parents[1] / "examples" / "jobs"
TOPIC = "kafka://127.0.0.1:9092/nexmark"
WAYS = ("python", "connector")


class Reader:
    """A session as far as reading goes; it keeps the options."""

    def __init__(self):
        self.options, self.readStream, self.dataSource = {}, self, self  # Spark's names

    def register(self, source):
        pass

    def format(self, name):
        return self

    def option(self, name, value):
        self.options[name] = value
        return self

    def load(self):
        return self.options


@pytest.mark.parametrize(("given", "most"), [({"rows_per_batch": 4000}, 4000), ({}, None)])
def test_a_batch_out_of_a_topic_takes_no_more_than_is_said(monkeypatch, given, most):
    pytest.importorskip("confluent_kafka")
    asked = []
    monkeypatch.setattr("headgate.kafka.stream.events_by_python", lambda *words: asked.append(words[2:]))
    workload_stream(None, NexmarkSource, {"from": TOPIC, **given})
    ((address, limit),) = asked
    assert (str(address), limit) == (TOPIC, most)


@pytest.mark.parametrize(("given", "way"), [({}, "python"), *(({"through": way}, way) for way in WAYS)])
def test_a_topic_is_read_by_what_is_asked_for_and_by_python_if_nothing_is(monkeypatch, given, way):
    pytest.importorskip("confluent_kafka")
    for known in WAYS:
        monkeypatch.setattr(f"headgate.kafka.stream.events_by_{known}", lambda *_, known=known: known)
    assert workload_stream(None, NexmarkSource, {"from": TOPIC, **given}) == way


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (
            {"from": TOPIC, "source.event_rate": 200},
            "[options] source.event_rate: what is in a topic is as it was written; leave it out, and give --option "
            "event_rate=200 to headgate produce",
        ),
        (
            {"from": TOPIC, "source.padding": False},
            "[options] source.padding: what is in a topic is as it was written; leave it out, and give --option "
            "padding=false to headgate produce",
        ),
        ({"from": TOPIC, "through": "conector"}, '[options] through: there is no conector (did you mean "connector"?)'),
        ({"from": TOPIC, "through": 7}, "[options] through: there is no 7 (there are python, connector)"),
        (
            {"load": "constant(10)", "through": "connector"},
            "[options] through says by what a topic is read, and there is none; leave it out",
        ),
        ({"from": "nexmark"}, '"nexmark" is no address of a topic; give it as kafka://HOST:PORT/TOPIC'),
        ({}, "[options] needs either load, as in 'constant(100)', or from, as in 'kafka://HOST:PORT/TOPIC'"),
        (
            {"load": "constant(10)", "from": TOPIC},
            "[options] needs either load, as in 'constant(100)', or from, as in 'kafka://HOST:PORT/TOPIC'",
        ),
    ],
)
def test_what_makes_no_sense_is_one_line_and_nothing_is_dropped_without_a_word(options, said):
    with pytest.raises(InputError) as refused:
        workload_stream(Reader(), NexmarkSource, options)
    assert str(refused.value) == said


def test_options_of_a_source_are_as_they_were_written_but_for_true_and_false():
    given = {"source.padding": True, "source.path": "/Data/Of.Mine", "source.hot_bidders": 0.5}
    made = workload_stream(Reader(), NexmarkSource, {"load": "constant(10)", **given})
    assert made == {"load": "constant(10)", "padding": "true", "path": "/Data/Of.Mine", "hot_bidders": "0.5"}


def test_a_batch_of_generated_events_takes_no_more_than_is_said():
    options = {"load": "constant(10)", "rows_per_batch": 50, "source.event_rate": 7}
    assert workload_stream(Reader(), NexmarkSource, options) == {
        "load": "constant(10)",
        "rows_per_batch": 50,
        "event_rate": "7",
    }


@pytest.mark.parametrize("most", [0, -5, "many", 1.5, True])
def test_a_limit_that_is_none_is_refused_by_name(most):
    with pytest.raises(InputError, match=r"\[options\] rows_per_batch is .*; give a whole number from 1 on"):
        workload_stream(Reader(), NexmarkSource, {"load": "constant(10)", "rows_per_batch": most})


@pytest.mark.parametrize(
    ("job", "option", "said"),
    [
        ("nexmark", "rows_per_bach", 'rows_per_bach (did you mean "rows_per_batch"?)'),
        ("nexmark", "triger", 'triger (did you mean "trigger"?)'),
        ("psm", "event_rate", "event_rate"),
        ("word_count", "triger", 'triger (did you mean "trigger"?)'),
        ("word_count", "second_per_word", 'second_per_word (did you mean "seconds_per_word"?)'),
        ("word_count", "source.words", "source.words"),
    ],
)
def test_an_option_that_a_job_does_not_take_is_refused_by_name_before_anything_is_read(tmp_path, job, option, said):
    made = read_job(JOBS / f"{job}.toml")
    settings = JobSettings(str(tmp_path), {**made.options, option: 5}, made.parallelism, {})
    with pytest.raises(InputError) as refused:
        load_build(made)(None, settings)
    assert str(refused.value).startswith(f"[options] there is no option {said}")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("job", sorted(file.stem for file in JOBS.glob("*.toml")))
def test_the_options_of_every_example_are_taken(tmp_path, job):
    # Without Spark it ends where the first stream is read, which is after all options were looked at.
    made = read_job(JOBS / f"{job}.toml")
    with pytest.raises(AttributeError, match="'NoneType' object has no attribute 'dataSource'"):
        load_build(made)(None, JobSettings(str(tmp_path), made.options, made.parallelism, {}))


def test_the_job_for_nexmark_has_the_days_and_hours_that_its_queries_are_compared_by():
    assert read_job(JOBS / "nexmark.toml").cluster.conf == {"spark.sql.session.timeZone": "UTC"}


def test_the_job_for_nexmark_takes_as_much_as_its_executors_do_in_a_trigger():
    job = read_job(JOBS / "nexmark.toml")
    # Four executors of one slot, 5 ms an event, and five seconds, which is the trigger where none is named.
    assert job.options["rows_per_batch"] == 4 * 5 / job.options["seconds_per_event"]
