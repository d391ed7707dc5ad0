"""Files that are written whole or not at all: what was there before stays until what comes after it is complete."""

import errno
import os
import shutil
from pathlib import Path

from headgate.model.errors import InputError


def see_that_it_can_be_written(path: str) -> None:
    """`InputError` where it cannot; whatever is there stays as it is."""
    try:
        if Path(path).is_dir():
            raise OSError(errno.EISDIR, os.strerror(errno.EISDIR))
        if Path(path).exists() and not os.access(path, os.W_OK):
            raise OSError(errno.EACCES, os.strerror(errno.EACCES))
        if not _is_special(path):
            _beside(path).touch()
            _beside(path).unlink()
    except OSError as error:
        raise _cannot_write(path, error) from None


def write_whole(path: str, content: bytes) -> None:
    """To a file beside it, which then takes its place. Pipes and the like are written to as they are."""
    try:
        if _is_special(path):
            Path(path).write_bytes(content)
            return
        beside = _beside(path)
        try:
            beside.write_bytes(content)
            if Path(path).exists():
                shutil.copymode(path, beside)
            os.replace(beside, Path(path).resolve())
        finally:
            beside.unlink(missing_ok=True)
    except OSError as error:
        raise _cannot_write(path, error) from None


def _is_special(path: str) -> bool:
    return Path(path).exists() and not Path(path).is_file()


def _beside(path: str) -> Path:
    """In the same folder, because only there can it take the other's place at once; and of this process alone."""
    whole = Path(path).resolve()
    return whole.with_name(f".{whole.name}.{os.getpid()}")


def _cannot_write(path: str, error: OSError) -> InputError:
    return InputError(f"{path or 'an empty path'}: cannot be written ({error.strerror or error})")
