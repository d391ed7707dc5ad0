"""`headgate bench`: what it shows of results, how it compares two, and what it refuses before anything is started."""

import contextlib

import msgspec
import pytest
from msgspec.structs import replace

from headgate.cli import bench, produce
from headgate.cli.main import main
from headgate.jobs.bench_result import BenchPlan, BenchResult, Measured, Percentiles
from headgate.workloads.registry import SOURCES, WORKLOADS


def measured(query, rate, freshness=None):
    batch = Percentiles(0.5, 0.9, 1.0)
    return Measured(
        query, "what it asks", 10, 1000, 5.0, rate, batch, freshness, 1234, 5_600_000, 2.5, per_core=rate / 2
    )  # fmt: skip


def written(path, *measured, **plan):
    path.write_bytes(msgspec.json.encode(BenchResult(BenchPlan("nexmark", ("q1",), **plan), measured)))
    return str(path)


def test_a_line_for_each_query_and_how_it_was_fed():
    aged = BenchPlan("nexmark", ("q5",), load="constant(20k)", seconds=60)
    lines = list(bench.table(BenchResult(aged, (measured("q5", 20_000, Percentiles(1.25, 2.5, 3.0)),))))
    head = "query events/s per core batch p50 p95 age p50 p95 p99 state rows state MB CPU s/M events"
    assert lines[0].split() == head.split()
    assert lines[1].split()[:3] == ["q5", "20k", "10k"]
    assert "1.25 s" in lines[1]
    assert "1,234" in lines[1]
    assert lines[2] == "nexmark on 2 slots, fed at constant(20k); each measured for 60 s"


def test_published_figures_of_flink_stand_beside_those_queries_that_have_one():
    ours = replace(measured("q5", 60_000.0), flink_per_core=22_000.0)
    lines = list(bench.table(BenchResult(BenchPlan("nexmark", ("q5", "q6")), (ours, measured("q6", 8000.0)))))
    assert lines[0].split()[:7] == ["query", "events/s", "per", "core", "Flink", "per", "core"]
    assert lines[1].split()[:4] == ["q5", "60k", "30k", "22k"]
    assert lines[2].split()[:4] == ["q6", "8,000", "4,000", "0.50"]
    assert lines[-1] == "Flink: published figures, on other hardware"


def test_results_from_before_cores_and_loads_were_kept_can_still_be_compared(tmp_path, capsys):
    newer = ("asked_per_second", "falls_behind", "per_core", "flink_per_core", "later_each_second", "missing")
    old = msgspec.to_builtins(BenchResult(BenchPlan("nexmark", ("q1",)), (measured("q1", 1000.0),)))
    old["measured"] = [{name: value for name, value in one.items() if name not in newer} for one in old["measured"]]
    (tmp_path / "before").write_bytes(msgspec.json.encode(old))
    after = written(tmp_path / "after", measured("q1", 1500.0))
    assert main(["bench", "compare", str(tmp_path / "before"), after]) == 0
    said = capsys.readouterr().out.splitlines()[1].split()
    assert said == ["q1", "1,500", "1,000", "1.50", "2.50", "2.50", "5.6", "5.6", "faster"]


def test_a_query_that_falls_behind_its_load_is_named_under_the_table():
    age = Percentiles(1.0, 2.0, 3.0)
    late = replace(measured("q5", 12_000.0, age), asked_per_second=20_000.0, falls_behind=True)
    plan = BenchPlan("nexmark", ("q1", "q5"), load="constant(20k)")
    lines = list(bench.table(BenchResult(plan, (measured("q1", 20_000.0, age), late))))
    assert lines[-1] == "q5 falls behind: it reads 12k of the 20k events/s that come"
    assert sum("falls behind" in line for line in lines) == 1
    lines = list(bench.table(BenchResult(plan, (replace(late, later_each_second=0.4),))))
    assert lines[-1] == (
        "q5 falls behind: it reads 12k of the 20k events/s that come, and events wait 0.40 s longer each second"
    )


def test_batches_that_were_not_seen_are_named_under_the_table():
    some = replace(measured("q5", 12_000.0), missing=(7, 9))
    lines = list(bench.table(BenchResult(BenchPlan("nexmark", ("q5",)), (some,))))
    assert lines[-1] == "q5: not seen: batches 7, 9; their events are counted, their times and ages are not"


