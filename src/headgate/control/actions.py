"""What a controller asks its engine to do. Each names the plan it belongs to; none is done by the controller itself."""

from typing import TypeAlias

import msgspec


class SetExecutors(msgspec.Struct, frozen=True, tag="set-executors", tag_field="action"):
    """Have so many executors, whatever it takes: ask for more, or empty and release some."""

    plan: int
    executors: int


class SpreadBins(msgspec.Struct, frozen=True, tag="spread-bins", tag_field="action"):
    """Spread the state of a query evenly over the executors that are there."""

    plan: int
    query: str


Action: TypeAlias = SetExecutors | SpreadBins
