"""What an error of Java, or of Python on an executor, says in one line."""

import pytest

from headgate.model.errors import in_brief

TRACE = 'Traceback (most recent call last):\n  File "job.py", line 3, in price\n    return 1 / 0\n           ~~^~~\n'
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


@pytest.mark.parametrize(
    ("said", "brief"),
    [
        (
            f"An exception was thrown from the Python worker:\n{TRACE}ModuleNotFoundError: No module named 'numpy'\n",
            "ModuleNotFoundError: No module named 'numpy'",
        ),
        (
            f"{CALL}\n: a.b.PythonException: {TRACE}ValueError: too many\n\tat a.B\nCaused by: x.Y: z",
            "ValueError: too many",
        ),
        (
            f"[STREAM_FAILED] Query ended: a.b.PythonException: {TRACE}ZeroDivisionError: by 0\n\n\tat a.B",
            "[STREAM_FAILED] Query ended: a.b.PythonException: ZeroDivisionError: by 0",
        ),
        (
            f"task failed\n{TRACE}KeyError: 'a'\n\nWhile handling it:\n\n{TRACE}OSError: no 'a'\n\nJVM stacktrace:\n",
            "task failed OSError: no 'a'",
        ),
        ("task failed\nTraceback (most recent call last):\n  cut off", "task failed"),
    ],
)
def test_what_the_users_python_raised_on_an_executor_is_said(said, brief):
    assert in_brief(RuntimeError(said)) == brief
