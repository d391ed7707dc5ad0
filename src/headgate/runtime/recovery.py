"""What a journal says about the controller that wrote it last: what it wanted, and what was under way when it ended."""

from functools import reduce
from typing import NamedTuple

from headgate.control.actions import Layout, Restart, SetExecutors, SpreadBins
from headgate.control.said import Arrived, Failed, Planned, Short, Undone
from headgate.runtime.entries import Began, Carried, Cluster, Ended, Intent, Spoke, Told
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
    last: float
    """When it last wrote something."""
    layout: Layout = Layout()
    """All that restarts have changed; those that failed have not."""
    unproven: int | None = None
    """The last restart, if nothing shows that anything ran with what it has changed."""
    proven_layout: Layout = Layout()
    """What restarts have changed without that one."""


def recovered(journal: Journal) -> Recovered | None:  # noqa: PLR0912 - one branch for each kind of entry
    """None for a journal that nobody has written to yet."""
    plans, desired, under_way, in_order, paused, began = 0, None, None, True, False, False
    observed, before = 0, 0
    last = journal.last_batch_at()
    over = 0
    """The last plan that came to its end: what is asked for in its name afterwards begins nothing."""
    layouts: dict[int, Layout] = {}
    proven: set[int] = set()
    for _, entry in journal.entries():
        if not (isinstance(entry, Carried) and not entry.plan):  # those a job writes before there is a controller
            last = max(last, entry.at)
        match entry:
            case Began():
                began, in_order = True, False
                proven.update(layouts)
            case Carried() if entry.what.startswith("started again"):
                proven.add(entry.plan)
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
                over, under_way, desired = said.plan, None, min(before or desired or 0, desired or 0) or None
            case Spoke(said=Short() as said):
                over, under_way, desired = under_way or over, None, said.observed or desired
            case Spoke(said=Planned() | Undone() as said):
                plans = max(plans, said.plan)
            case Told() if entry.command.word in ("pause", "resume"):
                paused = entry.command.word == "pause"
            case _:
                pass
    if not began:
        return None
    unproven = next((plan for plan in reversed(layouts) if plan not in proven), None)
    layout = reduce(Layout.then, layouts.values(), Layout())
    without = reduce(Layout.then, (one for plan, one in layouts.items() if plan != unproven), Layout())
    return Recovered(plans, desired, under_way, in_order, before, paused, last, layout, unproven, without)
