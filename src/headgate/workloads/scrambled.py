"""Numbers scrambled so that neighbours have nothing in common: chance that is a function of a number.

Whatever a source emits is drawn with these, so that a row is known from its number alone, on any machine.
"""

import numpy as np
import numpy.typing as npt

Numbers = npt.NDArray[np.uint64]

_ODD = 0x9E3779B97F4A7C15
_MASK = 0xFFFFFFFFFFFFFFFF


def mixed(numbers: Numbers, salt: int) -> Numbers:
    """64 bits for each number (SplitMix64: its sequence begins elsewhere for each salt, scrambled itself).

    >>> some = np.arange(3, dtype=np.uint64)
    >>> mixed(some, salt=1).tolist() == mixed(some, salt=1).tolist()
    True
    >>> np.intersect1d(mixed(some, salt=1), mixed(some, salt=2)).size
    0
    """
    begin = int(_finished(np.array([(salt + 1) * _ODD & _MASK], dtype=np.uint64))[0])
    with np.errstate(over="ignore"):
        return _finished(numbers * np.uint64(_ODD) + np.uint64(begin))


def _finished(z: Numbers) -> Numbers:
    with np.errstate(over="ignore"):
        z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        return z ^ (z >> np.uint64(31))


def unit_interval(numbers: Numbers, salt: int) -> npt.NDArray[np.float64]:
    """A number from 0 up to but not including 1 for each, all of them equally likely.

    >>> drawn = unit_interval(np.arange(100_000, dtype=np.uint64), salt=7)
    >>> bool(0 <= drawn.min() and drawn.max() < 1 and abs(drawn.mean() - 0.5) < 0.005)
    True
    """
    return (mixed(numbers, salt) >> np.uint64(11)).astype(np.float64) * 2.0**-53


def whole_below(limit: int, numbers: Numbers, salt: int) -> npt.NDArray[np.int64]:
    """A whole number from 0 up to but not including the limit for each, all of them equally likely.

    >>> sorted(set(whole_below(3, np.arange(100, dtype=np.uint64), salt=7).tolist()))
    [0, 1, 2]
    """
    return (mixed(numbers, salt) % np.uint64(limit)).astype(np.int64)
