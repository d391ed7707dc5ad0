"""The memory of an executor, as Spark takes it."""

import re

from headgate.model.errors import InputError

LEAST = 450
"""Megabytes below which Spark refuses to start an executor."""


def megabytes(memory: str) -> int:
    """Of `800m`, `2g`, `1024`; `InputError` for what is none, or too little.

    >>> megabytes("2g"), megabytes("800m"), megabytes("1024MB")
    (2048, 800, 1024)
    """
    parts = re.fullmatch(r"(\d{1,7})\s*(?:([mg])b?)?", memory.lower(), re.ASCII)
    if parts is None:
        raise InputError(f'memory is "{memory}"; give it as 800m or 2g')
    size = int(parts[1]) * (1024 if parts[2] == "g" else 1)
    if size < LEAST:
        raise InputError(f"memory is {memory}; Spark starts no executor with less than {LEAST}m")
    return size
