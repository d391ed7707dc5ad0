import json
import math

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import Raw

from eventlogs import DATA, VERSIONS, parsed
from headgate.formats.eventlog.accumulables import accumulator_updates, updated_accumulators
from headgate.formats.eventlog.events import (
    EVENT_NAMES,
    ApplicationEnd,
    ApplicationStart,
    DriverAccumUpdates,
    EnvironmentUpdate,
    ExecutorAdded,
    JobEnd,
    JobStart,
    LogStart,
    QueryIdle,
    QueryProgress,
    QueryStarted,
    QueryTerminated,
    SQLAdaptiveExecutionUpdate,
    SQLExecutionEnd,
    SQLExecutionStart,
    StageCompleted,
    StageSubmitted,
    TaskEnd,
    decoders,
)
from headgate.formats.eventlog.reader import read_events
from headgate.formats.eventlog.sql import read_plan

every_version = pytest.mark.parametrize("version", VERSIONS)


def events(version, kind):
    """The typed events of a real log, each beside what json.loads makes of its line."""
    typed = list(read_events(str(DATA / f"spark-{version}.zstd"), wanted={kind}))
    plain = parsed(version, EVENT_NAMES[kind])
    assert typed
    return list(zip(typed, plain, strict=True))


def decoded(kind, **fields):
    name = EVENT_NAMES[kind]
    line = json.dumps({"Event": name, **fields}).encode()
    return decoders({kind})[name.encode()](line, 0, len(line))


@every_version
def test_the_application_and_its_executors_are_read(version):
    ((start, _),) = events(version, LogStart)
    assert start == LogStart(version)
    ((environment, plain),) = events(version, EnvironmentUpdate)
    assert environment.spark_properties == plain["Spark Properties"]
    assert environment.spark_properties["spark.sql.shuffle.partitions"] == "2"
    ((began, plain),) = events(version, ApplicationStart)
    assert (began.name, began.id, began.timestamp) == ("tiny", plain["App ID"], plain["Timestamp"])
    ((ended, plain),) = events(version, ApplicationEnd)
    assert ended.timestamp == plain["Timestamp"] > began.timestamp
    ((executor, plain),) = events(version, ExecutorAdded)
    assert (executor.id, executor.timestamp) == ("driver", plain["Timestamp"])
    assert (executor.info.host, executor.info.cores) == ("127.0.0.1", 2)


@every_version
def test_jobs_say_which_batch_of_which_query_they_belong_to_and_what_their_stages_do(version):
    started, ended = events(version, JobStart), events(version, JobEnd)
    ((query, _),) = events(version, QueryStarted)
    for job, plain in started:
        assert (job.id, job.submission_time) == (plain["Job ID"], plain["Submission Time"])
        assert job.stage_ids == tuple(plain["Stage IDs"]) == tuple(stage.id for stage in job.stages)
        assert job.properties.batch_id == plain["Properties"].get("streaming.sql.batchId")
        assert job.properties.execution_id == plain["Properties"].get("spark.sql.execution.id")
        for stage, info in zip(job.stages, plain["Stage Infos"], strict=True):
            assert (stage.name, stage.tasks) == (info["Stage Name"], info["Number of Tasks"])
            assert stage.parents == tuple(info["Parent IDs"])
    batches = [job for job, _ in started if job.properties.query_id == query.id]
    # In the log of 3.5.9 a fourth batch had begun when the query was stopped.
    assert [job.properties.batch_id for job in batches][:3] == ["0", "1", "2"]
    assert [(end.id, end.time) for end, _ in ended] == [(p["Job ID"], p["Completion Time"]) for _, p in ended]
    assert {end.result.kind for end, _ in ended} == {"JobSucceeded", "JobFailed"}


