"""Experiments: every policy against every load on a virtual Spark, with a clairvoyant as the yardstick."""
