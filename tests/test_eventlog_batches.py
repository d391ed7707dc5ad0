"""Events put together into micro-batches: what counts, what does not, and whose it is."""

from pathlib import Path

import msgspec
import pytest
from msgspec import Raw

from eventlogs import VERSIONS, text
from headgate.formats.eventlog.application import EnvironmentUpdate, ExecutorAdded, ExecutorInfo, ExecutorRemoved
from headgate.formats.eventlog.batches import WANTED, read_batches
from headgate.formats.eventlog.gaps import BatchesIncomplete, FiguresImplausible, TasksImplausible
from headgate.formats.eventlog.jobs import JobProperties, JobStart, StageCompleted, StagePlan, StageRun
from headgate.formats.eventlog.plans import Fragment
from headgate.formats.eventlog.reader import read_events
from headgate.formats.eventlog.sql import DriverAccumUpdates, PlanMetric, PlanNode, SQLExecutionEnd, SQLExecutionStart
from headgate.formats.eventlog.streaming import Progress, QueryProgress, QueryTerminated, Source, StateOperator
from headgate.formats.eventlog.tasks import (
    ShuffleRead,
    ShuffleWrite,
    TaskEnd,
    TaskEndReason,
    TaskInfo,
    TaskMetrics,
)
from headgate.formats.ran_stages import RanStage, TaskRow, micro_batch
from headgate.model.microbatch import Executor

LOGS = Path(__file__).parent / "data" / "eventlogs"


def job(id, *stages, run="run", batch=0, execution=0, root=None):
    plans = tuple(StagePlan(number, tasks=1, parents=tuple(parents)) for number, parents in stages)
    properties = JobProperties("q", str(batch), str(execution), str(execution if root is None else root), run)
    return JobStart(id, stage_ids=tuple(n for n, _ in stages), stages=plans, properties=properties)


def task(stage, partition=0, *, records=10, written=0, reason="Success", run=100, executor="1", updates=(), **info):
    accumulables = Raw(msgspec.json.encode([{"ID": id, "Name": "x", "Update": str(n)} for id, n in updates]))
    metrics = TaskMetrics(
        deserialize_time=5, run_time=run, result_serialization_time=1,
        shuffle_read=ShuffleRead(records=records, fetch_wait_time=6), shuffle_write=ShuffleWrite(records=written),
    )  # fmt: skip
    about = TaskInfo(
        1000 * stage + partition, partition=partition, launch_time=1000, finish_time=1000 + run + 10,
        executor=executor, accumulables=accumulables, **info,
    )  # fmt: skip
    return TaskEnd(stage, about, reason=TaskEndReason(reason), metrics=metrics)


def planned(execution, plan):
    return SQLExecutionStart(execution, plan=Raw(msgspec.json.encode(plan)))


def stage_over(stage, *, totals):
    accumulables = msgspec.json.encode([{"ID": id, "Name": "x", "Value": str(n)} for id, n in totals])
    return StageCompleted(StageRun(stage, accumulables=Raw(accumulables)))


def report(batch=0, run="run", rows=10, query="q"):
    return QueryProgress(
        Progress(query, run, "name", batch_id=batch, batch_duration=500, sources=(Source(num_input_rows=rows),))
    )


def test_stages_of_a_batch_become_operators_with_the_shuffle_as_edges():
    (batch,) = read_batches(
        [job(0, (0, []), (1, [0])), task(0, written=7), task(0, 1, written=5), task(1, records=12), report()]
    )
    assert batch.dataflow.ids == ("stage 0", "stage 1")
    assert batch.dataflow.instances.tolist() == [2, 1]
    assert [(edge.source, edge.target) for edge in batch.dataflow.edges] == [("stage 0", "stage 1")]
    assert batch.tasks.records_in.tolist() == [10, 10, 12]
    assert batch.tasks.records_out.tolist() == [7, 5, 0]
    assert (batch.number, batch.duration, batch.input_rows) == (0, 500, 10)


