"""An observation: what was measured of a dataflow over one period, per instance, as columns.

Two kinds of measurement lead here. `Counters` are what an instrumented engine counts: records, useful time,
waits, wall time. `Rates` are what is left when a source has divided already (DS2's rates log). Counters become
rates by one division; nothing downstream cares which it was.

The rows of an operator stand together, by instance. Sums over them are therefore always taken in the same order,
and the order in which they were reported can never change an answer, not even in its last bit.
"""

from typing import Any, NamedTuple, Self

import msgspec
import numpy as np
import numpy.typing as npt
from msgspec.structs import force_setattr

from headgate.model.columns import Floats, float_column, read_only
from headgate.model.dataflow import Dataflow
from headgate.model.errors import InputError


class Rates(msgspec.Struct, frozen=True, eq=False):
    """Records per second, one row an instance. True: per second of useful time. Observed: of wall time."""

    true_processing: Floats
    true_output: Floats
    observed_processing: Floats
    observed_output: Floats

    def taken(self, rows: npt.NDArray[Any] | slice) -> Self:
        """These rows, in this order."""
        return type(self)(
            read_only(self.true_processing[rows]),
            read_only(self.true_output[rows]),
            read_only(self.observed_processing[rows]),
            read_only(self.observed_output[rows]),
        )


class Counters(msgspec.Struct, frozen=True, eq=False):
    """What instances counted, one row each; times in seconds.

    `wait_time` is time spent waiting for input or for room downstream: neither useful nor idle by choice.
    """

    records_in: Floats
    records_out: Floats
    useful_time: Floats
    wait_time: Floats
    wall_time: Floats

    def rates(self) -> Rates:
        """Divide by useful and by wall time; no time at all gives NaN or infinity, as engines report it."""
        with np.errstate(divide="ignore", invalid="ignore"):
            return Rates(
                read_only(self.records_in / self.useful_time),
                read_only(self.records_out / self.useful_time),
                read_only(self.records_in / self.wall_time),
                read_only(self.records_out / self.wall_time),
            )

    def taken(self, rows: npt.NDArray[Any] | slice) -> Self:
        """These rows, in this order."""
        return type(self)(
            read_only(self.records_in[rows]),
            read_only(self.records_out[rows]),
            read_only(self.useful_time[rows]),
            read_only(self.wait_time[rows]),
            read_only(self.wall_time[rows]),
        )


