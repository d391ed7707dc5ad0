"""Why a decision is what it is: small typed values, each of which can be stored, compared and read aloud.

A reason says one of three things: what *limits* the answer, what was *assumed* to get it, or what was *ignored*.
Policies of your own can use these, or say it in their own words with `Note`.
"""

from typing import ClassVar, Literal, TypeAlias

import msgspec

Aspect: TypeAlias = Literal["limits", "assumed", "ignored"]


def number(value: float) -> str:
    """A figure as people write it: digits grouped, no more decimals than carry meaning.

    >>> number(1234567.891), number(2.5), number(0.000123), number(3.0)
    ('1,234,568', '2.5', '0.000123', '3')
    """
    if not abs(value) < 1e15:
        return f"{value:.4g}"
    if value == int(value):
        return f"{int(value):,}"
    if abs(value) >= 1000:
        return f"{value:,.0f}"
    return f"{value:.4g}"


def many(count: int, of: str, of_several: str = "") -> str:
    """So many of something, in words.

    >>> many(1, "slot"), many(1200, "slot"), many(2, "batch", "batches")
    ('1 slot', '1,200 slots', '2 batches')
    """
    return f"{count:,} {of if count == 1 else of_several or of + 's'}"


def _plural(count: float) -> str:
    return "instance" if count == 1 else "instances"


def _instances(count: int) -> str:
    return f"{count:,} {_plural(count)}"


class _Reason(msgspec.Struct, frozen=True, tag_field="kind"):
    """Common shape: a tag in JSON, an aspect, and `str()` for one sentence."""

    aspect: ClassVar[Aspect]


class _Limit(_Reason, frozen=True):
    aspect: ClassVar[Aspect] = "limits"


class _Assumption(_Reason, frozen=True):
    aspect: ClassVar[Aspect] = "assumed"


class _Omission(_Reason, frozen=True):
    aspect: ClassVar[Aspect] = "ignored"


# What limits.


class Bottleneck(_Limit, frozen=True, tag="bottleneck"):
    """The operator that is furthest from keeping up."""

    operator: str
    now: int
    need: float

    def __str__(self) -> str:
        return (
            f"{self.operator} is the bottleneck: it needs {number(self.need)} {_plural(self.need)} "
            f"and has {self.now:,}, so the dataflow runs at {number(100 * self.now / self.need)} % of its input"
        )


class AtLeastOne(_Limit, frozen=True, tag="at-least-one"):
    """No demand reached the operator; it keeps one instance all the same."""

    operator: str

    def __str__(self) -> str:
        return f"{self.operator} has nothing to do at these rates; it keeps 1 instance"


class BeyondCounting(_Limit, frozen=True, tag="beyond-counting"):
    """A need larger than any engine can count."""

    operator: str
    limit: int

    def __str__(self) -> str:
        return f"{self.operator} would need more than {self.limit:,} instances; check the rates, or set a maximum"


class RaisedToBound(_Limit, frozen=True, tag="raised-to-bound"):
    """The answer was below the least allowed."""

    operator: str
    asked: int
    bound: int

    def __str__(self) -> str:
        return f"{self.operator}: {self.asked:,} raised to its minimum of {self.bound:,}"


class LoweredToBound(_Limit, frozen=True, tag="lowered-to-bound"):
    """The answer was above the most allowed."""

    operator: str
    asked: int
    bound: int

    def __str__(self) -> str:
        return f"{self.operator}: {self.asked:,} lowered to its maximum of {self.bound:,}"


class TotalLimited(_Limit, frozen=True, tag="total-limited"):
    """The answers together were more than allowed; `share` of the input can be carried with what is left."""

    asked: int
    limit: int
    share: float

    def __str__(self) -> str:
        return (
            f"the answers together are {self.asked:,}, the limit is {self.limit:,}: spread so that the slowest "
            f"operator is as fast as it can be, which carries {number(100 * self.share)} % of the input by their needs"
        )


class PoolTooSmall(_Limit, frozen=True, tag="pool-too-small"):
    """All operators share one pool of workers, and it is smaller than they need together."""

    workers: int
    need: float

    def __str__(self) -> str:
        return (
            f"all operators together need {number(self.need)} workers and share {self.workers:,}, "
            f"so the dataflow runs at {number(100 * self.workers / self.need)} % of its input"
        )


class WorkersLimited(_Limit, frozen=True, tag="workers-limited"):
    """The pool may not have as many workers as are needed."""

    asked: int
    limit: int
    need: float

    def __str__(self) -> str:
        carried = 1.0 if self.need <= self.limit else self.limit / self.need
        return (
            f"{self.asked:,} workers lowered to the limit of {self.limit:,}, "
            f"which carries {number(100 * carried)} % of the input as far as it is known"
        )


class TargetRateMissed(_Limit, frozen=True, tag="target-rate-missed"):
    """No operator had to grow, yet a source fell short of its target: everything was multiplied by the gap."""

    source: str
    ratio: float
    threshold: float

    def __str__(self) -> str:
        return (
            f"no operator needs to grow, yet source {self.source} could emit {number(self.ratio)} times what it did "
            f"(threshold {number(self.threshold)}): all answers are multiplied by that"
        )


# What was assumed.


class InstancesInferred(_Assumption, frozen=True, tag="instances-inferred"):
    """Some instances did not report; they were taken to be like those that did."""

    operator: str
    reported: int
    instances: int

    def __str__(self) -> str:
        return (
            f"{self.operator}: {self.reported:,} of {_instances(self.instances)} gave usable rates; "
            "the others are taken to be like them"
        )


