import csv
import io
import json
import subprocess
import sys

import pytest

from headgate import Decision

TOPOLOGY = "in,In,1,map,Map,2\nmap,Map,2,count,Count,4\n"
# map does 100 a second and makes 5 of each record; count does 60: needs are 3 and 25.
RATES = """\
in,0,1,1000000000,0,300,0,120
map,0,2,1000000000,100,500,60,300
map,1,2,1000000000,100,500,60,300
count,0,4,1000000000,60,0,30,0
count,1,4,1000000000,60,0,30,0
count,2,4,1000000000,60,0,30,0
count,3,4,1000000000,60,0,30,0
"""
LATER = RATES.replace(",1000000000,", ",2000000000,").replace("0,300,0,120", "0,100,0,100")  # needs 1 and 8.33


@pytest.fixture
def decide(headgate, file):
    def run(*options, rates=RATES, topology=TOPOLOGY):
        return headgate("decide", "--topology", file("t.csv", topology), "--rates", file("r.log", rates), *options)

    return run


def test_the_table_shows_for_each_operator_what_there_is_and_what_is_needed(decide):
    ran = decide()
    assert ran.code == 0
    assert ran.err == ""
    lines = ran.out.splitlines()
    assert lines[0].split() == ["operator", "now", "needed", "answer", "true", "rate/s", "demand/s", "utilisation"]
    assert lines[1].split() == ["in", "1", "1", "300", "40%", "source"]
    assert lines[2].split() == ["map", "2", "3.00", "3", "200", "300", "60%"]
    assert lines[3].split() == ["count", "4", "25.00", "25", "240", "1,500", "50%", "<-", "bottleneck"]
    assert lines[4].strip() == (
        "limits: count is the bottleneck: it needs 25 instances and has 4, so the dataflow runs at 16 % of its input"
    )


def test_explain_prints_the_arithmetic_of_the_operator_named(decide):
    ran = decide("--factor", "0.1", "--explain", "map")
    assert ran.out.split("\n\n")[1].splitlines() == [
        "map: 4 (now 2)",
        "  demand    300 from in records/s, when everything upstream keeps up",
        "  capacity  200 records/s of useful time over 2 instances = 100 each",
        "  need      300 / 100 = 3 instances",
        "  headroom  3 x 1.1 = 3.3",
        "  answer    4, the whole instances that cover it",
        "  passes on 1,500 records/s, 5 for each record that arrives",
    ]


def test_explain_without_a_name_takes_the_tightest_operator(decide):
    assert "\ncount: 25 (now 4)\n" in decide("--explain").out


def test_explain_of_an_unknown_operator_is_refused(decide):
    assert decide("--explain", "cuont").err == (
        'headgate: operator "cuont" is not in the topology (did you mean "count"?)\n'
    )


def test_json_is_the_decision_and_reads_back(decide):
    decision = Decision.from_json(decide("--format", "json").out)
    assert decision.parallelism == {"map": 3, "count": 25}
    assert decision.at == 1.0


def test_csv_has_a_line_per_operator_in_full_precision(decide):
    rows = list(csv.DictReader(io.StringIO(decide("--format", "csv", rates=LATER).out)))
    assert [row["operator"] for row in rows] == ["in", "map", "count"]
    assert float(rows[2]["needed"]) == 500 / 60
    assert [row["answer"] for row in rows] == ["1", "1", "9"]
    assert [row["bottleneck"] for row in rows] == ["0", "0", "1"]


def test_ds2_prints_the_line_of_the_original_and_reasons_on_standard_error(decide):
    ran = decide("--format", "ds2")
    assert ran.out == '"map,3,count,25"\n'
    assert "count is the bottleneck" in ran.err


def test_one_window_of_several_is_answered_unless_all_are_asked_for(decide):
    both = RATES + LATER
    assert decide("--format", "ds2", rates=both).out == '"map,3,map,1,count,25,count,9"\n'
    assert decide("--format", "ds2", "--combine", "maximum", rates=both).out == '"map,3,count,25"\n'
    assert Decision.from_json(decide("--format", "json", rates=both).out).parallelism == {"map": 1, "count": 9}
    assert len(json.loads(decide("--format", "json", "--combine", "all", rates=both).out)) == 2
    assert decide("--combine", "all", rates=both).out.count("operator ") == 2
    kept = Decision.from_json(decide("--format", "json", "--combine", "agree:2", rates=both).out)
    assert kept.parallelism == {"map": 2, "count": 4}


def test_bounds_are_options(decide):
    ran = decide("--format", "ds2", "--min", "4", "--max", "10", "--bound", "count=5:20")
    assert ran.out == '"map,4,count,20"\n'
    assert decide("--format", "ds2", "--max-total", "14").out == '"map,2,count,12"\n'


def test_shares_of_edges_are_an_option(decide, file):
    ran = decide("--format", "ds2", "--edge-shares", file("e.csv", "map,count,0.5\n"))
    assert ran.out == '"map,3,count,13"\n'


