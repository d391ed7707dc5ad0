"""DS2's source-rates and operator-rates CSV: `operator,rate_per_instance`, -1 for "the observed rate"."""

from headgate.formats.ds2.lines import content_lines, read_bytes
from headgate.model.dataflow import Dataflow
from headgate.model.errors import InputError
from headgate.model.overrides import OBSERVED


def read_rate_overrides(path: str, dataflow: Dataflow) -> dict[str, float]:
    """Operator -> rate per instance; an operator given twice, or not in the topology, is refused."""
    rates: dict[str, float] = {}
    for place, text in content_lines(path, read_bytes(path)):
        id, given = place.fields(text, ("operator", "rate_per_instance"))
        try:
            dataflow.position(id)
        except InputError as error:
            place.refuse(str(error))
        rate = place.number("rate", given)
        if rate != OBSERVED and not 0 <= rate < float("inf"):
            place.refuse(f'rate "{given}" is not usable; give a number from 0 up, or -1 for the observed rate')
        if id in rates:
            place.refuse(f'operator "{id}" is given twice; keep one line')
        rates[id] = rate
    if not rates:
        raise InputError(f"{path}: no rates; give one a line as operator,rate_per_instance")
    return rates
