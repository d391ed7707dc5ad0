"""Which stage carried out which fragment of the plan, from what the status store knows.

Tasks in the store do not name their SQL accumulators, as they do in the event log. But an accumulator's value, as text,
names the stage of its largest task, `14.5 s (198 ms, 283 ms, 466 ms (stage 5.0: task 242))`, and every fragment has
accumulators of that kind: those votes decide. A stage of a single task gets no vote, since a single value has no
largest; it is matched by the plan nodes that made its RDDs, of which spans of generated code are numbered and so
unmistakable.
"""

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from headgate.formats.eventlog.plans import Fragment, Part

_LARGEST = re.compile(r"\(stage (\d+)\.\d+: task \d+\)")
_GENERATED = "WholeStageCodegen"


class StageScopes(NamedTuple):
    """A stage and the plan nodes that made its RDDs, by name."""

    id: int
    scopes: tuple[str, ...]


def match_stages(stages: Sequence[StageScopes], parts: Sequence[Part], values: Mapping[int, str]) -> dict[int, Part]:
    """Stage -> part of the plan, for the stages of one execution; those that resemble nothing are left out."""
    matched = _by_votes({stage.id for stage in stages}, parts, values)
    # Stages run upstream first, parts stand downstream first: of equals the order decides.
    upstream_first = list(reversed(parts))
    for stage in sorted(stages):
        if stage.id not in matched:
            taken = Counter(part.fragment.name for part in matched.values())
            ranked = [(_likeness(stage, part.fragment), not taken[part.fragment.name]) for part in upstream_first]
            best = max(ranked, default=((0, 0), False))
            if best[0] > (0, 0):
                matched[stage.id] = upstream_first[ranked.index(best)]
    return matched


def stage_of_largest(value: str) -> int | None:
    r"""The stage that an accumulator's text names.

    >>> stage_of_largest("total (min, med, max (stageId: taskId))\n9 ms (0 ms, 4 ms, 5 ms (stage 5.0: task 42))")
    5
    >>> stage_of_largest("1,749") is None
    True
    """
    found = _LARGEST.search(value)
    return int(found[1]) if found else None


def rows_of(value: str) -> int | None:
    """A count out of an accumulator's text.

    >>> rows_of("1,749"), rows_of("4.1 KiB")
    (1749, None)
    """
    digits = value.replace(",", "")
    return int(digits) if digits.isascii() and digits.isdigit() else None


def _by_votes(stages: set[int], parts: Sequence[Part], values: Mapping[int, str]) -> dict[int, Part]:
    votes: dict[int, Counter[int]] = {}
    for place, part in enumerate(parts):
        for accumulator in part.accumulators:
            stage = stage_of_largest(values.get(accumulator, ""))
            if stage in stages and stage is not None:
                votes.setdefault(stage, Counter())[place] += 1
    # Of equals the first, as it is with the event log.
    return {stage: parts[min(counts, key=lambda at: (-counts[at], at))] for stage, counts in votes.items()}


def _likeness(stage: StageScopes, fragment: Fragment) -> tuple[int, int]:
    """How many spans of generated code the two have in common, less those they have not; then other nodes."""
    here, there = Counter(stage.scopes), Counter(fragment.nodes)
    generated = {name for name in here | there if name.startswith(_GENERATED)}
    spans = sum(1 if name in here and name in there else -1 for name in generated)
    others = sum(((here & there) - Counter({name: here[name] for name in generated})).values())
    return spans, others
