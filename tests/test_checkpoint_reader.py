"""What a checkpoint's files say about its state."""

import json

import msgspec
import pytest

from checkpoint_files import IN_MEMORY, Checkpoint, broken, rewritable, snapshot
from headgate.cli.main import main
from headgate.model.errors import InputError
from headgate.runtime.entries import Seen
from headgate.runtime.journal import Journal
from headgate.simulation.virtual_spark import VirtualJob, VirtualOperator, VirtualSpark


def test_a_bin_is_its_newest_snapshot_with_the_files_it_needs_and_the_changes_after_it(checkpoint):
    checkpoint.commit(11, bins=1)
    checkpoint.operator(0, "stateStoreSave", ["default"], bins=1)
    checkpoint.write("state/0/0/3.zip", snapshot(9_999))
    whole = snapshot(1_000, 500)
    checkpoint.write("state/0/0/10.zip", whole)
    checkpoint.write("state/0/0/10.changelog", b"x" * 70)
    checkpoint.write("state/0/0/11.changelog", b"x" * 30)
    checkpoint.write("state/0/0/12_1f2e-aa.changelog", b"x" * 12)
    checkpoint.write("state/0/0/13.changelog", b"x" * 900)  # of a batch that is not committed
    checkpoint.write("state/0/0/.10.zip.crc", b"x" * 5000)
    (one,) = checkpoint.read().operators[0].bins
    assert (one.snapshot, one.changes) == (10, 2)
    assert (one.snapshot_bytes, one.change_bytes) == (len(whole) + 1_500, 42)


def test_a_join_keeps_four_stores_and_a_bin_is_all_of_them(checkpoint):
    stores = ["left-keyToNumValues", "left-keyWithIndexToValue", "right-keyToNumValues", "right-keyWithIndexToValue"]
    checkpoint.commit(1, bins=2)
    checkpoint.operator(0, "symmetricHashJoin", stores, bins=2)
    for store in stores:
        checkpoint.write(f"state/0/1/{store}/1.changelog", b"x" * 10)
        checkpoint.write(f"state/0/1/{store}/2.changelog", b"x" * 5)
    state = checkpoint.read()
    assert [one.bytes for one in state.operators[0].bins] == [0, 60]
    assert state.operators[0].bins[1].changes == 8
    assert state.operators[0].skew == 2.0  # all in one of two


def test_state_that_spark_began_before_it_wrote_down_its_operators_is_read_by_its_folders(checkpoint):
    checkpoint.commit(1, bins=2)
    for number in range(2):
        checkpoint.write(f"state/0/{number}/left-keyToNumValues/2.changelog", b"x" * 10)
        checkpoint.write(f"state/0/{number}/right-keyToNumValues/2.changelog", b"x" * 5)
        checkpoint.write(f"state/1/{number}/2.changelog", b"x" * 7)
    join, count = checkpoint.read().operators
    assert (join.name, join.stores) == ("unknown", ("left-keyToNumValues", "right-keyToNumValues"))
    assert [one.bytes for one in join.bins] == [15, 15]
    assert (count.name, count.stores, count.bytes) == ("unknown", ("default",), 14)


def test_in_memory_state_has_deltas_and_snapshots_of_its_own(tmp_path):
    checkpoint = Checkpoint(tmp_path, provider=IN_MEMORY)
    checkpoint.commit(2, bins=1)
    checkpoint.operator(0, "dedupe", ["default"], bins=1)
    checkpoint.write("state/0/0/2.snapshot", b"x" * 100)
    checkpoint.write("state/0/0/3.delta", b"x" * 7)
    state = checkpoint.read()
    assert state.provider == "in-memory"
    assert state.operators[0].bins[0].bytes == 107


NOTED = {
    "stateStore_encodingFormat": "unsaferow",
    "stateStore_rocksdb_formatVersion": "5",
    "stateStore_compression_codec": "lz4",
    "aggregation_stateFormatVersion": "2",
    "join_stateFormatVersion": "3",
}
"""Settings as Spark 4.3 writes them into the offsets log of every query, whatever operators it has."""


def test_how_state_is_written_is_what_the_last_batch_noted_each_operator_with_its_own_layout(checkpoint, capsys):
    checkpoint.commit(0, bins=1, **NOTED)
    for number, name in enumerate(("stateStoreSave", "symmetricHashJoin", "dedupe")):
        checkpoint.operator(number, name, ["default"], bins=1)
    assert [one.format for one in checkpoint.read().operators] == ["2", "3", None]
    assert main(["state", "show", str(checkpoint.folder), "--quick"]) == 0
    said = capsys.readouterr().out
    assert "format: rows as unsaferow, RocksDB's format 5, changes packed with lz4, commits v1\n" in said
    assert "operator 0, stateStoreSave, format 2: " in said
    assert "operator 2, dedupe: " in said


def test_of_a_format_that_no_batch_noted_nothing_is_said(tmp_path, capsys):
    checkpoint = Checkpoint(tmp_path, provider=IN_MEMORY)
    # Spark notes the format of RocksDB's files also where another store holds the state.
    checkpoint.commit(0, bins=1, stateStore_rocksdb_formatVersion="5")
    checkpoint.operator(0, "dedupe", ["default"], bins=1)
    assert main(["state", "show", str(checkpoint.folder), "--quick"]) == 0
    assert "format: commits v1\n" in capsys.readouterr().out


