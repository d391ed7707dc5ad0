"""Takes the rewrite that was the last thing to happen to a checkpoint back.

First its commit goes: then it is a rewrite that was cut short. Then all that it has written; and last its beginning, so
that cut off at any point it can be taken back again, or finished.
"""

from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from headgate.formats.checkpoint.batch_logs import batches, bins_before_rewrite
from headgate.formats.checkpoint.bin_files import tables
from headgate.formats.checkpoint.folders import LocalFolders
from headgate.formats.checkpoint.lock import beside
from headgate.formats.checkpoint.unproven import compared
from headgate.model.errors import InputError


def take_back(path: str) -> int:
    """Undo it; how many bins there are now. Nobody may be writing to the checkpoint."""
    batch = last_begun(path)
    before = bins_before_rewrite(LocalFolders(path), batch) if batch is not None else None
    if batch is None or before is None:
        raise InputError(f"{path}: the last batch is no rewrite of state, so there is none to take back")
    try:
        _remove(Path(path, "commits"), str(batch))
        for file in _files_of(Path(path, "state"), batch):
            file.unlink(missing_ok=True)
        compared(path)
        _remove(Path(path, "offsets"), str(batch))
    except OSError as error:
        raise InputError(
            f"{error.filename or path}: cannot be removed ({error.strerror or error}); the rewrite is half taken back: "
            f"see to that and say it again"
        ) from None
    return before


def rewritten_at(path: str) -> float:
    """When the rewrite that is the last thing in a checkpoint was committed; 0 where there is none, or it is not.

    A query that went on from there would have begun another batch.
    """
    batch = last_begun(path)
    try:
        if batch is None or bins_before_rewrite(LocalFolders(path), batch) is None:
            return 0.0
        return Path(path, "commits", str(batch)).stat().st_mtime
    except (OSError, InputError):
        return 0.0


def take_back_by_hand(path: str) -> int:
    """The same for a person, who does not want it done again: a word is left beside the checkpoint for the job."""
    batch = last_begun(path)
    bins = take_back(path)
    _word(path).write_text(str(batch), encoding="utf-8")
    return bins


def taken_back_by_hand(path: str) -> bool:
    """Whether the last thing that happened is that a person took a rewrite back."""
    committed = _last(path, "commits")
    try:
        batch = _word(path).read_text(encoding="utf-8")
    except OSError:
        return False
    return committed is not None and batch == str(committed + 1)


def forget_that_it_was_taken_back(path: str) -> None:
    """Once that is known elsewhere: the same rewrite may be wanted again later."""
    with suppress(OSError):  # a word that stays says nothing about a later batch
        _word(path).unlink(missing_ok=True)


def _word(path: str) -> Path:
    return beside(path, ".taken-back")


def last_begun(path: str) -> int | None:
    """The batch that was begun last, from its log alone: whatever else is damaged, that can be taken back."""
    return _last(path, "offsets")


def _last(path: str, log: str) -> int | None:
    known = batches(LocalFolders(path), log)
    return known[-1] if known else None


def _remove(log: Path, name: str) -> None:
    for file in (f".{name}.crc", name):  # the name itself last: as long as it is there, this can be said again
        (log / file).unlink(missing_ok=True)


def _files_of(state: Path, batch: int) -> Iterator[Path]:
    """All that a rewrite has written: the version after its batch, and the operators' files that name the batch."""
    for operator in state.iterdir():
        if not operator.name.isdigit():
            continue
        for name in (f"v2/{batch}", f"v2/.{batch}.crc"):
            if (file := operator / "_metadata" / name).exists():
                yield file
        for file in sorted(operator.rglob("*")):
            version = file.name.removeprefix(".").split(".", 1)[0].split("_", 1)[0]
            if file.is_file() and version == str(batch + 1) and "_metadata" not in file.relative_to(operator).parts:
                yield from _only_for(file)
                yield file


def _only_for(snapshot: Path) -> Iterator[Path]:
    """The files that this snapshot needs and no other does."""
    if snapshot.suffix != ".zip":
        return
    others = (one for one in snapshot.parent.glob("*.zip") if one != snapshot)
    needed = {table.name for other in others for table in tables(other.read_bytes())}
    for table in tables(snapshot.read_bytes()):
        for name in (table.name, f".{table.name}.crc"):
            if table.name not in needed and (file := snapshot.parent / "SSTs" / name).exists():
                yield file
