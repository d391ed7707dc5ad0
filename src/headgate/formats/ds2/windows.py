"""Rows of a rates log, grouped into observations the way DS2 numbers its windows.

Instances stamp their windows each by their own clock, so equal windows carry different times. DS2 therefore orders
the rows of each instance by time and numbers them 0, 1, 2, …; rows with the same number are one observation. A
number that some reporting operator has not reached is an observation still under way and is left out.
"""

from collections.abc import Iterator

import msgspec
import numpy as np
import numpy.typing as npt

from headgate.model.columns import Ints
from headgate.model.dataflow import Dataflow
from headgate.model.errors import InputError
from headgate.model.observation import Observation, Rates, in_order
from headgate.model.reasons import IncompleteObservations, Reason


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
) -> RatesLog:
    """Group rows into observations. `instance` holds positions in `labels`."""
    if operator.size == 0:
        raise InputError(f"{path}: no rates; give one line per instance")
    instance = _canonical(labels)[instance]
    if in_order(operator, instance):
        # One row an instance, operators one after the other: the common file, and the one that may be huge.
        return RatesLog((_observation(path, dataflow, operator, instance, start, rates),))
    key = operator.astype(np.int64) * len(labels) + instance
    order = np.lexsort((start, key))
    key, operator, instance, start = key[order], operator[order], instance[order], start[order]
    rates = rates.taken(order)
    number = _window_numbers(key)
    reached = np.zeros(len(dataflow.operators), np.int64)
    np.maximum.at(reached, operator, number + 1)
    complete, longest = int(reached[reached > 0].min()), int(reached.max())
    observations = tuple(
        _observation(path, dataflow, operator[rows], instance[rows], start[rows], rates.taken(rows))
        for rows in _rows_by_window(number, complete)
    )
    if longest == complete:
        return RatesLog(observations)
    return RatesLog(observations, (IncompleteObservations(complete, longest - complete),))


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


def _rows_by_window(number: Ints, windows: int) -> Iterator[npt.NDArray[np.intp]]:
    by_window = np.argsort(number, kind="stable")
    cuts = np.searchsorted(number[by_window], np.arange(windows + 1))
    for first, last in zip(cuts[:-1].tolist(), cuts[1:].tolist(), strict=True):
        yield by_window[first:last]


def _canonical(labels: list[str]) -> npt.NDArray[np.int32]:
    """Position in `labels` -> place in an order that does not depend on which was read first."""
    ranked = sorted(range(len(labels)), key=lambda at: (len(labels[at]), labels[at]))
    places = np.empty(len(labels), np.int32)
    places[ranked] = np.arange(len(labels), dtype=np.int32)
    return places


def _window_numbers(key: Ints) -> Ints:
    """Per row, its place among the rows with its key; rows with one key stand together, by time."""
    rows = np.arange(key.size)
    first_of_key = np.zeros(key.size, np.int64)
    new = key[1:] != key[:-1]
    first_of_key[1:][new] = rows[1:][new]
    return rows - np.maximum.accumulate(first_of_key)
