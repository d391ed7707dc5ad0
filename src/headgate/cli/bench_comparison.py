"""Two results of `headgate bench` side by side.

Without a load a query is as good as the events a second that it reads. With one it reads what comes, as long as it
keeps up: then it is as good as its events are young, its batches short and its processor time little.
"""

from collections.abc import Iterator, Mapping

from headgate.cli.page.scales import short
from headgate.cli.text_table import aligned_rows
from headgate.jobs.bench_result import BenchPlan, BenchResult, Measured

_SAME = 0.05
"""A difference of less than this part says nothing."""


def compared(before: BenchResult, after: BenchResult) -> Iterator[str]:
    """What changed, query by query."""
    old = {one.query: one for one in before.measured}
    both = [(old[one.query], one) for one in after.measured if one.query in old]
    at_loads = before.plan.load is not None and after.plan.load is not None
    rows = _at_a_load(both) if at_loads else _as_fast_as_they_read(both)
    yield from aligned_rows(rows, left=(0, len(rows[0]) - 1))
    missing = sorted({one.query for one in after.measured} ^ set(old))
    if missing:
        yield f"only in one of them: {', '.join(missing)}"
    if _conditions(before.plan) != _conditions(after.plan):
        yield f"not measured alike: {_conditions(before.plan)}; {_conditions(after.plan)}"


def _as_fast_as_they_read(both: list[tuple[Measured, Measured]]) -> list[tuple[str, ...]]:
    rows: list[tuple[str, ...]] = [
        ("query", "events/s", "before", "ratio", "CPU s/M", "before", "state MB", "before", "")
    ]
    for was, one in both:
        speeds = (short(one.events_per_second), short(was.events_per_second), f"{_speed_ratio(was, one):.2f}")
        rows.append((one.query, *speeds, _cpu(one), _cpu(was), _state(one), _state(was), _faster_or_slower(was, one)))
    return rows


def _at_a_load(both: list[tuple[Measured, Measured]]) -> list[tuple[str, ...]]:
    ages = ("age p50", "before", "age p95", "before", "batch p50", "before")
    rows: list[tuple[str, ...]] = [("query", *ages, "CPU s/M", "before", "state MB", "before", "")]
    for was, one in both:
        times: list[str] = []
        for name in ("age p50", "age p95", "batch p50"):
            times += [_seconds(costs(one).get(name)), _seconds(costs(was).get(name))]
        rows.append((one.query, *times, _cpu(one), _cpu(was), _state(one), _state(was), judged_at_a_load(was, one)))
    return rows


def costs(one: Measured) -> Mapping[str, float]:
    """What a query that keeps up is judged by, less being better; without what is not known."""
    age = one.freshness
    known = {
        "age p50": None if age is None else age.p50,
        "age p95": None if age is None else age.p95,
        "batch p50": one.batch.p50,
        "CPU": one.cpu_seconds_per_million,
    }
    return {name: value for name, value in known.items() if value is not None}


def judged_at_a_load(was: Measured, one: Measured) -> str:
    """In words: what is better, what is worse."""
    if was.falls_behind and one.falls_behind:  # events grow older as long as it is measured: their age says little
        return f"falls behind, as before; reads {_speed_ratio(was, one):.2f} times as much"
    if one.falls_behind:
        return "falls behind now"
    if was.falls_behind:
        return "keeps up now"
    ratios = {name: costs(one)[name] / max(before, 1e-9) for name, before in costs(was).items() if name in costs(one)}
    better = [name for name, ratio in ratios.items() if ratio <= 1 - _SAME]
    worse = [name for name, ratio in ratios.items() if ratio >= 1 + _SAME]
    said = [f"{word}: {', '.join(names)}" for word, names in (("better", better), ("worse", worse)) if names]
    return "; ".join(said) or "about the same"


def _faster_or_slower(was: Measured, one: Measured) -> str:
    ratio = _speed_ratio(was, one)
    return "about the same" if abs(ratio - 1) < _SAME else "faster" if ratio > 1 else "slower"


def _speed_ratio(was: Measured, one: Measured) -> float:
    return one.events_per_second / max(was.events_per_second, 1e-9)


def _seconds(value: float | None) -> str:
    return "?" if value is None else f"{value:.2f} s"


def _cpu(one: Measured) -> str:
    return "?" if one.cpu_seconds_per_million is None else f"{one.cpu_seconds_per_million:.2f}"


def _state(one: Measured) -> str:
    return f"{one.state_bytes / 1e6:.1f}"


def _conditions(plan: BenchPlan) -> str:
    options = "".join(f", {name}={value}" for name, value in sorted(plan.options.items()))
    batch = f", at most {plan.rows_per_batch:,} events a batch" if plan.rows_per_batch is not None else ""
    fed = f"load {plan.load or 'none'}{batch}{options}"
    return f"{plan.workload} on {plan.slots} slots, {fed}, {plan.seconds:g} s after {plan.warm_up:g} s"
