"""What a reader of checkpoints needs of a file system; and the one that every machine has."""

from contextlib import suppress
from pathlib import Path
from stat import S_ISDIR
from typing import NamedTuple, Protocol

from headgate.model.errors import InputError


class Found(NamedTuple):
    """A file or a folder inside a folder."""

    name: str
    folder: bool
    bytes: int
    changed: float
    """When it was written, in seconds since 1970."""


class Folders(Protocol):
    """Paths are relative to the checkpoint, with `/` between names."""

    @property
    def root(self) -> str:
        """The checkpoint, as the user named it."""
        ...

    def inside(self, path: str) -> list[Found]:
        """What is in a folder, by name; nothing where there is none."""
        ...

    def read(self, path: str) -> bytes:
        """A whole file; OSError where there is none."""
        ...


class LocalFolders:
    """A checkpoint on this machine."""

    def __init__(self, root: str) -> None:
        self._root = root

    @property
    def root(self) -> str:
        """The checkpoint."""
        return self._root

    def inside(self, path: str) -> list[Found]:
        """Without the checksum files that Hadoop puts beside everything."""
        folder = Path(self._root, path)
        found = []
        try:
            names = sorted(folder.iterdir()) if folder.is_dir() else []
            for one in names:
                if not (one.name.startswith(".") and one.name.endswith(".crc")):
                    with suppress(FileNotFoundError):  # a running query gives files other names, and removes some
                        told = one.stat()
                        found.append(Found(one.name, S_ISDIR(told.st_mode), told.st_size, told.st_mtime))
        except FileNotFoundError:
            return []
        except OSError as error:
            raise InputError(f"{error.filename or folder}: cannot be read ({error.strerror or error})") from None
        return found

    def read(self, path: str) -> bytes:
        """All of it."""
        return Path(self._root, path).read_bytes()
