"""What a journal says about the controller that wrote it last: what it wanted, and what was under way when it ended."""

from functools import reduce
from typing import NamedTuple

from headgate.control.actions import Layout, Restart, SetExecutors, SpreadBins
from headgate.control.said import Arrived, Failed, Planned, Short, Undone
from headgate.runtime.entries import Began, Cluster, Ended, Intent, Spoke, Told
from headgate.runtime.journal import Journal


class Recovered(NamedTuple):
    """What is known of the last controller."""

    plans: int
    """The number of its last plan."""
    desired: int | None
    """Executors it wanted last."""
    under_way: int | None
    """The plan that had begun and not come to its end."""
    in_order: bool
    """Whether it ended by itself."""
    before: int
    """Executors that were there when that plan began."""
    paused: bool
    """Whether a person had told it to hold everything."""
    layout: Layout = Layout()
    """All that restarts have changed; those that failed have not."""


def recovered(journal: Journal) -> Recovered | None:  # noqa: PLR0912 - one branch for each kind of entry
    """None for a journal that nobody has written to yet."""
    plans, desired, under_way, in_order, paused, began = 0, None, None, True, False, False
    observed, before = 0, 0
    over = 0
    """The last plan that came to its end: what is asked for in its name afterwards begins nothing."""
    layouts: dict[int, Layout] = {}
    for _, entry in journal.entries():
        match entry:
            case Began():
                began, in_order = True, False
            case Ended():
                in_order = True
            case Cluster():
                observed = len(entry.executors)
            case Intent(action=SetExecutors() as action):
                plans, desired = max(plans, action.plan), action.executors
                if action.plan > over:
                    before, under_way = observed, action.plan
            case Intent(action=SpreadBins() as action):
                plans = max(plans, action.plan)
            case Intent(action=Restart() as action):
                plans = max(plans, action.plan)
                layouts[action.plan] = action.layout
            case Spoke(said=Failed() as said) if said.plan in layouts:
                del layouts[said.plan]
            case Spoke(said=Arrived() as said) if said.plan == under_way:
                over, under_way = said.plan, None
            case Spoke(said=Failed() as said) if said.plan == under_way:
                over, under_way, desired = said.plan, None, before or desired
            case Spoke(said=Short() as said):
                over, under_way, desired = under_way or over, None, said.observed or desired
            case Spoke(said=Planned() | Undone() as said):
                plans = max(plans, said.plan)
            case Told() if entry.command.word in ("pause", "resume"):
                paused = entry.command.word == "pause"
            case _:
                pass
    layout = reduce(Layout.then, layouts.values(), Layout())
    return Recovered(plans, desired, under_way, in_order, before, paused, layout) if began else None
