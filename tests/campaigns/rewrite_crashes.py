"""Cut a rewrite of state off at every file it writes; finish it or take it back; and compare the state key by key.

A rewrite only adds files, each under its name in one go. So what a crash would have left is the checkpoint as it was,
with the first of them, or the first two, and so on, in the order in which they came to be. From each such image the
rewrite is finished, or taken back, by turns; then the query goes on, and in the end its state must be what plain Python
makes of the same input.

    make verify-state               (or: python tests/campaigns/rewrite_crashes.py)
"""

import argparse
import shutil
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable
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


def recovered(spark: SparkSession, kind: Kind, image: Path, *, finish: bool) -> str:
    """Finish what was cut off, or take it back; the state must be what it was, and the query go on."""
    before = read_state(LocalFolders(str(image)))
    if before.rewriting is None:
        how = f"{before.partitions} bins"  # not begun, or over
    elif finish:
        rewrite(spark, str(image), before.rewriting, keep_backup=False)
        how = "finished"
    else:
        take_back(str(image))
        how = "taken back"
    rows = drained(spark, kind, image)
    after = read_state(LocalFolders(str(image)))
    wanted = before.partitions if before.rewriting is None else before.rewriting if finish else before.partitions
    if after.partitions != wanted:
        raise StateError(f"{image.name}: {after.partitions} bins, {wanted} were wanted")
    if kind.read(spark, str(image)) != kind.truth(*rows):
        raise StateError(f"{image.name}: the state is wrong after it was {how}")
    return how


def cut_off_everywhere(spark: SparkSession, kind: Kind, folder: Path) -> str:
    """Every image of one rewrite, each finished or taken back; what came of them."""
    checkpoint = folder / "checkpoint"
    drained(spark, kind, checkpoint, 4)
    images = images_of(checkpoint, lambda: rewrite(spark, str(checkpoint), OTHER, keep_backup=False))
    told: Counter[str] = Counter()
    for number, image in enumerate(images):
        told[recovered(spark, kind, image, finish=number % 2 == 0)] += 1
        print(".", end="", flush=True)
    missing = {f"{BINS} bins", f"{OTHER} bins", "finished", "taken back"} - told.keys()
    if missing:
        raise StateError(f"no image was before, after and in the middle of the rewrite: {dict(told)}")
    return f"cut off at {len(images)} points: {', '.join(f'{count} {how}' for how, count in told.items())}"


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
