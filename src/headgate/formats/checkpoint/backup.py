"""A second name for every file of a checkpoint: a backup without a copy.

State files are written once and never changed, so whatever happens to one name, the other keeps what was there.
"""

import errno
import os
import shutil
from pathlib import Path

from headgate.formats.checkpoint.lock import beside
from headgate.model.errors import HeadgateError, InputError

_TRIES = 3
_WITHOUT_LINKS = frozenset({errno.EPERM, errno.EXDEV, errno.EMLINK, errno.ENOTSUP, errno.ENOSYS})


class NoHardLinksError(HeadgateError):
    """The file system does not give a file two names, or not to us."""


class _LinkError(Exception):
    """Not an OSError: `copytree` would collect those, and go on."""

    def __init__(self, cause: OSError) -> None:
        super().__init__(str(cause))
        self.cause = cause


def backup_of(checkpoint: str, batch: int) -> Path | None:
    """The backup that was made before this batch of this query; None where there is none."""
    place = beside(checkpoint, f".before-batch-{batch}")
    # By the query's id: another query may have lived under this path, and been as far.
    return place if place.is_dir() and _query(place) == _query(Path(checkpoint)) else None


def back_up(checkpoint: str, batch: int) -> Path:
    """Make one, or find the one that was made; `NoHardLinksError` where that is not possible here."""
    there = backup_of(checkpoint, batch)
    if there is not None:
        return there
    place = beside(checkpoint, f".before-batch-{batch}")
    unfinished = beside(checkpoint, f".before-batch-{batch}.unfinished")
    shutil.rmtree(place, ignore_errors=True)  # of another query
    for further in reversed(range(_TRIES)):
        shutil.rmtree(unfinished, ignore_errors=True)
        try:
            shutil.copytree(checkpoint, unfinished, copy_function=_link)
            unfinished.rename(place)
            break
        except (_LinkError, OSError) as problem:
            shutil.rmtree(unfinished, ignore_errors=True)
            cause = problem.cause if isinstance(problem, _LinkError) else problem
            # An executor that held state may still be tidying up: what it removes is old, but the rest must be whole.
            vanished = cause.errno in (errno.ENOENT, None)  # None: of several files or folders
            if not (further and vanished):
                raise _refusal(checkpoint, cause) from problem
    return place


def _link(source: str, target: str) -> None:
    try:
        os.link(source, target)
    except OSError as problem:
        raise _LinkError(problem) from problem


def _refusal(checkpoint: str, problem: OSError) -> HeadgateError:
    why = problem.strerror or str(problem)
    if problem.errno in _WITHOUT_LINKS:
        return NoHardLinksError(why)
    return InputError(
        f"{problem.filename or checkpoint}: cannot be backed up ({why}), so nothing was changed; see to that, and that "
        f"nobody writes to the checkpoint, and say it again"
    )


def _query(checkpoint: Path) -> bytes:
    try:
        return (checkpoint / "metadata").read_bytes()
    except OSError:
        return b""
