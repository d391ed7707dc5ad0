"""examples/jobs/workload.py, without Spark: how much of its source a batch may take."""

import importlib.util
from pathlib import Path

import pytest

from headgate.jobs.job_file import read_job
from headgate.model.errors import InputError
from headgate.workloads.nexmark.source import NexmarkSource

JOBS = Path(__file__).parents[1] / "examples" / "jobs"
TOPIC = "kafka://127.0.0.1:9092/nexmark"


@pytest.fixture(scope="module")
def job():
    spec = importlib.util.spec_from_file_location("workload_job", JOBS / "workload.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


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
def test_a_batch_out_of_a_topic_takes_no_more_than_is_said(job, monkeypatch, given, most):
    pytest.importorskip("confluent_kafka")
    asked = []
    monkeypatch.setattr("headgate.kafka.stream.events_by_python", lambda *words: asked.append(words[2:]))
    job.stream(None, NexmarkSource, {"from": TOPIC, **given})
    ((address, limit),) = asked
    assert (str(address), limit) == (TOPIC, most)


def test_a_batch_of_generated_events_takes_no_more_than_is_said(job):
    options = {"load": "constant(10)", "rows_per_batch": 50, "source.event_rate": 7}
    assert job.stream(Reader(), NexmarkSource, options) == {
        "load": "constant(10)",
        "rows_per_batch": 50,
        "event_rate": "7",
    }


@pytest.mark.parametrize("most", [0, -5, "many", 1.5, True])
def test_a_limit_that_is_none_is_refused_by_name(job, most):
    with pytest.raises(InputError, match=r"\[options\] rows_per_batch is .*; give a whole number from 1 on"):
        job.stream(Reader(), NexmarkSource, {"load": "constant(10)", "rows_per_batch": most})


def test_the_job_for_nexmark_takes_as_much_as_its_executors_do_in_a_trigger():
    job = read_job(JOBS / "nexmark.toml")
    # Four executors of one slot, 5 ms an event, and five seconds, which is the trigger where none is named.
    assert job.options["rows_per_batch"] == 4 * 5 / job.options["seconds_per_event"]
