"""Kill a job's driver, or an executor, at every step of a change; start again; and count.

The job is a word count under `headgate run`, its policy silenced: every change is told. As soon as the journal shows a
step, the process is killed with SIGKILL. Started again it must go on where it was and end up with what was wanted.

A round is one job that goes through all kills, one after the other in an order of its own; what one leaves behind the
next one meets. In the end every count must be exactly what the generator says for the sentences that were committed:
nothing lost, nothing doubled; and the journal must tell what happened. Nor may it tell of a step at which nobody was
killed: steps are what the journal shows, not what somebody thought of.

    make verify-kills           (or, with PYTHONPATH=tests: python tests/campaigns/kills.py --cases grow-asked)
"""

import argparse
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import NamedTuple

import msgspec

from class_archive import short_lived, short_lived_with_archive
from headgate.control.actions import Restart, SetExecutors, SpreadBins
from headgate.control.said import Arrived, Failed
from headgate.formats.checkpoint.folders import LocalFolders
from headgate.formats.checkpoint.reader import read_state
from headgate.model.errors import InputError
from headgate.runtime.entries import Began, Carried, Cluster, Ended, Entry, Intent, Seen, Spoke, Told
from headgate.runtime.journal import Journal
from headgate.workloads.sentences import Text

EXAMPLES = Path(__file__).parents[2] / "examples" / "jobs"
PATIENCE = 300.0
_surroundings = short_lived()
"""Of the jobs."""
BINS = 4
"""At first."""
PARTITIONS = 12
"""Of the exchange `parse`, restarts ask for one more than this, for two more, and so on: no other operator has so many.
"""
JOB = """
name = "kills"
build = "{build}:build"
checkpoint = "checkpoint"
journal = "journal.db"
[cluster]
slots = 3
memory = "512m"
[executors]
least = 1
most = 3
[policy]
name = "static"                 # nothing is decided but by word of mouth
[parallelism]
state = 4
parse = 4
[options]
rate = 40
seconds_per_sentence = 0.005
output = "counts"
"""

Step = Callable[[Entry], bool]


class Case(NamedTuple):
    """What is told, and at which step what is killed."""

    told: str
    """For `headgate tell`; a restart gets another number of partitions or bins each time."""
    step: Step
    begins: int = 1
    """Executors before."""
    wanted: int = 2
    """Executors in the end."""
    executor: bool = False
    """Kill an executor instead of the driver."""


def intent(kind: type) -> Step:
    """That something is about to be done."""
    return lambda entry: isinstance(entry, Intent) and isinstance(entry.action, kind)


def carried(pattern: str) -> Step:
    """That a part of it was done."""
    return lambda entry: isinstance(entry, Carried) and re.search(pattern, entry.what) is not None


def arrived(entry: Entry) -> bool:
    """That the executors are as asked."""
    return isinstance(entry, Spoke) and isinstance(entry.said, Arrived)


def there_are(executors: int) -> Step:
    """That so many executors are there."""
    return lambda entry: isinstance(entry, Cluster) and len(entry.executors) == executors


def grow(step: Step, *, executor: bool = False) -> Case:
    """One executor becomes two."""
    return Case("scale 2", step, executor=executor)


def shrink(step: Step, *, executor: bool = False) -> Case:
    """Two become one."""
    return Case("scale 1", step, begins=2, wanted=1, executor=executor)


def restart(step: Step) -> Case:
    """An exchange gets other partitions."""
    return Case("restart parse={partitions}", step, wanted=1)


def rewrite(step: Step, *, executor: bool = False) -> Case:
    """The state gets another number of bins."""
    return Case("restart state={bins}", step, wanted=1, executor=executor)


