"""From a URL to an event log: real servers on loopback, that answer what they should not."""

import io
import json
import os
import subprocess
import sys
import tempfile
import threading
import zipfile
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from headgate.spark import application_url

LOGS = Path(__file__).parent / "data" / "eventlogs"
LOG = LOGS / "wordcount-4.3.0.zstd"


@pytest.fixture
def server():
    """Give answers by path (bytes; anything else is 404), get the address."""
    running = []

    def serve(answers):
        class Handler(BaseHTTPRequestHandler):
            def do_GET(self):
                found = answers.get(self.path.removeprefix("/api/v1/applications"))
                if found == "hang up":
                    return
                self.send_response(404 if found is None else 200)
                self.end_headers()
                self.wfile.write(found or b"")

            def log_message(self, *_):
                pass

        http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        thread = threading.Thread(target=http.serve_forever, args=(0.02,))
        thread.start()
        running.append((http, thread))
        return f"http://127.0.0.1:{http.server_port}"

    yield serve
    for http, thread in running:
        http.shutdown()
        http.server_close()
        thread.join()


def zipped(**members):
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return packed.getvalue()


def history(logs, folder="hdfs://elsewhere/logs"):
    """A history server with one application."""
    settings = [["spark.eventLog.enabled", "true"], ["spark.eventLog.dir", str(folder)]]
    return {"": b'[{"id":"app-1"}]', "/app-1/environment": json.dumps({"sparkProperties": settings}).encode(),
            "/app-1/logs": logs}  # fmt: skip


def refused(headgate, url):
    ran = headgate("inspect", url)
    assert (ran.code, ran.out, ran.err.count("\n")) == (2, "", 1)
    return ran.err


@pytest.mark.parametrize("url", ["http://localhost:abc", "http://a b:80", "http://[", "http://", "http://h\u2100.x"])
def test_what_is_no_address_is_refused_in_one_line(headgate, url):
    assert refused(headgate, url).startswith("headgate: http://")


@pytest.mark.parametrize(
    "answer",
    [b'{"a":1}', b"[1]", b'[{"x":1}]', b'[{"id":1},{"id":2}]', b"", b"<html>", b"\xff", b"[" * 100_000, b"null"],
    ids=lambda answer: repr(answer[:20]),
)
def test_an_answer_that_is_not_sparks_is_refused_in_one_line(headgate, server, answer):
    assert "the answer is not that of a Spark application" in refused(headgate, server({"": answer}))


@pytest.mark.parametrize("answer", [b"[]", b'{"sparkProperties":5}', b'{"sparkProperties":[["a"]]}'])
def test_an_environment_that_is_not_sparks_is_refused_in_one_line(headgate, server, answer):
    url = server({"": b'[{"id":"app-1"}]', "/app-1/environment": answer})
    assert "the answer is not that of a Spark application" in refused(headgate, url)


@pytest.mark.parametrize(
    ("listed", "said"),
    [(b"[]", "no application there"), (b'[{"id":"a"},{"id":"b"}]', "2 applications there (a, b …); name one: ")],
)
def test_none_or_several_applications_are_said(headgate, server, listed, said):
    assert said in refused(headgate, server({"": listed}))


def test_a_server_that_hangs_up_gave_no_answer(headgate, server):
    assert "no answer" in refused(headgate, server({"": "hang up"}))


@pytest.mark.parametrize("logs", [None, b"no archive", zipped(), zipped(a=b"x" * 10_000)[:-60]])
def test_a_log_that_cannot_be_had_is_said_to_be_elsewhere(headgate, server, logs):
    assert "which this machine does not see" in refused(headgate, server(history(logs)))


def test_a_log_is_read_where_it_is_or_else_fetched_and_both_say_the_same(headgate, server, tmp_path):
    (tmp_path / "app-1.zstd").write_bytes(LOG.read_bytes())
    read, fetched = (
        headgate("inspect", server(answers))
        for answers in (history(None, tmp_path), history(zipped(**{"app-1.zstd": LOG.read_bytes()})))
    )
    assert "count by word [state]" in read.out
    assert fetched.out == read.out


def test_a_log_larger_than_the_bound_is_fetched_no_further(headgate, server, monkeypatch):
    monkeypatch.setattr(application_url, "_MOST_OF_A_LOG", 1000)
    assert "more than 1,000 bytes, too much to fetch" in refused(headgate, server(history(LOG.read_bytes())))


def test_an_archive_that_unpacks_to_more_than_the_bound_is_not_unpacked(headgate, server, monkeypatch, tmp_path):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    monkeypatch.setattr(application_url, "_MOST_OF_A_LOG", 1_000_000)
    bomb = zipped(app=b"0" * 1_000_001)
    assert len(bomb) < 10_000
    assert "too much to fetch; copy the log here" in refused(headgate, server(history(bomb)))
    assert sum(path.stat().st_size for path in tmp_path.rglob("*") if path.is_file()) < 10_000


def test_nothing_that_was_fetched_outlives_the_program(server, tmp_path):
    url = server(history(zipped(**{"app-1.zstd": LOG.read_bytes()})))
    ran = subprocess.run(
        [sys.executable, "-m", "headgate", "inspect", url], env={**os.environ, "TMPDIR": str(tmp_path)},
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert "count by word [state]" in ran.stdout
    assert list(tmp_path.iterdir()) == []