@every_version
def test_stages_say_when_they_ran_and_why_they_failed(version):
    for stage, plain in [*events(version, StageSubmitted), *events(version, StageCompleted)]:
        run, info = stage.stage, plain["Stage Info"]
        assert (run.id, run.attempt, run.tasks) == (info["Stage ID"], info["Stage Attempt ID"], info["Number of Tasks"])
        assert run.submission_time == info.get("Submission Time")
        assert run.completion_time == info.get("Completion Time")
        assert run.failure_reason == info.get("Failure Reason")
        assert list(run.parents) == info["Parent IDs"]
    reasons = [stage.stage.failure_reason for stage, _ in events(version, StageCompleted)]
    assert reasons[-1], "the last job of these logs fails"


@every_version
def test_tasks_carry_their_times_and_records(version):
    tasks = events(version, TaskEnd)
    for task, plain in tasks:
        info, shown = task.info, plain["Task Info"]
        assert (task.stage_id, task.reason.kind) == (plain["Stage ID"], plain["Task End Reason"]["Reason"])
        assert [info.id, info.index, info.partition, info.launch_time, info.finish_time, info.executor] == [
            shown[k] for k in ("Task ID", "Index", "Partition ID", "Launch Time", "Finish Time", "Executor ID")
        ]
        ours, theirs = task.metrics, plain["Task Metrics"]
        assert [ours.deserialize_time, ours.deserialize_cpu_time_ns, ours.run_time, ours.cpu_time_ns, ours.gc_time] == [
            theirs[f"Executor {k}"] for k in ("Deserialize Time", "Deserialize CPU Time", "Run Time", "CPU Time")
        ] + [theirs["JVM GC Time"]]
        assert [ours.result_serialization_time, ours.memory_bytes_spilled, ours.disk_bytes_spilled] == [
            theirs[k] for k in ("Result Serialization Time", "Memory Bytes Spilled", "Disk Bytes Spilled")
        ]
        read, shuffled = ours.shuffle_read, theirs["Shuffle Read Metrics"]
        assert [read.fetch_wait_time, read.records] == [shuffled[k] for k in ("Fetch Wait Time", "Total Records Read")]
        assert ours.shuffle_write.records == theirs["Shuffle Write Metrics"]["Shuffle Records Written"]
        assert ours.input.records == theirs["Input Metrics"]["Records Read"]
        assert ours.output.records == theirs["Output Metrics"]["Records Written"]
    assert sum(task.reason.kind == "ExceptionFailure" for task, _ in tasks) >= 1
    assert sum(task.metrics.shuffle_write.records for task, _ in tasks) > 0


@every_version
def test_accumulators_found_as_bytes_are_those_that_json_finds(version):
    for task, plain in events(version, TaskEnd):
        expected = {}
        for one in plain["Task Info"]["Accumulables"]:
            if str(one.get("Update", "")).lstrip("-").isdigit():
                expected[one["ID"]] = int(one["Update"])
        every = {one["ID"] for one in plain["Task Info"]["Accumulables"]} | {0, 10**9}
        assert accumulator_updates(task.info.accumulables, every) == expected
        between = [id + 1 for id in every]
        for some in (sorted(every)[::3], sorted(every, reverse=True)[:2], between, []):
            wanted = {id: expected[id] for id in some if id in expected}
            assert accumulator_updates(task.info.accumulables, some) == wanted


@every_version
def test_the_accumulators_a_task_updated_are_those_it_lists(version):
    for task, plain in events(version, TaskEnd):
        assert updated_accumulators(task.info.accumulables) == {one["ID"] for one in plain["Task Info"]["Accumulables"]}


@pytest.mark.parametrize("listed", ["", "[]", "null", '{"not":"a list"}', '[{"ID":1', '[{"Name":"no id"}]'])
def test_a_list_that_cannot_be_read_has_no_accumulators(listed):
    assert updated_accumulators(Raw(listed.encode())) == frozenset()


@given(st.sets(st.integers(0, 3000), min_size=1, max_size=80), st.sets(st.integers(0, 3100), max_size=9))
def test_an_accumulator_is_found_wherever_it_stands_among_the_others(listed, asked):
    entries = [{"ID": id, "Name": "n" * (id % 97), "Update": str(-id), "Value": id} for id in sorted(listed)]
    text = json.dumps(entries, separators=(",", ":")).encode()
    assert accumulator_updates(Raw(text), asked) == {id: -id for id in asked & listed}


