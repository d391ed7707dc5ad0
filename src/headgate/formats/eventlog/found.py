"""The event logs at a path: one file, one rolling folder, or all that lie in a folder of logs."""

import os

from headgate.formats.files import cannot_read
from headgate.formats.where import on_this_machine
from headgate.model.errors import InputError

_ROLLING = "eventlog_v2_"


def event_logs(path: str) -> list[str]:
    """Paths of the logs, each for `read_events`; of a folder of logs by name, which begins with when they began.

    Files whose name begins with a dot (checksums) are not logs.
    """
    here = path if os.path.exists(path) else on_this_machine(path)
    if here is None:
        raise InputError(f"{path}: only files of this machine are read; copy the log here, or mount it")
    path = here
    if not os.path.isdir(path):
        return [path]
    try:
        names = sorted(name for name in os.listdir(path) if not name.startswith("."))
    except OSError as error:
        raise cannot_read(path, error) from None
    if os.path.basename(os.path.normpath(path)).startswith(_ROLLING) or any(n.startswith("events_") for n in names):
        return [path]
    found = [os.path.join(path, name) for name in names if _may_be_log(path, name)]
    if not found:
        raise InputError(
            f"{path}: no event log in this folder; give a log, or the folder that spark.eventLog.dir names"
        )
    return found


def size_of(log: str) -> int:
    """Bytes of a log's files, as far as they can be told."""
    try:
        if os.path.isdir(log):
            return sum(entry.stat().st_size for entry in os.scandir(log) if entry.is_file())
        return os.stat(log).st_size
    except OSError:
        return 0


def _may_be_log(folder: str, name: str) -> bool:
    path = os.path.join(folder, name)
    if name.startswith(_ROLLING) or os.path.isfile(path):
        return True
    try:
        return os.path.isdir(path) and any(one.startswith("events_") for one in os.listdir(path))
    except OSError:
        return False
