"""What an error of Java says in one line."""

import pytest

from headgate.model.errors import in_brief

CALL = "An error occurred while calling o1099.start."


@pytest.mark.parametrize(
    ("said", "brief"),
    [
        (f"{CALL}\n: java.io.IOException: no\n\tat a.B.c(B.java:1)\n", "IOException: no"),
        (
            f"{CALL}\n: java.lang.RuntimeException: outer\n\tat a.B\nCaused by: a.b.MiddleException: m\n\t... 3 more\n"
            "Caused by: org.apache.hadoop.fs.ParentNotDirectoryException: /a/my_job.py (is not a directory)\n\tat a.C",
            "ParentNotDirectoryException: /a/my_job.py (is not a directory)",
        ),
        (f"{CALL}\n: java.lang.StackOverflowError\n\tat a.B", "StackOverflowError"),
        (CALL, CALL),
        ("[PATH_NOT_FOUND] Path does not exist.\nCaused by: x.Y: z", "[PATH_NOT_FOUND] Path does not exist."),
    ],
)
def test_a_call_that_failed_is_said_by_its_innermost_cause_and_what_says_more_by_its_first_line(said, brief):
    assert in_brief(RuntimeError(said)) == brief
