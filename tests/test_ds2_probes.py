"""Every edge case on which the original was tried, and the table in the docs that says what comes of it."""

import json
from pathlib import Path

import pytest

DOCS = Path(__file__).parent.parent / "docs" / "ds2-compatibility.md"

# What the original does is no answer: it hangs, panics, or prints 0 or 4294967295.
NO_ANSWER = {
    "lambda_p_zero",
    "source_rate_zero",
    "java_NaN",
    "java_Infinity",
    "missing_rates_for_mid_op",
    "instances_mismatch",
    "unknown_operator",
    "cycle",
    "all_cycle",
    "comma_in_name",
    "whitespace_only_topo_line",
    "observed_source_zero_ratio_inf",
    "timely_single_digit_dropped",
}
# It answers, but counts instances that did not report as zero, or output twice.
MISCOUNTED = {
    "missing_instance": "A,2,B,8",
    "heron_cap_breaks_selectivity": "A,10,B,5",
    "heron_minus1_is_observed": "A,10,B,5",
}
# These files are shorthand: one line stands for all instances. Read as they are, most instances are missing.
SHORTHAND = {
    "threshold_two_sources_max": "A,2,B,2",  # needs 200/450 and 1600/4000, so 1 each; times the ratio 100/50
    "threshold_no_adjust_when_scaleup": "A,2,B,1",  # 100/50, and 800/800; A grows
    "threshold_adjust_when_not_scaleup": "A,2,B,2",  # 100/100 and 800/800; times 2
    "threshold_equal_not_above": "A,1,B,1",  # the same, and 2 is not above 2
    "observed_source_zero_ratio_inf": "A,1,B,1",  # the same, without a ratio
    "factor_then_threshold": "A,2,B,2",  # 1.5 x 100/200 and 1.5 x 800/1600, so 1 each; times 2
    "factor_makes_scaleup_blocks_adjust": "A,4,B,4",  # 1.5 x 1 is 2 each, which is no more than there are; times 2
}


@pytest.fixture
def probes(reference):
    return json.loads((reference / "ds2/probes.json").read_text())


@pytest.fixture
def ask(headgate, reference):
    def run(probe, *options):
        stem = reference / "ds2/probes" / probe["name"]
        command = ["decide", "--topology", f"{stem}.topo.csv", "--rates", f"{stem}.rates.log"]
        command += ["--system", probe["system"], *probe["args"], *options]
        for kind in ("source-rates", "operator-rates"):
            extra = Path(f"{stem}.{kind}.csv")
            if extra.exists():
                command += [f"--{kind}", extra]
        return headgate(*command)

    return run


def default_answer(ran):
    """`op,n,op,n` from the JSON of the default arithmetic, or the error."""
    if ran.code:
        return "error: " + ran.err.strip().removeprefix("headgate: ").rsplit("/", 1)[-1]
    return ",".join(f"{s['operator']},{s['instances']}" for s in json.loads(ran.out)["sizings"] if not s["source"])


def ds2_answer(ran):
    return default_answer(ran) if ran.code else ran.out.strip().strip('"')


def test_there_are_thirty_six_of_them_and_none_ends_in_a_traceback(probes, ask):
    for probe in probes:
        for output in ("ds2", "json", "table", "csv"):
            ran = ask(probe, "--format", output)
            assert ran.code in (0, 2)
            assert "Traceback" not in ran.err
            if ran.code == 2:
                assert ran.err.count("\n") == 1
    assert len(probes) == 36


def test_where_the_original_answers_the_ds2_format_gives_its_line(probes, ask):
    equal = 0
    for probe in probes:
        if probe["name"] not in NO_ANSWER:
            assert ds2_answer(ask(probe, "--format", "ds2")) == probe["out"], probe["name"]
            equal += 1
    assert equal == 23


def test_where_the_original_is_right_the_default_gives_the_same_answer(probes, ask):
    equal = 0
    for probe in probes:
        if probe["name"] not in NO_ANSWER | set(MISCOUNTED) | set(SHORTHAND):
            assert default_answer(ask(probe, "--format", "json")) == probe["out"], probe["name"]
            equal += 1
        elif probe["name"] in set(SHORTHAND) - NO_ANSWER:
            # The same, once silent instances count as zero, which is what the shorthand means.
            assert default_answer(ask(probe, "--format", "json", "--missing", "zero")) == probe["out"]
            equal += 1
    assert equal == 20


def test_shorthand_taken_at_its_word_is_answered_by_the_instances_that_reported(probes, ask):
    for probe in probes:
        if probe["name"] in SHORTHAND:
            assert default_answer(ask(probe, "--format", "json")) == SHORTHAND[probe["name"]], probe["name"]


def test_where_the_original_miscounts_the_default_is_right_and_says_what_it_assumed(probes, ask):
    for probe in probes:
        if probe["name"] in MISCOUNTED:
            ran = ask(probe, "--format", "json")
            assert default_answer(ran) == MISCOUNTED[probe["name"]]
            assert any(
                reason["kind"] in ("instances-inferred", "processing-rate-given")
                for reason in json.loads(ran.out)["reasons"]
            )


def test_where_the_original_has_no_answer_there_is_one_with_a_reason_or_one_line(probes, ask):
    for probe in probes:
        if probe["name"] in NO_ANSWER:
            for output in ("json", "ds2"):
                ran = ask(probe, "--format", output)
                if ran.code == 0:
                    counts = (default_answer if output == "json" else ds2_answer)(ran).split(",")[1::2]
                    assert all(1 <= int(count) < 2**31 for count in counts), probe["name"]
                    assert output == "ds2" or json.loads(ran.out)["reasons"], probe["name"]


def table():
    """The rows of the table in the docs: name -> (original, ds2 format, default)."""
    rows = {}
    for line in DOCS.read_text().splitlines():
        cells = [cell.strip().strip("`") for cell in line.strip("|").split("|")]
        if line.startswith("| `") and len(cells) == 5:
            rows[cells[0]] = cells[1:4]
    return rows


def test_the_table_in_the_docs_says_what_happens(probes, ask):
    rows = table()
    assert set(rows) == {probe["name"] for probe in probes}
    for probe in probes:
        original = probe["out"] or ("hangs" if "HANG" in str(probe["exit"]) else "panics")
        found = [original, ds2_answer(ask(probe, "--format", "ds2")), default_answer(ask(probe, "--format", "json"))]
        assert rows[probe["name"]] == found, probe["name"]
