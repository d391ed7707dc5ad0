"""What the queries of price search should give, by DuckDB over the same events at rest: from their definitions."""

import duckdb
import numpy as np
import pyarrow as pa

from headgate.workloads.psm.events import events

LATE = 4_000_000
"""Microseconds by which an event may be late."""

MINUTE = 60_000_000
# A watermark follows the events that a query looks at.
_OVER = "(select max(t) - {late} from stream where kind in ({kinds}))"
_HOPS = f"unnest(generate_series((t // {MINUTE} - 4) * {MINUTE}, t // {MINUTE} * {MINUTE}, {MINUTE})) as u(s)"


def _per_click(kind, windows, length):
    over = _OVER.format(late=LATE, kinds=f"0, {kind}")
    return f"""
        select s, product, count(*) filter (where kind = {kind}) others, count(*) filter (where kind = 0) clicks,
            others / clicks
        from (select * from stream where kind in (0, {kind})), {windows}
        where s + {length} <= {over} group by s, product having clicks > 0
    """


REFERENCE = {
    "q1": f"""
        with earned as (
            select t // {10 * MINUTE} * {10 * MINUTE} s, owner, category, sum(price::decimal(9, 3)) earned
            from stream where kind = 0 group by all
        )
        select s, owner, category, earned from earned
        where s + {10 * MINUTE} <= {_OVER.format(late=LATE, kinds=0)}
        qualify row_number() over (partition by s, owner order by earned desc, category) = 1
    """,
    "q2": """
        select product, place, (
            select median(w.price) from clicks w
            where w.product = c.product and w.place > c.place - 10000 and w.place <= c.place
        ) from clicks c where place % 1000 = 0
    """,
    "q3": f"""
        select t // {MINUTE} * {MINUTE} s, owner, median(round(price * 1000)) / 1000 from stream where kind = 0
        group by s, owner having s + {MINUTE} <= {_OVER.format(late=LATE, kinds=0)}
    """,
    "q4": _per_click(1, _HOPS, 5 * MINUTE),
    "q5": _per_click(2, f"(select t // {MINUTE} * {MINUTE} s)", MINUTE),
}


def at_rest(rows, settings):
    """A database with so many events, and the clicks on each product in their order."""
    made = pa.Table.from_batches([events(np.arange(rows, dtype=np.uint64), settings)])
    database = duckdb.connect()
    database.execute("set TimeZone = 'UTC'")
    database.register("made", made)
    database.execute("create table stream as select *, epoch_us(timestamp) t from made")
    database.execute(
        "create table clicks as select product, price, row_number() over (partition by product order by number) place "
        "from stream where kind = 0"
    )
    return database
