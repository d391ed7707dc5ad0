import csv
import io
import json
import os
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
        "  demand    records/s: 300 from in, when everything upstream keeps up",
        "  capacity  200 records/s of useful time over 2 instances = 100 each",
        "  need      300 / 100 = 3",
        "  headroom  3 x 1.1 = 3.3",
        "  answer    4, the whole instances that cover it",
        "  passes on 1,500 records/s, 5 for each record that arrives",
    ]


def test_explain_without_a_name_takes_the_tightest_operator(decide):
    assert "\ncount: 25 (now 4)\n" in decide("--explain").out


def test_explain_of_an_unknown_operator_is_refused(decide):
    ran = decide("--explain", "cuont")
    assert ran.err == 'headgate: --explain: operator "cuont" is not in the topology (did you mean "count"?)\n'
    assert ran.out == ""


def test_an_operator_can_be_explained_by_its_name(decide):
    assert "\ncount: 25 (now 4)\n" in decide("--explain", "Count").out


@pytest.mark.parametrize(
    ("options", "answer"),
    [
        (["--max", "9"], "9 instead of 25; the reasons say why"),
        (["--min", "30"], "30 instead of 25; the reasons say why"),
        (["--combine", "agree:2"], "4 instead of 25; the reasons say why"),
        (["--factor", "1"], "50, the whole instances that cover it"),
    ],
)
def test_explain_does_not_call_an_answer_the_need_if_it_is_not(decide, options, answer):
    assert f"  answer    {answer}\n" in decide("--explain", "count", *options).out


def test_explain_shows_the_digits_that_decide(decide):
    rates = "in,0,1,1,0,0.30000000000000004,0,1\nmap,0,1,1,0.1,0,0.1,0\n"
    ran = decide("--set", "plain_ceil=true", "--explain", topology="in,In,1,map,Map,1\n", rates=rates)
    assert "  need      0.3 / 0.1 = 3.0000000000000004\n" in ran.out
    assert "  answer    4, the whole instances that cover it\n" in ran.out


def test_a_threshold_given_in_two_ways_is_refused(decide):
    assert "are given both; keep one" in decide("--threshold", "2", "--set", "threshold=3").err


def test_windows_are_told_apart_by_their_time(decide):
    ran = decide("--combine", "all", rates=RATES + LATER.replace(",2000000000,", ",1600000010000000000,"))
    assert "window 1, from 1600000010.0 s" in ran.out


def test_explain_shows_the_sum_of_inputs_only_where_it_adds_up(decide):
    # By maximum, count is of the first window; map too, but in the second its output was a third.
    both = RATES + LATER.replace("60,0,30,0", "6,0,3,0")
    ran = decide("--combine", "maximum", "--explain", "count", rates=both)
    assert "  demand    500 records/s in the window this answer is from\n" in ran.out
    assert "  need      500 / 6 = 83.33\n" in ran.out


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
    assert {row["at"] for row in rows} == {"2.0"}


def test_csv_gives_its_reasons_on_standard_error(decide):
    assert "count is the bottleneck" in decide("--format", "csv").err


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


def test_the_original_answers_for_an_operator_as_long_as_it_has_windows(decide):
    third = "".join(line + "\n" for line in LATER.replace(",2000000000,", ",3000000000,").splitlines()[:3])
    ran = decide("--format", "ds2", rates=RATES + LATER + third)
    assert ran.out == '"map,3,map,1,map,1,count,25,count,9"\n'


def test_bounds_are_options(decide):
    ran = decide("--format", "ds2", "--min", "4", "--max", "10", "--bound", "count=5:20")
    assert ran.out == '"map,4,count,20"\n'
    assert decide("--format", "ds2", "--max-total", "14").out == '"map,2,count,12"\n'


def test_a_total_far_above_the_need_is_shared_out_at_once(decide):
    ran = decide("--factor", "1000000", "--max-total", "20000000", "--format", "json")
    answer = Decision.from_json(ran.out)
    assert sum(answer.parallelism.values()) == 20_000_000


@pytest.mark.parametrize("rate", ["1e308", "5e-324", "1e300"])
def test_rates_at_the_ends_of_what_a_float_can_hold_leave_no_warning(decide, rate):
    for option in ([], ["--format", "ds2"], ["--factor", "1000000"]):
        for old in ("100,500", "0,300,0,120", "60,0,30,0"):
            first = old.split(",")[0]
            new = old.replace(first, rate, 1) if first != "0" else old.replace("300", rate)
            ran = decide(*option, rates=RATES.replace(old, new))
            assert ran.code == 0
            assert "Warning" not in ran.err


def test_rates_whose_sum_is_beyond_a_float_are_unknown_and_nothing_shrinks(decide):
    ran = decide("--format", "json", rates=RATES.replace("100,500", "1.7e308,1.7e308"))
    assert Decision.from_json(ran.out).parallelism == {"map": 2, "count": 4}


