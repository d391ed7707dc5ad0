"""What q15, q16 and q17 count: bids by price rank."""

LOW, HIGH = 10_000, 1_000_000
"""Prices below the first have rank 1, those from there up to the second rank 2, all others rank 3."""
RANKS = {1: f"price < {LOW}", 2: f"price >= {LOW} and price < {HIGH}", 3: f"price >= {HIGH}"}


def bids_by_rank() -> list[str]:
    """Expressions: all bids, and those of each rank."""
    ranked = (f"count(*) filter (where {which}) as rank{rank}_bids" for rank, which in RANKS.items())
    return ["count(*) as total_bids", *ranked]


def distinct_by_rank(column: str) -> list[str]:
    """Expressions: how many different values, and of each rank; by sets, since Spark counts none in a stream."""
    ranked = (
        f"size(collect_set({column}) filter (where {which})) as rank{rank}_{column}s" for rank, which in RANKS.items()
    )
    return [f"size(collect_set({column})) as total_{column}s", *ranked]
