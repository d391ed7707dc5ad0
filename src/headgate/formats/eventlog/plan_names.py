"""What people call the nodes of a physical plan: `scan kafka`, `mapInPandas split`, `count by word [state]`."""

import re

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


def is_stateful(node: PlanNode) -> bool:
    """Whether the node keeps state from batch to batch."""
    return node.node_name.startswith(_STATEFUL)


def fragment_name(nodes: list[PlanNode]) -> str:
    """What these nodes do together, upstream first; what is said once is not said again.

    >>> scan = PlanNode("MicroBatchScan", "MicroBatchScan[number#0L] (Python)")
    >>> partial = PlanNode("HashAggregate", "HashAggregate(keys=[word#4], functions=[partial_count(1)])")
    >>> fragment_name([scan, PlanNode("Project", "Project [word#4]"), partial])
    'scan -> count by word'
    """
    said = list(dict.fromkeys(name for name in map(node_name, nodes) if name))
    if not said:
        said = ["write" if any("Write" in node.node_name for node in nodes) else "pass on"]
    if any(map(is_stateful, nodes)):
        said[-1] += " [state]"
    return " -> ".join(said)


def node_name(node: PlanNode) -> str:
    """What one node does, in a few words; nothing for those that only hand on."""
    kind, text = node.node_name, _NUMBERED.sub("", node.simple_string)
    if kind.endswith("Aggregate"):
        return _aggregate(text)
    if "Scan" in kind:
        source = _SOURCES.search(text)
        return f"scan {source[1].lower()}" if source else "scan"
    if kind in ("MapInArrow", "MapInPandas"):
        return " ".join(("m" + kind[1:], *re.findall(kind + r" (\w+)", text)[:1]))
    if kind in ("ArrowEvalPython", "BatchEvalPython"):
        return " ".join(("udf", *re.findall(r"\[(\w+)\(", text)[:1]))
    if "Join" in kind:
        return "stream join" if kind.startswith("Streaming") else "join"
    return _SIMPLE.get(kind, "")


def _aggregate(text: str) -> str:
    """What is computed by what; the nodes before and after the shuffle say it in the same words."""
    parts = re.match(r"\w+\(keys=\[(.*?)\], functions=\[(.*?)\](?:, |\))", text)
    if not parts:
        return "aggregate"
    functions = re.findall(r"(?:partial_|merge_|finalmerge_)?(\w+)\(", parts[2])
    what = ", ".join(dict.fromkeys(functions)) or "distinct"
    keys = ", ".join(key.split(" ")[0] for key in parts[1].split(", ") if key)
    return f"{what} by {keys}" if keys else what
