"""One short case of each kind of kill; `make verify-kills` runs all of them, ten times."""

import pytest

from campaigns.kills import CASES, run_case


@pytest.mark.parametrize("name", ["restart-drained", "executor-spreading"])
def test_a_job_that_is_killed_in_the_middle_of_a_change_goes_on_and_every_count_is_exact(name, tmp_path):
    assert "every count exact" in run_case(CASES[name], tmp_path)
