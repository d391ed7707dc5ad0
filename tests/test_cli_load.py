"""`headgate load show`: the drawing is checked by counting its blocks."""

import csv
import io

import pytest

from headgate.cli.load import chart
from headgate.cli.main import main
from headgate.workloads.load import Constant, Step

BLOCKS = " ▁▂▃▄▅▆▇█"


def heights(lines):
    """Eighths of a row in every column."""
    bars = [line[10:].ljust(40) for line in lines[:10]]
    return [sum(BLOCKS.index(bar[column]) for bar in bars) for column in range(40)]


def test_a_step_is_drawn_as_high_as_it_is():
    lines = chart(Step(2000.0, 8000.0, at=60.0), 120.0, width=50)
    assert heights(lines) == [20] * 20 + [80] * 20  # a quarter of 80 eighths, then all of them
    assert lines[0].startswith("   8,000 |")
    assert "600,000 records in 2m, 5,000/s on average, 8,000/s at most" in lines[-1]


def test_a_load_of_nothing_is_an_empty_chart():
    assert heights(chart(Constant(0.0), 60.0, width=50)) == [0] * 40


def test_it_is_written_as_csv_too(capsys):
    assert main(["load", "show", "ramp(0 -> 100 over 10s)", "--for", "10s", "--format", "csv"]) == 0
    rows = list(csv.DictReader(io.StringIO(capsys.readouterr().out)))
    assert len(rows) == 11
    assert rows[10] == {"second": "10", "rate": "100", "records": "500"}


def test_a_ramp_by_parts_is_shown_with_its_steps(capsys):
    # 100, 150 and then 200 a second, for 10 s each: 1,000, 1,500 and 2,000 records.
    assert main(["load", "show", "ramp(100 -> 200 by 50% every 10s)", "--for", "30s", "--format", "csv"]) == 0
    rows = list(csv.DictReader(io.StringIO(capsys.readouterr().out)))
    assert [(rows[at]["rate"], rows[at]["records"]) for at in (9, 10, 20, 30)] == [
        ("100", "900"), ("150", "1000"), ("200", "2500"), ("200", "4500"),
    ]  # fmt: skip
    assert main(["load", "show", "ramp(100 -> 200 by 50% every 10s)"]) == 0
    assert "records in 30s" in capsys.readouterr().out.splitlines()[-1]


@pytest.mark.parametrize(
    ("words", "why"),
    [
        (["load", "show", "stap(1 -> 2 @ 3s)"], 'load, character 1: there is no load stap (did you mean "step"?)'),
        (["load", "show", "1", "--for", "soon"], '"soon" is no duration'),
        (["load", "show", "walk(1k)", "--for", "999999999d"], "are too many to go, 100,000,000 are the most"),
        (["load", "draw", "1"], "show"),
    ],
)
def test_what_makes_no_sense_is_one_line(capsys, words, why):
    assert main(words) == 2
    told = capsys.readouterr().err
    assert why in told
    assert told.count("\n") == 1