def test_useful_time_is_all_time_but_the_wait_for_the_shuffle():
    (batch,) = read_batches([job(0, (0, [])), task(0), report()])
    assert batch.tasks.useful_seconds.tolist() == [0.1]  # 5 + 100 + 1 - 6 ms
    assert batch.tasks.occupied_seconds.tolist() == [0.11]
    observed = batch.observation()
    assert observed.rates.true_processing.tolist() == [100.0]  # 10 records in 0.1 s
    assert observed.rates.observed_processing.tolist() == [20.0]  # in 0.5 s


@pytest.mark.parametrize("reason", ["ExceptionFailure", "TaskKilled", "FetchFailed"])
def test_only_the_attempt_whose_result_counted_is_counted(reason):
    events = [
        job(0, (0, [])),
        task(0, reason=reason, records=99),
        task(0, records=10),
        task(0, records=10),
        report(),
    ]
    (batch,) = read_batches(events)
    assert batch.tasks.records_in.tolist() == [10]
    assert batch.attempts_lost == 2


def test_of_a_speculative_copy_and_its_original_the_one_that_came_first_counts():
    slow = task(0, records=10, run=900, executor="1")
    fast = task(0, records=10, run=100, executor="2")
    killed = task(0, records=0, run=150, executor="1", reason="TaskKilled")
    for events, executor in (([fast, killed], "2"), ([slow, fast], "1"), ([killed, fast], "2")):
        (batch,) = read_batches([job(0, (0, [])), *events, report()])
        assert (batch.tasks.executor, batch.tasks.records_in.tolist(), batch.attempts_lost) == ((executor,), [10], 1)


def test_an_attempt_that_says_what_cannot_be_true_does_not_stand_in_the_way_of_the_one_that_ran_again():
    wrong, right = task(0, records=10, run=-500), task(0, records=10, run=100)
    for events in ([wrong, right], [right, wrong], [wrong, wrong, right]):
        batches = read_batches([job(0, (0, [])), *events, report()])
        (batch,) = batches
        assert (batch.tasks.running.tolist(), batch.tasks.records_in.tolist()) == ([100], [10])
    batches = read_batches([job(0, (0, [])), wrong, report()])
    assert list(batches) == []
    assert TasksImplausible(1) in batches.gaps


def test_after_a_failed_fetch_the_partitions_that_ran_again_are_counted_once():
    # Stage 1 cannot fetch what partition 1 of stage 0 wrote: that runs again as a second attempt, then stage 1 does.
    scan = PlanNode("MicroBatchScan", "MicroBatchScan[a#1]", (PlanMetric("number of output rows", 11),))
    failed = StageCompleted(StageRun(1, failure_reason="FetchFailed"))
    events = [
        planned(0, scan), job(0, (0, []), (1, [0])),
        task(0, 0, written=4, updates=[(11, 10)]), task(0, 1, written=5, updates=[(11, 10)]),
        stage_over(0, totals=[(11, 20)]), task(1, 0, records=4), task(1, 1, records=0, reason="FetchFailed"), failed,
        task(0, 1, written=5, updates=[(11, 10)]),
        stage_over(0, totals=[(11, 30)]),
        task(1, 1, records=5), stage_over(1, totals=[]), report(),
    ]  # fmt: skip
    (batch,) = read_batches(events)
    assert batch.tasks.records_in.tolist() == [10, 10, 4, 5]
    assert batch.tasks.records_out.tolist() == [4, 5, 0, 0]
    assert batch.attempts_lost == 2
    # Spark's totals hold what was worked out twice twice: the tasks are the truth, the nodes are what was computed.
    assert [node.rows for node in batch.nodes["scan"]] == [30]


