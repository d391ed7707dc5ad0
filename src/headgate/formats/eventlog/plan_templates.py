"""Plans that differ from one seen before only in numbers: cut once, and filled in from then on.

A streaming query says nearly the same plan in every batch; what is new are the ids of its accumulators, and numbers
that leave no trace in its fragments. So a plan is known by its text with every digit masked, which takes microseconds.
Two texts that mask to the same have everything at the same place, so what is remembered of the first is where each id
stands, and its fragments with places instead of ids.

Some numbers do show in names (`count by key2`, `WriteToDataSourceV2`): they must be the same ones, or the plan is read
in full. A template is only kept if changing all other digits of the text changes nothing but ids, so whatever comes to
depend on a number later costs speed, not truth. What this cannot see is a name that depends on a number without showing
it: a comparison with a literal number. There is none.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from operator import itemgetter
from typing import Any

import msgspec
from msgspec import Raw

from headgate.formats.eventlog.plan_names import node_name
from headgate.formats.eventlog.plans import Fragment, fragments
from headgate.formats.eventlog.sql import PlanNode, read_plan

_DIGITS = b"0123456789"
_MASK = bytes.maketrans(_DIGITS, b"0" * 10)
# Every digit becomes another one, and none a zero, which may not stand at the head of a number.
_CHANGE = bytes.maketrans(_DIGITS, b"5234567891")

# Unescaped quotes cannot stand inside a JSON string, so these are keys for sure.
_ID_KEY = b'"accumulatorId"'
_ID = re.compile(_ID_KEY + rb":(\d+)(?=[,}])")
_SAID = re.compile(rb'"(?:nodeName|simpleString)":("[^"\\]*+(?:\\.[^"\\]*+)*+")')
_NUMBER = re.compile(rb"(?<![#\d])\d+")  # `#12` is a number that Spark deals out to a column
_IDS = msgspec.json.Decoder(list[int])

_MOST = 64
_LONGEST = 256 << 10

_Span = tuple[int, int]


class PlanTemplates:
    """Cuts plans, and remembers the last few kinds of them."""

    def __init__(self, most: int = _MOST) -> None:
        self._most = most
        self._known: dict[bytes, _Template | None] = {}
        """Masked text -> its template, the one used last at the end; None for a plan that has none."""

    def fragments(self, plan: Raw) -> tuple[Fragment, ...]:
        """The fragments of a plan, as `plans.fragments` cuts it; none where it is no plan.

        >>> text = '{"nodeName":"Filter","metrics":[{"name":"number of output rows","accumulatorId":%d}]}'
        >>> templates = PlanTemplates()
        >>> [templates.fragments(Raw(text % id))[0].rows[0].accumulator for id in (41, 75)]
        [41, 75]
        """
        text = bytes(plan)
        if len(text) > _LONGEST:
            return _cut(text)
        masked = text.translate(_MASK)
        if masked in self._known:
            template = self._known[masked] = self._known.pop(masked)
            filled = template.filled(text) if template else None
            return _cut(text) if filled is None else filled
        cut = _cut(text)
        self._known[masked] = _template(text, cut)
        if len(self._known) > self._most:
            del self._known[next(iter(self._known))]
        return cut


class _Template:
    """The fragments of a plan, with an id's place among the ids of its text instead of the id."""

    def __init__(self, text: bytes, ids: Sequence[_Span], fixed: Sequence[_Span], cut: tuple[Fragment, ...]) -> None:
        self._ids = _all_of([slice(*span) for span in ids])
        self._fixed = _all_of([slice(*span) for span in fixed])
        self._fixed_numbers = self._fixed(text)
        self._cut = [(fragment, _all_of([*fragment.accumulators])) for fragment in cut]

    def filled(self, text: bytes) -> tuple[Fragment, ...] | None:
        """The fragments of a plan that masks to the same; None if they must be found the long way."""
        if self._fixed(text) != self._fixed_numbers:
            return None
        try:
            ids = _IDS.decode(b"[%b]" % b",".join(self._ids(text)))
        except msgspec.MsgspecError:  # 007 masks to the same as 123, but is no number in JSON
            return None
        return tuple([_with_ids(blank, frozenset(accumulators(ids)), ids) for blank, accumulators in self._cut])


def _with_ids(blank: Fragment, accumulators: frozenset[int], ids: Sequence[int]) -> Fragment:
    rows = tuple([row._replace(accumulator=ids[row.accumulator]) for row in blank.rows])
    return blank._replace(accumulators=accumulators, rows=rows)


def _all_of(places: Sequence[int] | Sequence[slice]) -> Callable[[Any], tuple[Any, ...]]:
    """What takes a sequence apart: what stands at all these places in it, without a step of Python for each.

    >>> _all_of([slice(0, 2), slice(1, 3)])(b"abc"), _all_of([1])("abc"), _all_of([])("abc")
    ((b'ab', b'bc'), ('b',), ())
    """
    if len(places) > 1:
        return itemgetter(*places)
    return lambda sequence: tuple([sequence[place] for place in places])


def _template(text: bytes, cut: tuple[Fragment, ...]) -> _Template | None:
    """The template of a plan that was cut like this; None if it has numbers nobody can tell the meaning of."""
    plan = read_plan(Raw(text))
    ids = [id.span(1) for id in _ID.finditer(text)]
    # Escapes are written with digits: a mask would take one letter for another.
    if plan is None or len(ids) != text.count(_ID_KEY) or rb"\u" in text:
        return None
    fixed = list(_shown_numbers(text, plan))
    kept = [(span, text[slice(*span)]) for span in fixed]
    places = [(span, b"%d" % place) for place, span in enumerate(ids)]
    template = _Template(text, ids, fixed, _cut(_replaced(text.translate(_CHANGE), kept + places)))
    return template if template.filled(text) == cut else None


def _shown_numbers(text: bytes, plan: PlanNode) -> Iterator[_Span]:
    """Where the numbers stand that names are made with."""
    shown = {node.node_name for node in _nodes(plan)}
    shown |= {node.simple_string for node in _nodes(plan) if re.search("[0-9]", node_name(node))}
    for said in _SAID.finditer(text):
        if msgspec.json.decode(said[1]) in shown:
            yield from (number.span() for number in _NUMBER.finditer(text, *said.span(1)))


def _nodes(root: PlanNode) -> Iterator[PlanNode]:
    todo = [root]
    while todo:
        node = todo.pop()
        yield node
        todo += node.children


def _replaced(text: bytes, replacements: Iterable[tuple[_Span, bytes]]) -> bytes:
    """The text with other bytes in some places.

    >>> _replaced(b"0123456", [((5, 6), b"five"), ((1, 3), b"-")])
    b'0-34five6'
    """
    pieces, at = [], 0
    for (start, end), new in sorted(replacements):
        pieces += [text[at:start], new]
        at = end
    return b"".join([*pieces, text[at:]])


def _cut(text: bytes) -> tuple[Fragment, ...]:
    plan = read_plan(Raw(text))
    return () if plan is None else fragments(plan)
