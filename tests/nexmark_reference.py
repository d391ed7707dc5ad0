"""What the queries of NexMark should give, by DuckDB over the same events at rest: written from their definitions."""

import duckdb
import numpy as np
import pyarrow as pa

from headgate.workloads.nexmark.events import events

LATE = 4_000_000
"""Microseconds by which an event may be late."""

# Every window of 10 s that begins at a multiple of 2 s and holds the moment t.
_HOPS = "unnest(generate_series((t // 2000000 - 4) * 2000000, t // 2000000 * 2000000, 2000000)) as u(s)"
_RANKS = {1: "price < 10000", 2: "price between 10000 and 999999", 3: "price >= 1000000"}
_BIDS_BY_RANK = "count(*) total_bids, " + ", ".join(
    f"count(case when {which} then 1 end) rank{rank}_bids" for rank, which in _RANKS.items()
)

# The highest bid of each auction while it was open, the earliest of equally high ones; of auctions surely over.
_WON = f"""
    select a.*, b.auction, b.bidder, b.price, b.dateTime bid_dateTime, b.extra bid_extra
    from auctions a join bids b on b.auction = a.id and b.dateTime between a.dateTime and a.expires
    where epoch_ms(a.expires) + 1 <= (
        select (max(t) - {LATE}) // 1000 from (
            select epoch_us(dateTime) t from bids union all select epoch_us(dateTime) from auctions
        )
    )
    qualify row_number() over (partition by a.id order by b.price desc, b.dateTime) = 1
"""


def _distinct(column):
    ranked = ", ".join(
        f"count(distinct case when {which} then {column} end) rank{rank}_{column}s" for rank, which in _RANKS.items()
    )
    return f"count(distinct {column}) total_{column}s, {ranked}"


