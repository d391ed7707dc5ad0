"""Recorded loads: files of two columns, a time and a rate.

Separated by commas, semicolons or tabs. A first line with names says what the columns are: a time is `second`,
`minute`, `hour` or `millisecond` (or the plural), a rate is `rate`, or else the column after the time. Without names
times are seconds. Times may as well be dates (2026-11-16T12:00:00), or a `timestamp` in seconds since
1970; the first one is then the beginning.
"""

import csv
from collections.abc import Iterator, Sequence
from datetime import datetime
from pathlib import Path

from headgate.formats.files import cannot_read
from headgate.model.errors import InputError

MOST = 1e15
"""Records per second, or seconds: beyond that nobody means it."""
_NUMBERS = f"a number from 0 to {MOST:g}"
_UNITS = {"millisecond": 1e-3, "ms": 1e-3, "second": 1.0, "time": 1.0, "minute": 60.0, "hour": 3600.0, "timestamp": 1.0}


def read_load_trace(path: str) -> tuple[tuple[float, float], ...]:
    """Seconds since the beginning, and the rate from there on."""
    try:
        lines = Path(path).read_text(encoding="utf-8-sig").splitlines()
    except OSError as problem:
        raise cannot_read(path, problem) from None
    except UnicodeDecodeError:
        raise InputError(f"{path}: is not text; a trace is a file of two columns, a time and a rate") from None
    points: list[tuple[float, float]] = []
    for number, moment, rate in _rows(path, lines):
        if points and moment <= points[-1][0]:
            raise InputError(f"{path}:{number}: its time is not after the one before; sort the trace by time")
        points.append((moment, rate))
    if not points:
        raise InputError(f"{path}: has no points; a trace has a time and a rate on each line")
    return tuple(points)


def _rows(path: str, lines: Sequence[str]) -> Iterator[tuple[int, float, float]]:
    """Line number, seconds, rate."""
    rows = [
        (number, [field.strip() for field in row])
        for number, row in enumerate(csv.reader(lines, delimiter=_delimiter(lines)), start=1)
        if any(field.strip() for field in row) and not row[0].startswith("#")
    ]
    when, what, unit, since_1970 = 0, 1, 1.0, False
    if rows and _number(rows[0][1][0]) is None and _date(rows[0][1][0]) is None:
        names = [name.lower() for name in rows.pop(0)[1]]
        when = next((place for place, name in enumerate(names) if name.rstrip("s") in _UNITS or name in _UNITS), 0)
        what = names.index("rate") if "rate" in names else when + 1
        unit = _UNITS.get(names[when], _UNITS.get(names[when].rstrip("s"), 1.0))
        since_1970 = names[when] == "timestamp"
    first: datetime | None = None
    begin = None if since_1970 else 0.0
    for number, fields in rows:
        if len(fields) <= max(when, what):
            raise InputError(f"{path}:{number}: has {len(fields)} columns; a trace has a time and a rate on each line")
        moment, rate = _number(fields[when]), _number(fields[what])
        if moment is None and (date := _date(fields[when])) is not None:
            first = first or date
            try:
                moment = (date - first).total_seconds() / unit
            except TypeError:
                raise InputError(f"{path}:{number}: some of its dates have a time zone, some have none") from None
        if moment is None:
            raise InputError(f'{path}:{number}: "{fields[when]}" is no time; give {_NUMBERS}, or a date')
        if rate is None:
            raise InputError(f'{path}:{number}: "{fields[what]}" is no rate; give {_NUMBERS}')
        begin = moment if begin is None else begin
        yield number, (moment - begin) * unit, rate


def _delimiter(lines: Sequence[str]) -> str:
    first = next((line for line in lines if line.strip() and not line.startswith("#")), "")
    return next((one for one in "\t;" if one in first), ",")


def _number(text: str) -> float | None:
    """A number that is neither negative nor beyond all bounds."""
    try:
        value = float(text)
    except ValueError:
        return None
    return value if 0 <= value <= MOST else None


def _date(text: str) -> datetime | None:
    try:
        return datetime.fromisoformat(text)
    except ValueError:
        return None