@pytest.mark.parametrize(
    ("listed", "found"),
    [
        ('[{"ID":1,"Name":"a","Update":-3,"Value":4},{"ID":11,"Name":"b","Update":"5"}]', {1: -3, 11: 5}),
        ('[{"ID":0,"Update":5},{"ID":1,"Update":[{"ID":5,"x":1}]},{"ID":11,"Update":3},{"ID":99,"Update":1}]', {11: 3}),
        (r'[{"ID":0,"Name":"{\"ID\":1,\"Update\":9","Update":7},{"ID":1,"Update":3}]', {1: 3}),
        ('[{"ID":1,"Name":"a","Value":4},{"ID":11,"Name":"b","Update":5}]', {11: 5}),
        ('[{"ID":1,"Name":"a","Update":[1,2]},{"ID":11,"Name":"b","Update":1.5}]', {}),
        ('[ { "ID" : 1, "Name" : "a", "Update" : "3" }, { "Name" : "b", "Update" : 5, "ID" : 11 } ]', {1: 3, 11: 5}),
        ("[]", {}),
        ("", {}),
        ("null", {}),
        ('{"not":"a list"}', {}),
        ('[{"ID":1,"Update":3},{"ID":x,"Update":3}]', {1: 3}),
        ('[{"ID":1', {}),
    ],
    ids=[
        "both",
        "others-between",
        "in-a-name",
        "no-update",
        "no-numbers",
        "spaced",
        "none",
        "absent",
        "null",
        "other",
        "damaged",
        "cut",
    ],
)
def test_only_whole_updates_of_the_asked_accumulators_are_given(listed, found):
    assert accumulator_updates(Raw(listed.encode()), {1, 11}) == found


@every_version
def test_plans_are_trees_whose_metrics_name_their_accumulators(version):
    def same(node, plain):
        assert (node.node_name, node.simple_string) == (plain["nodeName"], plain["simpleString"])
        assert [(metric.name, metric.accumulator_id, metric.metric_type) for metric in node.metrics] == [
            (metric["name"], metric["accumulatorId"], metric["metricType"]) for metric in plain["metrics"]
        ]
        for ours, theirs in zip(node.children, plain["children"], strict=True):
            same(ours, theirs)

    for start, plain in events(version, SQLExecutionStart):
        assert (start.execution_id, start.root_execution_id) == (plain["executionId"], plain["rootExecutionId"])
        assert (start.description, start.time) == (plain["description"], plain["time"])
        assert json.loads(bytes(start.physical_plan_description)) == plain["physicalPlanDescription"]
        same(read_plan(start.plan), plain["sparkPlanInfo"])
    for update, plain in events(version, SQLAdaptiveExecutionUpdate):
        assert update.execution_id == plain["executionId"]
        same(read_plan(update.plan), plain["sparkPlanInfo"])
    for end, plain in events(version, SQLExecutionEnd):
        assert (end.execution_id, end.time) == (plain["executionId"], plain["time"])
        assert end.error_message == plain["errorMessage"]
    for update, plain in events(version, DriverAccumUpdates):
        assert update.execution_id == plain["executionId"]
        assert [list(pair) for pair in update.updates] == plain["accumUpdates"]


OTHERS = '"rootExecutionId":7,"description":"d","physicalPlanDescription":"p"'


