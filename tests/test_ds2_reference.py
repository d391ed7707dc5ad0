"""The original program's own answers, reproduced."""

import json
import re
import shlex
from pathlib import Path

import pytest

DATA = Path(__file__).parent / "data"


def pairs(line):
    """`"op,n,op,n"` as a list of (op, n). Names in these files hold no commas."""
    words = line.strip().strip('"').split(",")
    return list(zip(words[::2], map(int, words[1::2]), strict=True))


def random_dags():
    return [json.loads(line) for line in (DATA / "random_dags_250.jsonl").read_text().splitlines()]


@pytest.mark.parametrize("output", ["ds2", "json"])
def test_all_250_random_graphs_get_the_answers_of_the_original(headgate, file, output):
    equal = 0
    for case in random_dags():
        options = ["--factor", case["factor"]]
        if case["threshold"] is not None:
            options += ["--threshold", case["threshold"]]
        topology, rates = file("topology.csv", case["topology"]), file("rates.log", case["rates"])
        ran = headgate("decide", "--topology", topology, "--rates", rates, *options, "--format", output)
        assert ran.code == 0, ran.err
        if output == "ds2":
            found = dict(pairs(ran.out))
        else:
            found = {s["operator"]: s["instances"] for s in json.loads(ran.out)["sizings"] if not s["source"]}
        equal += found == case["expected"]
    assert equal == 250


def test_the_eleven_windows_of_the_flink_word_count_get_the_answers_of_the_original(headgate, file, reference):
    ds2 = reference / "ds2"
    # The original's runs were made with this folder's rates and the topology of its offline example.
    topology = ds2 / "examples/offline/flink_wordcount_topology.csv"
    variants = {
        "default": [],
        "factor0.5": ["--factor", "0.5"],
        "threshold1.0": ["--threshold", "1.0"],
        "src80k": ["--source-rates", ds2 / "src80k.csv"],
        "src400k": ["--source-rates", ds2 / "src400k.csv"],
        "src2m": ["--source-rates", ds2 / "src2m.csv"],
    }
    windows = json.loads((ds2 / "flink_wordcount_rates_11_epochs.json").read_text())
    assert len(windows) == 11
    for window in windows:
        logs = sorted((ds2 / "examples/flink_wordcount_rates").glob(f"*-{window['epoch']}.log"))
        rates = file("rates.log", "\n".join(log.read_text() for log in logs))
        command = ["decide", "--topology", topology, "--rates", rates]
        for name, options in variants.items():
            ran = headgate(*command, *options, "--format", "ds2")
            assert ran.out.strip().strip('"') == window[name], (window["epoch"], name, ran.err)
        sizings = {s["operator"]: s for s in json.loads(headgate(*command, "--format", "json").out)["sizings"]}
        for operator, need in window["fractional"].items():
            assert sizings[operator]["need"] == pytest.approx(need, abs=1e-6)


def offline_runs(reference):
    """(arguments, what was printed, exit code) of each run in the record."""
    text = (reference / "ds2/offline_example_runs.txt").read_text()
    for command, printed, code in re.findall(r"^\$ policy ([^\n]*)\n(.*?)^\[exit (\d+)\]$", text, re.M | re.S):
        yield shlex.split(command), printed, int(code)


def test_the_recorded_runs_of_the_offline_example_are_reproduced(headgate, reference):
    answered = refused = 0
    for arguments, printed, code in offline_runs(reference):
        places = {
            "offline": reference / "ds2/examples/offline",
            "src": reference / "ds2",
            "opr": reference / "ds2",
        }
        here = []
        for word in arguments:
            folder = next((at for start, at in places.items() if word.startswith(start)), None)
            here.append(word if folder is None else str(folder / Path(word).name))
        ran = headgate("decide", *here, "--format", "ds2")
        if code == 0:
            assert sorted(pairs(ran.out)) == sorted(pairs(printed.strip().splitlines()[-1])), arguments
            answered += 1
        else:
            assert (ran.code, ran.out) == (2, ""), arguments
            refused += 1
    assert (answered, refused) == (18, 4)


@pytest.mark.parametrize("name", ["one_source", "two_sources"])
def test_the_unit_tests_of_the_original_hold(headgate, file, reference, name):
    vectors = json.loads((reference / "ds2/upstream_test_vectors.json").read_text())["ds2"]
    case = next(vector for vector in vectors if vector["name"] == name)
    edges = [f"{a},{a},{case['nodes'][a]},{b},{b},{case['nodes'][b]}" for a, b in case["edges"]]
    topology = file("topology.csv", "\n".join(edges))
    for window in case["epochs"].values():
        rates = file("rates.log", "\n".join(f"{op},0,1,1,{','.join(map(str, r))}" for op, r in window["rates"].items()))
        ran = headgate("decide", "--topology", topology, "--rates", rates, "--format", "ds2")
        assert dict(pairs(ran.out)) == window["expected"]


def test_a_real_run_of_nexmark_q3_gets_the_answers_of_the_original(headgate, reference):
    q3 = reference / "ds2/nexmark_q3"
    recorded = re.findall(
        r'^\$ policy (.*)\n(?:Source id.*\n)*(".*")$', (q3 / "reference_output.txt").read_text(), re.M
    )
    assert len(recorded) == 4
    for command, line in recorded:
        arguments = [str(q3 / word) if (q3 / word).is_file() else word for word in shlex.split(command)]
        assert headgate("decide", *arguments, "--format", "ds2").out.strip() == line


def test_the_original_prints_windows_in_any_order_and_headgate_in_theirs(headgate, reference):
    record = (reference / "ds2/two_epoch_nondeterminism.txt").read_text()
    plain, _ = record.split("['--threshold', '1.0']")
    lines = re.findall(r'".*"', plain)
    probe = reference / "ds2/probes/two_epoch"
    ran = headgate("decide", "--topology", f"{probe}.topo.csv", "--rates", f"{probe}.rates.log", "--format", "ds2")
    assert ran.out.strip() == '"A,2,A,18,B,8,B,72"'
    assert ran.out.strip() in lines
    assert all(sorted(pairs(line)) == sorted(pairs(ran.out)) for line in lines)
