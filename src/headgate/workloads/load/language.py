"""Load profiles as people write them: `step(2k -> 8k @ 60s) + 0.5 * sine(1k +- 200 every 5m)`.

A load is a sum of products; a factor is a shape, a load in brackets, or a plain number, which is a constant. A shape is
its name and values in brackets, each with the word that leads to it (`_SHAPES` has them all); a comma before a word and
`=` after it may be there or not. A `step` may go on: `step(2k -> 8k @ 60s -> 4k @ 2m)`. A `ramp` is written in one of
two ways, which its words tell apart.

Rates have k, M and G; times ms, s, m, h and d, seconds if nothing; parts may be in per cent.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal, NamedTuple, TypeAlias

from headgate.formats.load_trace import read_load_trace
from headgate.model.errors import InputError, did_you_mean
from headgate.workloads.load.climb import Climb
from headgate.workloads.load.combined import Product, Sum
from headgate.workloads.load.profile import Load
from headgate.workloads.load.shapes import Constant, Ramp, Sine, Spike, Square, Step
from headgate.workloads.load.trace import Trace
from headgate.workloads.load.units import PARTS, RATES, TIMES
from headgate.workloads.load.walk import Walk

Kind: TypeAlias = Literal["rate", "time", "part", "number", "count", "file"]
ReadTrace: TypeAlias = Callable[[str], tuple[tuple[float, float], ...]]

_NUMBER = re.compile(r"(\d+\.?\d*(?:[eE][+-]?\d+)?|\.\d+)\s*([A-Za-z%]*)")
_NAME = re.compile(r"[A-Za-z_]\w*")
_FILE = re.compile(r'"([^"]*)"|\'([^\']*)\'|([^\s,()"\']+)')
_UNITS: Mapping[Kind, Mapping[str, float]] = {
    "rate": RATES, "time": TIMES, "part": PARTS, "number": {"": 1.0}, "count": {"": 1.0},
}  # fmt: skip
_DEEPEST = 50
_LONGEST_COUNT = 20
"""Digits of a whole number; no seed has more."""


class LoadError(InputError):
    """A load that cannot be read; `at` is the character, from 0, where that shows."""

    def __init__(self, text: str, at: int, why: str) -> None:
        super().__init__(f"load, character {at + 1}: {why}: {text}")
        self.text, self.at, self.why = text, at, why


class _Value(NamedTuple):
    """One value of a shape."""

    lead: str
    """What stands before it."""
    kind: Kind
    field: str
    needed: bool = True


class _Shape(NamedTuple):
    """A shape, its values, and how it is written."""

    make: Callable[..., Load]
    values: Sequence[_Value]
    example: str


_CLIMB = _Shape(
    Climb,
    [
        _Value("", "rate", "start"),
        _Value("->", "rate", "end"),
        _Value("by", "part", "by"),
        _Value("every", "time", "every"),
    ],
    "ramp(1k -> 4k by 5% every 10s)",
)
_SHAPES = {
    "constant": _Shape(Constant, [_Value("", "rate", "per_second")], "constant(5k)"),
    "step": _Shape(
        Step,
        [_Value("", "rate", "before"), _Value("->", "rate", "after"), _Value("@", "time", "at")],
        "step(2k -> 8k @ 60s)",
    ),
    "ramp": _Shape(
        Ramp,
        [_Value("", "rate", "start"), _Value("->", "rate", "end"), _Value("over", "time", "over")],
        "ramp(0 -> 8k over 10m)",
    ),
    "sine": _Shape(
        Sine,
        [_Value("", "rate", "mean"), _Value("+-", "rate", "amplitude"), _Value("every", "time", "period")],
        "sine(5k +- 2k every 1h)",
    ),
    "square": _Shape(
        Square,
        [_Value("", "rate", "first"), _Value("->", "rate", "second"), _Value("every", "time", "period")],
        "square(2k -> 8k every 5m)",
    ),
    "spike": _Shape(
        Spike,
        [
            _Value("", "rate", "usual"),
            _Value("->", "rate", "peak"),
            _Value("@", "time", "at"),
            _Value("for", "time", "lasting"),
        ],
        "spike(2k -> 20k @ 60s for 10s)",
    ),
    "walk": _Shape(
        Walk,
        [
            _Value("", "rate", "start"),
            _Value("by", "part", "by", needed=False),
            _Value("every", "time", "every", needed=False),
            _Value("seed", "count", "seed", needed=False),
        ],
        "walk(5k by 10% every 10s seed 3)",
    ),
    "trace": _Shape(
        Trace,
        [
            _Value("", "file", "file"),
            _Value("scale", "number", "scale", needed=False),
            _Value("speed", "number", "speed", needed=False),
        ],
        "trace(rates.csv scale 3 speed 60)",
    ),
}

_OTHER_WAYS = {"ramp": _CLIMB}
"""Shapes that go by the name of another, by other words."""

EXAMPLES = tuple(
    way.example for name, shape in _SHAPES.items() for way in (shape, _OTHER_WAYS.get(name)) if way is not None
)


def load_from_text(text: str, read_trace: ReadTrace = read_load_trace) -> Load:
    """The load that a text describes; `LoadError` points at what is wrong with it.

    >>> load_from_text("step(2k -> 8k @ 60s) + 500")
    Sum(parts=(Step(before=2000.0, after=8000.0, at=60.0, then=()), Constant(per_second=500.0)))
    """
    reading = _Reading(text, read_trace)
    load = reading.sum()
    reading.end()
    return load


class _Reading:
    """Goes through a text from left to right."""

    def __init__(self, text: str, read_trace: ReadTrace) -> None:
        self._text, self._at, self._deep = text, 0, 0
        self._read_trace = read_trace

    def sum(self) -> Load:
        begin = self._blanks()
        parts = [self._product()]
        while self._takes("+"):
            parts.append(self._product())
        return self._combined(Sum, parts, begin)

    def end(self) -> None:
        if self._blanks() < len(self._text):
            raise self._error(f"{self._seen()} is more than a load; join loads with + or *")

    def _product(self) -> Load:
        begin = self._blanks()
        parts = [self._factor()]
        while self._takes("*"):
            parts.append(self._factor())
        return self._combined(Product, parts, begin)

    def _combined(self, make: Callable[[tuple[Load, ...]], Load], parts: Sequence[Load], begin: int) -> Load:
        if len(parts) == 1:
            return parts[0]
        try:
            return make(tuple(parts))
        except InputError as problem:
            raise LoadError(self._text, begin, str(problem)) from None

    def _factor(self) -> Load:
        at = self._blanks()
        if self._takes("("):
            self._deep += 1
            if self._deep > _DEEPEST:
                raise self._error("brackets in brackets, more than anyone can read", at)
            inner = self.sum()
            self._deep -= 1
            if not self._takes(")"):
                raise self._error('expected ")"')
            return inner
        if _NUMBER.match(self._text, at):
            return Constant(self._number("rate"))
        name = _NAME.match(self._text, at)
        if name is None:
            raise self._error(f"expected a load such as {EXAMPLES[0]} or {EXAMPLES[1]}, found {self._seen()}")
        if name[0] not in _SHAPES:
            raise self._error(f"there is no load {name[0]}{did_you_mean(name[0], _SHAPES)}")
        self._at = name.end()
        return self._shape([way for way in (_SHAPES[name[0]], _OTHER_WAYS.get(name[0])) if way is not None], at)

    def _shape(self, ways: Sequence[_Shape], begin: int) -> Load:
        """One of these; each word that is read leaves those that have it."""
        if not self._takes("("):
            raise self._error(f'expected "("; write {_examples(ways)}')
        first = ways[0].values[0]
        given: dict[str, Any] = {first.field: self._value(first.kind)}
        then: list[tuple[float, float]] = []
        while not self._takes(")"):
            self._takes(",")
            at = self._blanks()
            value = next((one for way in ways for one in way.values[1:] if self._leads(one.lead)), None)
            if value is None:
                raise self._error(f"{self._seen()} does not belong here; write {_examples(ways)}")
            ways = [way for way in ways if value in way.values]
            if value.field == "after" and "at" in given:  # a further step
                rate = self._number("rate")
                if not self._takes("@"):
                    raise self._error("expected @ and the moment of this step")
                then.append((self._number("time"), rate))
                continue
            if value.field in given:
                raise self._error(f"{value.lead} is there twice", at)
            given[value.field] = self._value(value.kind)
        missing = [one.lead for one in ways[0].values[1:] if one.needed and one.field not in given]
        if missing:
            raise self._error(f"{missing[0]} is missing; write {_examples(ways)}", self._at - 1)
        return self._made(ways[0], given | ({"then": tuple(then)} if then else {}), begin)

    def _made(self, shape: _Shape, given: dict[str, Any], begin: int) -> Load:
        try:
            if shape.make is Trace:
                given["points"] = self._read_trace(given["file"])
            return shape.make(**given)
        except LoadError:
            raise
        except InputError as problem:
            raise LoadError(self._text, begin, str(problem)) from None

    def _value(self, kind: Kind) -> float | int | str:
        self._takes("=")
        if kind == "file":
            at = self._blanks()
            found = _FILE.match(self._text, at)
            if found is None:
                raise self._error(f"expected the name of a file, found {self._seen()}")
            self._at = found.end()
            return next(one for one in found.groups() if one is not None)
        return self._count() if kind == "count" else self._number(kind)

    def _count(self) -> int:
        """As it is written: as a float it would lose its last digits."""
        at = self._blanks()
        self._number("count")
        digits = self._text[at : self._at].strip()
        if not digits.isdigit():
            raise self._error("expected a whole number", at)
        if len(digits) > _LONGEST_COUNT:
            raise self._error(f"a whole number of {len(digits):,} digits; {_LONGEST_COUNT} are the most", at)
        return int(digits)

    def _number(self, kind: Kind) -> float:
        at = self._blanks()
        found = _NUMBER.match(self._text, at)
        if found is None:
            raise self._error(f"expected a {kind} from 0 on, found {self._seen()}")
        digits, unit = found.groups()
        units = _UNITS[kind]
        if unit not in units:
            # The word after a bare number belongs to what follows: `step(2k -> 8k @ 60 -> …`, `sine(5 +- 2 every …`.
            if unit in _LEADS:
                unit = ""
                self._at = found.end(1)
            else:
                known = ", ".join(one for one in units if one) or "none"
                raise self._error(f'"{unit}" is no unit of a {kind} ({known})', found.start(2))
        else:
            self._at = found.end()
        return float(digits) * units[unit]

    def _leads(self, lead: str) -> bool:
        """Take the word that leads to a value, if it is there; as a whole."""
        if lead == "+-" and self._takes("±"):
            return True
        at = self._blanks()
        if lead[0].isalpha():
            name = _NAME.match(self._text, at)
            if name is None or name[0] != lead:
                return False
            self._at = name.end()
            return True
        return self._takes(lead)

    def _takes(self, sign: str) -> bool:
        at = self._blanks()
        if not self._text.startswith(sign, at) or (sign == "+" and self._text.startswith("+-", at)):
            return False
        self._at = at + len(sign)
        return True

    def _blanks(self) -> int:
        while self._at < len(self._text) and self._text[self._at].isspace():
            self._at += 1
        return self._at

    def _seen(self) -> str:
        rest = self._text[self._blanks() :]
        return f'"{rest[:20]}{"…" if len(rest) > 20 else ""}"' if rest else "the end"

    def _error(self, why: str, at: int | None = None) -> LoadError:
        return LoadError(self._text, self._blanks() if at is None else at, why)


def _examples(ways: Sequence[_Shape]) -> str:
    return " or ".join(way.example for way in ways)


_LEADS = {value.lead for shape in (*_SHAPES.values(), *_OTHER_WAYS.values()) for value in shape.values}
