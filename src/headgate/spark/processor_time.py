"""Processor time of processes and of the whole machine, by Linux's own account."""

import os
from collections.abc import Iterable
from pathlib import Path

_TICKS = os.sysconf("SC_CLK_TCK") if hasattr(os, "sysconf") else 100
_PARENT, _FIRST, _OWN, _LAST = 1, 11, 13, 15
"""Places in `stat` behind the name: the parent; user and system time, its own and that of children it has buried."""
_IDLE = (3, 4)
"""Places in the machine's own line: idle, and waiting for a disk."""
_STOLEN = 7
"""From here on it is time that other machines on the same hardware took, and time that was counted before."""


def processor_seconds(roots: Iterable[int]) -> float:
    """User and system time of these processes and all their descendants; NaN where the system does not tell."""
    if not Path("/proc/self/stat").exists():
        return float("nan")
    children: dict[int, list[int]] = {}
    spent: dict[int, float] = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdecimal():
            try:
                fields = (entry / "stat").read_text().rpartition(")")[2].split()
            except OSError:
                continue  # it has just ended
            children.setdefault(int(fields[_PARENT]), []).append(int(entry.name))
            spent[int(entry.name)] = sum(map(int, fields[_FIRST:_LAST])) / _TICKS
    total, todo = 0.0, list(roots)
    while todo:
        process = todo.pop()
        total += spent.get(process, 0.0)
        todo += children.get(process, [])
    return total


def own_seconds(process: int, proc: Path = Path("/proc")) -> float:
    """User and system time of one process alone."""
    fields = (proc / str(process) / "stat").read_text().rpartition(")")[2].split()
    return sum(map(int, fields[_FIRST:_OWN])) / _TICKS


def seconds_since_boot(proc: Path = Path("/proc")) -> float:
    """Processor time that all processors together have spent on anything."""
    with (proc / "stat").open() as file:
        _, *fields = file.readline().split()
    spent = [int(field) for place, field in enumerate(fields[:_STOLEN]) if place not in _IDLE]
    return sum(spent) / _TICKS