class Observation(msgspec.Struct, frozen=True, eq=False):
    """Measurements of a dataflow over one period; build it with `of_rates` or `of_counters`.

    >>> flow = Dataflow.of({"lines": 1, "split": 2}, [("lines", "split")])
    >>> seen = Observation.of_counters(
    ...     flow, operator=["lines", "split", "split"], instance=[0, 0, 1],
    ...     records_in=[0, 50, 50], records_out=[100, 200, 200], useful_time=[0.5, 0.5, 0.25], wall_time=1.0)
    >>> seen.rates.true_processing.tolist()
    [0.0, 100.0, 200.0]
    """

    dataflow: Dataflow
    operator: npt.NDArray[np.int32]
    """Per row, the position of its operator in the dataflow."""
    instance: npt.NDArray[Any]
    """Per row, what the engine calls the instance: numbers or text."""
    measured: Rates | Counters
    at: float = 0.0
    """When the period began, in seconds: the time that policies are told."""

    def __post_init__(self) -> None:
        """Bring the rows into their order; refuse an instance that reports twice, or too many of them."""
        rows = self.operator.size
        if self.instance.shape != (rows,):
            raise InputError(f"instance: {self.instance.size} values for {rows} rows; give one for each")
        if not in_order(self.operator, self.instance):
            order = np.lexsort((self.instance, self.operator))
            force_setattr(self, "operator", self.operator[order])
            force_setattr(self, "instance", self.instance[order])
            force_setattr(self, "measured", self.measured.taken(order))
            same = (self.operator[1:] == self.operator[:-1]) & (self.instance[1:] == self.instance[:-1])
            if same.any():
                row = int(np.argmax(same))
                id = self.dataflow.ids[self.operator[row]]
                raise InputError(f'operator "{id}": instance {self.instance[row]} reports twice; keep one row')
        read_only(self.operator)
        read_only(self.instance)
        runs = self.runs
        too_many = runs.length > self.dataflow.instances[runs.operator]
        if too_many.any():
            run = int(np.argmax(too_many))
            operator = self.dataflow.operators[runs.operator[run]]
            raise InputError(
                f'operator "{operator.id}": {runs.length[run]} instances report, the topology says '
                f"{operator.instances}; correct the one that is wrong"
            )

    @classmethod
    def of_rates(
        cls,
        dataflow: Dataflow,
        *,
        operator: list[str],
        instance: npt.ArrayLike,
        true_processing: npt.ArrayLike,
        true_output: npt.ArrayLike,
        observed_processing: npt.ArrayLike,
        observed_output: npt.ArrayLike,
        at: float = 0.0,
    ) -> Self:
        """From rates in records per second, one row an instance."""
        rows = len(operator)
        rates = Rates(
            float_column("true_processing", true_processing, rows),
            float_column("true_output", true_output, rows),
            float_column("observed_processing", observed_processing, rows),
            float_column("observed_output", observed_output, rows),
        )
        return cls(dataflow, _positions(dataflow, operator), np.array(instance), rates, at)

    @classmethod
    def of_counters(
        cls,
        dataflow: Dataflow,
        *,
        operator: list[str],
        instance: npt.ArrayLike,
        records_in: npt.ArrayLike,
        records_out: npt.ArrayLike,
        useful_time: npt.ArrayLike,
        wall_time: npt.ArrayLike,
        wait_time: npt.ArrayLike = 0.0,
        at: float = 0.0,
    ) -> Self:
        """From counts of records and seconds, one row an instance."""
        rows = len(operator)
        counters = Counters(
            float_column("records_in", records_in, rows),
            float_column("records_out", records_out, rows),
            float_column("useful_time", useful_time, rows),
            float_column("wait_time", wait_time, rows),
            float_column("wall_time", wall_time, rows),
        )
        return cls(dataflow, _positions(dataflow, operator), np.array(instance), counters, at)

    @property
    def runs(self) -> "Runs":
        """Where the rows of each operator that reported are."""
        first = _first_rows(self.operator)
        return Runs(self.operator[first], first, np.diff(first, append=self.operator.size))

    @property
    def rates(self) -> Rates:
        """The four rates, whichever way they were measured."""
        return self.measured if isinstance(self.measured, Rates) else self.measured.rates()


class Runs(NamedTuple):
    """Runs of rows that belong to one operator each: which, from which row on, and how many rows."""

    operator: npt.NDArray[np.int32]
    first: npt.NDArray[np.intp]
    length: npt.NDArray[np.intp]


def in_order(operator: npt.NDArray[np.int32], instance: npt.NDArray[Any]) -> bool:
    """The rows of each operator stand together, by instance, none twice: the common case, and the cheap one."""
    next_operator = operator[1:] != operator[:-1]
    if not (next_operator | (instance[1:] > instance[:-1])).all():
        return False
    first = _first_rows(operator)
    return np.unique(operator[first]).size == first.size


def _first_rows(operator: npt.NDArray[np.int32]) -> npt.NDArray[np.intp]:
    """Where another operator begins."""
    if operator.size == 0:
        return np.empty(0, np.intp)
    return np.concatenate(([0], np.flatnonzero(operator[1:] != operator[:-1]) + 1))


def _positions(dataflow: Dataflow, ids: list[str]) -> npt.NDArray[np.int32]:
    return np.array([dataflow.position(id) for id in ids], np.int32)
