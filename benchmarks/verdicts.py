"""What we hold ourselves to, as a benchmark says it: met or MISSED; and an exit code that tells.

A process is one benchmark, so what it missed is kept here.
"""

_missed: list[str] = []


def verdict(what: str, met: bool) -> str:
    """To be printed; what was missed is remembered."""
    if not met:
        _missed.append(what)
    return f"{what}: {'met' if met else 'MISSED'}"


def exit_code() -> int:
    """0 where nothing was missed."""
    return 1 if _missed else 0
