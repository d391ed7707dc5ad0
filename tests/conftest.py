"""What tests share: the command in this process, files from text, and the reference data beside the project."""

from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import hypothesis
import pytest

from checkpoint_files import Checkpoint
from headgate.cli.main import main

PROJECT = Path(__file__).parent.parent
REFERENCE = PROJECT.parent / "shared" / "reference"

# What an example takes says more about the machine than about the code.
hypothesis.settings.register_profile("headgate", deadline=None)
hypothesis.settings.load_profile("headgate")


class Ran(NamedTuple):
    code: int
    out: str
    err: str


@pytest.fixture
def headgate(capsys: pytest.CaptureFixture[str]) -> Callable[..., Ran]:
    """Run a command line in this process."""

    def run(*arguments: object) -> Ran:
        try:
            code = main([str(argument) for argument in arguments])
        except SystemExit as leaving:
            code = int(leaving.code or 0)
        return Ran(code, *capsys.readouterr())

    return run


@pytest.fixture
def file(tmp_path: Path) -> Callable[[str, str], str]:
    """Write a file and give its path."""

    def write(name: str, text: str) -> str:
        path = tmp_path / name
        path.write_bytes(text.encode())
        return str(path)

    return write


@pytest.fixture
def checkpoint(tmp_path: Path) -> Checkpoint:
    """A checkpoint without batches, to be filled by hand."""
    return Checkpoint(tmp_path / "checkpoint")


@pytest.fixture(scope="session")
def reference() -> Path:
    """The reference data; tests that need it are skipped where it is not there."""
    if not REFERENCE.is_dir():
        pytest.skip("the reference data is not here: expected it at ../shared/reference, beside the project")
    return REFERENCE
