"""What the driver's own store of its status holds, as it comes out of the JVM: JSON -> typed values.

Names are Spark's. Only what Headgate uses is named; decoders pass over the rest. Times are milliseconds since 1970.
"""

import msgspec

from headgate.formats.eventlog.sql import PlanMetric


class Job(msgspec.Struct, frozen=True, gc=False, rename="camel"):
    """A job and how many of its tasks ended how; `num_completed_indices` counts each partition once."""

    job_id: int
    description: str | None = None
    submission_time: int | None = None
    stage_ids: tuple[int, ...] = ()
    job_group: str | None = None
    status: str = ""
    num_completed_tasks: int = 0
    num_failed_tasks: int = 0
    num_killed_tasks: int = 0
    num_completed_indices: int = 0

    @property
    def ended(self) -> bool:
        """Whether it is over, well or not."""
        return self.status in ("SUCCEEDED", "FAILED")

    @property
    def attempts_ended(self) -> int:
        """Attempts of tasks that are over, in whatever way."""
        return self.num_completed_tasks + self.num_failed_tasks + self.num_killed_tasks


class StoredJob(msgspec.Struct, frozen=True, gc=False, rename="camel"):
    """A job, the stages it did not have to run, and the SQL execution it is part of."""

    info: Job
    sql_execution_id: int | None = None
    skipped_stages: frozenset[int] = frozenset()


class Execution(msgspec.Struct, frozen=True, rename="camel"):
    """A SQL execution: its metrics as text, once it is over and they have been added up."""

    execution_id: int
    root_execution_id: int = -1
    description: str | None = None
    completion_time: int | None = None
    jobs: dict[int, str] = {}
    metric_values: dict[int, str] | None = None

    @property
    def over(self) -> bool:
        """Whether nothing will be added to it."""
        return self.completion_time is not None and self.metric_values is not None


class GraphNode(msgspec.Struct, frozen=True, gc=False, rename="camel"):
    """A node of a plan; `nodes` are those inside it, where it is a span of generated code."""

    id: int
    name: str = ""
    desc: str = ""
    metrics: tuple[PlanMetric, ...] = ()
    nodes: tuple["GraphNode", ...] = ()


class GraphEdge(msgspec.Struct, frozen=True, gc=False, rename="camel"):
    """From an input to what takes it: a child of the plan to its parent, an RDD to the one made from it."""

    from_id: int
    to_id: int


class PlanGraph(msgspec.Struct, frozen=True, gc=False, rename="camel"):
    """The physical plan of an execution, as it ran; edges stand in the order of the plan."""

    nodes: tuple[GraphNode, ...] = ()
    edges: tuple[GraphEdge, ...] = ()


class RddNode(msgspec.Struct, frozen=True, gc=False):
    """An RDD of a stage."""

    id: int


class RddCluster(msgspec.Struct, frozen=True, gc=False, rename="camel"):
    """RDDs made by one operation; on SQL the operation is a node of the plan and has its name."""

    name: str = ""
    child_nodes: tuple[RddNode, ...] = ()
    child_clusters: tuple["RddCluster", ...] = ()


class StageGraph(msgspec.Struct, frozen=True, gc=False, rename="camel"):
    """The RDDs a stage computes, and from which RDDs of other stages."""

    stage_id: int
    incoming_edges: tuple[GraphEdge, ...] = ()
    root_cluster: RddCluster = RddCluster()

    @property
    def scopes(self) -> tuple[str, ...]:
        """The plan nodes that made its RDDs, by name."""
        return tuple(cluster.name for cluster in self._clusters()[1:])

    @property
    def rdds(self) -> frozenset[int]:
        """Its RDDs."""
        return frozenset(node.id for cluster in self._clusters() for node in cluster.child_nodes)

    def _clusters(self) -> list[RddCluster]:
        found = [self.root_cluster]
        for cluster in found:  # grows while it is gone through
            found.extend(cluster.child_clusters)
        return found


class _Records(msgspec.Struct, frozen=True, gc=False, rename="camel"):
    records_read: int = 0
    records_written: int = 0
    fetch_wait_time: int = 0


class StoredMetrics(msgspec.Struct, frozen=True, gc=False, rename="camel"):
    """What a task measured of itself."""

    executor_deserialize_time: int = 0
    executor_deserialize_cpu_time: int = 0
    executor_run_time: int = 0
    executor_cpu_time: int = 0
    jvm_gc_time: int = 0
    result_serialization_time: int = 0
    memory_bytes_spilled: int = 0
    disk_bytes_spilled: int = 0
    input_metrics: _Records = _Records()
    output_metrics: _Records = _Records()
    shuffle_read_metrics: _Records = _Records()
    shuffle_write_metrics: _Records = _Records()


class StoredTask(msgspec.Struct, frozen=True, gc=False, rename="camel"):
    """One attempt of a task. Spark leaves out a duration of 0, and metrics that never came."""

    task_id: int
    index: int = 0
    partition_id: int = -1
    launch_time: int = 0
    duration: int | None = None
    executor_id: str = ""
    status: str = ""
    task_metrics: StoredMetrics | None = None

    @property
    def finish_time(self) -> int:
        """When it ended."""
        return self.launch_time + (self.duration or 0)


class StoredExecutor(msgspec.Struct, frozen=True, gc=False, rename="camel"):
    """An executor, or the driver, which has no cores unless it runs the tasks itself."""

    id: str
    host_port: str = ""
    total_cores: int = 0


JOBS = msgspec.json.Decoder(tuple[StoredJob, ...])
TASKS = msgspec.json.Decoder(list[StoredTask])
EXECUTION = msgspec.json.Decoder(Execution | None)
EXECUTIONS = msgspec.json.Decoder(tuple[Execution, ...])
PLAN = msgspec.json.Decoder(PlanGraph)
STAGE_GRAPH = msgspec.json.Decoder(StageGraph)
EXECUTORS = msgspec.json.Decoder(tuple[StoredExecutor, ...])
