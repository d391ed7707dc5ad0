"""Rows of Arrow as JSON objects, a text each, without a Python object for any row.

What a row lacks its object lacks too. Moments are written as Spark reads them: `2015-07-15T00:00:00.000100Z`.
"""

from collections.abc import Iterable

import pyarrow as pa
import pyarrow.compute as pc

_SECOND = 1_000_000
_TO_ESCAPE = r'["\\\x00-\x1f]'


def json_rows(rows: pa.RecordBatch) -> pa.StringArray:
    r"""An object for each row.

    >>> bid = pa.array([{"price": 7, "by": 'a "b"'}, None])
    >>> json_rows(pa.RecordBatch.from_arrays([pa.array([1, 2]), bid], names=["number", "bid"])).to_pylist()
    ['{"number":1,"bid":{"price":7,"by":"a \\"b\\""}}', '{"number":2}']
    """
    return _objects(rows.schema.names, rows.columns)


def _objects(names: Iterable[str], columns: Iterable[pa.Array]) -> pa.StringArray:
    fields = [
        pc.binary_join_element_wise(f',"{name}":', _values(column), "")
        for name, column in zip(names, columns, strict=True)
    ]
    # Not null_handling="skip": of a row in which all are missing, that leaves out the row.
    joined = pc.binary_join_element_wise(*fields, "", null_handling="replace", null_replacement="")
    return pc.binary_join_element_wise("{", pc.utf8_slice_codeunits(joined, 1), "}", "")


def _values(column: pa.Array) -> pa.StringArray:
    """Each value as JSON; nothing where there is nothing."""
    kind = column.type
    if pa.types.is_struct(kind):
        objects = _objects([kind.field(place).name for place in range(kind.num_fields)], column.flatten())
        return pc.if_else(column.is_valid(), objects, pa.scalar(None, pa.string()))
    if pa.types.is_timestamp(kind):
        return pc.binary_join_element_wise('"', *_moments(column), 'Z"', "")
    if pa.types.is_string(kind):
        return pc.binary_join_element_wise('"', _escaped(column), '"', "")
    if pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_boolean(kind):
        return column.cast(pa.string())
    raise TypeError(f"a column of {kind} has no form in JSON here")


def _moments(column: pa.Array) -> tuple[pa.Array, pa.Array]:
    """Each up to its second, and from there. Many share a second, and to write a date takes a microsecond."""
    since = column.cast(pa.timestamp("us", tz="UTC")).cast(pa.int64())
    whole = pc.divide(since, _SECOND)  # no event of ours is before 1970: toward zero is down
    seconds = pc.dictionary_encode(whole)
    dates = pc.strftime(seconds.dictionary.cast(pa.timestamp("s", tz="UTC")), format="%Y-%m-%dT%H:%M:%S.")
    within = pc.add(pc.subtract(since, pc.multiply(whole, _SECOND)), _SECOND).cast(pa.string())
    return dates.take(seconds.indices), pc.utf8_slice_codeunits(within, 1)


def _escaped(texts: pa.StringArray) -> pa.StringArray:
    """Text as it stands between quotes; texts of generators have nothing to escape, which is seen in one pass."""
    if not pc.any(pc.match_substring_regex(texts, _TO_ESCAPE)).as_py():
        return texts
    texts = pc.replace_substring(pc.replace_substring(texts, "\\", "\\\\"), '"', '\\"')
    for code in range(32):
        texts = pc.replace_substring(texts, chr(code), f"\\u{code:04x}")
    return texts