def test_before_spark_43_an_action_of_foreach_batch_goes_on_where_the_plan_of_the_batch_ends():
    def counted(accumulator, *children):
        return (PlanMetric("number of output rows", accumulator),), children

    scan = PlanNode("MicroBatchScan", "MicroBatchScan[a#1] class KafkaScan", *counted(1))
    exchange = PlanNode("Exchange", "Exchange", (PlanMetric("shuffle records written", 2),), (scan,))
    batch_plan = PlanNode("StreamingDeduplicate", "StreamingDeduplicate [a#1], state info [ ]", *counted(3, exchange))
    handed_over = PlanNode("Scan ExistingRDD", "Scan ExistingRDD[a#1]", *counted(4))
    partial = PlanNode(
        "HashAggregate", "HashAggregate(keys=[b#1], functions=[partial_count(1)])", *counted(5, handed_over)
    )
    exchange = PlanNode("Exchange", "Exchange", (PlanMetric("shuffle records written", 6),), (partial,))
    action = PlanNode("HashAggregate", "HashAggregate(keys=[b#1], functions=[count(1)])", *counted(7, exchange))
    progress = report().progress
    progress = msgspec.structs.replace(progress, state_operators=(StateOperator("dedupe", 9),))
    events = [
        planned(0, batch_plan), planned(1, action),
        job(0, (0, []), (1, [0]), execution=1, root=0),
        task(0, updates=[(1, 20), (2, 20)]), task(1, updates=[(3, 9), (4, 9), (5, 4), (6, 4)]),
        stage_over(1, totals=[(3, 9), (4, 9), (5, 4)]),
        job(1, (2, []), (3, [2]), (4, [3]), execution=1, root=0), task(4, updates=[(7, 4)]),
        QueryProgress(progress),
    ]  # fmt: skip
    (batch,) = read_batches(events)
    scan, deduplicate, count = "scan kafka", "deduplicate by a [state] -> count by b", "count by b"
    assert batch.dataflow.ids == (scan, deduplicate, count)
    assert {(edge.source, edge.target) for edge in batch.dataflow.edges} == {(scan, deduplicate), (deduplicate, count)}
    assert [(node.node, node.rows) for node in batch.nodes[deduplicate]] == [("deduplicate by a", 9), ("count by b", 4)]
    assert (batch.reading, batch.writing, batch.stateful) == ({scan}, {count}, {deduplicate})
    assert batch.state[0].operator == deduplicate


def test_two_actions_with_the_same_plan_do_not_feed_one_another():
    scan = PlanNode("Exchange", "Exchange", (PlanMetric("records written", 2),), (PlanNode("MicroBatchScan"),))
    count = PlanNode(
        "HashAggregate", "HashAggregate(keys=[w#3], functions=[count(1)])", (PlanMetric("x", 3),), (scan,)
    )  # fmt: skip
    both = [
        event
        for n in (0, 10)
        for event in (
            planned(n, count), job(n, (n, []), execution=n), task(n, updates=[(2, 1)]),
            job(n + 1, (n + 1, []), (n + 2, [n + 1]), execution=n), task(n + 2, updates=[(3, 1)]),
        )
    ]  # fmt: skip
    (batch,) = read_batches([*both, report()])
    assert {(edge.source, edge.target) for edge in batch.dataflow.edges} == {
        ("scan", "count by w"),
        ("scan part 2", "count by w part 2"),
    }


def test_no_stage_is_lost_to_another_that_has_the_name_it_would_get():
    names = ["mapInArrow a part 2", "mapInArrow a", "mapInArrow a"]
    stages = []
    for id, name in enumerate(names):
        stage = RanStage(id, ())
        stage.fragment = Fragment(name, False, (), ())
        stage.tasks[0] = TaskRow("1", 0, 1, 9, 0, 9, 0, 0, 0, 0, 10 + id, 0, 0)
        stages.append(stage)
    batch = micro_batch(report().progress, stages, ())
    assert set(batch.dataflow.ids) == {"mapInArrow a part 2", "mapInArrow a", "mapInArrow a part 3"}
    assert sorted(batch.tasks.records_in.tolist()) == [10, 11, 12]


def test_a_stage_that_another_job_of_the_batch_planned_before_is_one_stage():
    # Adaptive execution: the first job runs the map side, the second skips it and runs the reduce side.
    events = [job(0, (0, [])), task(0, written=7), job(1, (0, []), (1, [0])), task(1, records=7), report()]
    (batch,) = read_batches(events)
    assert batch.dataflow.ids == ("stage 0", "stage 1")
    assert batch.tasks.records_in.tolist() == [10, 7]


