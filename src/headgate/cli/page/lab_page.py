"""What the lab found, as one HTML page."""

import re
from collections.abc import Iterator, Sequence

import msgspec

from headgate import __version__
from headgate.cli.lab_table import HEADINGS, fields
from headgate.cli.page.document import captioned, colour_key, document, meanings, picture, tiles
from headgate.cli.page.lab_plots import cost_plot, load_plot, slots_plot
from headgate.cli.page.markup import Markup, element
from headgate.control.settings import Settings
from headgate.lab.cell import Outcome
from headgate.lab.punctuality import deadline
from headgate.lab.scenario import ORACLE, SET_ELSEWHERE, NamedJob, Scenario
from headgate.lab.summary import OURS, Row, Verdict, summed_up, verdicts
from headgate.model.objective import Freshness, KeepUp, Objective

_WORDS = (
    (
        "simulated",
        "all of it: batches were run on a virtual Spark in virtual time; see docs/lab.md for what that knows",
    ),
    ("slot-hours", "slots held, from the moment they were asked for, over the whole load"),
    ("oracle", "the cheapest sizes that meet the objective, found with the whole load known beforehand"),
    (
        "regret",
        "what a policy cost beyond the oracle, as a part of the oracle's cost; below 0 it is cheaper: late, or with "
        "less in reserve than the objective asks for",
    ),
    ("late", "results are older than the objective allows: the freshness, or for keeping up two trigger intervals"),
    ("rescales", "changes of the number of executors that were asked for"),
    ("to settle", "rescales within half an hour of a jump of the load, or until the next; mean over jumps"),
    ("over, under", "executors beyond and short of the least that would do, as parts of that, means over time"),
    ("oldest", "the highest age of results in any run"),
)


def lab_page(scenario: Scenario, outcomes: Sequence[Outcome]) -> str:
    """The whole page."""
    rows, judged = summed_up(outcomes), verdicts(outcomes)
    loads = list(dict.fromkeys(one.load for one in outcomes))
    return document(
        scenario.name,
        f"headgate lab: {scenario.name}",
        element("section", *_beginning(scenario, outcomes, rows, judged), class_="query"),
        *(element("section", *_load(scenario, load, outcomes, rows), class_="query") for load in loads),
        meanings(_WORDS),
    )


def pictures(scenario: Scenario, outcomes: Sequence[Outcome]) -> Iterator[tuple[str, str]]:
    """The drawings of the page as files of SVG: names and contents."""
    rows = summed_up(outcomes)
    for load in dict.fromkeys(one.load for one in outcomes):
        here = [one for one in outcomes if one.load == load]
        yield _file_name("load", load), picture(load_plot(here[0]))
        yield _file_name("cost", load), picture(cost_plot([row for row in rows if row.load == load]))
        for job in scenario.jobs:
            for name, drawn in _panels(scenario, job, here):
                yield _file_name("slots", load, job.name, name), picture(drawn)


def _file_name(*words: str) -> str:
    """For any file system.

    >>> _file_name("slots", "ads", "count by key")
    'slots-ads-count-by-key.svg'
    """
    return re.sub(r"[^\w]+", "-", " ".join(words)) + ".svg"


