"""What the user wants of a job. Policies are handed an objective; they do not have one of their own."""

import msgspec

from headgate.model.errors import InputError

MOST_HEADROOM = 1_000_000


class KeepUp(msgspec.Struct, frozen=True, tag="keep-up", tag_field="objective"):
    """Process records as fast as they arrive, with `headroom` more than the bare need (0.2: a fifth more).

    DS2 calls the headroom its scaling factor.

    >>> KeepUp(headroom=0.2).headroom
    0.2
    """

    headroom: float = 0.0

    def __post_init__(self) -> None:
        """Refuse what is no headroom."""
        if not (isinstance(self.headroom, int | float) and 0.0 <= self.headroom <= MOST_HEADROOM):
            raise InputError(
                f"headroom (--factor) is {self.headroom}; give a number from 0 to {MOST_HEADROOM:,}, such as 0.2"
            )
