"""All that can be set about the controller, with its defaults. The only file that has any."""

import math
from typing import Literal

import msgspec
from msgspec.structs import force_setattr

from headgate.model.errors import InputError
from headgate.model.migration import STRATEGIES, Strategy
from headgate.model.objective import CatchUp, Freshness, KeepUp, Objective


class Period(msgspec.Struct, frozen=True):
    """A time in which nothing is changed, in seconds since 1970."""

    begins: float
    ends: float

    def __post_init__(self) -> None:
        """Refuse what is no stretch of time."""
        times = (self.begins, self.ends)
        known = all(isinstance(one, int | float) and math.isfinite(one) for one in times)
        if not known or self.begins >= self.ends:
            raise InputError(f"a period from {self.begins} to {self.ends}: give seconds since 1970, the earlier first")


TIMES = (
    "second_opinion", "ahead", "down_stretch", "believed", "cool_down", "stale", "forgotten", "patience", "judging",
    "ask_again", "anew",
)  # fmt: skip
_PARTS = ("down_margin", "well_below", "alike", "tolerance")
_COUNTS = ("evidence", "agreeing", "quota", "slots_each", "least", "most")


class Settings(msgspec.Struct, frozen=True):
    """Times in seconds."""

    objective: Objective = KeepUp(headroom=0.2)
    least: int = 1
    """Executors."""
    most: int = 8
    mode: Literal["act", "advise"] = "act"
    slots_each: int = 1
    """Slots of an executor that is added, where none is there to tell."""
    evidence: int = 3
    """Warm batches that are needed before anything is decided; one where each is much longer than the last."""
    agreeing: int = 2
    """Decisions in a row that must ask for more before more is asked for: a single slow batch moves nothing."""
    second_opinion: float = 60.0
    """Except where batches get ever longer, and three show the rate or the next one would take more than this."""
    ahead: float = 120.0
    """Where the load rises and more are needed, `capacity` asks for those of so much later; 0: for those of now."""
    down_stretch: float = 180.0
    """Fewer executors only after the need was no higher for so long."""
    down_margin: float = 0.1
    """Fewer executors only if they meet the objective with so much to spare: noise at the edge moves nothing."""
    well_below: float = 0.1
    """A number of executors that was not enough is not gone back to until rate or work is lower by this part."""
    believed: float = 86400.0
    """For so long that is remembered: what a record costs may change."""
    cool_down: float = 60.0
    """After a plan has come to its end, so long nothing else is started."""
    stale: float = 60.0
    """Without a batch for so long (and for three times the usual interval), what is known is too old to act on."""
    forgotten: float = 900.0
    """A query of which nothing was heard for so long, while others were, is no longer thought of."""
    patience: float = 120.0
    """So long a plan may take to get its executors; then what is there is what there is."""
    judging: float = 900.0
    """So long a plan waits, once its executors are there, for batches to judge it by."""
    ask_again: float = 600.0
    """After a cluster gave less than asked, so long no more is asked for."""
    quota: int = 20
    """Changes an hour, at the most."""
    off: tuple[Period, ...] = ()
    """Times in which nothing is changed: periods with `begins` and `ends`, in seconds since 1970."""
    alike: float = 0.05
    """While records and time of recent batches differ by less than this from those decided on, the answer stands."""
    anew: float = 60.0
    """After so long, and a few batches, the policy is asked again even so."""
    tolerance: float = 0.1
    """A measured batch within this of the predicted one is as predicted."""
    moves: Strategy = "batched"
    """In which steps bins of state follow when executors come and go: sudden, fluid, batched or hottest-first."""

    def __post_init__(self) -> None:
        """Refuse what makes no sense."""
        if not isinstance(self.objective, KeepUp | Freshness | CatchUp):
            raise InputError(
                f'objective is {self.objective!r}; give KeepUp(0.2), Freshness("10s") or CatchUp("5m"), from headgate'
            )
        for name in (*TIMES, *_PARTS, *_COUNTS):
            given = getattr(self, name)
            if isinstance(given, bool) or not isinstance(given, int if name in _COUNTS else int | float):
                raise InputError(f"{name} is {given!r}; give a{' whole' if name in _COUNTS else ''} number")
        if not 1 <= self.least <= self.most:
            raise InputError(f"executors ({self.least}, {self.most}): give at least 1, and the least before the most")
        for name in _COUNTS:
            if getattr(self, name) < 1:
                raise InputError(f"{name} is {getattr(self, name)}; give at least 1")
        if self.moves not in STRATEGIES:
            raise InputError(f"moves is {self.moves}; give one of {', '.join(STRATEGIES)}")
        for name in TIMES:
            if not 0 <= getattr(self, name) < float("inf"):
                raise InputError(f"{name} is {getattr(self, name)}; give seconds from 0 up")
        for name in _PARTS:
            if not 0 <= getattr(self, name) < 1:  # what is no number at all is neither
                raise InputError(f"{name} is {getattr(self, name)}; give a part from 0 to less than 1, such as 0.1")
        self._check_off()

    def _check_off(self) -> None:
        """Refuse what is no row of periods; a list is as good as a tuple, and kept as one."""
        if not isinstance(self.off, tuple | list) or not all(isinstance(one, Period) for one in self.off):
            raise InputError(
                f"off is {self.off!r}; give periods, such as off=[Period(begins=1798675200, ends=1798761600)], "
                "from headgate.control.settings"
            )
        force_setattr(self, "off", tuple(self.off))
