"""The adapter to Spark: measure a query, and move it. Needs the extra `headgate[spark]`.

`headgate.spark.LocalCluster` and `headgate.spark.Probe` are imported when they are first used.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from headgate.spark.local_cluster import LocalCluster
    from headgate.spark.probe import Probe

__all__ = ["LocalCluster", "Probe"]

_HOME = {"LocalCluster": "local_cluster", "Probe": "probe"}


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'headgate.spark' has no attribute {name!r}")
    return getattr(import_module(f"headgate.spark.{_HOME[name]}"), name)
