"""How measurements are read: what silence means, and which rates the user knows better.

One value for all of it, so that "as the original program reads its files" is a thing with a name.
"""

from collections.abc import Mapping

import msgspec

from headgate.model.estimate import Estimate, Silence, estimate
from headgate.model.observation import Observation
from headgate.model.overrides import with_output_rates, with_processing_rates


class Reading(msgspec.Struct, frozen=True):
    """From an observation to an estimate.

    `missing`, `idle`: see `estimate`. `source_rates`: what sources emit, per instance. `operator_rates`: what operators
    can process at most, per instance. `scale_output`: whether the output of an operator goes down with such a limit.

    >>> from headgate.model.dataflow import Dataflow
    >>> flow = Dataflow.of({"lines": 1, "split": 2}, [("lines", "split")])
    >>> seen = Estimate.of_rates(flow, {"lines": (0, 300), "split": (200, 2000)})
    >>> Reading(source_rates={"lines": 500.0}).of(seen).true_output.tolist()
    [500.0, 2000.0]
    """

    missing: Silence = "infer"
    idle: Silence = "infer"
    source_rates: Mapping[str, float] = {}
    operator_rates: Mapping[str, float] = {}
    scale_output: bool = True

    def of(self, measured: Observation | Estimate) -> Estimate:
        """What a measurement says in this reading; rates that are summed already have no silent instances."""
        seen = measured
        if isinstance(seen, Observation):
            seen = estimate(seen, missing=self.missing, idle=self.idle)
        if self.source_rates:
            seen = with_output_rates(seen, self.source_rates)
        if self.operator_rates:
            seen = with_processing_rates(seen, self.operator_rates, scale_output=self.scale_output)
        return seen


AS_THE_ORIGINAL = Reading(missing="zero", idle="zero", scale_output=False)
"""How the DS2 program reads its files."""
