"""The page about policies of one's own, followed to the letter by someone who has nothing else."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

PAGE = Path(__file__).parent.parent / "docs" / "your-own-policy.md"
TOPOLOGY = "in,In,1,map,Map,2\nmap,Map,2,count,Count,4\n"
# map is busy 95 % of the time, count 20 %.
RATES = (
    "in,0,1,1,0,300,0,190\n"
    + "".join(f"map,{i},2,1,100,500,95,475\n" for i in range(2))
    + "".join(f"count,{i},4,1,1000,0,200,0\n" for i in range(4))
)


@pytest.fixture
def folder(tmp_path):
    """A folder with the two pieces of code from the page."""
    policy, test = re.findall(r"```python\n(.*?)```", PAGE.read_text(), re.S)
    (tmp_path / "steps.py").write_text(policy)
    (tmp_path / "test_steps.py").write_text(test)
    (tmp_path / "topology.csv").write_text(TOPOLOGY)
    (tmp_path / "rates.log").write_text(RATES)
    return tmp_path


def run(folder, *command):
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False, env=environment)


def test_the_policy_on_the_page_runs_with_the_command_on_the_page(folder):
    command = re.search(r"^headgate (decide .*steps:Steps.*)$", PAGE.read_text(), re.M)[1]
    program = str(Path(sys.executable).with_name("headgate"))
    ran = run(folder, program, *command.split())
    assert ran.returncode == 0, ran.stderr
    rows = {line.split()[0]: line.split() for line in ran.stdout.splitlines()}
    assert rows["map"][1:3] == ["2", "6"]  # busy: 4 more, as set
    assert rows["count"][1:3] == ["4", "4"]  # idle, but only once
    assert "assumed: map: busy 95% of the time" in ran.stdout


def test_its_memory_reaches_it_from_window_to_window(folder):
    windows = [re.sub(r"^(\w+,\d,\d),1,", rf"\1,{at},", RATES, flags=re.M) for at in (1, 2, 3)]
    (folder / "rates.log").write_text("".join(windows))
    options = "--topology topology.csv --rates rates.log --policy steps:Steps --combine all --format ds2".split()
    ran = run(folder, sys.executable, "-m", "headgate", "decide", *options)
    assert ran.stdout == '"map,4,map,4,map,4,count,4,count,4,count,3"\n'


def test_bounds_and_formats_work_for_it_too(folder):
    options = "--topology topology.csv --rates rates.log --policy steps:Steps --max 3 --format ds2".split()
    ran = run(folder, sys.executable, "-m", "headgate", "decide", *options)
    assert ran.stdout == '"map,3,count,3"\n'


def test_a_policy_of_ones_own_that_fails_is_named_with_its_own_line(folder):
    (folder / "broken.py").write_text(
        "class Broken:\n    name = 'broken'\n    def start(self): return None\n"
        "    def decide(self, memory, estimate, objective, now):\n        return memory, 1 / 0\n"
    )
    options = "--topology topology.csv --rates rates.log --policy broken:Broken".split()
    ran = run(folder, sys.executable, "-m", "headgate", "decide", *options)
    assert ran.returncode == 2
    assert ran.stderr == "headgate: policy broken failed: ZeroDivisionError: division by zero (broken.py:5)\n"


HEAD = "from headgate import Decision\nimport numpy as np\nclass Odd:\n    name = 'odd'\n"
START = "    def start(self): return None\n"
DECIDE = "    def decide(self, memory, estimate, objective, now):\n        "
RESIZE = HEAD + START + DECIDE + "return memory, Decision.resize('odd', estimate, "
FAILS_TO_START = HEAD + "    def start(self): return {}['x']\n" + DECIDE + "return 1\n"
CANNOT_BE_MADE = HEAD + "    def __init__(self): raise ValueError('no')\n" + START + DECIDE + "return 1\n"


@pytest.mark.parametrize(
    ("code", "said"),
    [
        (RESIZE + "{'map': 2.7})\n", "would get 2.7 instances"),
        (RESIZE + "{'in': 2})\n", 'operator "in" is a source'),
        (RESIZE + "{}, ('why',))\n", "gave 'why' as a reason"),
        (HEAD + START + DECIDE + "return memory, Decision('odd', ())\n", "for each operator once: count, in, map"),
        (HEAD + START + DECIDE + "raise SystemExit(0)\n", "policy odd failed: SystemExit: 0 (odd.py:7)"),
        (FAILS_TO_START, "policy odd failed: KeyError: 'x' (odd.py:5)"),
        (CANNOT_BE_MADE, "making it failed: ValueError: no (odd.py:5)"),
        ("def broken(:\n", "importing odd failed: SyntaxError: "),
        ("raise RuntimeError('at import')\n", "importing odd failed: RuntimeError: at import (odd.py:1)"),
    ],
)
def test_a_policy_with_a_mistake_is_answered_in_one_line(folder, code, said):
    (folder / "odd.py").write_text(code)
    options = "--topology topology.csv --rates rates.log --policy odd:Odd --format json".split()
    ran = run(folder, sys.executable, "-m", "headgate", "decide", *options)
    assert (ran.returncode, ran.stdout) == (2, "")
    assert said in ran.stderr
    assert ran.stderr.count("\n") == 1


def test_a_policy_may_answer_in_the_integers_of_numpy(folder):
    (folder / "odd.py").write_text(RESIZE + "{'map': np.int64(7)})\n")
    options = "--topology topology.csv --rates rates.log --policy odd:Odd --format json".split()
    ran = run(folder, sys.executable, "-m", "headgate", "decide", *options)
    assert '"instances": 7' in ran.stdout


def test_a_policy_that_returns_something_else_is_told_what_to_return(folder):
    (folder / "odd.py").write_text(
        "class Odd:\n    name = 'odd'\n    def start(self): return None\n    def decide(self, *given): return 7\n"
    )
    options = "--topology topology.csv --rates rates.log --policy odd:Odd".split()
    ran = run(folder, sys.executable, "-m", "headgate", "decide", *options)
    assert (ran.returncode, ran.stderr) == (2, "headgate: policy odd returned int; return (memory, Decision)\n")


def test_the_test_on_the_page_passes_and_the_second_tier_does_not(folder):
    command = (sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "test_steps.py")
    assert "8 passed" in run(folder, *command).stdout
    test = (folder / "test_steps.py").read_text()
    (folder / "test_steps.py").write_text(test.replace("rate_based=False", "rate_based=True"))
    assert "one step is enough" in re.findall(r"^FAILED .*\[(.*?)\]", run(folder, *command).stdout, re.M)
