"""A word beside a checkpoint: its last rewrite has not been compared with what was there before.

It is left before a rewrite begins and goes once that is right, or gone; so whoever comes next knows what to do first.
"""

from contextlib import suppress
from pathlib import Path

from headgate.formats.checkpoint.batch_logs import bins_before_rewrite
from headgate.formats.checkpoint.folders import LocalFolders
from headgate.formats.checkpoint.lock import beside
from headgate.model.errors import InputError
from headgate.model.state_files import CheckpointState


def to_be_compared(path: str, batch: int) -> None:
    """Leave word beside the checkpoint, before it is rewritten: what this batch makes of it is not proven yet."""
    try:
        _unproven(path).write_text(str(batch), encoding="utf-8")
    except OSError as error:
        raise InputError(f"{_unproven(path)}: cannot be written ({error.strerror or error})") from None


def never_compared(path: str, batch: int) -> bool:
    """Whether this batch is a rewrite that nobody has compared with what was there before."""
    try:
        return _unproven(path).read_text(encoding="utf-8") == str(batch)
    except OSError:
        return False


def unproven_rewrite(state: CheckpointState) -> bool:
    """Whether the last thing that happened is a rewrite that is over, whoever made it, and nobody has looked at it."""
    batch = state.committed
    if batch is None or state.begun != batch or not never_compared(state.path, batch):
        return False
    return bins_before_rewrite(LocalFolders(state.path), batch) is not None


def compared(path: str) -> None:
    """It is right, or gone."""
    with suppress(OSError):  # a word that stays has what is right compared once more, at the worst
        _unproven(path).unlink(missing_ok=True)


def _unproven(path: str) -> Path:
    return beside(path, ".not-compared")
