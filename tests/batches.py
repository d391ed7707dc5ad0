"""Micro-batches made to measure: tests say how long tasks take, and where, and get the batch Spark would report."""

import numpy as np

from headgate.model.dataflow import Dataflow, Edge, Operator
from headgate.model.microbatch import Executor, KeptState, MicroBatch, NodeOutput, SourceRead, Tasks


class Op:
    """An operator of a made-up batch: records of each task, and what a task costs in milliseconds."""

    def __init__(self, records, *, fixed=200, per_record=2, feeders=(), homes=None, out=None, cpu=0.1, state=None):
        self.records, self.feeders, self.homes, self.out, self.cpu, self.state = (
            list(records), feeders, homes, out, cpu, state,
        )  # fmt: skip
        self.milliseconds = [fixed + per_record * n for n in self.records]


def batch(operators, *, number=0, slots=(1,), driver=300, began=None, rows=None, run="r", waiting=None, phases=None):
    """Run operators (name -> Op, upstream first) one stage after the other on executors with so many slots each."""
    executors = [Executor(str(place), "host", count) for place, count in enumerate(slots)]
    flow = Dataflow(
        [Operator(name, len(op.records)) for name, op in operators.items()],
        [Edge(up, name) for name, op in operators.items() for up in op.feeders],
    )
    columns = []
    clock = 1_000_000
    for name, op in operators.items():
        position = flow.index[name]  # the dataflow has an order of its own
        free = [(clock, str(place)) for place, count in enumerate(slots) for _ in range(count)]
        for partition, (records, took) in enumerate(zip(op.records, op.milliseconds, strict=True)):
            allowed = [at for at, (_, id) in enumerate(free) if not op.homes or id == op.homes[partition]]
            at = min(allowed, key=lambda one: free[one][0])
            start, executor = free[at]
            free[at] = (start + took, executor)
            out = op.out[partition] if op.out else records
            columns.append((position, partition, executor, start, start + took, took, op.cpu * took, records, out))
        clock = max(end for end, _ in free)
    position, partition, executor, start, end, took, cpu, records, out = zip(*columns, strict=True)
    zeros = np.zeros(len(columns), np.int64)
    tasks = Tasks(
        np.array(position, np.int32), np.array(partition), tuple(executor), np.array(start), np.array(end), zeros,
        np.array(took), zeros, zeros, zeros, (np.array(cpu) * 1e6).astype(np.int64), np.array(records), np.array(out),
        zeros,
    )  # fmt: skip
    taken = sum(next(iter(operators.values())).records) if rows is None else rows
    sources = ()
    if waiting is not None:
        sources = (SourceRead("test", "", '{"n":0}', f'{{"n":{waiting}}}', taken, 0.0),)
    state = tuple(
        KeptState(name, "stateStoreSave", *op.state, 0, 0, len(op.records), 10, 0, 20, {})
        for name, op in operators.items() if op.state
    )  # fmt: skip
    duration = clock - 1_000_000 + driver
    return MicroBatch(
        "q", run, "query", number, number * duration if began is None else began, duration,
        {"addBatch": duration - 10} if phases is None else phases, taken, flow,
        frozenset(name for name, op in operators.items() if op.homes), tasks,
        {name: (NodeOutput("node", sum(op.records)),) for name, op in operators.items()}, 0, sources, state,
        tuple(executors),
    )  # fmt: skip


def batches(count, operators, *, every=None, **given):
    """So many batches, alike; `operators` may be a function of the batch's number; `every` so many ms, if given."""
    return [
        batch(
            operators(n) if callable(operators) else operators,
            number=n,
            began=None if every is None else n * every,
            **given,
        )
        for n in range(count)
    ]