REFERENCE = {
    "q0": "select auction, bidder, price, dateTime, extra from bids",
    "q1": "select auction, bidder, cast(price as decimal(20, 0)) * 0.908 price, dateTime, extra from bids",
    "q2": "select auction, price from bids where auction % 123 = 0",
    "q3": """
        select p.name, p.city, p.state, a.id auction from auctions a join persons p on a.seller = p.id
        where a.category = 10 and p.state in ('OR', 'ID', 'CA')
    """,
    "q4": f"select category, avg(price) from ({_WON}) group by category",
    "q5": f"""
        with counted as (
            select s, auction, count(*) num from (select auction, epoch_us(dateTime) t from bids), {_HOPS} group by all
        ), highest as (select s, max(num) num from counted group by s)
        select s starts, s + 10000000 ends, min(auction) auction, num from counted join highest using (s, num)
        where s + 10000000 <= (select max(epoch_us(dateTime)) - {LATE} from bids) group by s, num
    """,
    "q5-ds2": f"""
        select s starts, s + 10000000 ends, auction, count(*) num
        from (select auction, epoch_us(dateTime) t from bids), {_HOPS}
        where s + 10000000 <= (select max(epoch_us(dateTime)) - {LATE} from bids) group by all
    """,
    "q6": f"""
        select seller, id, avg(price) over (
            partition by seller order by expires, id rows between 9 preceding and current row
        ) from ({_WON})
    """,
    "q7": f"""
        with windowed as (select *, epoch_us(dateTime) // 10000000 * 10000000 + 10000000 ends from bids)
        select auction, bidder, price, dateTime, extra, ends from windowed
        where ends <= (select max(epoch_us(dateTime)) - {LATE} from bids)
        qualify row_number() over (partition by ends order by price desc, auction, bidder, dateTime desc) = 1
    """,
    "q8": f"""
        with came as (select distinct id, name, epoch_us(dateTime) // 10000000 * 10000000 starts from persons),
        sold as (select distinct seller, epoch_us(dateTime) // 10000000 * 10000000 starts from auctions)
        select id, name, starts from came join sold using (starts) where id = seller and starts + 10000000 <= least(
            (select max(epoch_us(dateTime)) from persons), (select max(epoch_us(dateTime)) from auctions)
        ) - {LATE}
    """,
    "q8-ds2": """
        select p.id, p.name, a.reserve from persons p join auctions a
        on p.id = a.seller and epoch_us(p.dateTime) // 10000000 = epoch_us(a.dateTime) // 10000000
    """,
    "q9": _WON,
    "q10": """
        select auction, bidder, price, dateTime, extra, strftime(dateTime, '%Y-%m-%d'), strftime(dateTime, '%H:%M')
        from bids
    """,
    "q11": f"""
        with marked as (
            select bidder, epoch_us(dateTime) t, lag(t) over (partition by bidder order by t) before,
                before is null or t - before > 10000000 as opens from bids
        ), numbered as (
            select *, sum(opens::int) over (partition by bidder order by t rows unbounded preceding) session from marked
        )
        select bidder, count(*) bids, min(t) starts, max(t) + 10000000 ends from numbered group by bidder, session
        having max(t) + 10000000 <= (select max(epoch_us(dateTime)) - {LATE} from bids)
    """,
    "q13": "select auction, bidder, price, dateTime, 'value ' || (auction % 10000) from bids",
    "q14": """
        select auction, bidder, cast(price as decimal(20, 0)) * 0.908 price, case
            when hour(dateTime) between 8 and 18 then 'dayTime'
            when hour(dateTime) <= 6 or hour(dateTime) >= 20 then 'nightTime' else 'otherTime' end bidTimeType,
            dateTime, extra, len(regexp_extract_all(extra, 'c')) c_counts
        from bids where price * 0.908 > 1000000 and price * 0.908 < 50000000
    """,
    "q15": f"""
        select strftime(dateTime, '%Y-%m-%d') as day, {_BIDS_BY_RANK}, {_distinct("bidder")}, {_distinct("auction")}
        from bids group by day
    """,
    "q16": f"""
        select channel, strftime(dateTime, '%Y-%m-%d') as day, max(strftime(dateTime, '%H:%M')) as minute,
            {_BIDS_BY_RANK}, {_distinct("bidder")}, {_distinct("auction")} from bids group by channel, day
    """,
    "q17": f"""
        select auction, strftime(dateTime, '%Y-%m-%d') as day, {_BIDS_BY_RANK}, min(price) min_price,
            max(price) max_price, avg(price) avg_price, sum(price)::bigint sum_price from bids group by auction, day
    """,
    "q18": """
        select auction, bidder, price, channel, url, dateTime, extra from bids
        qualify row_number() over (partition by auction, bidder order by dateTime desc, price desc) = 1
    """,
    "q19": """
        select auction, (row_number() over (partition by auction order by price desc, dateTime))::int as rank, bidder,
            price, channel, url, dateTime, extra from bids qualify rank <= 10
    """,
    "q20": """
        select b.*, a.* exclude (id) from bids b
        join (select id, itemName auction_itemName, description auction_description, initialBid auction_initialBid,
            reserve auction_reserve, dateTime auction_dateTime, expires auction_expires, seller auction_seller,
            category auction_category, extra auction_extra from auctions where category = 10) a on b.auction = a.id
    """,
    "q21": """
        select * from (select auction, bidder, price, channel, case lower(channel)
            when 'apple' then '0' when 'google' then '1' when 'facebook' then '2' when 'baidu' then '3'
            else nullif(regexp_extract(url, 'channel_id=([^&]*)', 1), '') end channel_id from bids)
        where channel_id is not null
    """,
    "q22": """
        select auction, bidder, price, channel, split_part(url, '/', 4) dir1, split_part(url, '/', 5) dir2,
            split_part(url, '/', 6) dir3 from bids
    """,
    "q23": """
        select b.* exclude (auction, dateTime), p.* exclude (dateTime), a.* exclude (id)
        from bids b join persons p on b.bidder = p.id join auctions a on b.bidder = a.seller
    """,
}


# Joins that forget: pairs of events that lie further apart than this are no pairs.
_WITHIN = 10_000_000


def _near(one, other):
    return f"abs(epoch_us({one}.dateTime) - epoch_us({other}.dateTime)) <= {_WITHIN}"


REFERENCE |= {
    "q3-bounded": f"{REFERENCE['q3']} and {_near('a', 'p')}",
    "q20-bounded": f"""
        select * from ({REFERENCE["q20"]})
        where abs(epoch_us(dateTime) - epoch_us(auction_dateTime)) <= {_WITHIN}
    """,
    "q23-bounded": f"{REFERENCE['q23']} where {_near('b', 'p')} and {_near('b', 'a')}",
}


def at_rest(rows, settings):
    """A database with so many events in three tables."""
    return in_tables(pa.Table.from_batches([events(np.arange(rows, dtype=np.uint64), settings)]))


def in_tables(stream):
    """A database with these events in three tables."""
    database = duckdb.connect()
    database.execute("set TimeZone = 'UTC'")
    database.register("stream", stream)
    for table, kind in (("persons", "person"), ("auctions", "auction"), ("bids", "bid")):
        database.execute(f"create table {table} as select unnest({kind}) from stream where {kind} is not null")
    return database