class InstancesCountedAsZero(_Assumption, frozen=True, tag="instances-counted-as-zero"):
    """Some instances did not report and were counted as if they could do nothing, as the original does."""

    operator: str
    reported: int
    instances: int

    def __str__(self) -> str:
        return (
            f"{self.operator}: {self.reported:,} of {_instances(self.instances)} gave usable rates; "
            "the others count as zero, which inflates the answer (--missing infer and --idle infer do not)"
        )


class WithinRounding(_Assumption, frozen=True, tag="within-rounding"):
    """The need is an integer but for the rounding of floating-point arithmetic."""

    operator: str
    need: float
    instances: int

    def __str__(self) -> str:
        return f"{self.operator}: a need of {self.need!r} is {self.instances:,} within rounding"


class OutputRateGiven(_Assumption, frozen=True, tag="output-rate-given"):
    """The output rate was given by the user, or set to the observed one on request."""

    operator: str
    rate: float
    is_source: bool
    observed: bool = False

    def __str__(self) -> str:
        origin = "its observed rate" if self.observed else "given"
        odd = "" if self.is_source else "; it is not a source, so this changes its selectivity"
        return f"{self.operator} emits {number(self.rate)} records/s ({origin}){odd}"


class ProcessingRateGiven(_Assumption, frozen=True, tag="processing-rate-given"):
    """The true processing rate was lowered to a given limit, or to the observed rate."""

    operator: str
    measured: float
    rate: float
    observed: bool = False
    output_scaled: bool = True

    def __str__(self) -> str:
        origin = "its observed rate" if self.observed else "given"
        output = "" if self.output_scaled else "; its output rate is left as it was, which inflates what follows"
        return (
            f"{self.operator}: true rate {number(self.measured)} replaced by {number(self.rate)} records/s "
            f"({origin}){output}"
        )


class WindowsByRank(_Assumption, frozen=True, tag="windows-by-rank"):
    """Instances stamp their windows by clocks of their own."""

    def __str__(self) -> str:
        return "instances do not share their window starts: the windows of each are matched by their order"


class KeptWithoutRates(_Assumption, frozen=True, tag="kept-without-rates"):
    """Nothing usable was measured; the operator stays as it is."""

    operator: str
    now: int

    def __str__(self) -> str:
        return f"{self.operator} has no usable rates; it stays at {_instances(self.now)}"


class DemandIncomplete(_Assumption, frozen=True, tag="demand-incomplete"):
    """Part of what reaches the operator is unknown; it may grow but not shrink."""

    operator: str
    because: tuple[str, ...]

    def __str__(self) -> str:
        return f"{self.operator}: what arrives from {', '.join(self.because)} is unknown, so it is not made smaller"


# What was ignored.


class RatesNotFinite(_Omission, frozen=True, tag="rates-not-finite"):
    """Instances reported NaN or infinity: no useful time was measured."""

    operator: str
    instances: int

    def __str__(self) -> str:
        return f"{self.operator}: {_instances(self.instances)} reported NaN or an infinite rate, which says nothing"


class IdleInstances(_Omission, frozen=True, tag="idle-instances"):
    """Instances that processed nothing: their true rate is not zero, it is unknown."""

    operator: str
    instances: int

    def __str__(self) -> str:
        return f"{self.operator}: {_instances(self.instances)} processed nothing, which says nothing about their speed"


class RateWithoutEffect(_Omission, frozen=True, tag="rate-without-effect"):
    """A processing rate was given for a source, which processes nothing."""

    operator: str

    def __str__(self) -> str:
        return f"{self.operator} is a source: an operator rate has no effect on it, a source rate would"


class TargetRatioUnknown(_Omission, frozen=True, tag="target-ratio-unknown"):
    """A source has a target but was not seen to emit anything, so how far it fell short cannot be told."""

    source: str

    def __str__(self) -> str:
        return f"source {self.source} was not observed to emit anything, so its target-rate ratio is unknown"


class IncompleteObservations(_Omission, frozen=True, tag="incomplete-observations"):
    """Windows in which some operator that reports elsewhere is absent."""

    used: int
    ignored: int

    def __str__(self) -> str:
        return f"{self.ignored:,} of {self.ignored + self.used:,} windows lack some operator and are left out"


class ObservationsDisagree(_Omission, frozen=True, tag="observations-disagree"):
    """The last k observations do not give one answer for this operator, which therefore stays as it is."""

    operator: str
    wanted: int
    answers: tuple[int, ...]

    def __str__(self) -> str:
        seen = ", ".join(map(str, self.answers))
        there = "" if len(self.answers) == self.wanted else f" and there are {len(self.answers)}"
        return f"{self.operator}: {self.wanted} windows must agree{there}, they say {seen}; it stays as it is"


class Note(_Assumption, frozen=True, tag="note"):
    """Anything else, in words: for policies of your own."""

    message: str
    operator: str = ""

    def __str__(self) -> str:
        return f"{self.operator}: {self.message}" if self.operator else self.message


Reason: TypeAlias = (
    Bottleneck
    | AtLeastOne
    | BeyondCounting
    | RaisedToBound
    | LoweredToBound
    | TotalLimited
    | PoolTooSmall
    | WorkersLimited
    | TargetRateMissed
    | InstancesInferred
    | InstancesCountedAsZero
    | WithinRounding
    | OutputRateGiven
    | ProcessingRateGiven
    | WindowsByRank
    | KeptWithoutRates
    | DemandIncomplete
    | RatesNotFinite
    | IdleInstances
    | RateWithoutEffect
    | TargetRatioUnknown
    | IncompleteObservations
    | ObservationsDisagree
    | Note
)
