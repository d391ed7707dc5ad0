"""Every query of every workload on a stream, against its definition on the same events at rest, by other means.

Each runs on a real cluster, with several numbers of partitions, and is stopped and started again in the middle. Rows
must be the same, all of them, and after each batch where they take the place of earlier ones; a query that fails, or
takes too long, counts as different. NexMark's q12, which goes by the wall's clock, is held to the times in the query's
log.

    make verify-workloads           (or: python tests/campaigns/workloads.py --rows 20000 --queries nexmark/q5,psm/q1)
"""

import argparse
import sys
import tempfile
import time
from pathlib import Path

from headgate.model.errors import in_brief
from headgate.spark.local_cluster import LocalCluster
from workload_streams import WORKLOADS, ready_for_workloads, streamed_and_true


def main() -> int:
    """All of them."""
    every = [f"{workload}/{query}" for workload, of in WORKLOADS.items() for query in of.queries]
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=100_000, help="events")
    parser.add_argument("--queries", default=",".join(every), help="which, by workload and name")
    parser.add_argument("--partitions", default="1,3,7", help="of the source")
    given = parser.parse_args()
    cases = [(name, int(number)) for name in given.queries.split(",") for number in given.partitions.split(",")]
    different = 0
    with tempfile.TemporaryDirectory() as folder, LocalCluster(workers=1, slots=2, memory="4g", late=True) as cluster:
        conf = {"spark.sql.shuffle.partitions": "4", "spark.ui.port": "0"}
        session = cluster.session("workloads", executors=1, cores=2, conf=conf)
        session.sparkContext.setLogLevel("OFF")
        with ready_for_workloads(session) as spark:
            for name, partitions in cases:
                workload, _, query = name.partition("/")
                of = WORKLOADS[workload]
                of_query, began = Path(folder) / f"{workload}-{query}-{partitions}", time.monotonic()
                try:
                    found, true = streamed_and_true(spark, of, of.queries[query], of_query, given.rows, partitions)
                except Exception as problem:  # whatever it is: the others are worth comparing
                    same, rows, says = False, 0, f"FAILED: {in_brief(problem)}"
                else:
                    same, rows = bool(found) and found == true, len(found)
                    says = "the same" if same else f"DIFFERENT: {len(set(found) ^ set(true)):,} rows are in one only"
                different += not same
                took = time.monotonic() - began
                print(f"{name:15} {partitions} partitions {took:5.0f} s {rows:>8,} rows  {says}", flush=True)
        session.stop()
    print(f"{len(cases) - different} of {len(cases)} give what their definitions give")
    return 1 if different else 0


if __name__ == "__main__":
    sys.exit(main())
