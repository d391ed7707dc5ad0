"""A few of a task's accumulators, out of the many that it reports.

    [{"ID":124,"Name":"time to start Python workers","Update":"3765","Value":"3765",…},{"ID":254,…,"Update":2485,…},…]

Looking for `{"ID":124,` as bytes is faster than reading the list, and just as sure: inside a JSON string its quotes
would be escaped. Spark sorts the list by id (3.5, 4.0 and 4.3 all do), so one pass finds any number of ids that are
there; each that is not costs another, so ask for those of the task's own stage. The pass goes backwards, because
Python's search from the right looks for the first byte, a rare brace, and takes half the time of the one from the
left, which looks for the last, a comma. A list that does not begin the way Spark's do is read in full.

Rejected: a binary or interpolated search (more Python than it saves, slower in measurements), and one regular
expression for all ids (faster, but compiling it for every batch costs more than it saves unless a batch is large).
"""

import re
from collections.abc import Callable, Collection

import msgspec
from msgspec import Raw, field

# What follows the id in Spark's own order; SQL metrics are numbers written as text.
_NAME = rb'(?:"Name":"[^"\\]*+(?:\\.[^"\\]*+)*+",)?'
_WHOLE_NUMBER = rb'"?(-?\d{1,19})"?[,}]'
_UPDATE = re.compile(_NAME + rb'"Update":' + _WHOLE_NUMBER)
_TOTAL = re.compile(_NAME + rb'"Value":' + _WHOLE_NUMBER)
_SPARKS_WAY = b'[{"ID":'
_UNREADABLE = (msgspec.MsgspecError, ValueError, RecursionError)


class _Accumulable(msgspec.Struct, frozen=True, gc=False):
    id: int = field(name="ID")
    update: Raw = field(name="Update", default=Raw())
    total: Raw = field(name="Value", default=Raw())


class _Id(msgspec.Struct, frozen=True, gc=False):
    id: int = field(name="ID")


_IDS = msgspec.json.Decoder(list[_Id])
_ACCUMULABLES = msgspec.json.Decoder(list[_Accumulable])


def accumulator_updates(accumulables: Raw, ids: Collection[int]) -> dict[int, int]:
    """What the task added to each of these accumulators; left out are those it did not add a whole number to.

    >>> text = b'[{"ID":7,"Name":"rows","Update":"12","Value":"40"},{"ID":9,"Name":"x","Update":5,"Value":5}]'
    >>> accumulator_updates(Raw(text), {7, 9, 11})
    {9: 5, 7: 12}
    """
    return _look_up(accumulables, ids, _UPDATE, lambda one: one.update)


def accumulator_totals(accumulables: Raw, ids: Collection[int]) -> dict[int, int]:
    """What each of these accumulators has come to, as a stage says when it is over.

    >>> accumulator_totals(Raw(b'[{"ID":7,"Name":"rows","Value":"40","Internal":true}]'), {7, 9})
    {7: 40}
    """
    return _look_up(accumulables, ids, _TOTAL, lambda one: one.total)


def updated_accumulators(accumulables: Raw) -> frozenset[int]:
    """All accumulators a task lists, which are those it updated. Reads the whole list: ask one task of a stage.

    >>> sorted(updated_accumulators(Raw(b'[{"ID":9,"Update":"12"},{"ID":7,"Update":5}]')))
    [7, 9]
    """
    try:
        return frozenset([one.id for one in _IDS.decode(accumulables)]) if bytes(accumulables) else frozenset()
    except _UNREADABLE:
        return frozenset()


def _look_up(
    accumulables: Raw, ids: Collection[int], figure: re.Pattern[bytes], read: Callable[[_Accumulable], Raw]
) -> dict[int, int]:
    text = bytes(accumulables)
    if not text.startswith(_SPARKS_WAY):
        return _read_in_full(text, ids, read)
    found: dict[int, int] = {}
    before = len(text)
    for id in sorted(ids, reverse=True):
        entry = b'{"ID":%d,' % id
        start = text.rfind(entry, 0, before)
        if start >= 0:
            before = start
            if value := figure.match(text, start + len(entry)):
                found[id] = int(value[1])
    return found


def _read_in_full(text: bytes, ids: Collection[int], read: Callable[[_Accumulable], Raw]) -> dict[int, int]:
    try:
        listed = _ACCUMULABLES.decode(text) if text else []
    except _UNREADABLE:
        return {}
    found = {}
    for one in listed:
        value = bytes(read(one)).strip(b'"')
        if one.id in ids and re.fullmatch(rb"-?\d{1,19}", value):
            found[one.id] = int(value)
    return found
