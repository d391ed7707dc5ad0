"""What people call the nodes of a physical plan: `scan kafka`, `mapInPandas split`, `count by word [state]`.

Names are made from what Spark prints of a node, without the numbers that it deals out anew for every batch and
without event-time delays: the same query has the same names in every batch and after every restart.
"""

import re
from collections.abc import Callable
from functools import lru_cache

from headgate.formats.eventlog.sql import PlanNode

_NUMBERED = re.compile(r"#\d+L?(?:-T\d+ms)?")
"""What Spark adds to a column's name: its number, and the delay of its watermark."""
_NOT_NULL = re.compile(r"isnotnull\(\w+\)|AND|[()\s]")
_STATE = " [state]"
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
# In this order: a text socket is a socket.
_SOURCES = ("kafka", "kinesis", "pulsar", "eventhubs", "iceberg", "delta", "rate", "socket", "memory", "parquet", "orc",
            "avro", "csv", "json", "text")  # fmt: skip
_PYTHON = {
    "MapInArrow": "mapInArrow",
    "MapInPandas": "mapInPandas",
    "PythonMapInArrow": "mapInArrow",  # what Spark 3.5 calls it
    "FlatMapGroupsInArrow": "applyInArrow",
    "FlatMapGroupsInPandas": "applyInPandas",
    "FlatMapCoGroupsInArrow": "cogroup",
    "FlatMapCoGroupsInPandas": "cogroup",
    "FlatMapGroupsInPandasWithState": "applyInPandasWithState",
    "TransformWithStateInPandas": "transformWithState",
    "TransformWithStateInPySpark": "transformWithState",
}
_SIMPLE = {
    "Generate": "explode",
    "Union": "union",
    "Window": "window",
    "Range": "range",
    "FlatMapGroupsWithState": "flatMapGroupsWithState",
    "TransformWithState": "transformWithState",
    "StreamingGlobalLimit": "limit",
    "InMemoryTableScan": "cached",
}


def is_stateful(node: PlanNode) -> bool:
    """Whether the node keeps state from batch to batch."""
    return _keeps_state(node.node_name)


@lru_cache(maxsize=256)
def _keeps_state(kind: str) -> bool:
    return kind.startswith(_STATEFUL)


def fragment_name(root: PlanNode, within: frozenset[int]) -> str:
    """What a piece of a plan does: the nodes from `root` up that are `within` it (by `id`), upstream first.

    What is said once is not said again. Where branches meet in one stage, each is said: `(scan -> filter) + scan ->
    union`.

    >>> scan = PlanNode("MicroBatchScan", "MicroBatchScan[number#0L] (Python)")
    >>> project = PlanNode("Project", "Project [word#4]", children=(scan,))
    >>> count = PlanNode("HashAggregate", "HashAggregate(keys=[word#4], functions=[partial_count(1)])", (), (project,))
    >>> fragment_name(count, frozenset(map(id, (scan, project, count))))
    'scan -> count by word'
    """
    said = _said(root, within)
    if not said or said == [_STATE]:
        said.insert(0, "write" if _writes(root, within) else "pass on")
    return " -> ".join(said).replace(f" -> {_STATE}", _STATE)


def _said(root: PlanNode, within: frozenset[int]) -> list[str]:
    """The names along a piece, upstream first; branches that meet are one entry, `_STATE` follows what keeps it."""
    along: list[PlanNode] = []
    inside = [root]
    while len(inside) == 1:  # a chain may be longer than Python likes to recurse; branches are few
        along.append(inside[0])
        inside = [child for child in inside[0].children if id(child) in within]
    branches = [branch for branch in (_said(child, within) for child in inside) if branch]
    said = branches[0] if len(branches) == 1 else _beside(branches)
    for node in reversed(along):
        name = node_name(node)
        if name and name not in said:
            said.append("cache" if name == "cached" and said else name)
        if is_stateful(node):
            said.append(_STATE)
    if said[:1] == [_STATE]:  # the node that keeps it has no name of its own: what comes next has
        said[:2] = reversed(said[:2])
    return said


def _beside(branches: list[list[str]]) -> list[str]:
    told = (" -> ".join(branch).replace(f" -> {_STATE}", _STATE) for branch in branches)
    return [" + ".join(f"({name})" if " -> " in name else name for name in told)] if branches else []


def _writes(root: PlanNode, within: frozenset[int]) -> bool:
    todo = [root]
    while todo:
        node = todo.pop()
        if "Write" in node.node_name:
            return True
        todo.extend(child for child in node.children if id(child) in within)
    return False


def node_name(node: PlanNode) -> str:
    """What one node does, in a few words; nothing for those that only hand on."""
    kind = node.node_name
    if kind in _SIMPLE:
        return _SIMPLE[kind]
    describe = _describer(kind)
    # A batch that is handed to `foreachBatch` is scanned once more; the real scan is below and says it.
    if describe is None or (kind.startswith("Scan ExistingRDD") and node.children):
        return ""
    return _described(describe, kind, node.simple_string)


