"""What a journal is made of: small typed values, each with its time."""

from typing import TypeAlias

import msgspec

from headgate.control.actions import Action
from headgate.control.events import Command
from headgate.control.said import Said
from headgate.control.settings import Settings
from headgate.model.microbatch import Executor, MicroBatch


class _Entry(msgspec.Struct, frozen=True, tag_field="entry"):
    """Common shape: when."""

    at: float


class Began(_Entry, frozen=True, tag="began"):
    """A controller began its work."""

    application: str
    policy: str
    settings: Settings


class Cluster(_Entry, frozen=True, tag="cluster"):
    """The executors that were there, and the queries that ran, from now on."""

    executors: tuple[Executor, ...]
    queries: tuple[str, ...] | None = None
    """None where nobody says."""


class Needed(_Entry, frozen=True, tag="needed"):
    """So many executors the policy asks for, from now on: before bounds, waiting and all other caution."""

    executors: int


class Spoke(_Entry, frozen=True, tag="spoke"):
    """Something was said: a decision, its reason, an outcome."""

    said: Said


class Intent(_Entry, frozen=True, tag="intent"):
    """An action is about to be carried out: written before it is."""

    action: Action


class Carried(_Entry, frozen=True, tag="carried"):
    """A part of an action was carried out."""

    plan: int
    what: str


class Told(_Entry, frozen=True, tag="told"):
    """A person's word was taken in."""

    command: Command


class Ended(_Entry, frozen=True, tag="ended"):
    """A controller ended in order; one that was killed leaves none of these."""

    why: str


class Seen(_Entry, frozen=True, tag="seen", eq=False):
    """A batch was seen. Kept as bytes of its own, and not for ever."""

    batch: MicroBatch
    trigger: float | None = None


Entry: TypeAlias = Began | Cluster | Needed | Spoke | Intent | Carried | Told | Ended
"""All that are kept as JSON."""
