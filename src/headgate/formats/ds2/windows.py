"""Rows of a rates log, grouped into observations, by which rows are of the same window.

Where instances share their window starts (at least half of all rows have a start that others have too), rows with the
same start are one window. Where each instance stamps its windows by its own clock (as DS2's instrumentation of Flink
does), equal windows carry different times; then the rows of each instance are numbered 0, 1, 2, … by time, and rows
with the same number are one window. The original always does the latter, which shifts all windows of an instance that
missed one; `by_rank` asks for that.

A window that lacks some operator which reports in others is still under way, or damaged, and is left out.
"""

from collections.abc import Iterator

import msgspec
import numpy as np
import numpy.typing as npt

from headgate.model.columns import Ints
from headgate.model.dataflow import Dataflow
from headgate.model.errors import InputError
from headgate.model.observation import Observation, Rates, in_order
from headgate.model.reasons import IncompleteObservations, Reason, WindowsByRank


class RatesLog(msgspec.Struct, frozen=True, eq=False):
    """The observations of a log, oldest first, and what was left out of them."""

    observations: tuple[Observation, ...]
    reasons: tuple[Reason, ...] = ()


def in_windows(
    path: str,
    dataflow: Dataflow,
    operator: npt.NDArray[np.int32],
    instance: npt.NDArray[np.int32],
    labels: list[str],
    start: npt.NDArray[np.uint64],
    rates: Rates,
    *,
    by_rank: bool = False,
) -> RatesLog:
    """Group rows into observations. `instance` holds positions in `labels`."""
    if operator.size == 0:
        raise InputError(f"{path}: no rates; give one line per instance")
    instance = _canonical(labels)[instance]
    if in_order(operator, instance):
        # One row an instance, operators one after the other: the common file, and the one that may be huge.
        return RatesLog((_observation(path, dataflow, operator, instance, start, rates),))
    key = operator.astype(np.int64) * len(labels) + instance
    # Of two rows with one start the smaller comes first, so that not even their order in the file matters.
    order = np.lexsort((rates.true_output, rates.true_processing, start, key))
    key, operator, instance, start = key[order], operator[order], instance[order], start[order]
    rates = rates.taken(order)
    window = _ranks(key)
    if not window.any():
        return RatesLog((_observation(path, dataflow, operator, instance, start, rates),))
    reasons: tuple[Reason, ...] = ()
    if not by_rank:
        _, shared, rows_of_start = np.unique(start, return_inverse=True, return_counts=True)
        if 2 * np.count_nonzero(rows_of_start[shared] > 1) >= start.size:
            window = shared
            _refuse_repeats(path, dataflow, labels, key, start)
        else:
            reasons = (WindowsByRank(),)
    # The original answers for an operator as long as it has windows, whatever the others have.
    complete = list(range(int(window.max()) + 1)) if by_rank else _complete_windows(operator, window)
    observations = tuple(
        _observation(path, dataflow, operator[rows], instance[rows], start[rows], rates.taken(rows))
        for rows in _rows_by_window(window, complete)
    )
    left_out = int(window.max()) + 1 - len(complete)
    return RatesLog(observations, (*reasons, IncompleteObservations(len(complete), left_out)) if left_out else reasons)


def _complete_windows(operator: npt.NDArray[np.int32], window: Ints) -> list[int]:
    """Windows in which every operator that reports at all has a row; if there are none, all of them."""
    windows = int(window.max()) + 1
    pairs = np.unique(operator.astype(np.int64) * windows + window)
    operators_of = np.bincount(pairs % windows, minlength=windows)
    complete = np.flatnonzero(operators_of == np.unique(operator).size)
    return (complete if complete.size else np.arange(windows)).tolist()


def _refuse_repeats(path: str, dataflow: Dataflow, labels: list[str], key: Ints, start: npt.NDArray[np.uint64]) -> None:
    same = (key[1:] == key[:-1]) & (start[1:] == start[:-1])
    if same.any():
        row = int(np.argmax(same))
        operator, label = divmod(int(key[row]), len(labels))
        name = sorted(labels, key=_by_length)[label]
        raise InputError(
            f'{path}: operator "{dataflow.ids[operator]}", instance {name} reports window {start[row]} twice; '
            "keep one line"
        )


def _observation(
    path: str,
    dataflow: Dataflow,
    operator: npt.NDArray[np.int32],
    instance: npt.NDArray[np.int32],
    start: npt.NDArray[np.uint64],
    rates: Rates,
) -> Observation:
    """One window. DS2's instrumentation writes times in nanoseconds."""
    try:
        return Observation(dataflow, operator, instance, rates, at=float(start.min()) / 1e9)
    except InputError as error:
        raise InputError(f"{path}: {error}") from None


def _rows_by_window(window: Ints, wanted: list[int]) -> Iterator[npt.NDArray[np.intp]]:
    by_window = np.argsort(window, kind="stable")
    cuts = np.searchsorted(window[by_window], np.arange(int(window.max()) + 2))
    for one in wanted:
        yield by_window[cuts[one] : cuts[one + 1]]


def _by_length(label: str) -> tuple[int, str]:
    """So that 2 comes before 10."""
    return len(label), label


def _canonical(labels: list[str]) -> npt.NDArray[np.int32]:
    """Position in `labels` -> place in an order that does not depend on which was read first."""
    ranked = sorted(range(len(labels)), key=lambda at: _by_length(labels[at]))
    places = np.empty(len(labels), np.int32)
    places[ranked] = np.arange(len(labels), dtype=np.int32)
    return places


def _ranks(key: Ints) -> Ints:
    """Per row, its place among the rows with its key; rows with one key stand together, by time."""
    rows = np.arange(key.size)
    first_of_key = np.zeros(key.size, np.int64)
    new = key[1:] != key[:-1]
    first_of_key[1:][new] = rows[1:][new]
    return rows - np.maximum.accumulate(first_of_key)
