"""The workloads by name: where events come from, and what is asked of them."""

from collections.abc import Mapping
from typing import NamedTuple

from headgate.workloads.ads.source import AdsSource
from headgate.workloads.ads.views_by_campaign import VIEWS_BY_CAMPAIGN
from headgate.workloads.cars.source import CarsSource
from headgate.workloads.cars.top_speed import TOP_SPEED
from headgate.workloads.generated import GeneratedSource
from headgate.workloads.nexmark.queries.registry import QUERIES as NEXMARK
from headgate.workloads.nexmark.source import NexmarkSource
from headgate.workloads.psm.queries.registry import QUERIES as PSM
from headgate.workloads.psm.source import PsmSource
from headgate.workloads.query import Query


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