CASES = {
    "grow-intent": grow(intent(SetExecutors)),
    "grow-asked": grow(carried("asked the cluster")),
    "grow-registered": grow(carried("registered")),
    "grow-warmed": grow(carried("warmed")),
    "grow-arrived": grow(arrived),
    "grow-spreading": grow(intent(SpreadBins)),
    "grow-moving": grow(carried("there in batch")),
    "grow-spread": grow(carried("bins? of")),
    "shrink-intent": shrink(intent(SetExecutors)),
    "shrink-moving": shrink(carried("there in batch")),
    "shrink-emptied": shrink(carried("bins? of")),
    "shrink-leaving": shrink(carried("to leave")),
    "restart-intent": restart(intent(Restart)),
    "restart-drained": restart(carried("drained")),
    "restart-started": restart(carried("started again")),
    "restart-going": restart(carried("the first batch after it")),
    "rewrite-intent": rewrite(intent(Restart)),
    "rewrite-drained": rewrite(carried("drained")),
    "rewrite-begun": rewrite(carried("s to rewrite$")),
    "rewrite-written": rewrite(carried("read once more and compared$")),
    "rewrite-done": rewrite(carried("state rewritten")),
    "executor-registered": grow(carried("registered"), executor=True),
    "executor-spreading": grow(intent(SpreadBins), executor=True),
    "executor-leaving": shrink(intent(SetExecutors), executor=True),
    "executor-rewriting": rewrite(carried("s to rewrite$"), executor=True),
}
BECAUSE_OF_A_KILL = (
    "is gone; bins of",
    "could not warm executor",
    "told to move; no batch has shown it",
    "bins already; looking whether all is there",
    "state is as asked",
)
"""What the journal tells of a change only because somebody was killed in the middle of it."""


class KillError(AssertionError):
    """Something that must hold does not."""


_started: list[subprocess.Popen[bytes]] = []


def leave_nothing_running(number: int, _: object) -> None:
    """A campaign that is ended by a signal ends its jobs, which are in process groups of their own."""
    for process in _started:
        if process.poll() is None:
            process.kill()
    os._exit(128 + number)


class Running:
    """`headgate run` in a process group of its own."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.log = (folder / "run.log").open("ab")
        command = [sys.executable, "-m", "headgate", "run", str(folder / "job.toml")]
        self.process = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=self.log,
            stderr=subprocess.STDOUT,
            start_new_session=True,
            env=_surroundings,
        )
        _started.append(self.process)

    def kill(self) -> None:
        """As the machine would: the process is gone from one moment to the next. What it has started ends by itself."""
        left = kill_and_wait_for_all_it_started(self.process)
        self.log.close()
        if left:
            raise KillError(f"processes {left} of the killed job are still running")

    def drain(self) -> None:
        """Ctrl-C, and wait."""
        self.process.send_signal(signal.SIGINT)
        code = self.process.wait(PATIENCE)
        self.log.close()
        if code:
            raise KillError(f"the job ended with {code}; see {self.folder / 'run.log'}")

    def executors(self) -> dict[str, int]:
        """Executor -> process, of the cluster this job has started."""
        mine = descendants(self.process.pid)
        found = {}
        for process in mine:
            words = command_line(process)
            if "org.apache.spark.executor.CoarseGrainedExecutorBackend" in words:
                found[words[words.index("--executor-id") + 1]] = process
        return found


def kill_and_wait_for_all_it_started(process: subprocess.Popen[bytes]) -> list[int]:
    """SIGKILL; what of it is still running a minute later."""
    family = {one: command_line(one) for one in descendants(process.pid)}
    process.kill()
    process.wait()
    deadline = time.monotonic() + 60
    while left := [one for one, words in family.items() if words and command_line(one) == words]:
        if time.monotonic() > deadline:
            break
        time.sleep(0.1)
    return left


def descendants(process: int) -> list[int]:
    """All processes that a process has started, and those that they have."""
    children: dict[int, list[int]] = {}
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = path.read_text().rpartition(")")[2].split()
        except OSError:  # gone in the meantime
            continue
        children.setdefault(int(fields[1]), []).append(int(path.parent.name))
    found, todo = [], [process]
    while todo:
        more = children.get(todo.pop(), [])
        found += more
        todo += more
    return found


def command_line(process: int) -> list[str]:
    """The words that started it."""
    try:
        return Path(f"/proc/{process}/cmdline").read_bytes().decode(errors="replace").split("\0")
    except OSError:
        return []


def entries(folder: Path) -> list[tuple[int, Entry]]:
    """What the journal has, so far."""
    try:
        with Journal(folder / "journal.db", read_only=True) as journal:
            return list(journal.entries())
    except InputError:  # not made yet
        return []


def wait_for(folder: Path, step: Step, after: int, what: str, running: Running) -> int:
    """The number of the first entry after this one that shows the step."""
    deadline = time.monotonic() + PATIENCE
    with Journal(folder / "journal.db", read_only=True) as journal:  # opened once: that costs more than looking
        while time.monotonic() < deadline:
            for number, entry in journal.entries(after):
                if step(entry):
                    return number
                after = number
            if running.process.poll() is not None:
                raise KillError(f"the job ended with {running.process.returncode} while waiting for {what}")
            time.sleep(0.02)
    raise KillError(f"{what} did not come within {PATIENCE:.0f} s")


def batches_written(folder: Path) -> int:
    """How many batches have left their file."""
    return len(list((folder / "counts").glob("[0-9]*.json")))


def wait_for_batches(folder: Path, count: int, running: Running) -> None:
    """Until there are so many."""
    deadline = time.monotonic() + PATIENCE
    while batches_written(folder) < count:
        if time.monotonic() > deadline or running.process.poll() is not None:
            raise KillError(f"{batches_written(folder)} of {count} batches were written")
        time.sleep(0.05)


def tell(folder: Path, words: str) -> None:
    """`headgate tell`, as a person would."""
    command = [sys.executable, "-m", "headgate", "tell", str(folder / "journal.db"), *words.split()]
    subprocess.run(command, check=True, capture_output=True)


def last_number(folder: Path) -> int:
    """Of the entries so far."""
    return max((number for number, _ in entries(folder)), default=0)


def executors_now(folder: Path) -> int:
    """As the journal saw them last."""
    return len([one for _, one in entries(folder) if isinstance(one, Cluster)][-1].executors)


class Round:
    """One job, killed again and again."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        (folder / "job.toml").write_text(JOB.format(build=EXAMPLES / "word_count.py"))
        self.partitions, self.bins = PARTITIONS, BINS
        self.begun = 1
        self.words = 0
        self.running = Running(folder)

    def go_through(self, cases: Sequence[Case]) -> str:
        """All of them; what happened, in a line. Raises `KillError`."""
        try:
            wait_for_batches(self.folder, 3, self.running)
            for case in cases:
                self.kill(case)
            wanted = len(self.running.executors())
            self.running.drain()
        finally:
            if self.running.process.poll() is None:
                self.running.kill()
            self.running.log.close()
        return check(self, wanted)

    def kill(self, case: Case) -> None:
        """Tell, wait for the step, kill; wait until all is as it was wanted and goes on."""
        folder = self.folder
        if executors_now(folder) != case.begins:
            before = last_number(folder)
            self.tell(f"scale {case.begins}")
            wait_for(folder, there_are(case.begins), before, f"{case.begins} executors", self.running)
            wait_for_batches(folder, batches_written(folder) + 3, self.running)
        self.partitions += "{partitions}" in case.told
        self.bins += "{bins}" in case.told
        before = last_number(folder)
        self.tell(case.told.format(partitions=self.partitions, bins=self.bins))
        at = wait_for(folder, case.step, before, "the step", self.running)
        if case.executor:
            executors = self.running.executors()
            if not executors:
                raise KillError("there is no executor to kill")
            os.kill(max(executors.items())[1], signal.SIGKILL)
        else:
            self.running.kill()
            self.begun += 1
            self.running = Running(folder)
            at = wait_for(folder, lambda entry: isinstance(entry, Began), at, "another beginning", self.running)
        wait_for(folder, there_are(case.wanted), at, f"{case.wanted} executors", self.running)
        wait_for_batches(folder, batches_written(folder) + 3, self.running)

    def tell(self, words: str) -> None:
        """And count them."""
        tell(self.folder, words)
        self.words += 1