def test_a_batch_of_which_the_start_of_a_job_is_lost_is_left_out_and_said():
    events = []
    for number in range(4):  # two jobs each, of one stage
        for id in (2 * number, 2 * number + 1):
            events += [job(id, (id, []), batch=number), task(id)]
        events.append(report(number))
    read = read_batches(one for one in events if not (isinstance(one, JobStart) and one.id in (2, 5)))
    assert [one.number for one in read] == [0, 3]
    assert "the start of a job is missing in 2 batches" in " ".join(map(str, read.gaps))


def test_tasks_that_end_after_their_batch_was_reported_are_no_lost_jobs():
    late = task(0, 1, reason="TaskKilled")
    read = read_batches([job(0, (0, [])), task(0), report(), late, job(1, (1, []), batch=1), task(1), report(1)])
    assert [one.number for one in read] == [0, 1]
    assert not [gap for gap in read.gaps if isinstance(gap, BatchesIncomplete)]


def test_times_that_cannot_be_are_left_out():
    broken = msgspec.structs.replace(task(0, 1), info=msgspec.structs.replace(task(0, 1).info, launch_time=0))
    yesterday = msgspec.structs.replace(report(1).progress, timestamp="yesterday")
    read = read_batches(
        [job(0, (0, [])), task(0), broken, report(), job(1, (1, []), batch=1), task(1), QueryProgress(yesterday)]
    )
    (only,) = read
    assert only.tasks.partition.tolist() == [0]
    said = " ".join(map(str, read.gaps))
    assert "no times, or figures below 0 or above 2^53, in 1 task" in said
    assert "the report of 1 batch has no time" in said


def test_queries_that_run_side_by_side_are_told_apart():
    events = [
        job(0, (0, []), run="run a"), job(1, (1, []), run="run b"), task(1, records=3), task(0, records=4),
        report(run="run b", query="b"), report(run="run a", query="a"),
    ]  # fmt: skip
    first, second = read_batches(events)
    assert (first.query, first.tasks.records_in.tolist()) == ("b", [3])
    assert (second.query, second.tasks.records_in.tolist()) == ("a", [4])


def test_a_batch_without_data_and_jobs_of_nobody_leave_nothing():
    nobodys = JobStart(5, stages=(StagePlan(9),), properties=JobProperties())
    assert list(read_batches([nobodys, task(9), report()])) == []


def test_a_stage_is_matched_with_its_part_of_the_plan_by_what_its_tasks_count():
    scan = PlanNode("MicroBatchScan", "MicroBatchScan[a#1]", (PlanMetric("number of output rows", 11),))
    split = PlanNode("MapInArrow", "MapInArrow split(a#1)#2", (PlanMetric("number of output rows", 12),), (scan,))
    exchange = PlanNode(
        "Exchange", "Exchange", (PlanMetric("shuffle records written", 13), PlanMetric("records read", 14)), (split,)
    )
    count = PlanNode(
        "HashAggregate",
        "HashAggregate(keys=[w#3], functions=[count(1)])",
        (PlanMetric("number of output rows", 15),),
        (exchange,),
    )
    events = [
        planned(0, count),
        job(0, (7, []), (8, [7])),
        task(7, records=0, written=9, updates=[(11, 10), (12, 200), (13, 9)]),
        task(7, 1, records=0, written=8, updates=[(11, 20), (12, 400), (13, 8)]),
        stage_over(7, totals=[(11, 30), (12, 600), (13, 17)]),
        task(8, records=17, updates=[(14, 17), (15, 6)]),
        stage_over(8, totals=[(14, 17), (15, 6)]),
        report(rows=30),
    ]
    (batch,) = read_batches(events)
    assert batch.dataflow.ids == ("scan -> mapInArrow split", "count by w")
    assert [(n.node, n.rows) for n in batch.nodes["scan -> mapInArrow split"]] == [
        ("scan", 30),
        ("mapInArrow split", 600),
    ]
    assert [(n.node, n.rows) for n in batch.nodes["count by w"]] == [("count by w", 6)]
    assert batch.tasks.records_out.tolist() == [9, 8, 0]  # a sink does not write a shuffle; its nodes say what it got


