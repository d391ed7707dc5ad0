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
    pairs = []
    for position, first in enumerate(decisions[0].sizings):
        if not first.source:
            history = [decision.sizings[position] for decision in decisions]
            # The original leaves out windows in which an operator, or what feeds it, has no rates.
            answered = [sizing for sizing in history if sizing.need is not None] or history
            pairs += [f"{sizing.operator},{sizing.instances}" for sizing in answered]
    # The original prints a debug string: quotes and backslashes in a name come escaped.
    line = ",".join(pairs).replace("\\", "\\\\").replace('"', '\\"')
    return f'"{line}"'
