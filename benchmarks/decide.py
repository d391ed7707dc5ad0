"""Time and memory of `headgate decide`, beside what is unavoidable: pyarrow reading the same file.

Whole processes, started fresh, A and B in turn in one run, because these machines are noisy: what is reported is
the ratio of each pair and its spread. Then the policy alone, in memory, and the time to start.

    make bench-decide                 (or: python benchmarks/decide.py --rounds 5 --sizes 64000,256000)
"""

import argparse
import os
import random
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from headgate import Dataflow, Estimate, KeepUp
from headgate.policies.ds2 import Ds2
from verdicts import exit_code, verdict

INSTANCES = 250
ARROW = """
import sys
from pyarrow import csv
options = csv.ReadOptions(autogenerate_column_names=True, skip_rows=1)
print(csv.read_csv(sys.argv[1], read_options=options).num_rows)
"""


class Run(NamedTuple):
    """One process: how long it took and how much memory it held at most."""

    seconds: float
    megabytes: float


def run(command: Sequence[str]) -> Run:
    """Run a process to its end; peak memory is the kernel's own figure for it."""
    started = time.perf_counter()
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    seconds = time.perf_counter() - started
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        sys.exit(f"{' '.join(command)} ended with exit code {process.returncode}")
    return Run(seconds, usage.ru_maxrss / 1024)


def alternate(a: Sequence[str], b: Sequence[str], rounds: int) -> tuple[list[Run], list[Run]]:
    """A, B, A, B, … after one of each that does not count (it fills the file cache)."""
    run(a), run(b)
    pairs = [(run(a), run(b)) for _ in range(rounds)]
    return [pair[0] for pair in pairs], [pair[1] for pair in pairs]


def job_files(folder: Path, rows: int) -> tuple[Path, Path]:
    """Where a job of so many rows is written."""
    return folder / f"topology-{rows}.csv", folder / f"rates-{rows}.log"


def write_job(folder: Path, rows: int, *, shuffled: bool) -> None:
    """A binary tree of operators with 250 instances each, and the rates of all of them."""
    operators = rows // INSTANCES
    names = [f"operator_{i:04d}" for i in range(operators)]
    topology, rates = job_files(folder, rows)
    topology.write_text(
        "".join(
            f"{names[(i - 1) // 2]},{names[(i - 1) // 2]},{INSTANCES},{names[i]},{names[i]},{INSTANCES}\n"
            for i in range(1, operators)
        )
    )
    figures = np.random.default_rng(rows)
    lines = [
        f"{name},{i},{INSTANCES},115963235065655,{p!r},{p * 0.4!r},{seen!r},{seen * 0.4!r}\n"
        for name in names
        for i, (p, seen) in enumerate(figures.uniform(1e3, 1e5, (INSTANCES, 2)).tolist())
    ]
    if shuffled:
        figures.shuffle(lines)
    rates.write_text("# operator,instance,total_instances,window_start,true and observed rates\n" + "".join(lines))


def spread(values: Sequence[float]) -> str:
    """Median, least and most."""
    return f"{statistics.median(values):.2f} ({min(values):.2f} to {max(values):.2f})"


def whole_process(sizes: Sequence[int], rounds: int) -> None:
    """`headgate decide` against pyarrow, by size; the last size once more with its rows in random order."""
    headgate = str(Path(sys.executable).with_name("headgate"))
    print(f"whole process, {rounds} pairs in turn; pyarrow only reads the file")
    print(
        f"{'rows':>18}  {'headgate s':>22}  {'pyarrow s':>22}  {'ratio':>22}  {'headgate MB':>11}  {'pyarrow MB':>10}"
    )
    took: list[float] = []
    with tempfile.TemporaryDirectory() as folder:
        for rows, shuffled in [*((size, False) for size in sizes), (sizes[-1], True)]:
            # In a process of its own: what this one ever held would count as memory of those it starts.
            subprocess.run([sys.executable, __file__, "--write", folder, str(rows), str(int(shuffled))], check=True)
            topology, rates = job_files(Path(folder), rows)
            ours, arrow = alternate(
                [headgate, "decide", "--topology", str(topology), "--rates", str(rates)],
                [sys.executable, "-c", ARROW, str(rates)],
                rounds,
            )
            ratios = [a.seconds / b.seconds for a, b in zip(ours, arrow, strict=True)]
            memory = max(one.megabytes for one in ours)
            print(
                f"{f'{rows:,}' + (' shuffled' if shuffled else ''):>18}  {spread([one.seconds for one in ours]):>22}  "
                f"{spread([b.seconds for b in arrow]):>22}  {spread(ratios):>22}  {memory:>11.0f}  "
                f"{max(b.megabytes for b in arrow):>10.0f}"
            )
            if not shuffled:
                took.append(statistics.median(one.seconds for one in ours))
            if rows == 1_000_000:
                print("  " + verdict("at most 300 MB", memory <= 300))
                if not shuffled:
                    print("  " + verdict("ratio at most 1.6", statistics.median(ratios) <= 1.6))
    if len(sizes) > 2:
        # Time per further row, between the two smallest and between the two largest sizes.
        early = (took[1] - took[0]) / (sizes[1] - sizes[0])
        late = (took[-1] - took[-2]) / (sizes[-1] - sizes[-2])
        print(f"  a further million rows: {early * 1e6:.2f} s at first, {late * 1e6:.2f} s at last")
        print("  " + verdict("linear (at last at most 1.5 times)", late <= 1.5 * early))


