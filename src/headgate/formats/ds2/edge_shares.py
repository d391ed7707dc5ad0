"""Which part of an operator's output takes which edge: `source,target,share`. Ours, not the original's."""

from headgate.formats.ds2.lines import content_lines, read_bytes
from headgate.model.dataflow import Dataflow
from headgate.model.errors import InputError, did_you_mean


def read_edge_shares(path: str, dataflow: Dataflow) -> Dataflow:
    """The dataflow with shares on the edges named; the others keep the whole output."""
    edges = {(edge.source, edge.target) for edge in dataflow.edges}
    shares: dict[tuple[str, str], float] = {}
    for place, text in content_lines(path, read_bytes(path)):
        source, target, number = place.fields(text, ("source", "target", "share"))
        if (source, target) not in edges:
            hint = did_you_mean(f"{source} -> {target}", (f"{s} -> {t}" for s, t in edges))
            place.refuse(f"edge {source} -> {target} is not in the topology{hint}")
        share = place.number("share", number)
        if not 0 <= share < float("inf"):
            place.refuse(f'share "{number}" is not usable; give a number from 0 up, such as 0.5')
        if (source, target) in shares:
            place.refuse(f"edge {source} -> {target} is given twice; keep one line")
        shares[source, target] = share
    if not shares:
        raise InputError(f"{path}: no shares; give one a line as source,target,share")
    return dataflow.with_shares(shares)
