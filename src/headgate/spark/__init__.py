"""The adapter to Spark: measure a query, and (in time) move it. Needs the extra `headgate[spark]`."""
