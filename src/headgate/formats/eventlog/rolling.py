"""Which files make up an event log, and whether more are to come.

    app-1[.zstd][.inprogress]                one file; Spark takes the last part of the name off when it is done
    eventlog_v2_app-1/
        appstatus_app-1[.inprogress]         an empty file that says whether Spark is done
        events_1_app-1[.zstd] …              the log, cut where it became too large, in order of the numbers
        events_3_app-1[.zstd].compact        the history server's summary of all files up to this number

Nothing here reads a file's content.
"""

import os
import re
from typing import Protocol

from headgate.formats.eventlog.compression import COMPACT, IN_PROGRESS
from headgate.formats.files import cannot_read
from headgate.model.errors import InputError

_EVENTS = re.compile(r"events_(\d{1,18})_.+")
_STATUS = "appstatus_"
_MOST_NAMED = 100
_GIVE = "give an event log: a file, or a folder eventlog_v2_… with files events_1_…"


class LogFiles(Protocol):
    """The files of one log."""

    path: str
    missing: tuple[int, ...]
    """Numbers of files that were looked for in vain."""

    def after(self, current: str | None) -> str | None:
        """The file to read after this one, or None if there is none yet."""

    def finished(self) -> bool:
        """Spark has said that it will write no more."""


def log_files(path: str) -> LogFiles:
    """The files of the log at this path."""
    if os.path.isdir(path):
        return RollingFolder(path)
    if not os.path.lexists(path) and path.endswith(IN_PROGRESS) and os.path.lexists(path.removesuffix(IN_PROGRESS)):
        path = path.removesuffix(IN_PROGRESS)  # it was finished between looking and reading
    return SingleFile(path)


class SingleFile:
    """A log in one file."""

    missing: tuple[int, ...] = ()

    def __init__(self, path: str) -> None:
        self.path = path

    def after(self, current: str | None) -> str | None:
        """There is only one."""
        return self.path if current is None else None

    def finished(self) -> bool:
        """It had a name for unfinished files and has it no more. A file that never had one can tell us nothing."""
        return self.path.endswith(IN_PROGRESS) and not os.path.lexists(self.path)


class RollingFolder:
    """A log in a folder, cut into numbered files."""

    def __init__(self, path: str) -> None:
        self.path = path
        self.missing: tuple[int, ...] = ()
        names = self._names()
        if not any(name.startswith(_STATUS) or _EVENTS.fullmatch(name) for name in names):
            logs = [name for name in sorted(names) if not name.startswith(".")]
            inside = f" (in it are {', '.join(logs[:3])}{', …' if len(logs) > 3 else ''})" if logs else ""
            raise InputError(f"{path}: a folder that is no event log{inside}; {_GIVE}")

    def after(self, current: str | None) -> str | None:
        """The next by number. A summary stands for all before it, but only for a reader that begins."""
        files = self._files()
        if current is None:
            summaries = [number for number, name in files.items() if name.endswith(COMPACT)]
            least = max(summaries, default=1)
            last = least - 1 if summaries else 0
        else:
            last = _number(os.path.basename(current))
            least = last + 1
            files = {number: name for number, name in files.items() if not name.endswith(COMPACT)}
        later = [number for number in files if number >= least]
        if not later:
            return None
        gap = range(last + 1, min(later))[:_MOST_NAMED]
        self.missing = tuple(sorted({*self.missing, *gap}))
        return os.path.join(self.path, files[min(later)])

    def finished(self) -> bool:
        """Its status file says so."""
        return any(name.startswith(_STATUS) and not name.endswith(IN_PROGRESS) for name in self._names())

    def _files(self) -> dict[int, str]:
        """File names by number; where a number has a file and a summary, the summary."""
        names = [name for name in self._names() if _EVENTS.fullmatch(name)]
        names.sort(key=lambda name: name.endswith(COMPACT))
        return {_number(name): name for name in names}

    def _names(self) -> list[str]:
        try:
            return os.listdir(self.path)
        except OSError as error:
            raise cannot_read(self.path, error) from None


def _number(name: str) -> int:
    found = _EVENTS.fullmatch(name)
    return int(found[1]) if found else 0
