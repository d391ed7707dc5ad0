"""One step of the controller: what happened, what is known after it, what is to be done, and why.

    step(state, event, settings, policy) -> Step(state, actions, said)

A plan goes through three stations: asked for (an action went out), arrived (the executors are there), judged (warm
batches on them were compared with the prediction). Only then is the next one thought of. What is desired, requested
and observed are three things: `state.desired`, the plan under way, `state.executors`.
"""

from msgspec.structs import replace

from headgate.control.actions import Restart, SetExecutors, SpreadBins, StopAsking
from headgate.control.deciding import begin, consider
from headgate.control.events import ActionFailed, BatchSeen, ClusterSeen, Command, Event, Tick
from headgate.control.guards import HOUR, restarting, silent_for_long, stale
from headgate.control.outcomes import judge, may_act
from headgate.control.remembered import worth_remembering
from headgate.control.said import (
    Arrived,
    Bounded,
    Failed,
    GoingOn,
    Held,
    Ignored,
    Joined,
    Lost,
    MovingState,
    Restarting,
    Said,
    Short,
    Stale,
    Steady,
    Unjudged,
    WaitingUntold,
)
from headgate.control.sane import CLOCK_JUMP, problem_with
from headgate.control.settings import Settings
from headgate.control.state import Plan, RestartUnderWay, State
from headgate.control.step import Step
from headgate.model.arrivals import left_behind
from headgate.model.microbatch import MicroBatch
from headgate.model.objective import CatchUp
from headgate.policies.pool import PoolPolicy

_LEAVING = 10
"""So many times the usual patience, for executors that leave."""


def step(state: State, event: Event, settings: Settings, policy: PoolPolicy) -> Step:
    """Take one event in."""
    if event.at < state.latest - CLOCK_JUMP:
        back = _begin_anew(state, event.at)
        return back.then(step(back.state, event, settings, policy))
    state = replace(state, latest=max(state.latest, event.at), began=event.at if state.began is None else state.began)
    match event:
        case BatchSeen():
            return _batch_seen(state, event, settings, policy)
        case ClusterSeen():
            return _cluster_seen(state, event, settings)
        case Tick():
            return _tick(state, event.at, settings)
        case ActionFailed():
            return _failed(state, event, settings)
        case Command():
            return _command(state, event, settings)


def _batch_seen(state: State, event: BatchSeen, settings: Settings, policy: PoolPolicy) -> Step:
    batch, before = event.batch, state.batches.get(event.batch.query, ())
    problem = problem_with(batch, before[-1] if before else None, event.at)
    if problem is not None:
        return _warn(state, Ignored(problem), batch.query)
    if stale(state, event.at, settings) is not None:
        state = replace(state, needs=())  # nobody knows what was needed in between
    state = replace(
        state,
        batches={**state.batches, batch.query: worth_remembering((*before, batch))},
        triggers=state.triggers if event.trigger is None else {**state.triggers, batch.query: event.trigger},
        heard={**state.heard, batch.query: event.at},
        running=None if state.running is None else state.running | {batch.query},  # until it is looked at again
        warned=state.warned - {_warning(Ignored, batch.query), _warning(Stale)},
        changes=tuple(at for at in state.changes if at > event.at - HOUR),
        restarting=None if state.restarting is None else _still(state.restarting, batch),
    )
    gone = silent_for_long(state, event.at, settings.forgotten)
    state = replace(
        state,
        batches={query: seen for query, seen in state.batches.items() if query not in gone},
        heard={query: at for query, at in state.heard.items() if query not in gone},
    )
    untold = _untold(state, batch, settings)
    judged = untold.then(judge(untold.state, event.at, settings))
    return judged.then(consider(judged.state, event.at, settings, policy))


def _untold(state: State, batch: MicroBatch, settings: Settings) -> Step:
    """Say once of a query that nobody knows what waits for it, where that is to be worked off in time."""
    known = not isinstance(settings.objective, CatchUp) or left_behind(batch) is not None
    if known or len(state.batches[batch.query]) < settings.evidence:  # the first ones are of any kind
        return Step(state)
    return _warn(state, WaitingUntold(batch.name or batch.query), batch.query)


