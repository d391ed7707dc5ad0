"""Starts a program that does not outlive us (`supervised.py`), and waits until its log says that it is ready."""

import re
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

from headgate.model.errors import InputError

_LOOK = 0.05
_LONGEST = 200


class SupervisedProcess:
    """A program, and the line of its log that said it was ready.

    `what` is what it is called where it does not start: an `InputError` with the last line of its log, and nothing left
    running.
    """

    def __init__(
        self,
        what: str,
        command: Sequence[str],
        *,
        log: Path,
        ready: str,
        patience: float,
        environment: Mapping[str, str] | None = None,
    ) -> None:
        with log.open("wb") as output:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "headgate.spark.supervised", *command],
                stdin=subprocess.PIPE,
                stdout=output,
                stderr=subprocess.STDOUT,
                env=environment,
                start_new_session=True,
            )
        try:
            found = self._wait_until(ready, log, patience)
            if found is None:
                said = last_line(log.read_text(errors="replace"))
                raise InputError(f"{what} did not start ({said}); its log is {log}")
        except BaseException:
            self.end()
            raise
        self.said: re.Match[str] = found

    @property
    def pid(self) -> int:
        """Of the process that watches over it."""
        return self._process.pid

    def is_running(self) -> bool:
        """Whether it is there still."""
        return self._process.poll() is None

    def let_go(self) -> None:
        """Have it end, without waiting for that."""
        if self._process.stdin is not None:
            self._process.stdin.close()

    def end(self) -> None:
        """Have it end, and wait until it is gone."""
        self.let_go()
        self._process.wait()

    def _wait_until(self, ready: str, log: Path, patience: float) -> re.Match[str] | None:
        deadline = time.monotonic() + patience
        while time.monotonic() < deadline:
            if found := re.search(ready, log.read_text(errors="replace")):
                return found
            if not self.is_running():
                return None
            time.sleep(_LOOK)
        return None


def last_line(text: str) -> str:
    r"""What a program said last.

    >>> last_line("starting\nport in use\n"), last_line("")
    ('port in use', 'no output')
    """
    return (text.strip().splitlines() or ["no output"])[-1][:_LONGEST]
