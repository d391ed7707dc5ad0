"""What a reader of checkpoints needs of a file system; and the one that every machine has."""

from pathlib import Path
from typing import NamedTuple, Protocol


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
        if not folder.is_dir():
            return []
        found = []
        for one in sorted(folder.iterdir()):
            if not (one.name.startswith(".") and one.name.endswith(".crc")):
                told = one.stat()
                found.append(Found(one.name, one.is_dir(), told.st_size, told.st_mtime))
        return found

    def read(self, path: str) -> bytes:
        """All of it."""
        return Path(self._root, path).read_bytes()
