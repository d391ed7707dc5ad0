"""Moments as people at this machine read them: in its own time zone."""

from datetime import UTC, datetime


def local(at: float) -> datetime:
    """Of seconds since 1970."""
    return datetime.fromtimestamp(at, UTC).astimezone()


def moment(at: float) -> str:
    """Day and time, to the second: 2026-11-16 05:06:47."""
    return f"{local(at):%Y-%m-%d %H:%M:%S}"
