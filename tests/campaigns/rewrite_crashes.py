"""Cut a rewrite of state off at every file it writes; finish it or take it back; and compare the state key by key.

While a rewrite runs, the checkpoint is copied whenever another file has appeared in it: what a crash at that moment
would have left. From each such image the rewrite is finished, or taken back, by turns; then the query goes on, and in
the end its state must be what plain Python makes of the same input.

    make verify-state               (or: python tests/campaigns/rewrite_crashes.py)
"""

import shutil
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path

from pyspark.sql import SparkSession

from campaigns.state import FEW, KINDS, Kind, StateError, rows_taken
from headgate.formats.checkpoint.folders import LocalFolders
from headgate.formats.checkpoint.reader import read_state
from headgate.formats.checkpoint.undoing import take_back
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
    """What a crash would leave behind at each point of an act: a copy whenever another file has appeared."""
    images: list[Path] = []
    seen: set[str] = set()
    over = threading.Event()

    def watch() -> None:
        while not over.is_set():
            there = {str(path) for path in checkpoint.rglob("*") if path.is_file()}
            if there - seen:
                image = checkpoint.with_name(f"{checkpoint.name}-image-{len(images)}")
                try:
                    shutil.copytree(checkpoint, image)
                except shutil.Error:  # a file was given its name while it was copied: the next look has it
                    shutil.rmtree(image, ignore_errors=True)
                    continue
                images.append(image)
                seen.update(there)
            time.sleep(0.002)

    watching = threading.Thread(target=watch)
    watching.start()
    try:
        act()
    finally:
        over.set()
        watching.join()
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


def main() -> int:
    """Every image of one rewrite."""
    kind = KINDS["aggregation"]
    with LocalCluster(workers=1, slots=2 * FEW, memory="4g") as cluster, tempfile.TemporaryDirectory() as folder:
        conf = {"spark.sql.shuffle.partitions": str(BINS), "spark.ui.enabled": "false", **ROCKSDB}
        spark = cluster.session("crashes", executors=FEW, cores=2, conf=conf)
        spark.sparkContext.setLogLevel("OFF")
        spark.dataSource.register(SentencesSource)
        checkpoint = Path(folder, "checkpoint")
        drained(spark, kind, checkpoint, 4)
        images = images_of(checkpoint, lambda: rewrite(spark, str(checkpoint), OTHER, keep_backup=False))
        told: dict[str, int] = {}
        for number, image in enumerate(images):
            how = recovered(spark, kind, image, finish=number % 2 == 0)
            told[how] = told.get(how, 0) + 1
            print(".", end="", flush=True)
        spark.stop()
    ways = ", ".join(f"{count} {how}" for how, count in told.items())
    print(f"\na rewrite cut off at {len(images)} points: {ways}; every count exact")
    return 0


if __name__ == "__main__":
    sys.exit(main())
