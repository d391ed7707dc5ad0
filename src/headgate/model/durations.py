"""Durations as people write them."""

import re

from headgate.model.errors import InputError

SECONDS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86_400.0}
"""Of each unit."""


def seconds(text: str | float) -> float:
    """Of `10s`, `500ms`, `2m`, `1h`; a plain number is seconds already.

    >>> seconds("500ms"), seconds("2m"), seconds(3)
    (0.5, 120.0, 3.0)
    """
    if isinstance(text, int | float) and not isinstance(text, bool):
        value = float(text)
    else:
        parts = re.fullmatch(r"(\d{1,9}(?:\.\d{1,9})?)(ms|s|m|h|d)", str(text), re.ASCII)
        value = float(parts[1]) * SECONDS[parts[2]] if parts else 0.0
    if not 0 < value < float("inf"):
        raise InputError(f'"{text}" is no duration; give it as 10s, 500ms, 2m or 1h')
    return value