def test_the_number_of_bins_is_that_of_the_last_committed_batch_whatever_the_operator_file_says(checkpoint):
    checkpoint.commit(0, bins=3)
    checkpoint.operator(0, "stateStoreSave", ["default"], bins=3)
    checkpoint.commit(1, bins=5)
    assert len(checkpoint.read().operators[0].bins) == 5


def test_a_batch_begun_with_other_bins_is_a_rewrite_that_was_cut_short(checkpoint):
    checkpoint.commit(4, bins=3)
    checkpoint.begin(5, bins=8)
    state = checkpoint.read()
    assert (state.committed, state.begun, state.rewriting) == (4, 5, 8)


def test_newer_operator_files_are_told_apart_by_batch(checkpoint):
    checkpoint.commit(3, bins=2)
    checkpoint.operator(0, "old", ["default"], bins=2)
    for batch, name in ((0, "first"), (3, "second"), (9, "not yet")):
        told = {
            "operatorInfo": {"operatorId": 0, "operatorName": name, "operatorPropertiesJson": "{}"},
            "stateStoreInfo": [{"storeName": "default", "numPartitions": 2, "stateSchemaFilePaths": []}],
        }
        checkpoint.write(f"state/0/_metadata/v2/{batch}", f"v2\n{json.dumps(told)}")
    assert checkpoint.read().operators[0].name == "second"


def test_what_is_no_checkpoint_is_said_in_one_line(tmp_path, capsys):
    for wrong, why in (
        (tmp_path / "nothing", "is no checkpoint"),
        (tmp_path, "is no checkpoint"),
    ):
        assert main(["state", "show", str(wrong), "--quick"]) == 2
        assert why in capsys.readouterr().err


def test_someone_elses_version_is_refused_by_name(checkpoint):
    checkpoint.commit(0, bins=1)
    checkpoint.write("offsets/0", "v9\n{}\n1")
    with pytest.raises(InputError, match=r"offsets/0: version v9"):
        checkpoint.read()
    checkpoint.commit(0, bins=1)
    checkpoint.write("state/0/_metadata/metadata", "v7\n{}")
    with pytest.raises(InputError, match=r"_metadata/metadata: version v7"):
        checkpoint.read()


def test_damaged_files_are_named(checkpoint):
    checkpoint.commit(0, bins=1)
    checkpoint.write("state/0/_metadata/metadata", 'v1\n{"operatorInfo": 3}')
    with pytest.raises(InputError, match=r"_metadata/metadata: .*damaged"):
        checkpoint.read()
    checkpoint.write("metadata", b"\xff\xfe")
    with pytest.raises(InputError, match=r"metadata: is not text"):
        checkpoint.read()


@pytest.mark.parametrize("bins", ["abc", "0", "-3", "1_0", "99999999999999999999"])
def test_a_number_of_bins_that_nobody_can_have_written_is_damage_and_said_in_one_line(checkpoint, capsys, bins):
    checkpoint.commit(0, bins=2)
    checkpoint.commit(1, bins=bins)
    for words in (["show", "--quick"], ["undo", "--not-running"], ["repartition", "8"]):
        word, *options = words
        assert main(["state", word, str(checkpoint.folder), *options]) == 2
        said = capsys.readouterr().err
        assert f"offsets/1: spark.sql.shuffle.partitions is {bins}; the checkpoint is damaged" in said


def test_a_number_of_bins_of_more_digits_than_python_reads_is_damage_too(checkpoint, capsys):
    checkpoint.commit(0, bins="9" * 5000)
    assert main(["state", "show", str(checkpoint.folder), "--quick"]) == 2
    assert capsys.readouterr().err.endswith("999; the checkpoint is damaged\n")


def test_an_operator_that_names_no_state_store_is_damage(checkpoint):
    checkpoint.commit(0, bins=1)
    checkpoint.operator(0, "stateStoreSave", [], bins=1)
    with pytest.raises(InputError, match=r"_metadata/metadata: names no state store with bins; .*damaged"):
        checkpoint.read()


def test_a_damaged_snapshot_counts_as_far_as_it_can_be_seen(checkpoint):
    rewritable(checkpoint, bins=1)
    held = broken(snapshot(1_000))
    checkpoint.write("state/0/0/7.zip", held)
    assert checkpoint.read().operators[0].bins[0].snapshot_bytes == len(held)


def test_where_bins_live_is_shown_from_the_journal_of_the_job(checkpoint, tmp_path, capsys):
    rewritable(checkpoint)
    count = VirtualOperator("count", 4, fixed=0.1, per_record=0.004, stateful=True)
    spark = VirtualSpark(VirtualJob((count,), trigger=10.0), lambda at: 100 * at, executors=2)
    spark.run_batch()
    spark.spread_bins()
    batch = spark.run_batch()
    with Journal(tmp_path / "journal") as journal:
        for query in ("the-query", "another"):
            journal.append(Seen(1.0, msgspec.structs.replace(batch, query=query), 10.0))
    words = ["state", "show", str(checkpoint.folder), "--quick", "--journal", str(tmp_path / "journal")]
    assert main(words) == 0
    shown = [line.split() for line in capsys.readouterr().out.splitlines() if line.strip()[:1].isdigit()]
    ran = dict(zip(batch.tasks.partition.tolist(), batch.tasks.executor, strict=True))
    assert [(int(line[0]), line[-1]) for line in shown] == [(number, ran[number]) for number in range(4)]
    assert len(set(ran.values())) == 2
    checkpoint.write("metadata", '{"id":"a-third"}')
    assert main(words) == 2
    assert "has no batch of query a-third" in capsys.readouterr().err
