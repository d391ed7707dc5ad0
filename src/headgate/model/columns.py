"""Columns: one-dimensional numpy arrays that nobody changes once they are part of a value."""

from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from headgate.model.errors import InputError

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]

_Array = TypeVar("_Array", bound=npt.NDArray[Any])


def read_only(array: _Array) -> _Array:
    """The same array, closed to writing."""
    array.flags.writeable = False
    return array


def float_column(name: str, values: npt.ArrayLike, length: int) -> Floats:
    """A column of `length` numbers; a single number stands for all of them.

    Negative numbers are refused: nothing Headgate measures can be below zero. NaN and infinity pass, because
    engines do report them; what they mean is decided by whoever reads the column.

    >>> float_column("rate", 3, length=2).tolist()
    [3.0, 3.0]
    """
    column = np.array(values, np.float64)
    if column.ndim == 0:
        column = np.full(length, column)
    if column.shape != (length,):
        raise InputError(f"{name}: {column.size} values for {length} instances; give one for each")
    if (column < 0).any():
        row = int(np.argmax(column < 0))
        raise InputError(f"{name}: value {column[row]:g} of row {row} is negative; give a number from 0 up")
    return read_only(column)
