"""Test kit: put a policy of your own through what every policy must do.

`claims` gives the claims one by one, for `pytest.mark.parametrize`; `check_policy` checks them all at once. For
policies that size a pool of executors the same are `pool_claims` and `check_pool_policy`.
"""

from headgate.testing.claims import Claim
from headgate.testing.conformance import check_policy, claims
from headgate.testing.pool_conformance import check_pool_policy, pool_claims

__all__ = ["Claim", "check_policy", "check_pool_policy", "claims", "pool_claims"]
