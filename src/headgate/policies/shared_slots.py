"""DS2 for slots that all operators share: the sum of their needs, rounded up once.

    slots = sum over operators of demand_i / (true rate of one task of i)
          = rate * useful time per record that entered

DS2's answer for Timely, applied to Spark's pool: no fixed cost, no waves, no skew, no driver. For comparison.
Source: OSDI'18, section 4.2 (Timely), and POLICIES.md.
"""

import math
from typing import ClassVar

import msgspec
import numpy as np

from headgate.model.arrivals import arrivals, lately
from headgate.model.objective import CatchUp, KeepUp, Objective
from headgate.model.warm import warm
from headgate.policies.capacity import wanted
from headgate.policies.pool import Evidence, PoolAnswer, as_it_is


class SharedSlots(msgspec.Struct, frozen=True):
    """One answer from the last batch that counts."""

    needs: ClassVar[tuple[str, ...]] = ("useful time of tasks", "records")

    @property
    def name(self) -> str:
        """The name its answers carry."""
        return "ds2"

    def start(self) -> None:
        """Nothing to remember."""
        return

    def size(self, memory: None, evidence: Evidence, objective: Objective, now: float) -> tuple[None, PoolAnswer]:
        """Useful seconds for each record that came, times records per second."""
        del now
        if not evidence.batches:
            return memory, as_it_is(self.name, evidence)
        last = warm(evidence.batches)[-1]
        useful = float(last.tasks.useful_seconds.sum())
        known = objective if isinstance(objective, KeepUp | CatchUp) else KeepUp()
        # The rate is that of the last batches alone, as for `capacity`: DS2 looks at the window that has just passed.
        rate = wanted(known, arrivals(lately(evidence.batches))).rate
        slots = rate * useful / last.input_rows if last.input_rows else 0.0
        # Within rounding of an integer it is that integer, as elsewhere.
        whole = math.ceil(float(np.nextafter(slots * (1 - 1e-9), -np.inf))) if slots > 0 else 1
        return memory, PoolAnswer(self.name, max(1, -(-whole // evidence.slots_each)), need=slots)
