"""A small scenario: two policies, one job, one load."""

SCENARIO = """\
policies = ["threshold", {name = "static", start = "peak"}]
seeds = [1, 2]

[executors]
most = 6

[[loads]]
name = "step"
load = "step(20 -> 60 @ 5m)"
lasting = "10m"
judged = true

[[jobs]]
name = "words"
trigger = "10s"
driver = 0.1
noise = 0.1

[[jobs.operators]]
name = "split"
partitions = 12
fixed = 0.05
per-record = 0.04

[[jobs.operators]]
name = "count"
partitions = 12
fixed = 0.05
per-record = 0.01
from = ["split"]
stateful = true
"""
