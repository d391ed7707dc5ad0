"""The line the original prints: `"op,n,op,n,…"`, upstream first, sources left out, one pair an observation."""

from collections.abc import Sequence

from headgate.model.decision import Decision


def answer_line(decisions: Sequence[Decision]) -> str:
    r"""The original's answer line for these decisions, quotes included.

    >>> from headgate.model.decision import Sizing
    >>> first = Decision("ds2", (Sizing("A", 1, 2), Sizing("B", 1, 8)))
    >>> answer_line([first, Decision("ds2", (Sizing("A", 1, 18), Sizing("B", 1, 72)))])
    '"A,2,A,18,B,8,B,72"'
    """
    answers = [decision.parallelism for decision in decisions]
    pairs = [f"{id},{answer[id]}" for id in answers[0] for answer in answers]
    # The original prints a debug string: quotes and backslashes in a name come escaped.
    line = ",".join(pairs).replace("\\", "\\\\").replace('"', '\\"')
    return f'"{line}"'