def _still(restart: RestartUnderWay, batch: MicroBatch) -> RestartUnderWay | None:
    """None where a batch shows that it is over: of another run, or one that nobody who drains would have begun."""
    if batch.query not in restart.batches:
        return replace(restart, batches={**restart.batches, batch.query: (batch.run, batch.number)})
    run, number = restart.batches[batch.query]
    return None if batch.run != run or batch.number > number + 1 else restart


def _begin_anew(state: State, now: float) -> Step:
    """The clock was set back: what was noted by it means nothing now. What is wanted, and a plan under way, stay."""
    plan = None if state.plan is None else replace(state.plan, began=now, arrived=state.plan.arrived and now)
    kept = State(
        executors=state.executors,
        running=state.running,
        strangers=state.strangers,
        desired=state.desired,
        plan=plan,
        plans=state.plans,
        paused=state.paused,
        memory=state.memory,
        latest=now,
    )
    back = (state.latest - now) / 60
    return Step(kept, (), (Ignored(f"the clock was set back by {back:,.0f} minutes; what is known is gathered anew"),))


def _cluster_seen(state: State, event: ClusterSeen, settings: Settings) -> Step:
    there = frozenset(executor.id for executor in event.executors)
    known = there if state.executors is None else {executor.id for executor in state.executors}
    state = replace(
        state,
        executors=event.executors,
        strangers=(state.strangers | (there - known)) & there,
        running=None if event.queries is None else frozenset(event.queries),
    )
    observed = len(event.executors)
    plan = state.plan
    if plan is not None and plan.arrived is None and observed == plan.executors:
        state = replace(state, plan=replace(plan, arrived=event.at), strangers=frozenset())
        spread = tuple(SpreadBins(plan.id, query) for query in _keeping_state(state))
        return Step(state, spread, (Arrived(plan.id, event.at - plan.began),))
    if plan is None and state.desired is not None and observed < state.desired and event.at >= state.short_until:
        if not may_act(state, event.at, settings):
            return Step(state)
        lost = Lost(state.desired, observed)
        again = Plan(state.plans + 1, event.at, observed, state.desired, None, 0.0, 0.0)
        state = replace(state, plan=again, plans=again.id)
        return Step(state, (SetExecutors(again.id, again.executors),), (lost,))
    free = plan is None or plan.arrived is not None
    if free and may_act(state, event.at, settings) and restarting(state, event.at, settings) is None:
        return _spread_over_strangers(state)
    return Step(state)


def _spread_over_strangers(state: State) -> Step:
    """Executors that no plan waits for get their share of the state, too: by themselves they would get none of it."""
    stateful = _keeping_state(state)
    if not state.strangers or not stateful:
        return Step(state)
    plan, joined = state.plans + 1, tuple(sorted(state.strangers))
    spread = tuple(SpreadBins(plan, query) for query in stateful)
    return Step(replace(state, plans=plan, strangers=frozenset()), spread, (Joined(plan, joined),))


def _keeping_state(state: State) -> list[str]:
    """Queries that run and whose last batch had state."""
    return [query for query, seen in state.live.items() if seen[-1].stateful]


