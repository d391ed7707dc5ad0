"""What `headgate state` says about state, and about what was done to it."""

from pathlib import Path

import pytest
from msgspec.structs import replace

from headgate.cli.state_page import rewritten_page, state_page
from headgate.model.state_files import BinFiles, CheckpointState, StateOperator

# Three bins of nearly one size on disk, with rows that are not even: 6 of 12 in one is 1.5 times a third.
# By bytes: 1,040 of 3,000, which is 1.04 times a third.
BINS = tuple(BinFiles(n, 1, 0, size, 0) for n, size in enumerate((1040, 980, 980)))
STATE = CheckpointState(
    "checkpoint", "q", "rocksdb", "RocksDBStateStoreProvider", 3, 5, 5, None,
    (StateOperator(0, "stateStoreSave", ("default",), BINS),),
)  # fmt: skip


def counted(state, *rows):
    (operator,) = state.operators
    bins = tuple(replace(one, rows=count) for one, count in zip(operator.bins, rows, strict=True))
    return replace(state, operators=(replace(operator, bins=bins),))


def test_how_uneven_bins_are_is_said_by_what_it_was_measured():
    quick = next(line for line in state_page(STATE) if line.startswith("operator"))
    assert quick.endswith("stateStoreSave: largest bin 1.04 of an even share by bytes; rows are not counted")
    slow = next(line for line in state_page(counted(STATE, 6, 3, 3)) if line.startswith("operator"))
    assert slow.endswith("stateStoreSave: largest bin 1.50 of an even share by rows")


def test_the_estimate_leaves_out_what_spark_needs_to_start():
    # To read it, three times: 0.45 s and three bins of 0.04 s on two slots, 0.51 s each. To write it: three bins of
    # 0.12 s on two slots, 0.18 s. Together 1.71 s; bytes and rows add next to nothing.
    assert state_page(STATE)[-1] == (
        "to cut it into about as many bins takes about 2 s beside what Spark needs to start, with the query stopped; "
        "far more bins take longer"
    )


class TestRewritten:
    """What is printed when a rewrite is over."""

    @pytest.fixture
    def done(self):
        rewriting = pytest.importorskip("headgate.spark.rewriting")
        phases = (rewriting.Phase("read before", 11.9), rewriting.Phase("read after", 6.4))
        return rewriting.Rewritten(42, 2, 5, 37, 3000, 1.0, phases, Path("checkpoint.backup-42"))

    def test_a_rewrite_is_said_to_be_one(self, done):
        assert rewritten_page("checkpoint", done) == [
            "2 -> 5 bins in 18.3 s; 37 rows, the same before and after",
            "  read before    11.9 s",
            "  read after      6.4 s",
            "to take it back, before the query goes on: headgate state undo checkpoint",
            "a backup without a copy (hard links) is in checkpoint.backup-42; delete it when the query has gone on",
        ]

    def test_one_that_was_only_compared_is_not(self, done):
        said = rewritten_page("checkpoint", done._replace(done_before=True, backup=None))
        assert said[0] == (
            "nothing was rewritten: batch 42 is the rewrite from 2 into 5 bins; 37 rows, the same before and after it, "
            "compared in 18.3 s"
        )

    def test_before_it_begins_each_part_has_its_time(self):
        rewriting = pytest.importorskip("headgate.spark.rewriting")
        assert rewriting.outlook(STATE, 37, 11.94, 1.0) == (
            "37 rows, 0.0 MB in 3 bins, read in 11.9 s; afterwards they are read once more, before that about 1 s to "
            "rewrite"
        )