def run_cases(names: Sequence[str], folder: Path) -> str:
    """A round of these in an empty folder."""
    return Round(folder).go_through([CASES[name] for name in names])


def committed(folder: Path) -> int:
    """Sentences up to where the last committed batch ended."""
    last = max(int(path.name) for path in (folder / "checkpoint" / "commits").iterdir() if path.name.isdigit())
    text = (folder / "checkpoint" / "offsets" / str(last)).read_text().strip().splitlines()[-1]
    return int(msgspec.json.decode(text)["number"])


def tasks_now(folder: Path) -> set[int]:
    """How many tasks the operators have in the last batch."""
    with Journal(folder / "journal.db", read_only=True) as journal:
        last = [entry for entry in journal.everything() if isinstance(entry, Seen)][-1].batch
    return {operator.instances for operator in last.dataflow.operators}


def check(ran: Round, executors: int) -> str:
    """Counts against the generator's truth, the journal against what was done, the job against what was asked of it."""
    folder = ran.folder
    sentences = committed(folder)
    truth = Text(words=10, vocabulary=1000, keys=64, hot=0.0).word_counts(sentences)
    counts: dict[str, int] = {}
    files = sorted((folder / "counts").glob("[0-9]*.json"))
    for path in files:
        counts.update(msgspec.json.decode(path.read_bytes()))
    if counts != truth:
        wrong = sum(counts.get(word, 0) != number for word, number in truth.items())
        raise KillError(f"{wrong} of {len(truth)} counts are wrong over {sentences} sentences")
    numbers = [int(path.stem) for path in files]
    missing = sorted(set(range(max(numbers))) - set(numbers))
    rewrites = ran.bins - BINS
    if len(missing) != rewrites:  # a rewrite is a batch of its own, without output
        raise KillError(f"batches {missing} are missing, and there were {rewrites} rewrites")
    check_journal(ran, executors)
    there = read_state(LocalFolders(str(folder / "checkpoint"))).partitions
    if there != ran.bins:
        raise KillError(f"the state is in {there} bins, {ran.bins} were asked for last")
    if ran.partitions != PARTITIONS and ran.partitions not in tasks_now(folder):
        raise KillError(f"operators have {tasks_now(folder)} tasks, {ran.partitions} were asked for last")
    return f"{sentences:,} sentences in {len(files)} batches, every count exact"