def test_what_a_second_action_reads_is_not_added_to_what_the_first_did():
    # Both actions of foreachBatch read one source through one accumulator, and its total goes on.
    scan = PlanNode("MicroBatchScan", "MicroBatchScan[a#1]", (PlanMetric("number of output rows", 11),))
    events = [
        planned(1, scan), job(0, (7, []), execution=1), task(7, updates=[(11, 30)]),
        stage_over(7, totals=[(11, 30)]),
        planned(2, scan), job(1, (8, []), execution=2), task(8, updates=[(11, 30)]),
        stage_over(8, totals=[(11, 60)]),
        report(),
    ]  # fmt: skip
    (batch,) = read_batches(events)
    assert {name: [node.rows for node in nodes] for name, nodes in batch.nodes.items()} == {
        "scan": [30],
        "scan part 2": [30],
    }


def test_rows_that_only_the_driver_counts_belong_to_the_stage_of_their_node():
    scan = PlanNode("MicroBatchScan", "MicroBatchScan[a#1]", (PlanMetric("number of output rows", 11),))
    write = PlanNode("WriteToDataSourceV2", "Write", (PlanMetric("number of output rows", 12),), (scan,))
    events = [
        planned(1, write), job(0, (7, []), execution=1), task(7, updates=[(11, 30)]),
        stage_over(7, totals=[(11, 30)]), DriverAccumUpdates(1, ((12, 30), (99, 5))), report(),
    ]  # fmt: skip
    (batch,) = read_batches(events)
    assert [(node.node, node.rows) for node in batch.nodes["scan"]] == [("scan", 30), ("write", 30)]


def test_rows_that_the_driver_counted_are_there_where_the_execution_ends_before_the_report():
    scan = PlanNode("MicroBatchScan", "MicroBatchScan[a#1]", (PlanMetric("number of output rows", 11),))
    write = PlanNode("WriteToDataSourceV2", "Write", (PlanMetric("number of output rows", 12),), (scan,))
    events = [
        planned(1, write), job(0, (7, []), execution=1), task(7, updates=[(11, 30)]),
        stage_over(7, totals=[(11, 30)]), DriverAccumUpdates(1, ((12, 30),)), SQLExecutionEnd(1), report(),
    ]  # fmt: skip
    (batch,) = read_batches(events)
    assert [(node.node, node.rows) for node in batch.nodes["scan"]] == [("scan", 30), ("write", 30)]


@pytest.mark.parametrize("counted", [10**400, 2**63, -5], ids=["400 digits", "2^63", "below 0"])
def test_rows_that_nobody_can_have_counted_are_left_out_and_said(counted):
    scan = PlanNode("MicroBatchScan", "MicroBatchScan[a#1]", (PlanMetric("number of output rows", 11),))
    write = PlanNode("WriteToDataSourceV2", "Write", (PlanMetric("number of output rows", 12),), (scan,))
    events = [
        planned(1, write), job(0, (7, []), execution=1), task(7, updates=[(11, 30)]),
        stage_over(7, totals=[(11, 30)]), DriverAccumUpdates(1, ((12, counted),)), report(),
    ]  # fmt: skip
    batches = read_batches(events)
    (batch,) = batches
    assert [(node.node, node.rows) for node in batch.nodes["scan"]] == [("scan", 30)]
    assert [str(gap) for gap in batches.gaps] == [
        "1 figure of executors, plan nodes or state cannot be true: taken as unknown"
    ]


