"""Claims: things that a policy must do, each with a check that fails if it does not."""

from collections.abc import Callable, Sequence
from typing import Any, Generic, NamedTuple, TypeVar

Made = TypeVar("Made")


class Claim(NamedTuple, Generic[Made]):
    """One thing a policy must do; `check` raises AssertionError if it does not."""

    name: str
    check: Callable[[Callable[[], Made]], None]

    def __str__(self) -> str:
        return self.name


def claimed(checks: Sequence[Callable[[Callable[[], Made]], None]]) -> tuple[Claim[Made], ...]:
    """Claims that say what the names of their checks say."""
    return tuple(Claim(check.__name__.removeprefix("_").replace("_", " "), check) for check in checks)


def check_all(claims: Sequence[Claim[Any]], make: Callable[[], Any]) -> None:
    """Check every claim; the error lists all that do not hold."""
    broken = []
    for claim in claims:
        try:
            claim.check(make)
        except Exception as error:  # whatever a policy of someone's raises, the claim does not hold
            broken.append(f"{claim}: {error!r}" if not isinstance(error, AssertionError) else f"{claim}: {error}")
    if broken:
        raise AssertionError("; ".join(broken))


def same(found: object, expected: object, about: str) -> None:
    """Refuse what is not equal."""
    if found != expected:
        raise AssertionError(f"{about}: {found} instead of {expected}")
