"""Test kit: put a policy of your own through what every policy must do."""
