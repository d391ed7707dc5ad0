"""Round local times for an axis, and how they are written."""

from collections.abc import Callable

from headgate.cli.local_time import local

_MINUTE, _HOUR, _DAY = 60.0, 3600.0, 86400.0
_STEPS = (
    *(1.0, 2.0, 5.0, 10.0, 15.0, 30.0),
    *(n * _MINUTE for n in (1, 2, 5, 10, 15, 30)),
    *(n * _HOUR for n in (1, 2, 3, 6, 12)),
    *(n * _DAY for n in (1, 2, 7, 14, 30, 90, 365)),
)


def time_ticks(low: float, high: float, about: int = 8) -> tuple[list[float], Callable[[float], str]]:
    """About so many moments that are round on a local clock, and how to write them.

    Seconds since 1970; a change of the clock in between shifts what follows it, the labels are right even so.
    """
    step = clock_step(high - low, about)
    offset = local(low).utcoffset()
    shift = offset.total_seconds() if offset is not None else 0.0
    first = int(-(-(low + shift) // step))
    last = int((high + shift) // step)
    return [number * step - shift for number in range(first, last + 1)], _label(step)


def clock_step(span: float, about: int) -> float:
    """Seconds that people count in, so that about so many of them make up a span.

    >>> clock_step(1200, 8), clock_step(3, 8)
    (300.0, 1.0)
    """
    return next((step for step in _STEPS if span / step <= about), _STEPS[-1])


def _label(step: float) -> Callable[[float], str]:
    def written(at: float) -> str:
        when = local(at)
        if step >= _DAY or (step >= _HOUR and when.hour == 0 and when.minute == 0):
            return f"{when:%Y-%m-%d}" if step > 7 * _DAY else f"{when:%b} {when.day}"
        return f"{when:%H:%M:%S}" if step < _MINUTE else f"{when:%H:%M}"

    return written
