"""How large bins of state are, and putting them elsewhere.

Placing one only says where it lives from now on; it takes effect with the next batch if it is said before that batch's
stages begin. Whether it did is seen from where the bin's task really ran (`headgate.model.bins.homes`).
"""

from collections import Counter
from collections.abc import Mapping, Sequence

from pyspark.sql import SparkSession
from pyspark.sql.streaming.query import StreamingQuery

from headgate.formats.checkpoint.folders import LocalFolders
from headgate.formats.checkpoint.reader import read_state
from headgate.formats.where import on_this_machine
from headgate.model.errors import InputError
from headgate.model.microbatch import Executor
from headgate.spark.internals.state_stores import checkpoint_of, place_bin, state_stores


def bin_bytes(query: StreamingQuery) -> Mapping[int, int]:
    """Bytes of each bin, by the files of its checkpoint; nothing where that is on another machine.

    There, to list the files of some hundred bins may take longer than to move them.
    """
    path = on_this_machine(checkpoint_of(query))
    found = Counter[int]()
    if path is not None:
        try:
            operators = read_state(LocalFolders(path)).operators
        except (InputError, OSError):  # a running query removes files while one looks
            return {}
        for operator in operators:
            found.update({one.number: one.bytes for one in operator.bins})
    return found


def place(spark: SparkSession, query: StreamingQuery, moves: Mapping[int, str], executors: Sequence[Executor]) -> None:
    """Say where these bins live from now on."""
    hosts = {executor.id: executor.host for executor in executors}
    for stores in state_stores(spark, query):
        for number, executor in moves.items():
            if number < stores.partitions:
                place_bin(spark, query, stores, number, hosts[executor], executor)
