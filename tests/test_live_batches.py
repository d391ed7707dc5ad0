"""Which jobs of the driver's status store make up a batch: without Spark, on a store small enough to see through."""

import json

import pytest

pytest.importorskip("pyspark")

from headgate.formats.eventlog.streaming import Progress
from headgate.spark.live_batches import Answer, LiveBatches
from headgate.spark.probe_notes import JobsOfAnotherGroup

RUN = "7b0c"


class Store:
    """What Spark's store would answer; counts what it is asked."""

    def __init__(self, jobs=(), executions=()):
        self.listed, self.known, self.asked = list(jobs), {one["executionId"]: one for one in executions}, []

    def jobs(self, first):
        return json.dumps([one for one in self.listed if one["info"]["jobId"] >= first])

    def execution(self, id):
        self.asked.append(id)
        return json.dumps(self.known.get(id))

    def executions(self):
        self.asked.append("all")
        return json.dumps(list(self.known.values()))

    def stage_graph(self, stage):
        return json.dumps({"stageId": stage})

    def tasks(self, stage, attempt):
        metrics = {"shuffleReadMetrics": {"recordsRead": 1000 + stage}}
        task = {"taskId": stage, "partitionId": 0, "launchTime": 9, "status": "SUCCESS", "taskMetrics": metrics}
        return json.dumps([task] if attempt == 0 else [])

    def plan(self, execution):
        return json.dumps({})

    def executors(self):
        return json.dumps([{"id": "0", "hostPort": "h:1", "totalCores": 2}])


def titled(batch):
    return f"words\nid = 1\nrunId = {RUN}\nbatch = {batch}"


def job(id, description, execution=None, group=RUN):
    """A job of one stage, which has the job's number, and one task."""
    info = {"jobId": id, "description": description, "stageIds": [id], "jobGroup": group, "status": "SUCCEEDED"}
    return {"info": {**info, "numCompletedTasks": 1, "numCompletedIndices": 1}, "sqlExecutionId": execution}


def execution(id, description, root=None, jobs=(), over=True):
    end = {"completionTime": 9, "metricValues": {}} if over else {}
    states = dict.fromkeys(map(str, jobs), "SUCCEEDED")
    return {"executionId": id, "rootExecutionId": id if root is None else root, "description": description,
            "jobs": states, **end}  # fmt: skip


def report(batch):
    return Progress("q", RUN, "words", batch_id=batch, batch_duration=500)


def stages_of(store, batch):
    """Which stages the batch is said to be made of: each gives its number as its records."""
    answer = LiveBatches(store).read(report(batch))
    return sorted(answer.batch.tasks.records_in - 1000) if answer.batch else None


@pytest.mark.parametrize(("batch", "stages"), [(17, [0]), (18, [1, 2])])
def test_a_job_with_a_title_of_its_own_is_of_the_batch_of_the_job_before_it_whichever_is_asked_for(batch, stages):
    assert stages_of(Store([job(0, titled(17)), job(1, titled(18)), job(2, "my own title")]), batch) == stages


def test_what_the_batchs_own_execution_is_called_counts_more_than_the_job_before():
    jobs = [job(0, "mine", 1), job(1, "mine", 3), job(2, "mine", 5), job(3, "mine")]
    executions = [
        one
        for place, batch in enumerate((17, 18, 18))
        for one in (execution(2 * place, titled(batch)), execution(2 * place + 1, "mine", root=2 * place))
    ]
    assert stages_of(Store(jobs, executions), 17) == [0]
    assert stages_of(Store(jobs, executions), 18) == [1, 2, 3]


@pytest.mark.parametrize("title", [titled, lambda batch: "my own title"])
def test_of_a_run_just_met_with_a_thousand_jobs_only_the_last_few_are_looked_up(title):
    jobs = [job(id, title(id), 2 * id + 1) for id in range(1000)]
    executions = [
        one for id in range(1000) for one in (execution(2 * id, titled(id)), execution(2 * id + 1, "mine", root=2 * id))
    ]
    store = Store(jobs, executions)
    assert stages_of(store, 999) == [999]
    assert len(store.asked) <= 4


@pytest.mark.parametrize("title", ["my own title", titled(17)])
def test_a_batch_whose_jobs_have_another_group_is_answered_at_once_with_a_note(title):
    jobs = [job(0, title, 1, group="mine"), job(1, title, 1, group="mine")]
    executions = [execution(0, titled(17)), execution(1, title, root=0, jobs=[0, 1])]
    reader = LiveBatches(Store(jobs, executions))
    assert reader.read(report(17)) == Answer(None, (JobsOfAnotherGroup("words", 17, "mine"),))
    assert "set no job group inside foreachBatch" in str(reader.read(report(17)).notes[0])


def test_a_batch_that_ran_no_job_is_none_once_its_execution_is_over():
    store = Store(executions=[execution(0, titled(17), over=False)])
    reader = LiveBatches(store)
    assert reader.read(report(17)) is None
    store.known[0] = execution(0, titled(17))
    assert reader.read(report(17)) == Answer(None)


def test_jobs_that_are_not_in_the_store_yet_are_waited_for():
    store = Store(executions=[execution(0, titled(17), jobs=[4])])
    reader = LiveBatches(store)
    assert reader.read(report(17)) is None
    store.listed.append(job(4, titled(17), 0))
    assert reader.read(report(17)).batch.number == 17


@pytest.mark.parametrize("known", [[], [execution(0, titled(17), over=False)], [execution(0, titled(17), jobs=[4])]])
def test_while_a_batch_is_waited_for_all_executions_are_asked_for_a_few_times_only(known):
    store = Store(executions=known)
    reader = LiveBatches(store)
    assert [reader.read(report(17)) for _ in range(60)] == [None] * 60
    assert store.asked.count("all") <= 6