def test_given_rates_are_options(decide, file):
    assert decide("--format", "ds2", "--source-rates", file("s.csv", "in,600\n")).out == '"map,6,count,50"\n'
    limits = file("o.csv", "map,50\n")
    # In the original's arithmetic the output of map stays at 1,000 while its input is halved.
    assert decide("--format", "ds2", "--operator-rates", limits).out == '"map,6,count,50"\n'
    assert Decision.from_json(decide("--format", "json", "--operator-rates", limits).out).parallelism == {
        "map": 6,
        "count": 25,
    }


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--threshold", "0.9"], "threshold is 0.9; give a target-rate ratio of 1 or more"),
        (["--factor", "-1"], "headroom (--factor) is -1.0; give a number from 0 up, such as 0.2"),
        (["--factor", "nan"], "headroom (--factor) is nan"),
        (["--combine", "mean"], 'combination "mean" is not known; give last, median, maximum or agree:K'),
        (["--bound", "count"], '--bound "count" is not OP=MIN:MAX, such as Count=2:16'),
        (["--bound", "count=9:2"], "bounds of count: the maximum 2 is below the minimum 9"),
        (["--bound", "cuont=1:2"], 'operator "cuont" is not in the topology (did you mean "count"?)'),
        (["--max", "0"], "bounds of every operator: the maximum 0 is below the minimum 1"),
        (["--max-total", "1"], "the total bound is 1, but the minimum of all 2 operators together is 2"),
        (["--policy", "ds3"], 'policy "ds3" is not known (did you mean "ds2"?)'),
        (["--policy", "nowhere:Mine"], 'policy "nowhere:Mine": cannot import nowhere'),
        (["--policy", "json:Mine"], 'policy "json:Mine": module json has no "Mine"'),
        (["--policy", "fractions:Fraction"], 'policy "fractions:Fraction" lacks name, start, decide; see docs/'),
        (["--set", "limit"], '--set "limit" is not KEY=VALUE'),
        (["--set", "speed=3"], "policy \"ds2\": Unexpected keyword argument 'speed'"),
        (["--rates", "x"], "--rates is given twice"),
        (["--nonsense"], "unrecognized arguments: --nonsense"),
    ],
)
def test_what_a_user_can_get_wrong_is_one_line_and_exit_code_two(decide, options, said):
    ran = decide(*options)
    assert ran.code == 2
    assert ran.out == ""
    assert said in ran.err
    assert ran.err.startswith("headgate: ")
    assert ran.err.count("\n") == 1


def test_reasons_beyond_a_dozen_are_counted_not_listed(decide):
    topology = "".join(f"s,S,1,o{i},O,1\n" for i in range(30))
    ran = decide(topology=topology, rates="s,0,1,1,0,5,0,5\n")
    assert ran.out.count("has no usable rates") == 12
    assert "… and 18 more reasons; --format json has them all" in ran.out


def test_names_of_any_script_keep_the_table_straight(decide):
    ran = decide(topology="in,In,1,数数,x,1\n", rates="in,0,1,1,0,5,0,5\n数数,0,1,1,1,1,1,1\n")
    first, second = ran.out.splitlines()[1:3]
    assert first.index("1") == second.index("1") + 2  # two characters that take two places each


def program(*arguments, **options):
    return subprocess.run(
        [sys.executable, "-m", "headgate", *arguments], capture_output=True, text=True, check=False, **options
    )


def test_the_program_itself_answers_and_ends_with_its_exit_code(tmp_path):
    (tmp_path / "t.csv").write_text(TOPOLOGY)
    (tmp_path / "r.log").write_text(RATES)
    ran = program("decide", "--topology", "t.csv", "--rates", "r.log", "--format", "ds2", cwd=tmp_path)
    assert (ran.returncode, ran.stdout) == (0, '"map,3,count,25"\n')
    ran = program("decide", "--topology", "t.csv", "--rates", "absent.log", cwd=tmp_path)
    assert (ran.returncode, ran.stdout) == (2, "")
    assert ran.stderr == "headgate: absent.log: cannot be read (No such file or directory); check the path\n"


def test_a_reader_that_goes_away_is_no_error(tmp_path):
    (tmp_path / "t.csv").write_text("".join(f"s,S,1,operator-{i},O,1\n" for i in range(5000)))
    (tmp_path / "r.log").write_text("s,0,1,1,0,5,0,5\n")
    command = f"{sys.executable} -m headgate decide --topology t.csv --rates r.log | head -1; echo ${{PIPESTATUS[0]}}"
    ran = subprocess.run(["bash", "-c", command], capture_output=True, text=True, check=True, cwd=tmp_path)
    assert ran.stderr == ""
    assert ran.stdout.splitlines()[-1] == "0"


def test_help_names_every_file_format_and_exit_code():
    ran = program("decide", "--help")
    assert ran.returncode == 0
    for word in ("id,name,instances", "window_start", "rate_per_instance", "exit codes", "examples", "(default: "):
        assert word in ran.stdout
    assert "decide" in program("--help").stdout
    assert program("--version").stdout.startswith("headgate 0.")


def test_importing_headgate_brings_in_neither_spark_nor_arrow():
    heavy = "{'pyspark', 'pyarrow', 'pandas'} & set(sys.modules)"
    code = f"import sys, headgate, headgate.cli.main; print({heavy})"
    assert subprocess.check_output([sys.executable, "-c", code], text=True) == "set()\n"
