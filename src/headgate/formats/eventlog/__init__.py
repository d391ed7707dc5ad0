"""Spark event logs: bytes -> typed events, one concept a module; `reader.read_events` is the way in. Needs no Spark."""