def _tick(state: State, now: float, settings: Settings) -> Step:
    plan = state.plan
    if plan is not None and plan.arrived is not None and now - plan.arrived > settings.judging:
        return Step(replace(state, plan=None, cool_until=now + settings.cool_down), (), (Unjudged(plan.id),))
    observed = len(state.executors or ())
    if plan is not None and plan.arrived is None and plan.executors < plan.before:
        # Nobody is short of executors that are to leave: they wait for the end of batches, which may take long.
        if now - plan.began > _LEAVING * settings.patience:
            state = replace(state, plan=None, desired=observed or plan.before, cool_until=now + settings.cool_down)
            # Who waits to let them go must not do so now: they would be missed, and asked for again.
            return Step(state, (StopAsking(plan.id),), (Failed(plan.id, "executors did not leave in time"),))
    elif plan is not None and plan.arrived is None and now - plan.began > settings.patience:
        # What is there is what there is: the plan is over, and no more is asked for until some time has passed.
        state = replace(
            state, plan=None, desired=observed or plan.executors, short_until=now + settings.ask_again,
            cool_until=now + settings.cool_down, asking_up=0, needs=(),
        )  # fmt: skip
        return Step(state, (StopAsking(plan.id),), (Short(plan.executors, observed),))
    if state.running and not state.heard and state.began is not None and now - state.began > settings.stale:
        return _warn(state, Stale(now - state.began))  # they run, and nothing of them can be seen
    silent = stale(state, now, settings)
    return _warn(replace(state, needs=()), silent) if isinstance(silent, Stale) else Step(state)


def _failed(state: State, event: ActionFailed, settings: Settings) -> Step:
    plan, failed = state.plan, Failed(event.plan, event.why)
    if state.restarting is not None and state.restarting.plan == event.plan:
        state = replace(state, restarting=None)
    if plan is None or plan.id != event.plan or plan.arrived is not None:
        return Step(state, (), (failed,))  # its executors are there; what failed came after
    # The fewer of both: executors that were asked to leave may be gone by now, and are not missed.
    wanted = min(plan.before, plan.executors)
    state = replace(state, plan=None, desired=wanted, cool_until=event.at + settings.cool_down)
    return Step(state, (), (failed,))


def _command(state: State, event: Command, settings: Settings) -> Step:  # noqa: PLR0911 - one for each word
    if event.word == "pause":
        return Step(replace(state, paused=True), (), (Held("paused"),))
    if event.word == "resume":
        return Step(replace(state, paused=False), (), (GoingOn(),))
    if state.plan is not None and state.plan.arrived is None:
        return Step(state, (), (Held(f"plan {state.plan.id} is under way; say it again when that is over"),))
    if event.word == "restart":
        restart = Restart(state.plans + 1, event.layout)
        at = {query: (seen[-1].run, seen[-1].number) for query, seen in state.batches.items()}
        state = replace(state, plans=restart.plan, restarting=RestartUnderWay(restart.plan, event.at, at))
        return Step(state, (restart,), (Restarting(restart.plan, str(event.layout)),))
    if event.word == "move":
        return _move(state, event)
    wanted = state.proposal if event.word == "approve" else event.executors
    if wanted is None:
        return Step(state, (), (Held("there is nothing to approve"),))
    target = min(max(wanted, settings.least), settings.most)
    bounded = Step(state, (), (Bounded(wanted, target),) if target != wanted else ())
    if target == len(state.executors or ()):
        return bounded.then(Step(state, (), (Steady(target),)))
    return bounded.then(begin(state, event.at, target, None, settings, told=True))


def _move(state: State, event: Command) -> Step:
    stateful = _keeping_state(state)
    if not stateful:
        return Step(state, (), (Held("no query that keeps state was seen yet; there is nothing to move"),))
    if event.bins and len(stateful) > 1:
        return Step(state, (), (Held(f"{len(stateful)} queries keep state; which one's bins are meant is not clear"),))
    if state.restarting is not None:
        return Step(state, (), (Held(f"restart {state.restarting.plan} is under way; say it again when that is over"),))
    plan = state.plans + 1
    moves = tuple(SpreadBins(plan, query, event.strategy, event.bins) for query in stateful)
    return Step(replace(state, plans=plan), moves, (MovingState(plan, event.bins),))


def _warn(state: State, said: Said, query: str = "") -> Step:
    """Say it once, until something that makes sense is heard again."""
    warning = _warning(type(said), query)
    if warning in state.warned:
        return Step(state)
    return Step(replace(state, warned=state.warned | {warning}), (), (said,))


def _warning(kind: type[Said], query: str = "") -> str:
    return f"{kind.__name__} {query}"
