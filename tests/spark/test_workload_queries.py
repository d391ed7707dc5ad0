"""Queries of NexMark and of price search on a stream give what their definitions give on the same events at rest.

Some of them, on few events; all of them, on 100,000 events and several numbers of partitions: `make verify-workloads`.
"""

import pytest

import few_events
from comparable_rows import in_order
from headgate.workloads.nexmark.events import SCHEMA
from headgate.workloads.psm.queries.q2 import median_of_last
from headgate.workloads.query import Query
from workload_streams import WORKLOADS, ready_for_workloads, streamed, streamed_and_true

ROWS = 20_000


@pytest.fixture(scope="module")
def ready(spark):
    with ready_for_workloads(spark):
        yield spark


# One of each kind: two stages of state, a window, processing time, a ranking, a co-group, a list in state. All queries,
# on other numbers of partitions too, are in `make verify-workloads`.
@pytest.mark.parametrize(
    ("workload", "query"),
    [
        ("nexmark", "q4"),
        ("nexmark", "q5"),
        ("nexmark", "q12"),
        ("nexmark", "q19"),
        ("psm", "q2"),
        ("cars", "top-speed"),
    ],
    ids=str,
)
def test_a_query_stopped_and_started_again_gives_what_its_definition_gives_at_rest(ready, tmp_path, workload, query):
    of = WORKLOADS[workload]
    found, true = streamed_and_true(ready, of, of.queries[query], tmp_path, ROWS, partitions=3)
    assert found == true
    assert found


@pytest.mark.parametrize("query", ["q23", "q23-bounded"])
def test_bids_of_those_who_sell_too_are_those_that_are_found_by_hand(ready, query):
    found = WORKLOADS["nexmark"].queries[query].of(ready.createDataFrame(few_events.rows(), SCHEMA)).collect()
    assert in_order(found) == in_order(few_events.TRUE[query])


@pytest.mark.parametrize("query", ["q3", "q20", "q23"])
def test_a_bound_leaves_pairs_out_and_keeps_others(query):
    nexmark = WORKLOADS["nexmark"]
    database = nexmark.at_rest(ROWS, nexmark.rate(ROWS, f"{query}-bounded"), {})
    all_pairs, near = (
        len(database.execute(nexmark.reference[name]).fetchall()) for name in (query, f"{query}-bounded")
    )
    assert 0.1 * all_pairs < near < 0.9 * all_pairs


def test_a_bounded_join_forgets_what_is_too_old(ready, tmp_path):
    nexmark = WORKLOADS["nexmark"]
    reader = ready.readStream.format("nexmark").options(rows=ROWS, rows_per_batch=ROWS // 4, event_rate=100)
    writer = nexmark.queries["q20-bounded"].of(reader.load()).writeStream.format("noop")
    query = writer.option("checkpointLocation", str(tmp_path)).trigger(availableNow=True).start()
    assert query.awaitTermination(300)
    (kept,) = query.lastProgress.stateOperators
    # The last auction is event 19,953, and the last batch has no events: the watermark is 4 s before that auction, and
    # what is 10 s older than the watermark is gone. 14 s are 1,400 events, so 18,553 is the first that stays: 29 times
    # 46 bids, and of 85 auctions those of category 10. (At the edge itself one may be there or not.)
    assert 29 * 46 - 1 <= kept.numRowsTotal <= 29 * 46 + 85


def test_a_window_by_count_forgets_what_is_too_old(ready, tmp_path):
    psm, rows = WORKLOADS["psm"], 4000
    query = Query("q2-small", "", lambda events: median_of_last(events, last=100, every=10))
    found = streamed(ready, psm, query, tmp_path, rows, {"products": 2, "event_rate": 10})
    smaller = psm.reference["q2"].replace("10000", "100").replace("1000", "10")
    database = psm.at_rest(rows, 10, {"products": 2})
    assert found == sorted(database.execute(smaller).fetchall(), key=str)


def test_every_query_is_there_and_all_but_the_one_by_the_clock_have_a_reference():
    nexmark, psm = WORKLOADS["nexmark"], WORKLOADS["psm"]
    assert list(nexmark.queries)[:24] == [f"q{number}" for number in range(24)]
    assert set(nexmark.queries) - set(nexmark.reference) == {"q12"}
    assert list(psm.queries) == list(psm.reference) == [f"q{number}" for number in range(1, 6)]