# Plans come with every batch and say nearly the same each time. What the caches here remember is about the plans of
# the queries that are running, and small.
@lru_cache(maxsize=256)
def _describer(kind: str) -> Callable[[str, str], str] | None:
    return next((describe for part, describe in _DESCRIBED if part in kind), None)


@lru_cache(maxsize=256)
def _described(describe: Callable[[str, str], str], kind: str, text: str) -> str:
    return describe(kind, _NUMBERED.sub("", text))


def _filter(_: str, text: str) -> str:
    """Spark itself puts a test for nulls before joins and aggregations: nobody wrote that."""
    return "filter" if _NOT_NULL.sub("", text.removeprefix("Filter")) else ""


def _python(kind: str, text: str) -> str:
    given = text.removeprefix("!").removeprefix(kind)
    return " ".join((_PYTHON.get(kind, ""), *_calls(given)[:1])).strip()


def _udf(_: str, text: str) -> str:
    return f"udf {', '.join(_calls(_bracketed(text, 'EvalPython ')))}".rstrip()


def _deduplicate(kind: str, text: str) -> str:
    keys = ", ".join(_split(_bracketed(text, kind + " ")))
    return f"deduplicate by {keys}" if keys else "deduplicate"


def _scan(kind: str, text: str) -> str:
    """Where rows come from, by what stands behind the columns: columns may be called anything, `text` or `rate`."""
    if kind.startswith("Scan ExistingRDD"):
        return "scan rdd"
    # Files say their format in the node's name, `Scan parquet …`; a path that may follow is no format.
    file_format = " ".join(kind.split()[:2])
    columns = _bracketed(text, kind)
    behind = text.partition(f"[{columns}]")[2].split()
    # Sources that do not describe themselves are described by their class.
    reader = behind[1].rsplit(".", 1)[-1] if behind[:1] == ["class"] and len(behind) > 1 else "".join(behind[:1])
    said = f"{file_format} {reader}".lower()
    return next((f"scan {source}" for source in _SOURCES if source in said), "scan")


def _join(kind: str, text: str) -> str:
    """How rows are joined, and on what.

    >>> _join("StreamingSymmetricHashJoin", "StreamingSymmetricHashJoin [id], [id], LeftOuter, …")
    'stream left outer join on id'
    """
    left = _bracketed(text, kind + " ")
    right = _bracketed(text, f"[{left}], ")
    way = re.match(r"(\w+)", text[text.find(f"[{left}], [{right}], ") + len(left) + len(right) + 8 :])
    how = re.sub(r"(?<=[a-z])(?=[A-Z])", " ", way[1]).lower() if way and left else ""
    name = " ".join(word for word in ("stream" if kind.startswith("Streaming") else "", how, "join") if word != "inner")
    on = ", ".join(a if a == b else f"{a} = {b}" for a, b in zip(_split(left), _split(right), strict=False))
    return f"{name.strip()} on {on}" if on else name.strip()


def _aggregate(_: str, text: str) -> str:
    """What is computed by what; the nodes before and after the shuffle say it in the same words."""
    if "keys=[" not in text:
        return "aggregate"
    keys = ", ".join(key.split(" ")[0] for key in _split(_bracketed(text, "keys=")))
    functions = (call.removeprefix("finalmerge_").removeprefix("merge_").removeprefix("partial_") for call in
                 _calls(_bracketed(text, "functions=")))  # fmt: skip
    what = ", ".join(dict.fromkeys(functions)) or "distinct"
    return f"{what} by {keys}" if keys else what


def _calls(text: str) -> list[str]:
    """The names of the functions in a list of calls; not of those in their arguments.

    >>> _calls("partial_sum(coalesce(price, 0)), count(1)")
    ['partial_sum', 'count']
    """
    return [call[1] for call in map(re.compile(r"(\w+|<lambda>)\(").match, _split(text)) if call]


def _bracketed(text: str, before: str) -> str:
    """What stands between the bracket that follows `before` and the one that closes it.

    >>> _bracketed("HashAggregate(keys=[a, b[0]], functions=[count(1)])", "keys=")
    'a, b[0]'
    """
    start = text.find(before + "[")
    if start < 0:
        return ""
    start += len(before) + 1
    depth = 1
    for at in range(start, len(text)):
        depth += (text[at] == "[") - (text[at] == "]")
        if not depth:
            return text[start:at]
    return text[start:]


def _split(text: str) -> list[str]:
    """Cut at the commas that are not inside brackets.

    >>> _split("a, max(b, c), d[1, 2]")
    ['a', 'max(b, c)', 'd[1, 2]']
    """
    parts, depth = [""], 0
    for letter in text:
        depth += (letter in "([") - (letter in ")]")
        if letter == "," and not depth:
            parts.append("")
        else:
            parts[-1] += letter
    return [part.strip() for part in parts if part.strip()]


_DESCRIBED: tuple[tuple[str, Callable[[str, str], str]], ...] = (
    ("Aggregate", _aggregate),
    ("Filter", _filter),
    ("Scan", _scan),
    ("EvalPython", _udf),
    ("Join", _join),
    ("StreamingDeduplicate", _deduplicate),
    *((kind, _python) for kind in _PYTHON),
)
"""What a node's name contains, and who says what such a node does."""
