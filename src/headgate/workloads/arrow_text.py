"""Columns of text from numbers, without a Python string for any row."""

from functools import lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from headgate.workloads.scrambled import mixed, mixed_by

_SIZE = 1 << 16
_LONGEST = 1 << 12
"""Letters of a text, at the most."""
_SHORT = 25
"""Letters of a text on average up to which it is faster to take each by its place than to cut texts out."""
_LETTERS = np.frombuffer(b"abcdefghijklmnopqrstuvwxyz", dtype=np.uint8)
_DIGITS = np.frombuffer(b"0123456789", dtype=np.uint8)


@lru_cache(maxsize=4)
def _endless(salt: int) -> npt.NDArray[np.uint8]:
    """Letters without meaning, the same ones everywhere."""
    return _LETTERS[(mixed(np.arange(_SIZE, dtype=np.uint64), salt) % np.uint64(26)).astype(np.int64)]


@lru_cache(maxsize=1)
def _endless_bytes() -> bytes:
    return _endless(0).tobytes()


def nonsense(numbers: npt.NDArray[np.uint64], salt: int, lengths: npt.NDArray[np.int64]) -> pa.StringArray:
    """So many letters for each number, 4,096 at the most.

    >>> nonsense(np.arange(2, dtype=np.uint64), 1, np.array([3, 0])).to_pylist()[1]
    ''
    """
    ends = np.cumsum(lengths)
    total = int(ends[-1]) if len(ends) else 0
    offsets = np.concatenate(([0], ends))
    if not total:  # padding that nobody wants
        return _strings(offsets, np.empty(0, np.uint8))
    starts = (mixed(numbers, salt) % np.uint64(_SIZE - _LONGEST)).astype(np.int64)
    if total > _SHORT * len(lengths):
        letters = _endless_bytes()
        pieces = [letters[first:last] for first, last in zip(starts.tolist(), (starts + lengths).tolist(), strict=True)]
        return _strings(offsets, np.frombuffer(b"".join(pieces), np.uint8))
    where = np.arange(total) + np.repeat(starts - (ends - lengths), lengths)
    return _strings(offsets, _endless(0)[where])


def digits(numbers: npt.NDArray[np.uint64], salt: int, pattern: str) -> pa.StringArray:
    """A text for each number in which every # of a pattern is a digit.

    >>> text = digits(np.arange(1, dtype=np.uint64), 1, "#-#")[0].as_py()
    >>> text[1], text[::2].isdigit(), len(text)
    ('-', True, 3)
    """
    rows = np.tile(np.frombuffer(pattern.encode(), dtype=np.uint8), (len(numbers), 1))
    places = [place for place, sign in enumerate(pattern) if sign == "#"]
    drawn = mixed_by(numbers, range(salt, salt + len(places)))
    rows[:, places] = _DIGITS[(drawn % np.uint64(10)).astype(np.int64)]
    return _strings(np.arange(len(numbers) + 1) * len(pattern), rows.ravel())


def one_of(numbers: npt.NDArray[np.uint64], salt: int, choice: pa.StringArray) -> pa.StringArray:
    """One text of a few for each number, all equally likely."""
    return choice.take(pa.array((mixed(numbers, salt) % np.uint64(len(choice))).astype(np.int64)))


def spaced_text(before: npt.NDArray[np.int64], texts: pa.StringArray) -> pa.StringArray:
    """Texts with empty ones between them: `before` has, for each place and the end, how many of them come before it.

    >>> spaced_text(np.array([0, 0, 1, 2, 2]), pa.array(["one", "two"])).to_pylist()
    ['', 'one', 'two', '']
    """
    return _strings(_offsets(texts)[before], np.frombuffer(texts.buffers()[2] or b"", np.uint8))


def sizes(texts: pa.StringArray) -> npt.NDArray[np.int64]:
    """Bytes of each."""
    return np.diff(_offsets(texts)).astype(np.int64)


def _offsets(texts: pa.StringArray) -> npt.NDArray[np.int32]:
    """Where each begins, and where the last ends."""
    return np.frombuffer(texts.buffers()[1], dtype=np.int32)[texts.offset : texts.offset + len(texts) + 1]


def _strings(offsets: npt.NDArray[np.integer[Any]], letters: npt.NDArray[np.uint8]) -> pa.StringArray:
    return pa.StringArray.from_buffers(
        len(offsets) - 1,
        pa.py_buffer(offsets.astype(np.int32, copy=False)),
        pa.py_buffer(np.ascontiguousarray(letters)),
    )
