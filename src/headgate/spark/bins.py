"""Putting bins of state elsewhere.

Placing one only says where it lives from now on; it takes effect with the next batch if it is said before that batch's
stages begin. Whether it did is seen from where the bin's task really ran (`headgate.model.bins.homes`).
"""

from collections.abc import Mapping, Sequence

from pyspark.sql import SparkSession
from pyspark.sql.streaming.query import StreamingQuery

from headgate.model.microbatch import Executor
from headgate.spark.internals.state_stores import place_bin, state_stores


def place(spark: SparkSession, query: StreamingQuery, moves: Mapping[int, str], executors: Sequence[Executor]) -> None:
    """Say where these bins live from now on."""
    hosts = {executor.id: executor.host for executor in executors}
    for stores in state_stores(spark, query):
        for number, executor in moves.items():
            if number < stores.partitions:
                place_bin(spark, query, stores, number, hosts[executor], executor)
