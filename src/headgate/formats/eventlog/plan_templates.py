"""Plans that differ from one seen before only in numbers: cut once, and filled in from then on.

A streaming query says nearly the same plan in every batch; what is new are the ids of its accumulators, and numbers
that leave no trace in its fragments. So a plan is known by its text, whatever its digits are, which takes microseconds.
Two texts that are the same but for digits have everything at the same place, so what is remembered of the first is
where each id stands, and its parts with places instead of ids.

Some numbers do show in names (`count by key2`, `WriteToDataSourceV2`): they must be the same ones, or the plan is read
in full. A template is only kept if changing all other digits of the text changes nothing but ids, so whatever comes to
depend on a number later costs speed, not truth. What this cannot see is a name that depends on a number without showing
it: a comparison with a literal number. There is none.
"""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cached_property
from operator import itemgetter
from typing import Any

import msgspec
import numpy as np
from msgspec import Raw

from headgate.formats.eventlog.accumulables import updated_accumulators
from headgate.formats.eventlog.plan_names import node_name
from headgate.formats.eventlog.plans import Part, parts
from headgate.formats.eventlog.sql import PlanNode, read_plan

_DIGITS = b"0123456789"
_LEAST = bytes.maketrans(_DIGITS, b"0" * 10)
_ROOM = np.array([9 if byte in _DIGITS else 0 for byte in range(256)], np.uint8)
"""How far above the least text each byte may be."""
# Every digit becomes another one, and none a zero, which may not stand at the head of a number.
_CHANGE = bytes.maketrans(_DIGITS, b"5234567891")

# Unescaped quotes cannot stand inside a JSON string, so these are keys for sure.
_ID_KEY = b'"accumulatorId"'
_ID = re.compile(_ID_KEY + rb":(\d+)(?=[,}])")
_SAID = re.compile(rb'"(?:nodeName|simpleString)":("[^"\\]*+(?:\\.[^"\\]*+)*+")')
_NUMBER = re.compile(rb"(?<![#\d])\d+")  # `#12` is a number that Spark deals out to a column
_IDS = msgspec.json.Decoder(tuple[int, ...])

_LISTED = b'[{"ID":'
"""How a list of accumulables begins."""

_LONGEST_ID = 19

_MOST = 64
_LONGEST = 256 << 10

_Span = tuple[int, int]


class PlanTemplates:
    """Cuts plans, and remembers the last few kinds of them."""

    def __init__(self, most: int = _MOST) -> None:
        self._most = most
        self._known: dict[int, list[_KnownText]] = {}
        """Length of a text -> those of this length, the length used last at the end."""

    def cut(self, plan: Raw | bytes) -> "CutPlan":
        """The plan, to be asked for its parts, as `plans.parts` cuts it; it has none where it is no plan.

        >>> text = '{"nodeName":"Filter","metrics":[{"name":"number of output rows","accumulatorId":%d}]}'
        >>> templates = PlanTemplates()
        >>> [templates.cut(Raw(text % id)).parts[0].counters for id in (41, 75)]
        [(41,), (75,)]
        """
        text = bytes(plan)
        if len(text) > _LONGEST:
            return CutPlan(text, None)
        template = self._known_as(text).template
        return CutPlan(text, template if template and template.fits(text) else None)

    def _known_as(self, text: bytes) -> "_KnownText":
        as_long = self._known[len(text)] = self._known.pop(len(text), [])
        for known in as_long:
            if known.is_like(text):
                return known
        as_long.append(_KnownText(text))
        while sum(map(len, self._known.values())) > self._most:
            oldest = next(iter(self._known))
            del self._known[oldest][0]
            if not self._known[oldest]:
                del self._known[oldest]
        return as_long[-1]


class _KnownText:
    """A text whose digits may be any."""

    def __init__(self, text: bytes) -> None:
        self._least = np.frombuffer(text.translate(_LEAST), np.uint8)
        self._room = _ROOM[self._least]
        self.template = _template(text)
        """None for a plan that has none."""

    def is_like(self, text: bytes) -> bool:
        """Whether a text of the same length is the same but for digits, which are where digits were.

        >>> known = _KnownText(b"a12")
        >>> [known.is_like(other) for other in (b"a90", b"b12", b"aa2", b"a1:", b"a1/")]
        [True, False, False, False, False]
        """
        # Differences wrap around at 256, so a byte below the least one is far beyond its room.
        within = np.frombuffer(text, np.uint8) - self._least <= self._room
        return b"\0" not in within.tobytes()  # `within.all()`, in less time


class CutPlan:
    """The parts of one plan."""

    def __init__(self, text: bytes, template: "_Template | None") -> None:
        self._text = text
        self._template = template

    @cached_property
    def parts(self) -> tuple[Part, ...]:
        """All of them."""
        filled = self._template.filled(self._text) if self._template else None
        return _cut(self._text) if filled is None else filled

    def carried_out(self, accumulables: Raw) -> Part | None:
        """The part that a task with these accumulables carries out; without the accumulators it was known by.

        It is the one most of whose accumulators the task updated.
        """
        if self._template and (known := self._template.carried_out(self._text, bytes(accumulables))):
            return known
        if not self.parts:
            return None
        updated = updated_accumulators(accumulables)
        found = _with_most(updated, self.parts)
        if found is None:
            return None
        if self._template:
            self._template.learn(self._text, self.parts.index(found), updated)
        return Part(found.fragment, found.counters)


