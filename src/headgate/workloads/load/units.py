"""Numbers of the load language with their units, as text and back: 5k records a second, 2m of time, 10 %."""

from headgate.model.durations import SECONDS

RATES = {"": 1.0, "k": 1e3, "M": 1e6, "G": 1e9}
TIMES = {"": 1.0, **SECONDS}
PARTS = {"": 1.0, "%": 0.01}


def rate_text(value: float) -> str:
    """Shortest of the ways to write it that mean exactly this.

    >>> rate_text(5000.0), rate_text(2_500_000.0), rate_text(80.0), rate_text(1 / 3)
    ('5k', '2.5M', '80', '0.3333333333333333')
    """
    return _shortest(value, {"k": 1e3, "M": 1e6, "G": 1e9})


def time_text(value: float) -> str:
    """The same for a time.

    >>> time_text(90.0), time_text(120.0), time_text(0.5), time_text(86400.0), time_text(0.0)
    ('90s', '2m', '0.5s', '1d', '0s')
    """
    return _shortest(value, {unit: SECONDS[unit] for unit in "mhd"}, plain="s")


def part_text(value: float) -> str:
    """The same for a part of something.

    >>> part_text(0.1), part_text(0.015), part_text(2.0)
    ('10%', '1.5%', '2')
    """
    return _shortest(value, {"%": 0.01}, if_as_short=True)


def number_text(value: float) -> str:
    """A number that means exactly this.

    >>> number_text(3.0), number_text(0.1), number_text(1e-7)
    ('3', '0.1', '1e-07')
    """
    short = f"{value:g}"
    return short if float(short) == value else repr(value)


def _shortest(value: float, units: dict[str, float], plain: str = "", *, if_as_short: bool = False) -> str:
    best = number_text(value) + plain
    for unit, worth in units.items():
        written = number_text(value / worth)
        if float(written) * worth == value and len(written) + len(unit) < len(best) + if_as_short:
            best = written + unit
    return best
