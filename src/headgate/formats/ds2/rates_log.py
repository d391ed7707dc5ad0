"""DS2's rates log, fast: one line per instance and window, eight fields, often a million lines.

The file is read in pieces of a few megabytes that end at a line end. Arrow parses a piece in one go, several
pieces side by side; whatever Arrow cannot take (comments, padded fields, a mistake) sends that one piece through
a patient line-by-line reader, which either makes sense of it or says which line is wrong and why. So the common
file is fast, the odd one is still read, and the wrong one is answered with its line number.
"""

import os
from collections import deque
from collections.abc import Generator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import closing
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from pyarrow import csv

from headgate.formats.ds2.lines import content_lines
from headgate.formats.ds2.pieces import Pieces, Span
from headgate.formats.ds2.windows import RatesLog, in_windows
from headgate.model.columns import Floats, read_only
from headgate.model.dataflow import MAX_INSTANCES, Dataflow
from headgate.model.errors import InputError, did_you_mean
from headgate.model.observation import Observation, Rates

FIELDS = (
    "operator",
    "instance",
    "total_instances",
    "window_start",
    "true_processing",
    "true_output",
    "observed_processing",
    "observed_output",
)
_RATES = FIELDS[4:]
_LATEST = 2**64 - 1


def read_rates_log(path: str, dataflow: Dataflow, *, by_rank: bool = False) -> RatesLog:
    """The observations in a rates log; `by_rank` numbers windows as the original does (see `windows.py`)."""
    labels: dict[str, int] = {}
    columns = _Columns()
    with Pieces(path) as pieces, closing(_side_by_side(_FastReader(dataflow, pieces), pieces.spans)) as parts:
        for span, found in parts:
            rows = found or _patiently(path, dataflow, pieces.read(span), pieces.line_at(span))
            numbers = [labels.setdefault(label, len(labels)) for label in rows.labels]
            columns.append(rows, np.array(numbers, np.int32)[rows.instance], pieces.progress(span))
    operator, instance, start, *rates = columns.finished()
    return in_windows(path, dataflow, operator, instance, list(labels), start, Rates(*rates), by_rank=by_rank)


class _Rows(NamedTuple):
    """Columns of one piece of the file; `instance` holds positions in `labels`."""

    operator: npt.NDArray[np.int32]
    labels: Sequence[str]
    instance: npt.NDArray[np.int32]
    start: npt.NDArray[np.uint64]
    rates: tuple[Floats, ...]


class _Columns:
    """The columns of the whole file, grown as its pieces come in.

    Copying each piece to its place, instead of joining all pieces at the end, lets Arrow use the same memory
    for one piece after the other.
    """

    def __init__(self) -> None:
        self.size = 0
        types = (np.int32, np.int32, np.uint64, *[np.float64] * 4)
        self.columns: list[npt.NDArray[Any]] = [np.empty(0, kind) for kind in types]

    def append(self, rows: _Rows, instance: npt.NDArray[np.int32], progress: float) -> None:
        """Add the rows of a piece that ends at this part of the file."""
        first, last = self.size, self.size + rows.operator.size
        if last > self.columns[0].size:
            expected = int(last / progress * 1.02) + 1
            for at, column in enumerate(self.columns):
                self.columns[at] = np.empty(expected, column.dtype)
                self.columns[at][:first] = column[:first]
        for column, part in zip(self.columns, (rows.operator, instance, rows.start, *rows.rates), strict=True):
            column[first:last] = part
        self.size = last

    def finished(self) -> list[npt.NDArray[Any]]:
        """The columns, as long as there are rows."""
        return [read_only(column[: self.size]) for column in self.columns]


def _side_by_side(reader: "_FastReader", spans: Sequence[Span]) -> Generator[tuple[Span, _Rows | None]]:
    """Read pieces on all cores, in order, with only a few in memory at a time."""
    if len(spans) == 1:
        yield spans[0], reader.read(spans[0])
        return
    workers = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    waiting: deque[tuple[Span, Future[_Rows | None]]] = deque()
    with ThreadPoolExecutor(workers) as pool:
        for span in spans:
            waiting.append((span, pool.submit(reader.read, span)))
            if len(waiting) > workers + 1:
                done, rows = waiting.popleft()
                yield done, rows.result()
        for done, rows in waiting:
            yield done, rows.result()


class _FastReader:
    """Arrow's reading of a piece. Holds nothing that changes: threads share it."""

    def __init__(self, dataflow: Dataflow, pieces: Pieces) -> None:
        self.dataflow = dataflow
        self.pieces = pieces
        text = pa.dictionary(pa.int32(), pa.string())
        types = (text, text, text, pa.uint64(), *[pa.float64()] * 4)
        self.convert = csv.ConvertOptions(
            column_types=dict(zip(FIELDS, types, strict=True)),
            null_values=[],
            strings_can_be_null=False,
            check_utf8=False,  # the few distinct texts are checked when they are decoded
        )

    def read(self, span: Span) -> _Rows | None:
        """The rows of a piece; None if there is anything in it that needs a closer look."""
        data = _without_comments(self.pieces.read(span))
        if not _plain(data):
            return None
        options = csv.ReadOptions(column_names=FIELDS, use_threads=False, block_size=len(data) + 1)
        try:
            table = csv.read_csv(pa.BufferReader(data), read_options=options, convert_options=self.convert)
            ids, instance, total, start, *rates = (column.chunk(0) for column in table.columns)
            known = [self.dataflow.index.get(id, -1) for id in ids.dictionary.to_pylist()]
            labels = [label.strip() for label in instance.dictionary.to_pylist()]
            totals = total.dictionary.to_pylist()
        except (pa.ArrowInvalid, UnicodeDecodeError, IndexError):
            return None
        if (
            -1 in known
            or table.column(0).num_chunks != 1
            or not all(text.isdigit() and len(text) < 17 for text in totals)
        ):
            return None
        operator = np.array(known, np.int32)[_numpy(ids.indices, np.int32)]
        four = tuple(_numpy(column, np.float64) for column in rates)
        declared = np.array([int(text) for text in totals])[_numpy(total.indices, np.int32)]
        if (declared != self.dataflow.instances[operator]).any() or any((c < 0).any() for c in four):
            return None
        return _Rows(operator, labels, _numpy(instance.indices, np.int32), _numpy(start, np.uint64), four)