def test_a_run_that_failed_is_said_with_what_it_said_last():
    why = 'a.StreamFailed: no: Traceback (most recent call last):\n  File "a.py"\nKeyError: 3\n\tat a.B'
    batches = read_batches([QueryTerminated("q", "r1", "a.Other: x\n\tat a.B"), QueryTerminated("q", "r2", why)])
    assert list(batches) == []
    assert [str(gap) for gap in batches.gaps] == [
        "2 runs of a query failed, the last with: a.StreamFailed: no: KeyError: 3"
    ]
    over = read_batches([QueryTerminated("q", "r", None)])
    assert (list(over), over.gaps) == ([], ())


def test_figures_of_state_that_cannot_be_are_unknown_and_those_below_zero_are_sparks_own():
    custom = {"loaded": 10**400, "SnapshotLastUploaded": -1}
    kept = StateOperator("save", 40, 4, commit_time_ms=10**400, memory_used_bytes=9000, custom_metrics=custom)
    told = QueryProgress(msgspec.structs.replace(report().progress, state_operators=(kept,)))
    batches = read_batches([job(0, (0, [])), task(0), told])
    (batch,) = batches
    (state,) = batch.state
    assert (state.rows, state.bytes, state.committing, state.provider) == (40, 9000, 0, {"SnapshotLastUploaded": -1})
    assert batches.gaps[0] == FiguresImplausible(2)


@pytest.mark.parametrize(("cores", "slots"), [(100_000, 100_000), (100_001, 0), (400_000_000, 0), (10**30, 0), (-1, 0)])
def test_cores_that_no_machine_has_are_not_known(cores, slots):
    events = [ExecutorAdded("0", info=ExecutorInfo("h", cores)), job(0, (0, [])), task(0), report()]
    (batch,) = read_batches(events)
    assert batch.slots == slots


@pytest.mark.parametrize("ends", [True, False])
def test_nothing_piles_up_of_what_the_driver_counts_for_executions_of_no_batch(ends):
    def events():
        for id in range(5000):
            yield planned(id, PlanNode("Project"))
            yield DriverAccumUpdates(id, ((12, 30),))
            if ends:
                yield SQLExecutionEnd(id)

    batches = read_batches(events())
    assert list(batches) == []
    assert len(batches._assembly.on_driver) <= (0 if ends else 1024)


def test_state_belongs_to_the_operator_whose_plan_keeps_it_and_offsets_are_text():
    scan = PlanNode("MicroBatchScan", "MicroBatchScan[a#1]", (PlanMetric("number of output rows", 11),))
    exchange = PlanNode("Exchange", "Exchange", (PlanMetric("shuffle records written", 13),), (scan,))
    save = PlanNode("StateStoreSave", "StateStoreSave", (PlanMetric("number of updated state rows", 16),), (exchange,))
    progress = Progress(
        "q", "run", "name", timestamp="2026-11-16T00:00:01.250Z", batch_id=0, batch_duration=500,
        sources=(Source(start_offset=Raw(b"null"), end_offset=Raw(b'"{\\"a\\": 1}"'), num_input_rows=4),),
        state_operators=(StateOperator("stateStoreSave", 40, 4, commit_time_ms=70, memory_used_bytes=9000),),
    )  # fmt: skip
    events = [
        EnvironmentUpdate({"spark.task.cpus": "2"}), ExecutorAdded("0", info=ExecutorInfo("h", 8)),
        ExecutorAdded("1", info=ExecutorInfo("h", 8)), ExecutorRemoved("0"),
        planned(0, save), job(0, (7, []), (8, [7])), task(7, updates=[(11, 4), (13, 4)]),
        task(8, updates=[(16, 4)]), QueryProgress(progress),
    ]  # fmt: skip
    (batch,) = read_batches(events)
    (state,) = batch.state
    assert (state.operator, state.kind) == (batch.dataflow.ids[1], "stateStoreSave")
    assert (state.rows, state.rows_updated, state.bytes, state.committing) == (40, 4, 9000, 70)
    assert [(source.start, source.end, source.rows) for source in batch.sources] == [("", '{"a":1}', 4)]
    assert batch.executors == (Executor("1", "h", 4),)
    assert batch.began == 1_794_787_201_250  # 2026-11-16 is 20,773 days after 1970-01-01


