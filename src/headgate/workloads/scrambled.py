"""Numbers scrambled so that neighbours have nothing in common: chance that is a function of a number.

Whatever a source emits is drawn with these, so that a row is known from its number alone, on any machine.
"""

from collections.abc import Iterable
from functools import lru_cache

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
    sequence = numbers * np.uint64(_ODD)  # arrays go round at 64 bits, without a word
    sequence += _beginning(salt)
    return _finished(sequence)


def mixed_by(numbers: Numbers, salts: Iterable[int]) -> Numbers:
    """The same for several salts at once: a row for each number, a column for each salt.

    >>> some = np.arange(3, dtype=np.uint64)
    >>> mixed_by(some, [4, 5])[:, 1].tolist() == mixed(some, salt=5).tolist()
    True
    """
    beginnings = np.array([_beginning(salt) for salt in salts], dtype=np.uint64)
    return _finished((numbers * np.uint64(_ODD))[:, None] + beginnings)


@lru_cache(maxsize=1024)
def _beginning(salt: int) -> np.uint64:
    begins: np.uint64 = _finished(np.array([(salt + 1) * _ODD & _MASK], dtype=np.uint64))[0]
    return begins


def _finished(z: Numbers) -> Numbers:
    """Scrambled in place: what is drawn is most of the work of a source, and half of that would be making room."""
    high = z >> np.uint64(30)
    z ^= high
    z *= np.uint64(0xBF58476D1CE4E5B9)
    np.right_shift(z, np.uint64(27), out=high)
    z ^= high
    z *= np.uint64(0x94D049BB133111EB)
    np.right_shift(z, np.uint64(31), out=high)
    z ^= high
    return z


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
