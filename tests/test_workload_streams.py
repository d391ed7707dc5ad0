"""What of a query's rows is compared with its definition, by batches that are written by hand. No Spark."""

import json

import pytest

from headgate.workloads.nexmark.queries.registry import QUERIES
from workload_streams import WORKLOADS, batch_ends, by_definition, events_known, standing


def test_what_stands_is_told_after_each_batch_and_not_only_in_the_end():
    batches = {1: [("b", 2, "wrong"), ("a", 1, "one")], 0: [("a", 1, "none")], 2: [], 3: [("b", 2, "right")]}
    assert standing(batches, keys=2) == [
        (0, "a", 1, "none"),
        (1, "a", 1, "one"),
        (1, "b", 2, "wrong"),
        (2, "a", 1, "one"),
        (2, "b", 2, "wrong"),
        (3, "a", 1, "one"),
        (3, "b", 2, "right"),
    ]


def test_two_rows_of_one_key_in_one_batch_are_an_error():
    with pytest.raises(AssertionError, match="batch 5 has several rows of one key"):
        standing({4: [("a", 1)], 5: [("a", 2), ("a", 3)]}, keys=1)


def test_how_far_each_batch_went_is_read_from_the_log_in_the_order_of_batches(tmp_path):
    logs = tmp_path / "checkpoint" / "offsets"
    logs.mkdir(parents=True)
    for batch in range(11):
        reached = json.dumps({"number": batch * 100, "began": 7.0})
        (logs / str(batch)).write_text(f'v1\n{{"batchTimestampMs":1}}\n{reached}')
    (logs / ".3.crc").write_bytes(b"\xff")
    assert batch_ends(tmp_path) == list(range(0, 1100, 100))


def test_a_query_by_the_watermark_knows_what_the_batch_before_had_read():
    ends = [50, 100, 100]  # the last one reads nothing, and brings what the watermark has passed
    assert events_known(QUERIES["q4"], ends) == [0, 50, 100]
    assert events_known(QUERIES["q17"], ends) == [50, 100, 100]


def test_a_definition_is_asked_about_the_first_events_alone():
    nexmark, q4 = WORKLOADS["nexmark"], QUERIES["q4"]
    first, later = (dict(by_definition(nexmark, q4, rows, 500.0, {})) for rows in (10_000, 20_000))
    assert by_definition(nexmark, q4, 0, 500.0, {}) == []
    # The five categories, and all of their averages move with the auctions that are won in between.
    assert sorted(first) == sorted(later) == [10, 11, 12, 13, 14]
    assert all(first[category] != later[category] for category in first)
