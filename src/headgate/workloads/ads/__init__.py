"""Advertisements: who saw and clicked which, counted by campaign (the Yahoo streaming benchmark)."""