def _with_most(updated: frozenset[int], parts: Iterable[Part]) -> Part | None:
    """The part most of whose accumulators a task updated; of two with as many, the one that has no more.

    The second rule is for caches: a task that only reads one updates as much of "fill and read" as of "read".
    """
    best, most = None, (0, 0)
    for part in parts:
        common = len(updated & part.accumulators)
        if common and (common, -len(part.accumulators)) > most:
            best, most = part, (common, -len(part.accumulators))
    return best


class _Template:
    """The parts of a plan, with an id's place among the ids of its text instead of the id.

    What it learns, too, is a witness for each part: one accumulator of its own that its tasks update. To look for it in
    what a task lists takes a tenth of the time of reading the list. One vote takes the place of a majority then, so
    witnesses are asked only where every part has one, and believed only where one of them is there. Lists are taken to
    be sorted by id, as Spark writes them: a witness below the first id of a list is not looked for.
    """

    def __init__(self, text: bytes, ids: Sequence[_Span], fixed: Sequence[_Span], cut: tuple[Part, ...]) -> None:
        self._spans = [slice(*span) for span in ids]
        self._ids = _all_of(self._spans)
        self._fixed = _all_of([slice(*span) for span in fixed])
        self._fixed_numbers = self._fixed(text)
        self._cut = cut
        self._counters = [_all_of([self._spans[place] for place in part.counters]) for part in cut]
        shared = Counter(place for part in cut for place in part.accumulators)
        self._own = [[place for place in part.accumulators if shared[place] == 1] for part in cut]
        self._witnesses: dict[int, slice] = {}
        """Number of a part -> where the id of its witness stands."""
        # An exchange that is used again stands under each of its users, with the same ids.
        self._ambiguous = b"Reused" in text or len(set(self._ids(text))) < len(ids)
        """Whether an accumulator may be of two parts, or was seen in tasks of two: then no witness is asked."""

    def fits(self, text: bytes) -> bool:
        """Whether a text that is the same but for digits has the same names."""
        return self._fixed(text) == self._fixed_numbers

    def filled(self, text: bytes) -> tuple[Part, ...] | None:
        """The parts of a plan that fits; None if they must be found the long way."""
        ids = _ids(self._ids(text))
        if ids is None:
            return None
        return tuple(
            Part(
                blank.fragment,
                tuple(ids[place] for place in blank.counters),
                frozenset(ids[place] for place in blank.accumulators),
            )
            for blank in self._cut
        )

    def carried_out(self, text: bytes, accumulables: bytes) -> Part | None:
        """The one part of a plan that fits whose witness is in the list; None: it must be found the long way."""
        if self._ambiguous or len(self._witnesses) < len(self._cut):
            return None
        first = accumulables[len(_LISTED) : accumulables.find(b",")]
        if not accumulables.startswith(_LISTED) or not first.isdigit() or len(first) > _LONGEST_ID:
            return None
        least, seen = int(first), -1
        for number, witness in self._witnesses.items():
            id = text[witness]
            # A list is sorted by id, so nothing below its first is in it. Most often, the witness is the first.
            if int(id) >= least and (id == first or accumulables.rfind(b'{"ID":%b,' % id) >= 0):
                if seen >= 0:
                    return None
                seen = number
        if seen < 0:
            return None
        counters = _ids(self._counters[seen](text))
        return None if counters is None else Part(self._cut[seen].fragment, counters)

    def learn(self, text: bytes, number: int, updated: frozenset[int]) -> None:
        """Take note of what a task of a part updated, one that was found the long way."""
        if any(int(text[witness]) in updated for other, witness in self._witnesses.items() if other != number):
            self._ambiguous = True
        seen = [self._spans[place] for place in self._own[number] if int(text[self._spans[place]]) in updated]
        if seen:
            self._witnesses[number] = min(seen, key=lambda span: int(text[span]))  # the first in a list is found first


def _ids(written: Iterable[bytes]) -> tuple[int, ...] | None:
    """Ids as they are written; None if one is no number in JSON: 007 is like 123, but none.

    >>> _ids([b"12", b"345"]), _ids([b"12", b"007"])
    ((12, 345), None)
    """
    try:
        return _IDS.decode(b"[%b]" % b",".join(written))
    except msgspec.MsgspecError:
        return None


def _all_of(places: Sequence[int] | Sequence[slice]) -> Callable[[Any], tuple[Any, ...]]:
    """What takes a sequence apart: what stands at all these places in it, without a step of Python for each.

    >>> _all_of([slice(0, 2), slice(1, 3)])(b"abc"), _all_of([1])("abc"), _all_of([])("abc")
    ((b'ab', b'bc'), ('b',), ())
    """
    if len(places) > 1:
        return itemgetter(*places)
    return lambda sequence: tuple([sequence[place] for place in places])


def _template(text: bytes) -> _Template | None:
    """The template of a plan; None if it has numbers nobody can tell the meaning of."""
    plan = read_plan(Raw(text))
    ids = [id.span(1) for id in _ID.finditer(text)]
    # Escapes are written with digits: other digits are another letter.
    if plan is None or len(ids) != text.count(_ID_KEY) or rb"\u" in text:
        return None
    try:
        fixed = list(_shown_numbers(text, plan))
    except (msgspec.MsgspecError, ValueError):  # a text that is none, in a part of the plan that nobody reads
        return None
    kept = [(span, text[slice(*span)]) for span in fixed]
    places = [(span, b"%d" % place) for place, span in enumerate(ids)]
    template = _Template(text, ids, fixed, _cut(_replaced(text.translate(_CHANGE), kept + places)))
    return template if template.filled(text) == parts(plan) else None


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


def _cut(text: bytes) -> tuple[Part, ...]:
    plan = read_plan(Raw(text))
    return () if plan is None else parts(plan)