def check_journal(ran: Round, executors: int) -> None:
    """It tells of every beginning and end, of every word once, how every plan ended, and who was there."""
    written = [entry for _, entry in entries(ran.folder)]
    began = sum(isinstance(one, Began) for one in written)
    ended = sum(isinstance(one, Ended) for one in written)
    if began != ran.begun or ended != 1:
        raise KillError(f"the journal tells of {began} beginnings and {ended} ends, there were {ran.begun} and 1")
    words = sum(isinstance(one, Told) for one in written)
    if words != ran.words:
        raise KillError(f"the journal tells of {words} words, {ran.words} were said")
    begun = {one.action.plan for one in written if isinstance(one, Intent) and isinstance(one.action, SetExecutors)}
    over = {one.said.plan for one in written if isinstance(one, Spoke) and isinstance(one.said, Arrived | Failed)}
    if begun - over:
        raise KillError(f"the journal does not say how plans {sorted(begun - over)} ended")
    if executors_now(ran.folder) != executors:
        raise KillError(f"the journal ends with {executors_now(ran.folder)} executors, {executors} were there")


def without_a_kill(folder: Path, cases: Sequence[Case]) -> set[str]:
    """The steps that the journal tells of and at none of which anybody is killed, with # for every number."""
    found = set()
    for _, entry in entries(folder):
        if isinstance(entry, Carried) and entry.plan and not any(one in entry.what for one in BECAUSE_OF_A_KILL):
            told = entry.what
        elif isinstance(entry, Intent):
            told = type(entry.action).__name__
        else:
            continue
        if not any(case.step(entry) for case in cases):
            found.add(re.sub(r"\d[\d.,]*", "#", told))
    return found


def main() -> int:
    """All of them, so many times."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cases", default=",".join(CASES), help="which, by name")
    parser.add_argument("--repeat", type=int, default=10, help="rounds, each with all cases")
    parser.add_argument("--first", type=int, default=1, help="number of the first round, which says its order")
    parser.add_argument("--at-once", type=int, default=3, help="rounds side by side")
    given = parser.parse_args()
    names = given.cases.split(",")
    for ending in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(ending, leave_nothing_running)
    classes = Path(tempfile.mkdtemp(prefix="kills-classes-"))
    try:
        return campaign(given, names, classes)
    finally:
        shutil.rmtree(classes, ignore_errors=True)


def campaign(given: argparse.Namespace, names: Sequence[str], classes: Path) -> int:
    """All rounds, with Java's classes in this folder."""
    _surroundings.update(short_lived_with_archive(classes))

    def one_round(number: int) -> bool:
        order = random.Random(number).sample(names, len(names))
        folder = Path(tempfile.mkdtemp(prefix=f"kills-{number}-"))
        began = time.monotonic()
        try:
            said = run_cases(order, folder)
            missed = without_a_kill(folder, CASES.values()) if len(names) == len(CASES) else set()
            if missed:
                raise KillError(f"nobody was killed at: {'; '.join(sorted(missed))}")
            shutil.rmtree(folder)
            held = True
        except (KillError, subprocess.SubprocessError) as problem:
            said, held = f"FAILED: {problem} (kept in {folder}; the order was {','.join(order)})", False
        print(f"{number:>3}  {len(names)} kills  {time.monotonic() - began:5.0f} s  {said}", flush=True)
        return held

    with ThreadPoolExecutor(given.at_once) as threads:
        held = sum(threads.map(one_round, range(given.first, given.first + given.repeat)))
    print(f"{held} of {given.repeat} rounds of {len(names)} kills held")
    return 0 if held == given.repeat else 1


if __name__ == "__main__":
    sys.exit(main())
