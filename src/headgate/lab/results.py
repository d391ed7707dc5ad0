"""Results as one Parquet file: a row a cell, with the versions and settings that made it. Same settings, same bytes."""

from collections.abc import Sequence
from pathlib import Path

import msgspec
import pyarrow as pa
import pyarrow.parquet as pq

from headgate.lab.cell import Outcome, versions
from headgate.lab.scenario import Scenario
from headgate.model.errors import InputError

_TYPES = {str: pa.string(), bool: pa.bool_(), int: pa.int64(), float: pa.float64(), list[float]: pa.list_(pa.float64())}
_SCHEMA = pa.schema([(one.name, _TYPES.get(one.type, pa.float64())) for one in msgspec.structs.fields(Outcome)])


def write_results(path: Path, scenario: Scenario, outcomes: Sequence[Outcome]) -> None:
    """Nothing in it tells when or where it was made."""
    rows = [msgspec.structs.asdict(one) for one in outcomes]
    table = pa.Table.from_pylist(rows, schema=_SCHEMA.with_metadata(about(scenario)))
    try:
        pq.write_table(table, path, compression="zstd")
    except OSError as error:
        raise InputError(f"{path}: cannot be written ({error.strerror or error})") from None


def about(scenario: Scenario) -> dict[str, str]:
    """What made the results."""
    settings = {
        "scenario": scenario.name,
        "simulated": True,
        "policies": scenario.policies,
        "loads": [(one.name, one.text, one.lasting) for one in scenario.loads],
        "jobs": [
            (one.name, {name: getattr(one.job, name) for name in one.job.__struct_fields__}, one.executors, one.slots)
            for one in scenario.jobs
        ],
        "seeds": scenario.seeds,
        "executors": scenario.executors,
        "prices": scenario.prices,
        "controller": scenario.settings,
        "left_out": scenario.left_out,
    }
    return {
        "headgate.settings": msgspec.json.encode(settings, order="sorted").decode(),
        "headgate.versions": msgspec.json.encode({**versions(), "pyarrow": pa.__version__}).decode(),
    }


def read_results(path: Path) -> list[Outcome]:
    """What was written."""
    try:
        rows = pq.read_table(path).to_pylist()
    except (OSError, pa.ArrowInvalid) as error:
        raise InputError(f"{path}: cannot be read ({error})") from None
    return [msgspec.convert(row, Outcome) for row in rows]
