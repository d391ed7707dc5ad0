"""DS2's topology CSV: one edge a line, `id,name,instances,id,name,instances`."""

from collections.abc import Iterable, Sequence

from headgate.formats.ds2.lines import Place, content_lines, read_bytes
from headgate.model.dataflow import MAX_INSTANCES, Dataflow, Edge, Operator, conflict
from headgate.model.errors import DataflowError, InputError

_FIELDS = ("id1", "name1", "instances1", "id2", "name2", "instances2")


def read_topology(path: str) -> Dataflow:
    """The dataflow in a topology file; what is wrong with it is said with the line it stands on."""
    operators: dict[str, tuple[Operator, Place]] = {}
    declared: dict[tuple[str, ...], Operator] = {}
    edges: list[tuple[Edge, Place]] = []
    for place, text in content_lines(path, read_bytes(path)):
        fields = place.fields(text, _FIELDS)
        ends = []
        for words in (tuple(fields[:3]), tuple(fields[3:])):
            operator = declared.get(words)
            if operator is None:
                operator = declared[words] = _operator(place, *words)
                first, declared_at = operators.setdefault(operator.id, (operator, place))
                if first != operator:
                    place.refuse(f"{conflict(first, operator)} (the other is on line {declared_at.line})")
            ends.append(operator.id)
        edges.append((Edge(ends[0], ends[1]), place))
    if not edges:
        raise InputError(f"{path}: no edges; give one a line as {','.join(_FIELDS)}")
    return placed_dataflow(path, (operator for operator, _ in operators.values()), edges)


def placed_dataflow(path: str, operators: Iterable[Operator], edges: Sequence[tuple[Edge, Place]]) -> Dataflow:
    """A dataflow whose faults are reported with the line of the edge at fault."""
    try:
        return Dataflow(operators, (edge for edge, _ in edges))
    except DataflowError as error:
        if error.edge is None:
            raise InputError(f"{path}: {error}") from None
        edges[error.edge][1].refuse(str(error))


def _operator(place: Place, id: str, name: str, instances: str) -> Operator:
    if not id:
        place.refuse("an operator has an empty id; give it one")
    return Operator(id, place.whole_number(f'operator "{id}": instances', instances, least=1, most=MAX_INSTANCES), name)