def _beginning(
    scenario: Scenario, outcomes: Sequence[Outcome], rows: Sequence[Row], judged: Sequence[Verdict]
) -> Iterator[Markup]:
    yield element("h2", scenario.name)
    policies = [one for one in scenario.policies if one.name != ORACLE]
    yield element(
        "p",
        f"A simulation: {len(policies)} policies and an oracle, {len(scenario.jobs)} jobs, {len(scenario.loads)} "
        f"loads, {len(scenario.seeds)} seeds, {len(outcomes):,} runs; {_objective(scenario.objective)}; "
        f"Headgate {__version__}, {_settings(scenario.settings)}.",
    )
    yield from (element("p", line) for line in scenario.left_out)
    ours = [row for row in rows if row.policy == OURS]
    figures = [(f"{len(outcomes):,}", "runs")]
    if ours:
        figures.append((f"{max(row.late_time for row in ours):.2%}", "late at most, capacity, of any load"))
        regrets = [row.regret for row in ours if row.regret is not None]
        if regrets:
            figures.append((f"{max(regrets):+.1%}", "regret at most, capacity, of any load"))
    if judged:
        figures.append((f"{sum(one.met for one in judged)} of {len(judged)}", "targets met"))
    yield tiles(figures)
    if judged:
        yield element("h3", "Targets")
        missed = [one for one in judged if not one.met]
        yield element("p", "All are met." if not missed else f"{len(missed)} of {len(judged)} are missed:")
        yield element("ul", *(element("li", f"{one.target}: {one.found}") for one in missed))
    yield element("h3", "Jobs")
    yield element("ul", *(element("li", _job(job)) for job in scenario.jobs))


def _settings(given: Settings) -> str:
    """Of the controller; what else a scenario sets is said beside it."""
    names = [name for name in Settings.__struct_fields__ if name not in SET_ELSEWHERE]
    other = [
        f"{name} = {msgspec.json.encode(getattr(given, name)).decode()}"
        for name in names
        if getattr(given, name) != getattr(Settings(), name)
    ]
    return f"settings as they are by default{' but for ' if other else ''}{', '.join(other)}"


def _job(job: NamedJob) -> str:
    fits = "fits the capacity model" if job.fits else "has effects that the capacity model does not know"
    return f"{job.name} ({fits}){': ' + job.about if job.about else ''}"


def _objective(objective: Objective) -> str:
    if isinstance(objective, KeepUp):
        return f"wanted: keep up with {objective.headroom:.0%} more than comes"
    return f"wanted: {'results within' if isinstance(objective, Freshness) else 'catch up within'} {objective.within} s"


def _load(scenario: Scenario, load: str, outcomes: Sequence[Outcome], rows: Sequence[Row]) -> Iterator[Markup]:
    here = [one for one in outcomes if one.load == load]
    of_load = [row for row in rows if row.load == load]
    text = next(one.text for one in scenario.loads if one.name == load)
    yield element("h2", load)
    yield element("div", text, class_="log")  # as it is: a paragraph would begin with a capital
    yield captioned(load_plot(here[0]), "")
    yield element("h3", "Cost against lateness")
    yield captioned(
        cost_plot(of_load),
        "Means over jobs and seeds. The line is the front: nobody is both cheaper and more punctual than those on it. "
        "Dotted: late for 1 % of the time.",
    )
    yield _table(of_load)
    for job in scenario.jobs:
        yield element("h3", f"Slots over time, {job.name}")
        yield colour_key((("records", "slots that would just do"), ("c0", "slots there"), ("share accent", "late")))
        yield element("div", *(drawn for _, drawn in _panels(scenario, job, here)), class_="scroll panels")


def _panels(scenario: Scenario, job: NamedJob, here: Sequence[Outcome]) -> Iterator[tuple[str, Markup]]:
    """Policies, the one with the least regret first, and the slots of each over time."""
    bound = deadline(scenario.objective, job.job).bound
    of_job = [one for one in here if one.job == job.name]
    rows = {row.policy: row for row in summed_up(of_job)}
    drawn = [one for one in of_job if one.seed == scenario.seeds[0] and not one.failed]
    most = 1.3 * max((max(one.least) for one in drawn), default=1.0)
    for one in sorted(drawn, key=lambda one: list(rows).index(one.policy)):
        yield one.policy, slots_plot(one, rows[one.policy], most, bound)


def _table(rows: Sequence[Row]) -> Markup:
    heading = element("thead", element("tr", *(element("th", column) for column in HEADINGS)))
    body = [
        element("tr", *(element("td", cell) for cell in fields(row)), class_="limit" if row.policy == OURS else None)
        for row in rows
    ]
    return element("div", element("table", heading, element("tbody", *body)), class_="scroll")