@pytest.mark.parametrize(
    ("fields", "plan"),
    [
        ('"sparkPlanInfo":{"nodeName":"a"},"time":5', "a"),
        ('"time":5,"sparkPlanInfo":{"nodeName":"a"}', "a"),
        ('"sparkPlanInfo" : {"nodeName":"a"} , "time":5', "a"),
        ('"sparkPlanInfo":{"nodeName":"a"},"x":{"y":1,"time":2},"time":5', "a"),
        ('"sparkPlanInfo":{"nodeName":"a"},"x":{"y":1},"time":5', "a"),
        ('"sparkPlanInfo":{"nodeName":"a"},"time":5,"x":{"y":1,"time":2}', "a"),
        ('"sparkPlanInfo":{"nodeName":"a","metadata":{"x":1,"time":2}},"time":5', "a"),
        ('"x":{"sparkPlanInfo":{"nodeName":"b"},"time":2},"sparkPlanInfo":{"nodeName":"a"},"time":5', "a"),
        ('"x":{"sparkPlanInfo":{"nodeName":"b"},"time":2},"time":5', None),
        ('"x":{"sparkPlanInfo":{"nodeName":"b"},"time":2},"y":5,"time":5', None),
        ('"sparkPlanInfo":null,"time":5', None),
        ('"time":5', None),
    ],
)
@pytest.mark.parametrize("order", ["{fields},{others}", "{others},{fields}"])
def test_a_plan_is_found_wherever_it_stands(fields, plan, order):
    line = f'{{"executionId":7,{order.format(fields=fields, others=OTHERS)}}}'.encode()
    start = decoders({SQLExecutionStart})[EVENT_NAMES[SQLExecutionStart].encode()](line, 0, len(line))
    assert (start.execution_id, start.root_execution_id, start.description, start.time) == (7, 7, "d", 5)
    assert bytes(start.physical_plan_description) == b'"p"'
    found = read_plan(start.plan)
    assert (found.node_name if found else None) == plan


@pytest.mark.parametrize(
    "texts",
    [
        '"details":"at x","physicalPlanDescription":"p","sparkPlanInfo":{"nodeName":"a"}',
        r'"details":"at \"x\"","physicalPlanDescription":"p","sparkPlanInfo":{"nodeName":"a"}',
        r'"details":"at x","physicalPlanDescription":"\"p\"","sparkPlanInfo":{"nodeName":"a"}',
        '"details":"at x","y":{"z":"","physicalPlanDescription":"q"},"physicalPlanDescription":"p","sparkPlanInfo":{}',
        '"details":"at x","physicalPlanDescription":"p","y":{"z":"","sparkPlanInfo":{"nodeName":"b"}}',
        '"y":{"z":1,"details":"","physicalPlanDescription":"q","sparkPlanInfo":{},"time":2},"physicalPlanDescription":"p"',
    ],
    ids=["as-spark-does", "quotes-in-details", "quotes-in-plan", "another-inside", "plan-inside", "all-inside"],
)
def test_the_texts_before_a_plan_are_cut_out_only_where_they_are_those(texts):
    line = f'{{"executionId":7,"rootExecutionId":7,"description":"d",{texts},"time":5}}'.encode()
    start = decoders({SQLExecutionStart})[EVENT_NAMES[SQLExecutionStart].encode()](line, 0, len(line))
    whole = msgspec.json.decode(line, type=SQLExecutionStart)
    assert bytes(start.physical_plan_description) == bytes(whole.physical_plan_description)
    assert (start.time, read_plan(start.plan)) == (5, read_plan(whole.plan))


@pytest.mark.parametrize(
    "fields",
    [
        '"Task End Reason":{"Reason":"Success"},INFO,"Task Executor Metrics":{"a":0},"Task Metrics":{"JVM GC Time":9}',
        'INFO,"Task Executor Metrics":{"a":0},"Task Metrics":{"JVM GC Time":9},"Task End Reason":{"Reason":"Killed"}',
        'INFO,"Task Executor Metrics":{"a":0,"Task End Reason":{"Reason":"Lost"}},"Task Metrics":{"JVM GC Time":9}',
        'INFO,"Task Executor Metrics":{"a":{}},"Task End Reason":{"Reason":"Killed"},"Task Metrics":{"JVM GC Time":9}',
        'INFO,"Task Executor Metrics":{"a":0},"Task End Reason":{"Reason":"Killed"}',
        '"Task Metrics":{"JVM GC Time":9},INFO,"Task Executor Metrics":{"a":0}',
        '"x":{"y":1,"Accumulables":[]},"Task Executor Metrics":{"a":0},"Task Metrics":{"JVM GC Time":9},INFO',
    ],
    ids=[
        "as-spark-does",
        "reason-last",
        "reason-inside",
        "reason-between",
        "no-metrics",
        "metrics-first",
        "another-list",
    ],
)
@pytest.mark.parametrize("listed", ['{"ID":1}', '{"ID":1,"Update":[2]}', '{"ID":1,"Name":"]}"}', ""])
def test_a_task_is_read_whole_wherever_its_fields_stand(fields, listed):
    info = f'"Task Info":{{"Task ID":7,"Launch Time":3,"Accumulables":[{listed}]}}'
    line = f'{{"Stage ID":4,{fields.replace("INFO", info)}}}'.encode()
    decode = decoders({TaskEnd})[EVENT_NAMES[TaskEnd].encode()]
    assert decode(b"{[" + line + b"]}", 2, 2 + len(line)) == msgspec.json.decode(line, type=TaskEnd)


