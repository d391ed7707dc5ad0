"""The workloads by name: where events come from, and what is asked of them; and all sources, also of text."""

from collections.abc import Mapping
from typing import NamedTuple

from headgate.model.errors import InputError
from headgate.workloads.ads.source import AdsSource
from headgate.workloads.ads.views_by_campaign import VIEWS_BY_CAMPAIGN
from headgate.workloads.cars.source import CarsSource
from headgate.workloads.cars.top_speed import TOP_SPEED
from headgate.workloads.generated import COMMON_OPTIONS, GeneratedSource, Rows, SourceOptions
from headgate.workloads.nexmark.queries.registry import QUERIES as NEXMARK
from headgate.workloads.nexmark.source import NexmarkSource
from headgate.workloads.psm.queries.registry import QUERIES as PSM
from headgate.workloads.psm.source import PsmSource
from headgate.workloads.query import Query
from headgate.workloads.sentences import SentencesSource


class Workload(NamedTuple):
    """A source, and queries over it."""

    source: type[GeneratedSource]
    queries: Mapping[str, Query]


WORKLOADS = {
    "nexmark": Workload(NexmarkSource, NEXMARK),
    "psm": Workload(PsmSource, PSM),
    "ads": Workload(AdsSource, {VIEWS_BY_CAMPAIGN.name: VIEWS_BY_CAMPAIGN}),
    "cars": Workload(CarsSource, {TOP_SPEED.name: TOP_SPEED}),
}
SOURCES: Mapping[str, type[GeneratedSource]] = {
    **{name: workload.source for name, workload in WORKLOADS.items()},
    "sentences": SentencesSource,
}
"""Those of the workloads; and text, which has no query here: the word count of `examples/jobs` is a job of its own."""


def rows_of(workload: str, options: Mapping[str, str], instead: str) -> Rows:
    """What makes its rows. `InputError` for options that are none, and for those that a command says in its own way.

    >>> rows_of("nexmark", {"load": "constant(5)"}, "--load")
    Traceback (most recent call last):
    headgate.model.errors.InputError: option load is for reading from the source; here there are --load
    """
    source = SOURCES[workload]
    for name in options:
        if name in COMMON_OPTIONS:
            raise InputError(f"option {name} is for reading from the source; here there are {instead}")
    return source(dict(options)).rows(SourceOptions(source.name(), options, source.known))