def test_two_results_are_compared_query_by_query(tmp_path, capsys):
    before = written(tmp_path / "before", measured("q1", 1000.0), measured("q2", 1000.0), measured("q3", 1.0))
    after = written(tmp_path / "after", measured("q1", 1500.0), measured("q2", 1020.0), slots=4)
    assert main(["bench", "compare", before, after]) == 0
    said = capsys.readouterr().out.splitlines()
    shown = [["1.50", "2.50", "2.50", "5.6", "5.6", "faster"], ["1.02", *"2.50 2.50 5.6 5.6 about the same".split()]]
    assert [line.split()[3:] for line in said[1:3]] == shown
    assert said[3] == "only in one of them: q3"
    assert said[4].startswith("not measured alike: nexmark on 2 slots")


def test_processor_time_and_state_stand_beside_the_speed_where_there_is_no_load(tmp_path, capsys):
    before = written(tmp_path / "before", measured("q1", 1000.0))
    leaner = replace(measured("q1", 1000.0), cpu_seconds_per_million=1.25, state_bytes=2_800_000)
    assert main(["bench", "compare", before, written(tmp_path / "after", leaner)]) == 0
    head, line = capsys.readouterr().out.splitlines()
    assert head.split() == "query events/s before ratio CPU s/M before state MB before".split()
    assert line.split() == "q1 1,000 1,000 1.00 1.25 2.50 2.8 5.6 about the same".split()


def at_a_load(query, p50, p95, batch, cpu, **changed):
    ran = replace(measured(query, 20_000.0, Percentiles(p50, p95, p95)), cpu_seconds_per_million=cpu)
    return replace(ran, batch=Percentiles(batch, batch, batch), **changed)


def test_with_a_load_events_that_are_younger_are_better_though_as_many_are_read(tmp_path, capsys):
    # 20,000 a second are read before and after: what differs is how old they are, how long it takes and what it costs.
    same, slow = (1.0, 2.0, 0.5, 4.0), {"falls_behind": True, "events_per_second": 10_000.0}
    before = [
        at_a_load("q1", *same), at_a_load("q2", *same), at_a_load("q3", *same), at_a_load("q4", *same),
        at_a_load("q5", *same), at_a_load("q6", *same, **slow), at_a_load("q7", *same, **slow),
    ]  # fmt: skip
    after = [
        at_a_load("q1", 0.5, 1.0, 0.25, 4.1), at_a_load("q2", 1.02, 1.95, 0.49, 4.0),
        at_a_load("q3", 1.0, 2.0, 0.6, 2.0), at_a_load("q4", 1.2, 2.0, 0.5, None), at_a_load("q5", *same, **slow),
        at_a_load("q6", *same), at_a_load("q7", *same, falls_behind=True, events_per_second=15_000.0),
    ]  # fmt: skip
    files = [
        written(tmp_path / name, *ran, load="constant(20k)") for name, ran in (("before", before), ("after", after))
    ]
    assert main(["bench", "compare", *files]) == 0
    head, *lines = capsys.readouterr().out.splitlines()
    assert head.split() == "query age p50 before age p95 before batch p50 before CPU s/M before state MB before".split()
    first = "q1 0.50 s 1.00 s 1.00 s 2.00 s 0.25 s 0.50 s 4.10 4.00 5.6 5.6 better: age p50, age p95, batch p50"
    assert lines[0].split() == first.split()
    assert [line.split(" 5.6  ")[-1] for line in lines[1:]] == [
        "about the same",
        "better: CPU; worse: batch p50",
        "worse: age p50",
        "falls behind now",
        "keeps up now",
        "falls behind, as before; reads 1.50 times as much",
    ]


def test_an_earlier_result_stays_until_something_is_measured(tmp_path, monkeypatch):
    earlier = written(tmp_path / "result", measured("q1", 1000.0))
    kept = (tmp_path / "result").read_bytes()
    seen = []

    def measuring(plan, told):
        seen.append((tmp_path / "result").read_bytes())
        yield measured("q1", 1500.0)
        seen.append((tmp_path / "result").read_bytes())

    monkeypatch.setattr("headgate.jobs.workload_bench.run_bench", measuring)
    assert main(["bench", "nexmark", "--queries", "1", "--output", earlier]) == 0
    assert seen[0] == kept
    assert msgspec.json.decode(seen[1], type=BenchResult).measured[0].events_per_second == 1500.0
    assert [path.name for path in tmp_path.iterdir()] == ["result"]