@pytest.mark.parametrize("version", VERSIONS)
def test_real_logs_of_every_spark_give_the_same_operators(version):
    batches = list(read_batches(read_events(str(LOGS / f"spark-{version}.zstd"), wanted=WANTED)))
    assert len(batches) == 3
    names = {name for batch in batches for name in batch.dataflow.ids}
    assert names == {"scan rate -> count by _groupingexpression", "count by _groupingexpression [state]"}
    assert batches[-1].stateful == {"count by _groupingexpression [state]"}


def test_a_real_word_count_shows_what_partial_aggregation_hides():
    batches = list(read_batches(read_events(str(LOGS / "wordcount-4.3.0.zstd"), wanted=WANTED)))
    for batch in batches:
        if batch.input_rows:
            rows = {node.node: node.rows for node in batch.nodes["scan -> mapInArrow run -> count by word"]}
            assert rows["scan"] == batch.input_rows
            assert rows["mapInArrow run"] == 20 * batch.input_rows  # twenty words in every sentence
            first, second = (
                batch.dataflow.position(batch.dataflow.ids[0]),
                batch.dataflow.position("count by word [state]"),
            )
            out = batch.tasks.records_out[batch.tasks.operator == first].sum()
            assert out == batch.tasks.records_in[batch.tasks.operator == second].sum()


def test_a_log_that_spark_cut_into_files_is_read_as_one():
    batches = read_batches(read_events(str(LOGS / "rolling-4.3.0"), wanted=WANTED))
    seen = {batch.number: (batch.input_rows, int(batch.tasks.records_in.sum())) for batch in batches}
    # From the reports, and what the stateful stage got: ten keys from one of two tasks, but nothing in the first batch.
    assert seen == {0: (0, 0), 1: (3800, 3810), 2: (1800, 1810), 3: (1200, 1210), 4: (600, 610)}
    assert batches.gaps == ()


def test_of_a_compacted_log_the_batches_are_read_that_were_not_over():
    log = read_events(str(LOGS / "compacted-4.3.0"), wanted=WANTED)
    batches = read_batches(log)
    # The job of batch 3 was begun in a file that was summed up; its tasks are in the file that is left.
    assert [(batch.number, batch.input_rows) for batch in batches] == [(3, 1200), (4, 600)]
    assert (log.notes, batches.gaps) == ((), ())


def test_batches_of_the_same_stages_share_one_dataflow_and_nobody_can_write_to_their_columns():
    first, second = read_batches(
        [job(0, (0, [])), task(0), task(0, 1), report(), job(1, (1, []), batch=1), task(1, 1), task(1), report(1)]
    )
    assert second.dataflow is first.dataflow
    assert second.tasks.partition.tolist() == [0, 1]
    for column in (second.tasks.operator, second.tasks.partition, second.tasks.records_in):
        with pytest.raises(ValueError, match="read-only"):
            column[0] = 5


def test_batches_are_the_same_whether_events_come_in_pieces_or_one_by_one():
    def told(batches):
        return [(b.query, b.number, b.nodes, b.executors, b.tasks.running.tolist()) for b in batches]

    for path in map(str, sorted(LOGS.glob("*.zstd"))):
        in_pieces, one_by_one = read_batches(read_events(path, wanted=WANTED)), read_batches(iter([*read_events(path)]))
        assert told(in_pieces) == told(one_by_one)
        assert in_pieces.gaps == one_by_one.gaps


def test_a_batch_of_a_log_that_is_followed_comes_when_its_report_is_written(tmp_path):
    lines = text("4.3.0").splitlines(keepends=True)
    first = next(place for place, line in enumerate(lines) if b"QueryProgressEvent" in line[:90]) + 1
    path = tmp_path / "app.inprogress"
    path.write_bytes(b"".join(lines[:first]))

    def wait(_):
        pytest.fail("waited for more before it gave the batch")

    batches = read_batches(read_events(str(path), wanted=WANTED, follow=True, sleep=wait))
    assert next(batches).number == 0
