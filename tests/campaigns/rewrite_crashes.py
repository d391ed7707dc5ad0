"""Cut a rewrite of state off at every file it writes; finish it or take it back; and compare the state key by key.

A rewrite only adds files, each under its name in one go. So what a crash would have left is the checkpoint as it was,
with the first of them, or the first two, and so on, in the order in which they came to be. From each such image the
rewrite is taken back, which must leave every file as it was, byte by byte, and none beside that anybody reads; and it
is finished, after which the query goes on, and in the end its state must be what plain Python makes of the same input.

    make verify-state               (or: python tests/campaigns/rewrite_crashes.py)
"""

import argparse
import shutil
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Mapping
from pathlib import Path

from pyspark.sql import SparkSession

from campaigns.state import FEW, KINDS, Kind, StateError, rows_taken
from headgate.formats.checkpoint.folders import LocalFolders
from headgate.formats.checkpoint.reader import read_state
from headgate.formats.checkpoint.undoing import take_back
from headgate.model.errors import HeadgateError
from headgate.spark.internals.queries import end_after_this_batch, left_uncommitted
from headgate.spark.local_cluster import LocalCluster
from headgate.spark.rewriting import rewrite
from headgate.spark.state_store_settings import ROCKSDB
from headgate.workloads.sentences import SentencesSource

BINS, OTHER = 4, 7


def drained(spark: SparkSession, kind: Kind, checkpoint: Path, batches: int = 2) -> list[int]:
    """Run a query of this kind for some batches more, and leave none in the middle; rows of each source so far."""
    writer = kind.query(spark).writeStream.format("noop").outputMode(kind.mode)
    query = writer.option("checkpointLocation", str(checkpoint)).start()
    first = None
    while first is None or query.lastProgress["batchId"] < first + batches:
        if not query.isActive:
            raise StateError(f"the query ended: {query.exception()}")
        if first is None and query.lastProgress is not None:
            first = query.lastProgress["batchId"]
        time.sleep(0.1)
    end_after_this_batch(spark, query)
    query.awaitTermination()
    return rows_taken(query) if not left_uncommitted(query) else drained(spark, kind, checkpoint, 0)


def images_of(checkpoint: Path, act: Callable[[], object]) -> list[Path]:
    """What a crash would leave behind at each point of an act that only adds files, by the file system's order."""
    before = checkpoint.with_name(f"{checkpoint.name}-image-0")
    shutil.copytree(checkpoint, before)
    act()
    old = {path.relative_to(before) for path in before.rglob("*") if path.is_file()}
    there = {path.relative_to(checkpoint): path for path in checkpoint.rglob("*") if path.is_file()}
    gone = old - there.keys()
    if gone:
        raise StateError(f"files were removed: {sorted(map(str, gone))[:3]}")
    images = [before]
    for name in sorted(there.keys() - old, key=lambda one: there[one].stat().st_ctime_ns):
        image = checkpoint.with_name(f"{checkpoint.name}-image-{len(images)}")
        shutil.copytree(images[-1], image)
        (image / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(there[name], image / name)
        images.append(image)
    return images


def contents(folder: Path) -> dict[Path, bytes]:
    """Every file in it, by its path there."""
    return {path.relative_to(folder): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def taken_back(image: Path, untouched: Mapping[Path, bytes]) -> None:
    """Take the rewrite of an image back, in a copy of it: what is there must be what was there before it began."""
    copy = image.with_name(f"{image.name}-taken-back")
    shutil.copytree(image, copy)
    take_back(str(copy))
    # A table is written before the snapshot that names it; without one nobody reads it, and Spark removes it some day.
    there = {name: held for name, held in contents(copy).items() if name in untouched or name.parent.name != "SSTs"}
    if there != untouched:
        raise StateError(f"{copy}: is not what it was after the rewrite was taken back")
    shutil.rmtree(copy)


def finished(spark: SparkSession, kind: Kind, image: Path) -> None:
    """Finish what was cut off, if anything was, and let the query go on: its state must be exact."""
    before = read_state(LocalFolders(str(image)))
    wanted = before.rewriting or before.partitions
    if before.rewriting is not None:
        rewrite(spark, str(image), before.rewriting, keep_backup=False)
    rows = drained(spark, kind, image)
    after = read_state(LocalFolders(str(image)))
    if after.partitions != wanted:
        raise StateError(f"{image}: {after.partitions} bins, {wanted} were wanted")
    if kind.read(spark, str(image)) != kind.truth(*rows):
        raise StateError(f"{image}: the state is wrong")


def cut_off_everywhere(spark: SparkSession, kind: Kind, folder: Path) -> str:
    """Every image of one rewrite, taken back and finished; what came of them."""
    checkpoint = folder / "checkpoint"
    drained(spark, kind, checkpoint, 4)
    images = images_of(checkpoint, lambda: rewrite(spark, str(checkpoint), OTHER, keep_backup=False))
    untouched = contents(images[0])
    stood: Counter[str] = Counter()
    for image in images:
        state = read_state(LocalFolders(str(image)))
        stood[f"{state.partitions} bins" if state.rewriting is None else "in the middle"] += 1
        if state.rewriting is not None or state.partitions == OTHER:
            taken_back(image, untouched)
        finished(spark, kind, image)
        shutil.rmtree(image)
        print(".", end="", flush=True)
    missing = {f"{BINS} bins", f"{OTHER} bins", "in the middle"} - stood.keys()
    if missing:
        raise StateError(f"no image was before, after and in the middle of the rewrite: {dict(stood)}")
    told = ", ".join(f"{count} {how}" for how, count in stood.items())
    return f"cut off at {len(images)} points ({told}), those with a rewrite taken back byte by byte, all finished"


def main() -> int:
    """Every image of a rewrite of each kind."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kinds", default="aggregation,join,transform")
    given = parser.parse_args()
    failures = 0
    with LocalCluster(workers=1, slots=2 * FEW, memory="4g") as cluster:
        conf = {"spark.sql.shuffle.partitions": str(BINS), "spark.ui.enabled": "false", **ROCKSDB}
        spark = cluster.session("crashes", executors=FEW, cores=2, conf=conf)
        spark.sparkContext.setLogLevel("OFF")
        spark.dataSource.register(SentencesSource)
        for name in given.kinds.split(","):
            # Executors may still be writing a snapshot for a query that is over.
            with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
                try:
                    print(f"\n{name}: {cut_off_everywhere(spark, KINDS[name], Path(folder))}; every key exact")
                except (StateError, HeadgateError) as problem:
                    failures += 1
                    print(f"\n{name}: FAILED: {problem}")
        spark.stop()
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