def in_reverse(value):
    """The same JSON with the fields of every object in the opposite order."""
    if isinstance(value, dict):
        return {key: in_reverse(value[key]) for key in reversed(value)}
    return [in_reverse(one) for one in value] if isinstance(value, list) else value


@pytest.mark.parametrize(
    "fields",
    [
        '"Number of Tasks":8,"RDD Info":[{"a":1}],"X":[{}],"Parent IDs":[3],"Completion Time":5,"Accumulables":[{}]',
        '"RDD Info":[{"a":1}],"Number of Tasks":8,"X":[{}],"Parent IDs":[3],"Completion Time":5,"Accumulables":[{}]',
        '"Number of Tasks":8,"RDD Info":[],"Parent IDs":[3],"Completion Time":5,"Accumulables":[]',
        '"Number of Tasks":8,"RDD Info":[{"a":1}],"Parent IDs":[3],"Accumulables":[{}],"Completion Time":5,"Y":[{}]',
        '"Accumulables":[{"ID":1}],"Number of Tasks":8,"RDD Info":[{"a":1}],"Parent IDs":[3],"Completion Time":5',
        '"Number of Tasks":8,"Completion Time":5',
    ],
    ids=["another-list", "tasks-behind-rdds", "empty", "another-behind", "accumulables-first", "neither"],
)
def test_a_stage_is_read_whole_wherever_its_fields_stand(fields):
    line = f'{{"Stage Info":{{"Stage ID":7,{fields},"Resource Profile Id":0}}}}'.encode()
    decode = decoders({StageCompleted})[EVENT_NAMES[StageCompleted].encode()]
    assert decode(line, 0, len(line)) == msgspec.json.decode(line, type=StageCompleted)


@pytest.mark.parametrize(
    "fields",
    [
        '"RDD Info":[{"a":1}],"Number of Tasks":8,"X":[{}],"Parent IDs":[3]',
        '"Number of Tasks":8,"RDD Info":[],"Parent IDs":[3]',
        '"Parent IDs":[3],"Number of Tasks":8,"RDD Info":[{"a":1}]',
        '"Number of Tasks":8,"RDD Info":[{"a":1}],"Parent IDs":[3]',
    ],
    ids=["tasks-behind-rdds", "empty", "parents-first", "as-spark-does"],
)
def test_the_stages_of_a_job_are_read_whole_wherever_their_fields_stand(fields):
    usual = '{"Stage ID":8,"Number of Tasks":2,"RDD Info":[{"a":1}],"Parent IDs":[7]}'
    line = f'{{"Job ID":1,"Stage Infos":[{{"Stage ID":7,{fields}}},{usual}],"Stage IDs":[7,8]}}'.encode()
    decode = decoders({JobStart})[EVENT_NAMES[JobStart].encode()]
    assert decode(line, 0, len(line)) == msgspec.json.decode(line, type=JobStart)


