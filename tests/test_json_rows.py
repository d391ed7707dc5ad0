"""Rows written as JSON are what they were when read again."""

import json
from datetime import UTC, datetime, timedelta

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from headgate.workloads.json_rows import json_rows
from headgate.workloads.nexmark.events import Settings, events

MOMENTS = st.integers(0, 2**52).map(lambda since: datetime.fromtimestamp(0, UTC) + timedelta(microseconds=since))
PEOPLE = st.fixed_dictionaries({"name": st.text() | st.none(), "born": MOMENTS | st.none()})
ROWS = st.lists(
    st.fixed_dictionaries(
        {
            "number": st.integers(-(2**63), 2**63 - 1) | st.none(),
            "speed": st.floats(allow_nan=False, allow_infinity=False) | st.none(),
            "text": st.text() | st.none(),
            "person": PEOPLE | st.none(),
        }
    ),
    min_size=1,
    max_size=8,
)
MOMENT = pa.timestamp("us", tz="UTC")
PERSON = pa.struct([("name", pa.string()), ("born", MOMENT)])
SCHEMA = pa.schema([("number", pa.int64()), ("speed", pa.float64()), ("text", pa.string()), ("person", PERSON)])


def read_again(text):
    """The row an object stands for, what it lacks as nothing."""
    row = dict.fromkeys(SCHEMA.names) | json.loads(text)
    if row["person"] is not None:
        row["person"] = {"name": None, "born": None} | row["person"]
        if row["person"]["born"] is not None:
            row["person"]["born"] = datetime.fromisoformat(row["person"]["born"])
    return row


@given(ROWS)
def test_any_row_comes_back_as_it_was(rows):
    batch = pa.RecordBatch.from_pylist(rows, SCHEMA)
    assert [read_again(text) for text in json_rows(batch).to_pylist()] == rows


def test_nexmarks_events_come_back_as_they_were():
    batch = events(np.arange(500, dtype=np.uint64), Settings())
    for text, row in zip(json_rows(batch).to_pylist(), batch.to_pylist(), strict=True):
        found = json.loads(text)
        kind = next(name for name in ("person", "auction", "bid") if row[name] is not None)
        assert set(found) == {"number", "event_type", "dateTime", kind}
        assert datetime.fromisoformat(found[kind]["dateTime"]) - row[kind]["dateTime"] == timedelta(0)
        assert found[kind]["extra"] == row[kind]["extra"]


def test_a_column_without_a_form_is_refused_by_its_type():
    with pytest.raises(TypeError, match="list"):
        json_rows(pa.RecordBatch.from_pylist([{"many": [1, 2]}]))
