"""Files of other programs: bytes -> values and back. No Spark needed."""
