"""Text that does not compress, so that state is as large on disk as its rows are."""

from pyspark.sql import Column
from pyspark.sql import functions as f

_EACH = 128
"""Letters of one hash."""


def noise(of: Column, letters: int) -> Column:
    """So many letters, the same for the same value."""
    hashes = [f.sha2(f.concat(of.cast("string"), f.lit(f"-{turn}")), 512) for turn in range(-(-letters // _EACH))]
    return f.substring(f.concat(*hashes), 1, letters)