@every_version
@pytest.mark.parametrize("kind", [JobStart, TaskEnd, StageCompleted, SQLExecutionStart], ids=lambda kind: kind.__name__)
def test_what_is_cut_out_before_decoding_makes_no_difference(version, kind):
    decode, whole = decoders({kind})[EVENT_NAMES[kind].encode()], msgspec.json.Decoder(kind)
    compact = {"separators": (",", ":"), "ensure_ascii": False}
    for plain in parsed(version, EVENT_NAMES[kind]):
        for text in (json.dumps(plain, **compact), json.dumps(plain), json.dumps(in_reverse(plain), **compact)):
            line = text.encode()
            assert decode(b"before" + line + b"after", 6, 6 + len(line)) == whole.decode(line)


@every_version
def test_each_batch_reports_its_phases_state_and_sources(version):
    ((query, _),) = events(version, QueryStarted)
    ((end, _),) = events(version, QueryTerminated)
    assert (query.name, query.id, query.run_id) == ("tiny", end.id, end.run_id)
    assert end.exception is None
    batches = events(version, QueryProgress)
    assert [event.progress.batch_id for event, _ in batches] == [0, 1, 2]
    for event, plain in batches:
        progress, shown = event.progress, plain["progress"]
        assert (progress.id, progress.run_id, progress.name) == (query.id, query.run_id, "tiny")
        assert (progress.timestamp, progress.batch_duration) == (shown["timestamp"], shown["batchDuration"])
        assert (progress.duration_ms, progress.event_time) == (shown["durationMs"], shown["eventTime"])
        (state,), (kept,) = progress.state_operators, shown["stateOperators"]
        assert (state.operator_name, state.num_shuffle_partitions) == ("stateStoreSave", 2)
        assert [state.num_rows_total, state.num_rows_updated, state.num_rows_removed] == [
            kept[k] for k in ("numRowsTotal", "numRowsUpdated", "numRowsRemoved")
        ]
        assert [state.all_updates_time_ms, state.all_removals_time_ms, state.commit_time_ms] == [
            kept[k] for k in ("allUpdatesTimeMs", "allRemovalsTimeMs", "commitTimeMs")
        ]
        assert (state.memory_used_bytes, state.num_state_store_instances) == (kept["memoryUsedBytes"], 2)
        assert state.custom_metrics == kept["customMetrics"]
        (source,), (came,) = progress.sources, shown["sources"]
        assert source.description == came["description"]
        offsets = (source.start_offset, source.end_offset, source.latest_offset)
        assert [json.loads(bytes(offset)) for offset in offsets] == [
            came[k] for k in ("startOffset", "endOffset", "latestOffset")
        ]
        assert progress.input_rows == source.num_input_rows == came["numInputRows"]
        assert source.input_rows_per_second == came["inputRowsPerSecond"]
        assert source.processed_rows_per_second == came["processedRowsPerSecond"]
        assert (progress.sink.description, progress.sink.num_output_rows) == (
            shown["sink"]["description"],
            shown["sink"]["numOutputRows"],
        )
    assert sum(event.progress.input_rows for event, _ in batches) > 0


def test_rates_that_java_writes_as_text_are_numbers():
    source = {"description": "s", "inputRowsPerSecond": "NaN", "processedRowsPerSecond": "Infinity"}
    event = decoded(QueryProgress, progress={"id": "a", "runId": "b", "sources": [source], "numInputRows": 8})
    assert math.isnan(event.progress.sources[0].input_rows_per_second)
    assert event.progress.sources[0].processed_rows_per_second == math.inf
    assert event.progress.input_rows == 8


def test_what_a_spark_may_leave_out_has_a_default():
    assert decoded(JobStart, **{"Job ID": 3}) == JobStart(3)
    assert decoded(TaskEnd, **{"Stage ID": 1, "Task Info": {"Task ID": 2}, "Task Metrics": None}).metrics is None
    assert decoded(QueryProgress, progress={"id": "a", "runId": "b"}).progress.sources == ()
    assert decoded(QueryIdle, id="a", runId="b", timestamp="t") == QueryIdle("a", "b", "t")
    assert decoded(JobEnd, **{"Job ID": 1, "Job Result": {"Result": "JobSucceeded"}}).result.kind == "JobSucceeded"
