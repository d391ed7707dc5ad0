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
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cached_property
from operator import itemgetter
from typing import Any

import msgspec
from msgspec import Raw

from headgate.formats.eventlog.accumulables import updated_accumulators
from headgate.formats.eventlog.plan_names import node_name
from headgate.formats.eventlog.plans import Fragment, NodeRows, fragments
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

    def cut(self, plan: Raw) -> "CutPlan":
        """The plan, to be asked for its fragments, as `plans.fragments` cuts it; it has none where it is no plan.

        >>> text = '{"nodeName":"Filter","metrics":[{"name":"number of output rows","accumulatorId":%d}]}'
        >>> templates = PlanTemplates()
        >>> [templates.cut(Raw(text % id)).fragments[0].rows[0].accumulator for id in (41, 75)]
        [41, 75]
        """
        text = bytes(plan)
        if len(text) > _LONGEST:
            return CutPlan(text, None)
        masked = text.translate(_MASK)
        if masked in self._known:
            template = self._known[masked] = self._known.pop(masked)
        else:
            template = self._known[masked] = _template(text)
            if len(self._known) > self._most:
                del self._known[next(iter(self._known))]
        return CutPlan(text, template if template and template.fits(text) else None)


class CutPlan:
    """The fragments of one plan."""

    def __init__(self, text: bytes, template: "_Template | None") -> None:
        self._text = text
        self._template = template

    @cached_property
    def fragments(self) -> tuple[Fragment, ...]:
        """All of them."""
        filled = self._template.filled(self._text) if self._template else None
        return _cut(self._text) if filled is None else filled

    def carried_out(self, accumulables: Raw) -> Fragment | None:
        """The fragment that a task with these accumulables carries out; without the accumulators it was known by.

        It is the one most of whose accumulators the task updated.
        """
        if self._template and (known := self._template.carried_out(self._text, bytes(accumulables))):
            return known
        if not self.fragments:
            return None
        updated = updated_accumulators(accumulables)
        found = _with_most(updated, self.fragments)
        if found is None:
            return None
        if self._template:
            self._template.learn(self._text, self.fragments.index(found), updated)
        return found._replace(accumulators=frozenset())


def _with_most(updated: frozenset[int], fragments: Iterable[Fragment]) -> Fragment | None:
    """The fragment most of whose accumulators a task updated; of two with as many, the one that has no more.

    The second rule is for caches: a task that only reads one updates as much of "fill and read" as of "read".
    """
    best, most = None, (0, 0)
    for fragment in fragments:
        common = len(updated & fragment.accumulators)
        if common and (common, -len(fragment.accumulators)) > most:
            best, most = fragment, (common, -len(fragment.accumulators))
    return best


class _Template:
    """The fragments of a plan, with an id's place among the ids of its text instead of the id.

    What it learns, too, is a witness for each fragment: one accumulator of its own that its tasks update. To look for
    it in what a task lists takes a tenth of the time of reading the list. One vote takes the place of a majority then,
    so witnesses are asked only where every fragment has one, and believed only where one of them is there.
    """

    def __init__(self, text: bytes, ids: Sequence[_Span], fixed: Sequence[_Span], cut: tuple[Fragment, ...]) -> None:
        self._spans = [slice(*span) for span in ids]
        self._ids = _all_of(self._spans)
        self._fixed = _all_of([slice(*span) for span in fixed])
        self._fixed_numbers = self._fixed(text)
        self._cut = [(fragment, _all_of([*fragment.accumulators])) for fragment in cut]
        self._rows = [_all_of([self._spans[row.accumulator] for row in fragment.rows]) for fragment in cut]
        shared = Counter(place for fragment in cut for place in fragment.accumulators)
        self._own = [[place for place in fragment.accumulators if shared[place] == 1] for fragment in cut]
        self._witnesses: dict[int, slice] = {}
        """Number of a fragment -> where the id of its witness stands."""
        # An exchange that is used again stands under each of its users, with the same ids.
        self._ambiguous = b"Reused" in text or len(set(self._ids(text))) < len(ids)
        """Whether an accumulator may be of two fragments, or was seen in tasks of two: then no witness is asked."""

    def fits(self, text: bytes) -> bool:
        """Whether a text that masks to the same has the same names."""
        return self._fixed(text) == self._fixed_numbers

    def filled(self, text: bytes) -> tuple[Fragment, ...] | None:
        """The fragments of a plan that fits; None if they must be found the long way."""
        try:
            ids = _IDS.decode(b"[%b]" % b",".join(self._ids(text)))
        except msgspec.MsgspecError:  # 007 masks to the same as 123, but is no number in JSON
            return None
        return tuple(
            [
                _with_ids(blank, frozenset(accumulators(ids)), [ids[row.accumulator] for row in blank.rows])
                for blank, accumulators in self._cut
            ]
        )

    def carried_out(self, text: bytes, accumulables: bytes) -> Fragment | None:
        """The one fragment of a plan that fits whose witness is in the list; None: it must be found the long way."""
        if self._ambiguous or len(self._witnesses) < len(self._cut):
            return None
        seen = [
            number
            for number, witness in self._witnesses.items()
            if accumulables.rfind(b'{"ID":%b,' % text[witness]) >= 0
        ]
        if len(seen) != 1:
            return None
        ids = self._rows[seen[0]](text)
        if any(id.startswith(b"0") for id in ids):
            return None
        return _with_ids(self._cut[seen[0]][0], frozenset(), map(int, ids))

    def learn(self, text: bytes, number: int, updated: frozenset[int]) -> None:
        """Take note of what a task of a fragment updated, one that was found the long way."""
        if any(int(text[witness]) in updated for other, witness in self._witnesses.items() if other != number):
            self._ambiguous = True
        seen = [self._spans[place] for place in self._own[number] if int(text[self._spans[place]]) in updated]
        if seen:
            self._witnesses[number] = max(seen, key=lambda span: int(text[span]))  # lists are searched from their ends


def _with_ids(blank: Fragment, accumulators: frozenset[int], ids: Iterable[int]) -> Fragment:
    rows = tuple([NodeRows(row.node, id, row.again) for row, id in zip(blank.rows, ids, strict=True)])
    name, stateful, inputs, _, _, *rest = blank  # by their places: `_replace` takes three times as long
    return Fragment._make((name, stateful, inputs, accumulators, rows, *rest))


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
    # Escapes are written with digits: a mask would take one letter for another.
    if plan is None or len(ids) != text.count(_ID_KEY) or rb"\u" in text:
        return None
    fixed = list(_shown_numbers(text, plan))
    kept = [(span, text[slice(*span)]) for span in fixed]
    places = [(span, b"%d" % place) for place, span in enumerate(ids)]
    template = _Template(text, ids, fixed, _cut(_replaced(text.translate(_CHANGE), kept + places)))
    return template if template.filled(text) == fragments(plan) else None


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
