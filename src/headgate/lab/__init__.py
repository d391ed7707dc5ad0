"""Experiments: every policy against every load on a virtual Spark or a real one, beside a clairvoyant."""
