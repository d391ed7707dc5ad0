"""Policies are often someone else's: what they answer is checked, and what they raise is told in one line."""

from typing import get_args

from msgspec.structs import replace

from headgate.model.dataflow import Dataflow
from headgate.model.decision import Decision, Sizing, whole
from headgate.model.errors import PolicyError
from headgate.model.reasons import Reason


def checked_decision(decision: Decision, dataflow: Dataflow) -> Decision:
    """The decision with plain numbers in it; refused if it leaves operators out, resizes sources or makes no sense."""
    who = f"policy {decision.policy}"
    answered = sorted(sizing.operator for sizing in decision.sizings)
    if answered != sorted(dataflow.ids):
        raise PolicyError(f"{who} must answer for each operator once: {', '.join(sorted(dataflow.ids))}")
    for reason in decision.reasons:
        if not isinstance(reason, get_args(Reason)):
            raise PolicyError(f"{who} gave {reason!r} as a reason; use those of headgate.model.reasons, such as Note")
    return replace(decision, sizings=tuple(_checked(who, sizing, dataflow) for sizing in decision.sizings))


def _checked(who: str, sizing: Sizing, dataflow: Dataflow) -> Sizing:
    at = dataflow.index[sizing.operator]
    now, count = dataflow.operators[at].instances, whole(sizing.instances)
    what = f'operator "{sizing.operator}"'
    if count is None:
        raise PolicyError(f"{who} gave {what} {sizing.instances!r} instances; give a whole number from 1 up")
    if count != now and dataflow.is_source[at]:
        raise PolicyError(f"{who} resized {what}, which is a source; leave it at {now}")
    if sizing.need is not None and not 0 <= sizing.need < float("inf"):
        raise PolicyError(f"{who} gave {what} a need of {sizing.need}; give a number from 0 up, or None")
    return sizing if type(sizing.instances) is int else replace(sizing, instances=count)


def in_one_line(error: BaseException) -> str:
    """What went wrong, and on which line of the file of whoever wrote the policy."""
    where, at = "", error.__traceback__
    while at is not None:
        file = at.tb_frame.f_code.co_filename
        if "/headgate/" not in file:
            where = f" ({file.rpartition('/')[2]}:{at.tb_lineno})"
        at = at.tb_next
    return f"{type(error).__name__}: {' '.join(str(error).split())}{where}"
