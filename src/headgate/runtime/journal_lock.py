"""Who has a journal open to write what a controller does: told by a lock beside it.

The lock is the operating system's and ends with the process that holds it, however that ends; so it can tell a
controller that was killed from one that has nothing to say. It keeps nobody out.
"""

import fcntl
import os
from contextlib import suppress
from pathlib import Path


def lock_beside(journal: Path) -> Path:
    """Where it is.

    >>> lock_beside(Path("out/job.journal")).as_posix()
    'out/job.journal.lock'
    """
    return journal.with_name(journal.name + ".lock")


class Hold:
    """Holds it from now on, until it is closed or nobody has this any more.

    Where the lock cannot be made nothing is held, which is no reason not to write.
    """

    def __init__(self, journal: Path) -> None:
        self._file: int | None = None
        with suppress(OSError):
            self._file = os.open(lock_beside(journal), os.O_RDWR | os.O_CREAT, 0o666)
            fcntl.flock(self._file, fcntl.LOCK_SH)  # who looks whether it is held has it for a moment

    def close(self) -> None:
        """No longer."""
        held, self._file = self._file, None
        if held is not None:
            os.close(held)

    def __del__(self) -> None:
        self.close()


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
