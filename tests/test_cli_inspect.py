import json
import re
from pathlib import Path

import pyarrow as pa
import pytest

LOGS = Path(__file__).parent / "data" / "eventlogs"


def test_the_table_shows_a_query_and_its_operators(headgate):
    ran = headgate("inspect", LOGS / "wordcount-4.3.0.zstd")
    assert ran.code == 0
    lines = ran.out.splitlines()
    assert lines[0] == "query wordcount: 4 batches, 1 counted"
    assert lines[1].startswith("a batch takes 2.31 s (median) for 1,749 records (mean), ")
    rows = [line for line in lines if line.startswith(("scan", "count"))]
    assert rows[0].startswith("scan -> mapInArrow run -> count by word      4  1,749  1,468       20 ")
    assert rows[1].startswith("count by word [state]                        4  1,468 ")


def test_json_has_the_same_in_full(headgate):
    (found,) = json.loads(headgate("inspect", LOGS / "wordcount-4.3.0.zstd", "--format", "json").out)
    profile = found["profile"]
    assert profile["operators"][0]["fan_out"] == 20.0
    assert profile["operators"][1]["stateful"]


@pytest.mark.parametrize("codec", ["zstd", "lz4", "snappy"])
def test_a_log_reads_the_same_in_every_codec(headgate, codec):
    assert headgate("inspect", LOGS / f"spark-3.5.9.{codec}").out == headgate("inspect", LOGS / "spark-3.5.9.zstd").out


def test_a_log_still_being_written_is_answered_with_a_word_about_that(headgate):
    ran = headgate("inspect", LOGS / "spark-3.5.9.zstd.inprogress")
    assert ran.code == 0
    assert "the log has no end" in ran.err
    (found,) = json.loads(headgate("inspect", LOGS / "spark-3.5.9.zstd.inprogress", "--format", "json").out)
    assert "the log has no end" in found["notes"][0]
    assert "the log has no end" in headgate("inspect", LOGS / "spark-3.5.9.zstd.inprogress", "--format", "html").out


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("README.md", "no Spark event in it; give an event log"),
        ("absent.log", "cannot be read (No such file or directory)"),
    ],
)
def test_what_is_no_event_log_is_refused_in_one_line(headgate, name, said):
    ran = headgate("inspect", LOGS / name)
    assert (ran.code, ran.out) == (2, "")
    assert said in ran.err
    assert ran.err.count("\n") == 1


def test_an_application_without_streaming_is_refused_in_one_line(headgate, file):
    events = ({"Event": "SparkListenerLogStart", "Spark Version": "4.3.0"}, {"Event": "SparkListenerApplicationEnd"})
    log = file("batch.log", "".join(json.dumps(event, separators=(",", ":")) + "\n" for event in events))
    ran = headgate("inspect", log)
    assert ran.code == 2
    assert "no batch of a streaming query in it; give the log of a streaming application" in ran.err


def test_of_sources_that_do_not_say_what_waits_it_is_not_said_that_the_query_keeps_up(headgate, tmp_path):
    with pa.CompressedInputStream(pa.OSFile(str(LOGS / "wordcount-4.3.0.zstd")), "zstd") as stream:
        text = stream.read().decode()
    log = tmp_path / "untold.log"
    log.write_text(re.sub(r'"latestOffset":"(\\.|[^"\\])*"', '"latestOffset":null', text))
    out = headgate("inspect", log).out
    assert "sources do not say how many arrive or wait" in out
    assert "cannot be told, since it never rests and nobody says what waits" in out


@pytest.mark.parametrize(
    ("path", "said"),
    [("hdfs://host/logs", "only files of this machine are read"), ("file:///no/such/log", "No such file")],
)
def test_logs_on_other_file_systems_are_refused_as_such(headgate, path, said):
    ran = headgate("inspect", path)
    assert ran.code == 2
    assert said in ran.err


def test_of_several_logs_the_good_ones_are_answered_and_the_exit_code_tells_of_the_others(headgate, tmp_path):
    ran = headgate("inspect", LOGS / "wordcount-4.3.0.zstd", tmp_path / "absent.log")
    assert "query wordcount" in ran.out
    assert "absent.log: cannot be read" in ran.err
    assert ran.code == 1


def test_files_that_lie_about_in_a_folder_of_logs_are_named_and_no_failure(headgate, tmp_path):
    (tmp_path / "notes.txt").write_text("not a log\n")
    (tmp_path / "app.zstd").write_bytes((LOGS / "wordcount-4.3.0.zstd").read_bytes())
    ran = headgate("inspect", tmp_path)
    assert "query wordcount" in ran.out
    assert "notes.txt: no Spark event in it" in ran.err
    assert ran.code == 0


def test_a_rate_whose_batches_were_never_seen_is_answered_with_a_word_about_that(headgate):
    # 1.1 times 756 records/s are 832, and 4,160 of them come in 5 s.
    larger = headgate("inspect", LOGS / "wordcount-4.3.0.zstd", "--rate", "1.1x", "--trigger", "5s").out
    assert "batches of 4,160 records were never seen (1,749 at the most)" in larger
    assert "were never seen" not in headgate("inspect", LOGS / "wordcount-4.3.0.zstd", "--slots", "16").out


def test_batches_that_no_interval_is_long_enough_for_are_not_said_to_carry_anything_in_time(headgate):
    # 150 records at the most, in batches that take longer than twice the 2 s between them.
    said = headgate("inspect", LOGS.parents[2] / "examples" / "slow-job" / "salted.zstd", "--trigger", "2s").out
    (fares,) = [line for line in said.splitlines() if "overrun their interval" in line]
    assert re.search(r"at 4\.\d+ s each, one after the other, it carries", fares)
    assert "in time" not in fares
