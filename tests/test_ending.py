"""What `headgate run` says in the end is true of the checkpoint it leaves."""

import pytest

from headgate.jobs.ending import Ending
from headgate.jobs.job_file import read_job
from headgate.jobs.running import Running


@pytest.mark.parametrize(
    ("ending", "said"),
    [
        (Ending("drain"), "drained"),
        (Ending("stop"), "stopped at once"),
        (Ending(None), "ended by itself"),
        (Ending("drain", started=False), "stopped before the query started"),
        (Ending("stop", started=False), "stopped before the query started"),
    ],
)
def test_an_end_that_leaves_nothing_begun_is_said_in_a_word_or_two(ending, said):
    assert str(ending) == said


@pytest.mark.parametrize("word", ["drain", "stop", None])
def test_a_batch_that_is_left_begun_is_named_and_nothing_is_called_drained(word):
    said = str(Ending(word, unfinished=63))
    assert "batch 63 is begun and not committed: the next `headgate run` runs it again" in said
    assert "drained" not in said


def test_a_job_that_is_told_to_end_before_its_query_started_says_so(tmp_path):
    (tmp_path / "count.py").write_text("def build(spark, settings): ...")
    (tmp_path / "job.toml").write_text(
        'name = "count"\nbuild = "count.py:build"\ncheckpoint = "checkpoint"\n[cluster]\nmaster = "spark://host:7077"\n'
    )
    running = Running(read_job(tmp_path / "job.toml"))
    running.tell("stop")
    running.tell("drain")  # a word that comes late does not take back the one before
    assert running.run() == Ending("stop", started=False)
