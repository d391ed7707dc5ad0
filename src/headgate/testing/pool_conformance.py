"""What every policy for a pool of executors must do, as claims that can be checked one by one.

It is a pure function that answers with a whole number from 1 up, whatever it is shown: a single batch, batches without
records, far more records than it can carry, sources that do not tell their offsets. Its memory survives JSON.
"""

from collections.abc import Callable, Iterable
from typing import Any

import msgspec

from headgate.model.dataflow import MAX_INSTANCES
from headgate.model.objective import CatchUp, Freshness, KeepUp, Objective
from headgate.policies.pool import Evidence, PoolPolicy
from headgate.testing.claims import Claim, check_all, claimed, same
from headgate.testing.pool_batches import PoolJob, pool_jobs

MakePool = Callable[[], PoolPolicy]

OBJECTIVES: tuple[Objective, ...] = (KeepUp(headroom=0.2), Freshness(20.0), CatchUp(300.0))
_BATCHES = 9
"""Ten minutes, in which most policies have acted."""


def pool_claims() -> tuple[Claim[PoolPolicy], ...]:
    """All of them."""
    return claimed(_FOR_ALL)


def check_pool_policy(make: MakePool) -> None:
    """Check every claim; the error lists all that do not hold.

    >>> from headgate.policies.hpa import Hpa
    >>> from headgate.policies.for_pool import ForPool
    >>> check_pool_policy(lambda: ForPool(Hpa()))
    """
    check_all(pool_claims(), make)


def _answers(
    policy: PoolPolicy,
    run: Iterable[tuple[float, Evidence]],
    objective: Objective,
    between: Callable[[Any], Any] = lambda memory: memory,
) -> list[int]:
    memory, answers = policy.start(), []
    for now, evidence in run:
        memory, answer = policy.size(between(memory), evidence, objective, now)
        answers.append(answer.executors)
    return answers


def _cases() -> Iterable[tuple[str, PoolJob, Objective]]:
    for name, job in pool_jobs().items():
        for objective in OBJECTIVES:
            yield f"{name}, {type(objective).__name__}", job, objective


def _the_same_input_gives_the_same_answer(make: MakePool) -> None:
    for name, job, objective in _cases():
        run = list(job.run(_BATCHES, (2, 2, 2, 4)))
        same(_answers(make(), run, objective), _answers(make(), run, objective), name)


def _memory_survives_json(make: MakePool) -> None:
    """Even as plain values: whoever reads it back need not know the policy's types."""
    for name, job, objective in _cases():
        run = list(job.run(_BATCHES, (2, 2, 2, 4)))
        plain = _answers(make(), run, objective)
        carried = _answers(make(), run, objective, lambda memory: msgspec.json.decode(msgspec.json.encode(memory)))
        same(carried, plain, name)


def _what_it_is_handed_is_not_changed(make: MakePool) -> None:
    for name, job, objective in _cases():
        policy = make()
        memory = policy.start()
        for now, evidence in job.run(_BATCHES, 3):
            before = msgspec.json.encode(memory)
            after, _ = policy.size(memory, evidence, objective, now)
            same(msgspec.json.encode(memory), before, name)
            memory = after


def _every_answer_is_a_whole_number_from_one_up(make: MakePool) -> None:
    for name, job, objective in _cases():
        for executors in (1, 40):
            _check_all(_answers(make(), job.run(_BATCHES, executors), objective), f"{name}, {executors} executors")


def _a_single_batch_is_enough_to_answer(make: MakePool) -> None:
    for name, job, objective in _cases():
        _check_all(_answers(make(), job.run(1, 2), objective), name)


def _far_too_many_records_give_an_answer(make: MakePool) -> None:
    for objective in OBJECTIVES:
        for rate, batches in ((1e5, 5), (1e6, 3), (1e9, 2)):  # each batch is many times as long as the one before
            _check_all(_answers(make(), PoolJob(rate).run(batches, 1), objective), f"{rate:g} records/s")


def _check_all(answers: list[int], about: str) -> None:
    for answer in answers:
        if type(answer) is not int or not 1 <= answer <= MAX_INSTANCES:
            raise AssertionError(f"{about}: {answer!r}")


_FOR_ALL = (
    _the_same_input_gives_the_same_answer,
    _memory_survives_json,
    _what_it_is_handed_is_not_changed,
    _every_answer_is_a_whole_number_from_one_up,
    _a_single_batch_is_enough_to_answer,
    _far_too_many_records_give_an_answer,
)
