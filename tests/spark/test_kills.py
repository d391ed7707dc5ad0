"""One short case of each kind of kill, in one job; `make verify-kills` runs all of them, ten times."""

from campaigns.kills import run_cases


def test_a_job_that_is_killed_in_the_middle_of_a_change_goes_on_and_every_count_is_exact(tmp_path):
    assert "every count exact" in run_cases(["executor-spreading", "shrink-leaving", "rewrite-begun"], tmp_path)
