"""What a job's `build(spark, settings)` is handed: its options, and exchanges whose parallelism Headgate may change."""

import os
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

import msgspec

from headgate.model.errors import did_you_mean

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

STATE = "state"
"""The one number of partitions that all operators with state share: Spark's rule."""


class JobSettings(msgspec.Struct, frozen=True):
    """Named things of one job."""

    folder: str
    """Of the job file."""
    options: Mapping[str, Any]
    parallelism: Mapping[str, int]
    """Exchange -> partitions, as asked for."""
    exchanges: dict[str, int]
    """Exchange -> partitions, as built: filled in by `exchange`."""

    def path(self, text: str) -> str:
        """A path as the job file writes it, relative to the file."""
        return os.path.join(self.folder, text)

    def exchange(self, df: "DataFrame", name: str, *columns: str) -> "DataFrame":
        """An exchange with a name and a parallelism of its own: evenly, or by columns.

        What comes after it, up to the next exchange, runs with so many tasks. Operators with state bring their own
        exchange and share one number, `state`; this is for those without.
        """
        default = int(df.sparkSession.conf.get("spark.sql.shuffle.partitions") or 200)
        partitions = self.parallelism.get(name, default)
        self.exchanges[name] = partitions
        return df.repartition(partitions, *columns)


def no_exchange(names: Iterable[str], exchanges: Iterable[str]) -> str | None:
    """What is wrong with names of exchanges, given those that a job has; None where nothing is.

    >>> no_exchange(["state", "prase"], ["parse"])
    'prase is no exchange of the job (did you mean "parse"?)'
    """
    known = [STATE, *exchanges]
    wrong = next((name for name in names if name not in known), None)
    return None if wrong is None else f"{wrong} is no exchange of the job{did_you_mean(wrong, known)}"
