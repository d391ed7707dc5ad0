"""Checkpoints of streaming queries: what their files say, without a running query."""
