"""Test kit: put a policy of your own through what every policy must do.

`claims` gives the claims one by one, for `pytest.mark.parametrize`; `check_policy` checks them all at once.
"""

from headgate.testing.conformance import Claim, check_policy, claims

__all__ = ["Claim", "check_policy", "claims"]
