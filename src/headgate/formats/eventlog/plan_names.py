"""What people call the nodes of a physical plan: `scan kafka`, `mapInPandas split`, `count by word [state]`."""

import re
from collections.abc import Callable
from functools import lru_cache

from headgate.formats.eventlog.sql import PlanNode

_NUMBERED = re.compile(r"#\d+L?")
_STATEFUL = (
    "StateStoreSave",
    "SessionWindowStateStoreSave",
    "StreamingSymmetricHashJoin",
    "StreamingDeduplicate",
    "StreamingGlobalLimit",
    "FlatMapGroupsWithState",
    "FlatMapGroupsInPandasWithState",
    "TransformWithState",
)
_SOURCES = re.compile(r"\b(kafka|rate|parquet|csv|json|text|delta|memory|socket)", re.I)
_SIMPLE = {
    "Filter": "filter",
    "Generate": "explode",
    "Union": "union",
    "Window": "window",
    "FlatMapGroupsInPandas": "applyInPandas",
    "FlatMapGroupsInPandasWithState": "applyInPandasWithState",
    "FlatMapGroupsWithState": "flatMapGroupsWithState",
    "TransformWithState": "transformWithState",
    "TransformWithStateInPySpark": "transformWithState",
    "StreamingDeduplicate": "deduplicate",
    "StreamingDeduplicateWithinWatermark": "deduplicate",
}


# Plans come with every batch and say nearly the same each time. What the caches here remember is about the plans of
# the queries that are running, and small.
_remembered = lru_cache(maxsize=256)


def is_stateful(node: PlanNode) -> bool:
    """Whether the node keeps state from batch to batch."""
    return _keeps_state(node.node_name)


@_remembered
def _keeps_state(kind: str) -> bool:
    return kind.startswith(_STATEFUL)


def fragment_name(nodes: list[PlanNode]) -> str:
    """What these nodes do together, upstream first; what is said once is not said again.

    >>> scan = PlanNode("MicroBatchScan", "MicroBatchScan[number#0L] (Python)")
    >>> partial = PlanNode("HashAggregate", "HashAggregate(keys=[word#4], functions=[partial_count(1)])")
    >>> fragment_name([scan, PlanNode("Project", "Project [word#4]"), partial])
    'scan -> count by word'
    """
    said = list(dict.fromkeys([name for name in map(node_name, nodes) if name]))
    if not said:
        said = ["write" if any("Write" in node.node_name for node in nodes) else "pass on"]
    if any(map(is_stateful, nodes)):
        said[-1] += " [state]"
    return " -> ".join(said)


def node_name(node: PlanNode) -> str:
    """What one node does, in a few words; nothing for those that only hand on."""
    return _namer(node.node_name)(node.simple_string)


@_remembered
def _namer(kind: str) -> Callable[[str], str]:
    """What makes a name out of the text of such a node; most kinds need no text, which may be new in every batch."""
    if kind.endswith("Aggregate"):
        return _aggregate
    if "Scan" in kind:
        return _scan
    if kind in ("MapInArrow", "MapInPandas"):
        return _with_function("m" + kind[1:], kind + r" (\w+)")
    if kind in ("ArrowEvalPython", "BatchEvalPython"):
        return _with_function("udf", r"\[(\w+)\(")
    name = _SIMPLE.get(kind, "")
    if "Join" in kind:
        name = "stream join" if kind.startswith("Streaming") else "join"
    return lambda _: name


@_remembered
def _scan(text: str) -> str:
    source = _SOURCES.search(_NUMBERED.sub("", text))
    return f"scan {source[1].lower()}" if source else "scan"


def _with_function(name: str, pattern: str) -> Callable[[str], str]:
    """For nodes that run a function of the user's, whose name stands where the pattern has its group."""

    @_remembered
    def named(text: str) -> str:
        function = re.search(pattern, _NUMBERED.sub("", text))
        return f"{name} {function[1]}" if function else name

    return named


@_remembered
def _aggregate(text: str) -> str:
    """What is computed by what; the nodes before and after the shuffle say it in the same words."""
    parts = re.match(r"\w+\(keys=\[(.*?)\], functions=\[(.*?)\](?:, |\))", _NUMBERED.sub("", text))
    if not parts:
        return "aggregate"
    functions = re.findall(r"(?:partial_|merge_|finalmerge_)?(\w+)\(", parts[2])
    what = ", ".join(dict.fromkeys(functions)) or "distinct"
    keys = ", ".join(key.split(" ")[0] for key in parts[1].split(", ") if key)
    return f"{what} by {keys}" if keys else what
