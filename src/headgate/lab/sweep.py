"""Many cells on all cores, each once: what is finished is kept at once, and not run again by the next sweep."""

import multiprocessing
import os
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import msgspec

from headgate.lab.cell import Cell, Outcome, run_cell
from headgate.model.errors import InputError


class Finished:
    """The outcomes of cells so far, a line of JSON each; a line that was cut off counts as none."""

    def __init__(self, file: Path) -> None:
        self._file = file
        self.outcomes: dict[str, Outcome] = {}
        if file.exists():
            for line in file.read_bytes().split(b"\n"):
                try:
                    outcome = msgspec.json.decode(line, type=Outcome)
                except msgspec.MsgspecError:
                    continue
                self.outcomes[outcome.key] = outcome

    def add(self, outcome: Outcome) -> None:
        """Keep it, whatever happens next."""
        self.outcomes[outcome.key] = outcome
        try:
            with self._file.open("ab") as out:
                # A line that was cut off is ended first.
                out.write(b"" if out.tell() == 0 or self._ends_well() else b"\n")
                out.write(msgspec.json.encode(outcome) + b"\n")
        except OSError as error:
            raise InputError(f"{self._file}: cannot be written ({error.strerror or error})") from None

    def _ends_well(self) -> bool:
        with self._file.open("rb") as written:
            written.seek(-1, os.SEEK_END)
            return written.read(1) == b"\n"


def sweep(
    cells: Sequence[Cell],
    finished: Finished,
    run_all: Callable[[Sequence[Cell]], Iterator[Outcome]],
    told: Callable[[int, int], object] = lambda done, total: None,
) -> list[Outcome]:
    """Run what is not finished; the outcomes in the order of the cells, wherever and whenever they were run.

    Cells that differ in nothing but names are run once, and one that was run before under other names is not run again.
    """
    different = {cell.key: cell for cell in cells}
    missing = [cell for key, cell in different.items() if key not in finished.outcomes]
    told(len(different) - len(missing), len(different))
    for done, outcome in enumerate(run_all(missing), start=1):
        finished.add(outcome)
        told(len(different) - len(missing) + done, len(different))
    return [cell.labelled(finished.outcomes[cell.key]) for cell in cells]


def on_cores(cells: Sequence[Cell], workers: int) -> Iterator[Outcome]:
    """As they come. A process of its own each: one that begins anew shares nothing with this one."""
    if workers == 1 or len(cells) < 2:
        yield from map(run_cell, cells)
        return
    with multiprocessing.get_context("spawn").Pool(min(workers, len(cells))) as pool:
        yield from pool.imap_unordered(run_cell, cells)


def usual_workers() -> int:
    """As many as this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
