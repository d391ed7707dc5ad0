"""What a policy that acts and then waits has said and nobody has done yet: it goes on saying it.

An engine that follows at once never notices. A controller with guards of its own, which wants to hear a thing twice or
for three minutes before it does it, would otherwise never do anything such a policy says.
"""

from collections.abc import Mapping

from headgate.model.dataflow import Dataflow


def not_yet_done(acted: Mapping[str, tuple[int, int]], flow: Dataflow) -> dict[str, int]:
    """By operator, the instances it was given, where it still has those it had; `acted` has (from, to).

    >>> flow = Dataflow.of({"lines": 1, "split": 2, "count": 8}, [("lines", "split"), ("split", "count")])
    >>> not_yet_done({"split": (2, 4), "count": (4, 8)}, flow)
    {'split': 4}
    """
    there = dict(zip(flow.ids, flow.instances.tolist(), strict=True))
    return {id: to for id, (since, to) in acted.items() if there.get(id) == since}
