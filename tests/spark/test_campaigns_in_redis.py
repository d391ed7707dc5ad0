"""Advertisements with their campaigns from a real Redis give the rows that they give with a table."""

import shutil
import socket
import subprocess
import time

import pyarrow as pa
import pytest

from headgate.model.errors import InputError
from headgate.workloads.ads.campaigns_in_redis import KEY, fill, look_up, views_from_redis
from headgate.workloads.ads.events import campaigns_of_ads
from workload_streams import WORKLOADS, ready_for_workloads, streamed, streamed_and_true

ROWS = 20_000


@pytest.fixture(scope="module")
def redis():
    """Where it is, while it runs."""
    pytest.importorskip("redis", reason='the client is not installed: pip install "headgate[redis]"')
    program = shutil.which("redis-server")
    if program is None:
        pytest.skip("there is no redis-server here; Debian has it as the package redis-server")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [program, "--port", str(port), "--bind", "127.0.0.1", "--save", "", "--appendonly", "no"]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    address = f"redis://127.0.0.1:{port}"
    try:
        deadline = time.monotonic() + 30
        while not answers(address):
            assert process.poll() is None, "redis-server has ended"
            assert time.monotonic() < deadline, "redis-server does not answer"
            time.sleep(0.05)
        yield address
    finally:
        process.terminate()
        process.wait(30)


def answers(address):
    try:
        fill(address)
    except InputError:
        return False
    return True


def test_campaigns_from_redis_give_the_rows_that_a_table_gives(spark, redis, tmp_path):
    ads = WORKLOADS["ads"]
    with ready_for_workloads(spark):
        found, true = streamed_and_true(spark, ads, views_from_redis(redis), tmp_path / "redis", ROWS, partitions=3)
        options = {"event_rate": ads.rate(ROWS, "views"), "partitions": 2}
        by_table = streamed(spark, ads, ads.queries["views"], tmp_path / "table", ROWS, options)
    assert found == by_table == true
    assert found


def test_a_campaign_is_what_redis_says_and_an_unknown_advertisement_has_none(redis):
    from redis import Redis

    fill(redis)
    with Redis.from_url(redis) as connection:
        connection.hset(KEY, "7", 4711)
        connection.hdel(KEY, "8")
    times = pa.array([1, 2, 3, 4], pa.timestamp("us", tz="UTC"))
    batch = pa.RecordBatch.from_arrays([pa.array([7, 8, 9, 7]), times], names=["ad", "event_time"])
    (owned,) = look_up(redis)(iter([batch, batch.slice(0, 0)]))
    assert owned.column("campaign").to_pylist() == [4711, campaigns_of_ads()[9], 4711]
    assert owned.column("event_time").cast(pa.int64()).to_pylist() == [1, 3, 4]
    fill(redis)


@pytest.mark.parametrize(
    ("address", "said"),
    [
        ("http://127.0.0.1", '"http://127.0.0.1" is no address of Redis; give it as redis://HOST:PORT'),
        ("redis://127.0.0.1:1", "redis://127.0.0.1:1: no answer from Redis"),
    ],
)
def test_a_redis_that_is_not_there_is_one_line(address, said):
    pytest.importorskip("redis")
    with pytest.raises(InputError) as refused:
        views_from_redis(address)
    assert str(refused.value).startswith(said)
    assert "\n" not in str(refused.value)