def test_shares_of_edges_do_not_change_the_order_of_the_answer(decide, file):
    topology = "s,S,1,b,B,1\ns,S,1,a,A,1\nb,B,1,z,Z,1\na,A,1,z,Z,1\n"
    rates = "".join(f"{name},0,1,1,10,10,5,5\n" for name in "sabz")
    plain = decide("--format", "ds2", topology=topology, rates=rates).out
    shared = decide("--format", "ds2", "--edge-shares", file("e.csv", "s,a,1\n"), topology=topology, rates=rates).out
    assert shared == plain


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
        (["--threshold", "0.9"], "threshold (--threshold) is 0.9; give a target-rate ratio of 1 or more"),
        (["--factor", "-1"], "--factor: headroom is -1.0; give a number from 0 to 1,000,000, such as 0.2"),
        (["--factor", "nan"], "--factor: headroom is nan"),
        (["--combine", "mean"], 'combination "mean" is not known; give last, median, maximum, agree:K'),
        (["--bound", "count"], '--bound "count" is not OP=MIN:MAX, such as Count=2:16'),
        (["--bound", "count=9:2"], "bounds of count: the maximum 2 is below the minimum 9"),
        (["--bound", "cuont=1:2"], 'operator "cuont" is not in the topology (did you mean "count"?)'),
        (["--max", "0"], "bounds of every operator (--min, --max): the maximum 0 is below the minimum 1"),
        (["--max-total", "1"], "the total bound (--max-total) is 1, but the minimum of all 2 operators together is 2"),
        (["--policy", "ds3"], 'policy "ds3" is not known (did you mean "ds2"?)'),
        (["--policy", "nowhere:Mine"], 'policy "nowhere:Mine": cannot import nowhere'),
        (["--policy", "json:Mine"], 'policy "json:Mine": module json has no "Mine"'),
        (["--policy", "fractions:Fraction"], 'policy "fractions:Fraction" lacks name, start, decide; see docs/'),
        (["--set", "limit"], '--set "limit" is not KEY=VALUE'),
        (["--set", "speed=3"], "policy \"ds2\": Unexpected keyword argument 'speed'"),
        (["--rates", "x"], "--rates is given twice"),
        (["--nonsense"], "--nonsense: no such option; `headgate decide --help` lists them"),
        (["--bound", "count=\u00b2:4"], "is not OP=MIN:MAX"),
        (["--bound", f"count={'9' * 5000}:"], "is not OP=MIN:MAX"),
        (["--bound", "count=1:2", "--bound", "count=1:3"], "--bound count is given twice"),
        (["--set", "a=1", "--set", "a=2"], "--set a is given twice"),
        (["--set", "plain_ceil=3"], 'policy "ds2": Expected `bool`, got `int`'),
        (["--factor", "1_0"], 'argument --factor: "1_0" is not a number'),
        (["--factor", "1e308"], "--factor: headroom is 1e+308; give a number from 0 to 1,000,000"),
        (["--max", "9" * 5000], "is not a whole number"),
        (["--source-rates", ""], "argument --source-rates: the path is empty; is a variable not set?"),
        (["--combine", ""], 'combination "" is not known'),
        (["--policy", ":Mine"], 'policy ":Mine" is not known'),
        (["--policy", "./mine:Mine"], 'policy "./mine:Mine" is not known'),
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


@pytest.mark.parametrize(
    ("output", "said"),
    [("> /dev/full", "cannot write the answer (No space left on device)"), (">&-", "standard output is closed")],
)
def test_output_that_cannot_be_written_is_one_line(tmp_path, output, said):
    (tmp_path / "t.csv").write_text(TOPOLOGY)
    (tmp_path / "r.log").write_text(RATES)
    command = f"{sys.executable} -m headgate decide --topology t.csv --rates r.log {output}"
    ran = subprocess.run(["bash", "-c", command], capture_output=True, text=True, check=False, cwd=tmp_path)
    assert ran.returncode == 2
    assert said in ran.stderr
    assert ran.stderr.count("\n") == 1


def test_a_name_that_the_terminal_cannot_show_is_escaped(tmp_path):
    (tmp_path / "t.csv").write_text("in,In,1,zähler,x,1\n")
    (tmp_path / "r.log").write_text("in,0,1,1,0,5,0,5\nzähler,0,1,1,1,1,1,1\n")
    command = [sys.executable, "-m", "headgate", "decide", "--topology", "t.csv", "--rates", "r.log"]
    ascii_only = {**os.environ, "PYTHONIOENCODING": "ascii"}
    ran = subprocess.run(command, capture_output=True, text=True, check=True, cwd=tmp_path, env=ascii_only)
    assert "z\\xe4hler" in ran.stdout


def test_what_a_file_holds_cannot_reach_the_terminal_raw_or_without_end(decide):
    ran = decide(rates="x" * 100_000 + "\x1b[31m\x00,0,1,1,1,1,1,1\n")
    assert ran.code == 2
    assert ran.err.isprintable() or ran.err.rstrip("\n").isprintable()
    assert len(ran.err) < 1000


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


def test_deciding_does_not_import_pandas_even_where_it_is_installed(tmp_path):
    (tmp_path / "t.csv").write_text(TOPOLOGY)
    (tmp_path / "r.log").write_text(RATES)
    code = (
        "import sys; from headgate.cli.main import main; "
        "main('decide --topology t.csv --rates r.log --format ds2'.split()); print('pandas' in sys.modules)"
    )
    assert subprocess.check_output(
        [sys.executable, "-c", code], text=True, cwd=tmp_path, stderr=subprocess.DEVNULL
    ) == ('"map,3,count,25"\nFalse\n')


def test_importing_headgate_brings_in_neither_spark_nor_arrow():
    heavy = "{'pyspark', 'pyarrow', 'pandas'} & set(sys.modules)"
    code = f"import sys, headgate, headgate.cli.main; print({heavy})"
    assert subprocess.check_output([sys.executable, "-c", code], text=True) == "set()\n"