def _numpy(array: pa.Array, dtype: type[np.generic]) -> npt.NDArray[Any]:
    """A view of a column without nulls. Arrow's own `to_numpy` imports pandas where there is one: 0.3 s."""
    return np.frombuffer(array.buffers()[1], dtype, array.offset + len(array))[array.offset :]


def _patiently(path: str, dataflow: Dataflow, piece: bytes, first_line: int) -> _Rows:
    """The same, line by line, or an error that names the line at fault."""
    operator, labels, start = [], [], []
    rates: tuple[list[float], ...] = ([], [], [], [])
    for place, text in content_lines(path, piece, first_line):
        id, label, total, began, *numbers = place.fields(text, FIELDS)
        position = dataflow.index.get(id)
        if position is None:
            place.refuse(f'operator "{id}" is not in the topology{did_you_mean(id, dataflow.index)}')
        declared = dataflow.operators[position].instances
        if place.whole_number("total instances", total, most=MAX_INSTANCES) != declared:
            place.refuse(
                f'operator "{id}" reports {total} instances, the topology says {declared}; '
                "correct the one that is wrong"
            )
        operator.append(position)
        labels.append(label)
        start.append(place.whole_number("window start", began, most=_LATEST))
        for column, name, number in zip(rates, _RATES, numbers, strict=True):
            value = place.number(f"{name.replace('_', ' ')} rate", number)
            if value < 0:
                place.refuse(f"{name.replace('_', ' ')} rate {number} is negative; give a number from 0 up")
            column.append(value)
    distinct = {label: at for at, label in enumerate(dict.fromkeys(labels))}
    p, o, seen_p, seen_o = (np.array(column, np.float64) for column in rates)
    return _Rows(
        np.array(operator, np.int32),
        list(distinct),
        np.array([distinct[label] for label in labels], np.int32),
        np.array(start, np.uint64),
        (p, o, seen_p, seen_o),
    )


def _without_comments(data: bytes) -> bytes:
    start = 0
    while data.startswith(b"#", start):  # the heading that these files begin with
        end = data.find(b"\n", start)
        start = end + 1 if end >= 0 else len(data)
    data = data[start:]
    if b"#" not in data:  # by far the fastest question to ask
        return data
    return b"\n".join(line for line in data.split(b"\n") if not line.startswith(b"#"))


def _plain(data: bytes) -> bool:
    """Nothing in it that Arrow reads in a way of its own: quotes, and a carriage return that ends no line."""
    return b'"' not in data and (b"\r" not in data or data.count(b"\r") == data.count(b"\r\n"))


def write_rates_log(path: str, observations: Sequence[Observation]) -> None:
    """Write observations as a rates log that DS2, and `read_rates_log`, can read.

    Each becomes a window; its time is in nanoseconds. Rates are written so that they read back to the last bit.
    """
    for observation in observations:
        for operator in observation.dataflow.operators:
            if operator.id.startswith("#") or _spoils_a_line(operator.id):
                raise InputError(f'operator "{operator.id}" cannot be written to a rates log; rename it')
        for label in {str(label) for label in observation.instance.tolist()}:
            if _spoils_a_line(label):
                raise InputError(f'instance "{label}" cannot be written to a rates log; rename it')
        if not 0 <= observation.at < 2**63 / 1e9:
            raise InputError(
                f"an observation from {observation.at} s cannot be written to a rates log; give 0 or later"
            )
    try:
        with open(path, "wb") as file:
            file.write(f"# {','.join(FIELDS)}\n".encode())
            for observation in observations:
                csv.write_csv(
                    _as_table(observation), file, csv.WriteOptions(include_header=False, quoting_style="none")
                )
    except OSError as error:
        raise InputError(f"{path}: cannot be written ({error.strerror or error}); check the path") from None


def _spoils_a_line(text: str) -> bool:
    return any(mark in text for mark in ',"\n\r') or text != text.strip() or not text


def _as_table(observation: Observation) -> pa.Table:
    flow, operator, rates = observation.dataflow, observation.operator, observation.rates
    ids = pa.DictionaryArray.from_arrays(pa.array(operator), pa.array(flow.ids)).cast(pa.string())
    start = pa.array(np.full(operator.size, round(observation.at * 1e9), np.uint64))
    columns = (
        ids,
        pa.array(observation.instance).cast(pa.string()),
        pa.array(flow.instances[operator]),
        start,
        *(pa.array(getattr(rates, name)) for name in _RATES),
    )
    return pa.table(list(columns), names=list(FIELDS))
