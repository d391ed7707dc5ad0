"""The definitions that queries of NexMark are held to, on events whose answers are found by hand.

No Spark: tests/spark/test_workload_queries.py has it.
"""

import pytest

import few_events
from comparable_rows import in_order
from nexmark_reference import REFERENCE, in_tables


@pytest.mark.parametrize("query", list(few_events.TRUE))
def test_a_definition_gives_what_is_found_by_hand(query):
    found = in_tables(few_events.table()).execute(REFERENCE[query]).fetchall()
    assert in_order(found) == in_order(few_events.TRUE[query])