def policy_alone(operators: int, rounds: int) -> None:
    """The DS2 policy in memory, on graphs of three shapes, and with needs that hit integers all the time."""
    print(f"\npolicy in memory, {operators:,} operators, {rounds} calls")
    dice = random.Random(1)
    names = [f"o{i}" for i in range(operators)]
    random_edges = [(names[dice.randrange(i)], names[i]) for i in range(1, operators) for _ in (0, 1)]
    odd = {name: (p, p * dice.uniform(0.2, 0.6)) for name in names for p in [dice.uniform(1e3, 1e5)]}
    shapes = {
        "chain": ([(names[i - 1], names[i]) for i in range(1, operators)], odd),
        "tree": ([(names[(i - 1) // 2], names[i]) for i in range(1, operators)], odd),
        "random, 2 inputs": (random_edges, odd),
        "random, integers": (random_edges, dict.fromkeys(names, (0.3, 0.1))),
    }
    for shape, (edges, rates) in shapes.items():
        flow = Dataflow.of({name: dice.randint(1, 250) for name in names}, edges)
        seen = Estimate.of_rates(flow, rates)
        times = []
        for _ in range(rounds):
            started = time.perf_counter()
            Ds2().decide(None, seen, KeepUp(), 0.0)
            times.append(1000 * (time.perf_counter() - started))
        print(f"  {shape:<18} {spread(times):>24} ms; {verdict('under 20 ms', statistics.median(times) <= 20)}")


def start_up(rounds: int) -> None:
    """What `import headgate` adds to `import numpy`, and how fast help comes."""
    print(f"\nstart-up, {rounds} pairs in turn")
    python = sys.executable
    with_headgate, with_numpy = alternate(
        [python, "-c", "import numpy, headgate"], [python, "-c", "import numpy"], rounds
    )
    added = [1000 * (a.seconds - b.seconds) for a, b in zip(with_headgate, with_numpy, strict=True)]
    print(f"  import headgate adds {spread(added)} ms; {verdict('at most 50', statistics.median(added) <= 50)}")
    in_use, with_numpy = alternate(
        [python, "-c", "import numpy, headgate; headgate.decide"], [python, "-c", "import numpy"], rounds
    )
    added = [1000 * (a.seconds - b.seconds) for a, b in zip(in_use, with_numpy, strict=True)]
    print(f"  with headgate.decide in use it is {spread(added)} ms")
    helps, _ = alternate([str(Path(python).with_name("headgate")), "--help"], [python, "-c", "pass"], rounds)
    took = [one.seconds for one in helps]
    print(f"  headgate --help answers in {spread(took)} s; {verdict('under 0.4', statistics.median(took) <= 0.4)}")


def main() -> int:
    """All of it."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=11)
    parser.add_argument("--sizes", default="64000,256000,1000000")
    parser.add_argument("--write", nargs=3, metavar=("FOLDER", "ROWS", "SHUFFLED"), help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.write:
        folder, rows, shuffled = given.write
        write_job(Path(folder), int(rows), shuffled=shuffled == "1")
        return 0
    whole_process([int(size) for size in given.sizes.split(",")], given.rounds)
    policy_alone(10_000, 3 * given.rounds)
    start_up(given.rounds)
    return exit_code()


if __name__ == "__main__":
    sys.exit(main())
