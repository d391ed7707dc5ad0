"""A second name for every file of a checkpoint: a backup without a copy.

State files are written once and never changed, so whatever happens to one name, the other keeps what was there.
"""

import os
import shutil
from pathlib import Path

from headgate.formats.checkpoint.lock import beside


def backup_of(checkpoint: str, batch: int) -> Path | None:
    """The backup that was made before this batch of this query; None where there is none."""
    place = beside(checkpoint, f".before-batch-{batch}")
    # By the query's id: another query may have lived under this path, and been as far.
    return place if place.is_dir() and _query(place) == _query(Path(checkpoint)) else None


def back_up(checkpoint: str, batch: int) -> Path:
    """Make one, or find the one that was made; OSError where the file system has no hard links."""
    there = backup_of(checkpoint, batch)
    if there is not None:
        return there
    place = beside(checkpoint, f".before-batch-{batch}")
    unfinished = beside(checkpoint, f".before-batch-{batch}.unfinished")
    shutil.rmtree(unfinished, ignore_errors=True)
    shutil.rmtree(place, ignore_errors=True)  # of another query
    try:
        shutil.copytree(checkpoint, unfinished, copy_function=os.link)
        unfinished.rename(place)
    except shutil.Error as problem:
        shutil.rmtree(unfinished, ignore_errors=True)
        raise OSError(str(problem)) from problem
    return place


def _query(checkpoint: Path) -> bytes:
    try:
        return (checkpoint / "metadata").read_bytes()
    except OSError:
        return b""
