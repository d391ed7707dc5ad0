"""What Headgate says when it is given something it cannot use.

What a user can cause is an `InputError`, what a policy of someone's causes is a `PolicyError`; both have a one-line
message: what is wrong, where, and what to do. The command line prints that line and ends with exit code 2.
"""

import re
from collections.abc import Iterable

_SHOWN = 6
_LONGEST = 600
_CALL_FAILED = "An error occurred while calling "
"""How Py4J begins, whatever has happened in Java."""
_IN_A_WORKER = "An exception was thrown from the Python worker"
"""How PySpark begins, whatever has happened in the user's Python on an executor."""
_TRACEBACK = "Traceback (most recent call last):"
_PACKAGES = re.compile(r"^(?:\w+\.)+(?=\w)")


class HeadgateError(Exception):
    """Base class of every error that Headgate raises on purpose."""


class InputError(HeadgateError, ValueError):
    """A value, file or setting that cannot be used; the message is one line and says what to do."""

    def __init__(self, message: str) -> None:
        super().__init__(one_line(message))


class PolicyError(HeadgateError):
    """A policy that raised or returned something that is no decision; the cause is chained."""

    def __init__(self, message: str) -> None:
        super().__init__(one_line(message))


class DataflowError(InputError):
    """A dataflow that cannot be sized; `edge` is the position of the edge at fault, where one is."""

    def __init__(self, message: str, edge: int | None = None) -> None:
        super().__init__(message)
        self.edge = edge


def one_line(text: str) -> str:
    r"""Text that may quote a file or a name, fit for a terminal: no control characters, and an end in sight.

    >>> print(one_line("two\nlines, \x1b[31mred"))
    two\nlines, \x1b[31mred
    """
    if not text.isprintable():
        text = "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST // 2]} … {text[-_LONGEST // 2 :]}"


def in_brief(problem: BaseException) -> str:
    r"""What an error says, in one line: without a Java stack, and its kind where it says nothing.

    >>> in_brief(ValueError("no such thing\n\tat org.example.Thing")), in_brief(KeyboardInterrupt())
    ('no such thing', 'KeyboardInterrupt')

    One that only says which call has failed is the innermost cause that its stack names.

    >>> stack = "\n: java.io.IOException: no\n\tat a.B\nCaused by: a.NotDirectoryException: x is a file\n\tat a.C"
    >>> in_brief(ValueError(f"An error occurred while calling o9.start.{stack}"))
    'NotDirectoryException: x is a file'

    One that quotes Python on an executor ends with what was raised there.

    >>> trace = 'Traceback (most recent call last):\n  File "a.py", line 1\n    1 / 0\nZeroDivisionError: no\n\tat a.B'
    >>> in_brief(ValueError(f"task 3 failed: {trace}"))
    'task 3 failed: ZeroDivisionError: no'
    """
    return said_in_brief(str(problem)) or type(problem).__name__


def said_in_brief(text: str) -> str:
    """The same for what an error said."""
    first, *others = text.split("\n")
    raised = _raised_on_an_executor(text)
    if raised:
        first = (
            raised
            if first.startswith((_IN_A_WORKER, _CALL_FAILED))
            else f"{first.removesuffix(_TRACEBACK).strip()} {raised}"
        )
    elif first.startswith(_CALL_FAILED):
        causes = [line for line in others if line.startswith(("Caused by: ", ": "))]
        first = _PACKAGES.sub("", causes[-1].partition(": ")[2]) if causes else first
    return one_line(first)


def _raised_on_an_executor(text: str) -> str:
    """The line that ends the last Python traceback in it, if there is one: the first that is not further in."""
    _, found, trace = text.rpartition(_TRACEBACK + "\n")
    lines = trace.split("\n") if found else []
    return next((line for line in lines if line and not line[0].isspace()), "")


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """A hint to append to "… is not in …": the nearest known name, or else what there is.

    >>> did_you_mean("Cuont", ["Source", "Count"])
    ' (did you mean "Count"?)'
    >>> did_you_mean("Zebra", ["Source", "Count"])
    ' (there are Source, Count)'
    """
    from difflib import get_close_matches  # noqa: PLC0415 - only needed once something is wrong

    names = list(known)
    if near := get_close_matches(name, names, n=1):
        return f' (did you mean "{near[0]}"?)'
    if not names:
        return ""
    more = f" and {len(names) - _SHOWN:,} more" if len(names) > _SHOWN else ""
    return f" (there are {', '.join(names[:_SHOWN])}{more})"