def test_what_is_measured_is_told_and_kept_at_once_though_the_rest_is_interrupted(tmp_path, monkeypatch, capsys):
    def interrupted(plan, told):
        yield measured("q1", 1500.0)
        yield replace(measured("q2", 12_000.0), falls_behind=True)
        raise KeyboardInterrupt

    monkeypatch.setattr("headgate.jobs.workload_bench.run_bench", interrupted)
    with contextlib.suppress(KeyboardInterrupt):
        main(["bench", "nexmark", "--output", str(tmp_path / "result")])
    told = capsys.readouterr().err.splitlines()
    assert told[:2] == [
        "q1: 1,500 events/s, batches of 0.50 s",
        "q2: 12k events/s, batches of 0.50 s, falls behind its load",
    ]
    kept = msgspec.json.decode((tmp_path / "result").read_bytes(), type=BenchResult)
    assert [one.query for one in kept.measured] == ["q1", "q2"]


def test_a_page_shows_a_bar_for_each_query():
    page = bench.bench_page(BenchResult(BenchPlan("psm", ("q1",)), (measured("q1", 3000.0), measured("q2", 1500.0))))
    assert page.count("<rect") == 2
    assert "q2: what it asks, 1,500 events/s" in page


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        (["nexmark", "--queries", "5,99"], "nexmark has no query 99"),
        (["psm", "--queries", "qq1"], 'psm has no query qq1 (did you mean "q1"?)'),
        (["nexmark", "--load", "constant(x)"], "constant(x)"),
        (["nexmark", "--load", "constant(0)"], "--load constant(0) brings no event within the 50 s of --warm-up and"),
        (
            ["nexmark", "--load", "step(0 -> 1k @ 10m)", "--warm-up", "8m", "--seconds", "2m"],
            "--load step(0 -> 1k @ 10m) brings no event within the 600 s of --warm-up and --seconds; give a load that",
        ),
        (["nexmark", "--option", "padding"], "--option padding: give it as NAME=VALUE"),
        (["nexmark", "--option", "pading=no"], 'nexmark: there is no option pading (did you mean "padding"?)'),
        (["nexmark", "--option", "padding=maybe"], 'nexmark: option padding is "maybe"; give true or false'),
        (
            ["nexmark", "--option", "rows=5"],
            "option rows is for reading from the source; here there are --load",
        ),
        (["nexmark", "--output", "/no/such/file"], "/no/such/file: cannot be written (No such file or directory)"),
        (["nexmark", "--output", "/"], "/: cannot be written (Is a directory)"),
        (["nexmark", "--slots", "0"], "--slots is 0; give a whole number from 1 on"),
        (["nexmark", "some.json"], "some.json: files are for `headgate bench compare`"),
        (["compare", "one.json"], "compare takes two files"),
        (["compare", "/no/such", "/no/such"], "/no/such"),
    ],
    ids=[
        "query",
        "query-like",
        "load",
        "no-events",
        "no-events-yet",
        "option",
        "no-option",
        "no-value",
        "common-option",
        "output",
        "folder",
        "slots",
        "files",
        "one-file",
        "no-file",
    ],
)
def test_what_makes_no_sense_is_refused_before_anything_is_started(arguments, problem, capsys):
    assert main(["bench", *arguments]) == 2
    assert problem in capsys.readouterr().err


def test_a_file_that_is_no_result_is_named(tmp_path, capsys):
    other = tmp_path / "other.json"
    other.write_text("[]")
    assert main(["bench", "compare", str(other), str(other)]) == 2
    assert f"{other}: no result of `headgate bench`" in capsys.readouterr().err


def test_all_workloads_and_all_sources_can_be_named():
    assert tuple(WORKLOADS) == bench.WORKLOADS
    assert tuple(SOURCES) == produce.SOURCES
    assert [source.name() for source in SOURCES.values()] == list(SOURCES)
