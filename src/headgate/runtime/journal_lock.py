"""Who has a journal open to write what a controller does: told by a lock beside it.

The lock is the operating system's and ends with the process that holds it, however that ends; so it can tell a
controller that was killed from one that has nothing to say. It keeps nobody out.
"""

import fcntl
import os
from contextlib import suppress
from pathlib import Path
from typing import IO


def lock_beside(journal: Path) -> Path:
    """Where it is.

    >>> lock_beside(Path("out/job.journal")).as_posix()
    'out/job.journal.lock'
    """
    return journal.with_name(journal.name + ".lock")


def hold(journal: Path) -> IO[bytes] | None:
    """Hold it until what is returned is closed; None where it cannot be made, which is no reason not to write."""
    with suppress(OSError):
        held = lock_beside(journal).open("ab")
        with suppress(OSError):
            fcntl.flock(held, fcntl.LOCK_SH)  # who looks whether it is held has it for a moment
        return held
    return None


def is_held(journal: str | os.PathLike[str]) -> bool | None:
    """Whether some process has it open as its writer; None where that cannot be told."""
    try:
        with lock_beside(Path(journal)).open("rb") as lock:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                return True
            return False
    except OSError:
        return None
