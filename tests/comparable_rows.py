"""Rows that can be compared whoever made them."""

from datetime import datetime
from decimal import Decimal


def in_order(rows):
    """Sorted; moments as microseconds, decimals without trailing zeros."""
    return sorted((tuple(map(_plain, row)) for row in rows), key=str)


def _plain(value):
    if isinstance(value, datetime):
        known = value if value.tzinfo is not None else value.astimezone()
        return round(known.timestamp() * 1_000_000)
    return value.normalize() if isinstance(value, Decimal) else value
