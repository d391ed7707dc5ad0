"""Everything that touches a private API of Spark, each behind a function that says what it needs from Spark."""
