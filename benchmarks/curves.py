"""Rescales until settled on operators that are measured to be sub-linear: DS2, ContTune and `capacity`.

Every size an operator was measured at, and those between, as start and as target; the input half-way between what one
instance fewer does and what the target does. Simulated, on the record-at-a-time engine: each look tells the true rate
of the size there is, as the curve has it. What is reported: the distribution of rescales, and the sizes it ended with.
Then the same targets one after the other, in random order, by policies that keep what they remember: a job that is
resized again and again, which is how ContTune was measured.

The two operators of ContTune are what the verdicts are about. StreamBed's runs are of whole jobs, read by their largest
operator, and only where more instances never did less: not curves of an operator, but nothing was set by them.

    make bench-curves               (or: python benchmarks/curves.py --stride 3)
"""

import argparse
import csv
import random
import statistics
import sys
from collections import Counter, defaultdict
from collections.abc import Iterable
from itertools import pairwise
from pathlib import Path

from headgate.policies.protocol import Policy
from headgate.policies.registry import policy
from headgate.simulation.record_job import RecordOperator
from headgate.simulation.settling import Pair, Settled, pairs, settle
from verdicts import exit_code, verdict

CURVES = Path(__file__).resolve().parents[2] / "shared" / "reference" / "curves"
LEAST_POINTS = 5
TARGETS = 60
HEADER = (
    "            mean   % of pairs by rescales:  0      1      2      3      4     5+   short <=1 over restless again"
)
POLICIES: dict[str, Policy] = {
    "ds2": policy("ds2"),
    "conttune": policy("conttune", period=0.0),  # asked as often as the others
    "capacity": policy("capacity"),
}


def operator(name: str, points: Iterable[tuple[int, float]]) -> RecordOperator:
    """An operator that does, with so many instances, the mean of what was measured."""
    measured = defaultdict(list)
    for instances, rate in points:
        measured[instances].append(rate)
    return RecordOperator(name, curve=tuple((n, statistics.mean(rates)) for n, rates in sorted(measured.items())))


def conttune(folder: Path) -> list[RecordOperator]:
    """Its two operators."""
    made = []
    for name in ("op2", "q1_mapper"):
        with (folder / f"conttune_{name}_pa.csv").open() as file:
            rows = [(int(row["parallelism"]), float(row["processing_ability_rec_s"])) for row in csv.DictReader(file)]
        made.append(operator(f"conttune {name}", rows))
    return made


def streambed(folder: Path) -> list[RecordOperator]:
    """Jobs of one query and memory, by their largest operator."""
    runs = defaultdict(list)
    with (folder / "streambed_runs.csv").open() as file:
        for row in csv.DictReader(file):
            if row["operator_parallelism"]:
                largest = max(map(int, row["operator_parallelism"].split("/")))
                runs[row["query"], int(row["memory_mb"])].append((largest, float(row["observed_source_rate"])))
    made = [operator(f"streambed {query} {memory} MB", rows) for (query, memory), rows in sorted(runs.items())]
    return [one for one in made if _usable(one.curve)]


def _usable(curve: tuple[tuple[int, float], ...]) -> bool:
    rising = all(more > less for (_, less), (_, more) in pairwise(curve))
    return rising and len(curve) >= LEAST_POINTS and curve[0][0] == 1


def settled(one: RecordOperator, stride: int) -> dict[str, list[tuple[Pair, Settled]]]:
    """All pairs by every policy, or every so many of them."""
    every = list(pairs(one, one.curve[-1][0]))[::stride]
    return {name: [(pair, settle(chosen, one, pair)) for pair in every] for name, chosen in POLICIES.items()}


def line(name: str, one: RecordOperator, runs: list[tuple[Pair, Settled]]) -> str:
    """One row of the table."""
    took = Counter(min(run.rescales, 5) for _, run in runs)
    parts = "  ".join(f"{100 * took[k] / len(runs):5.1f}" for k in range(6))
    mean = statistics.mean(run.rescales for _, run in runs)
    short, over, restless = _faults(one, runs)
    return f"{name:10}{mean:6.2f}{'':23}{parts}  {short:6} {over:8.1%} {restless:8} {again(name, one):5.2f}"


def again(name: str, one: RecordOperator) -> float:
    """Rescales for each of many targets, one after the other, with all that is remembered."""
    targets = [pair for pair in pairs(one, one.curve[-1][0]) if pair.start == 1]
    chosen = random.Random(0).choices(targets, k=TARGETS)
    run, rescales = None, 0
    for pair in chosen:
        run = settle(POLICIES[name], one, pair._replace(start=run.instances if run else 1), run)
        rescales += run.rescales
    return rescales / len(chosen)


def _faults(one: RecordOperator, runs: list[tuple[Pair, Settled]]) -> tuple[int, float, int]:
    """Runs that ended too small, the share of those at most one too large, and those that did not come to rest."""
    short = sum(one.capacity(run.instances) < pair.rate for pair, run in runs)
    over = sum(run.instances - pair.target <= 1 for pair, run in runs) / len(runs)
    return short, over, sum(not run.at_rest for _, run in runs)


def main() -> int:
    """Print the tables; 1 if a verdict does not hold."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--stride", type=int, default=1, help="look at every so many pairs only")
    parser.add_argument("--held-out", action="store_true", help="StreamBed's jobs as well (some minutes more)")
    given = parser.parse_args()
    if not CURVES.is_dir():
        print("the reference data is not here: expected it at ../shared/reference/curves, beside the project")
        return 2
    whole: dict[str, list[tuple[RecordOperator, Pair, Settled]]] = defaultdict(list)
    about = conttune(CURVES)
    for one in [*about, *(streambed(CURVES) if given.held_out else [])]:
        found = settled(one, given.stride)
        count, largest = len(found["ds2"]), one.curve[-1][0]
        print(f"\n{one.name}: {count:,} pairs of sizes from 1 to {largest}, simulated")
        print(HEADER)
        for name, runs in found.items():
            print(line(name, one, runs))
            if one in about:
                whole[name] += [(one, *run) for run in runs]
    print()
    for what, holds in _wanted(whole):
        print(verdict(what, holds))
    return exit_code()


def _wanted(whole: dict[str, list[tuple[RecordOperator, Pair, Settled]]]) -> list[tuple[str, bool]]:
    means = {name: statistics.mean(run.rescales for _, _, run in runs) for name, runs in whole.items()}
    ours = whole["capacity"]
    two = sum(run.rescales <= 2 for _, _, run in ours) / len(ours)
    short = sum(one.capacity(run.instances) < pair.rate for one, pair, run in ours)
    over = sum(run.instances - pair.target <= 1 for _, pair, run in ours) / len(ours)
    listed = ", ".join(f"{name} {mean:.2f}" for name, mean in means.items())
    return [
        (f"capacity below ds2 on average: {listed}", means["capacity"] < means["ds2"]),
        (f"at least 90 % within two rescales: {two:.1%}", two >= 0.9),
        (f"never short: {short} of {len(ours):,}", short == 0),
        (f"at most one over in 95 %: {over:.1%}", over >= 0.95),
    ]


if __name__ == "__main__":
    sys.exit(main())
