"""A thousand runs of the lab, on this machine and as a PySpark job: the same table and the same bytes.

Ten policies under five loads by twenty seeds, ten virtual minutes each; once on this machine's cores, once on a real
cluster of two executors. Both go through the command that users have, in processes of their own.

    make verify-lab                 (or: python tests/campaigns/lab_on_spark.py --seeds 2)
"""

import argparse
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import msgspec

from headgate.lab.cell import cells
from headgate.lab.scenario import read_scenario
from headgate.spark.local_cluster import LocalCluster
from lab_scenario import SCENARIO

POLICIES = ("capacity", "ds2", "conttune", "dhalion", "flink", "hpa", "pid", "queueing", "reactive", "threshold")
LOADS = (
    "constant(40)",
    "step(20 -> 60 @ 5m)",
    "spike(30 -> 60 @ 4m for 1m)",
    "sine(40 +- 20 every 5m)",
    "ramp(20 -> 60 over 10m)",
)


def scenario(seeds: int) -> str:
    """The job of the tests under more of everything."""
    _, _, jobs = SCENARIO.partition("[[jobs]]")
    loads = "".join(
        f'[[loads]]\nname = "{number}"\nload = "{load}"\nlasting = "10m"\njudged = true\n\n'
        for number, load in enumerate(LOADS)
    )
    names = msgspec.json.encode(POLICIES).decode()
    return f"policies = {names}\nseeds = {list(range(seeds))}\n\n[executors]\nmost = 6\n\n{loads}[[jobs]]{jobs}"


def lab(file: Path, out: Path, *more: str) -> tuple[list[str], bytes, float]:
    """What it printed, but for where the pictures are; its results; seconds."""
    began = time.monotonic()
    command = [sys.executable, "-m", "headgate", "lab", str(file), "-o", str(out), *more]
    # The cluster's Python need not be this one, which has what is needed.
    ran = subprocess.run(
        command, stdout=subprocess.PIPE, text=True, check=True, env={**os.environ, "PYSPARK_PYTHON": sys.executable}
    )
    return ran.stdout.splitlines()[:-1], (out / "results.parquet").read_bytes(), time.monotonic() - began


def main() -> int:
    """Both, compared."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=20)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder, LocalCluster(workers=1, slots=2, memory="4g") as cluster:
        file = Path(folder) / "scenario.toml"
        file.write_text(scenario(given.seeds), encoding="utf-8")
        count = len(cells(read_scenario(file)))
        here, of_here, took_here = lab(file, Path(folder) / "here")
        there, of_there, took_there = lab(file, Path(folder) / "there", "--spark", cluster.url)
    print("\n".join(there))
    print(f"{count:,} runs: {took_here:.0f} s on this machine, {took_there:.0f} s through Spark")
    print(f"the same table: {'yes' if here == there else 'NO'}")
    print(f"the same bytes ({len(of_here):,}): {'yes' if of_here == of_there else 'NO'}")
    return 0 if here == there and of_here == of_there else 1


if __name__ == "__main__":
    sys.exit(main())
