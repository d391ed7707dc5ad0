"""Processors of the machine that driver and executors share, from files made as Linux writes them, and from its own."""

import os
import time

import pytest

from headgate.model.microbatch import Executor
from headgate.spark.host_processors import HostProcessors, available
from headgate.spark.processor_time import own_seconds, seconds_since_boot

TICKS = os.sysconf("SC_CLK_TCK")
HERE = (Executor("0", "here", 1), Executor("1", "here", 1))


def write(folder, *, user, idle, driver):
    """A machine that has spent so many seconds, and a driver (process 7) that has spent some of them."""
    stolen, guest = 5 * user, user  # another machine's, and counted as the user's already
    numbers = [user, 0, 0, idle, idle, 0, 0, stolen, guest, 0]
    (folder / "stat").write_text("cpu  " + " ".join(str(int(one * TICKS)) for one in numbers) + "\ncpu0 1 2 3\n")
    (folder / "7").mkdir(exist_ok=True)
    fields = ["S", "1", *["0"] * 9, str(int(driver * TICKS)), "0", "999", "999", "20"]
    (folder / "7" / "stat").write_text(f"7 (a name) with) spaces) {' '.join(fields)}")


def test_what_was_spent_since_the_last_look_is_told_without_idling_and_without_the_driver(tmp_path):
    write(tmp_path, user=100, idle=50, driver=10)
    host = HostProcessors("here", [7], tmp_path, clock=iter([0.0, 10.0, 10.0, 20.0, 20.0]).__next__)
    write(tmp_path, user=108, idle=90, driver=11)
    spent = host.since_last(HERE, ran=9.0)
    assert (spent.count, spent.busy) == (available(), pytest.approx(7.0))
    assert host.since_last(HERE, ran=5.0).busy == 0.0


def test_a_batch_that_ran_for_a_small_part_of_the_time_is_not_what_was_spent(tmp_path):
    write(tmp_path, user=100, idle=50, driver=10)
    host = HostProcessors("here", [7], tmp_path, clock=iter([0.0, 10.0, 10.0]).__next__)
    assert host.since_last(HERE, ran=2.0) is None


@pytest.mark.parametrize("executors", [(), (Executor("0", "there", 1),), (*HERE, Executor("2", "there", 1))])
def test_of_executors_elsewhere_nothing_is_known(tmp_path, executors):
    write(tmp_path, user=100, idle=50, driver=10)
    assert HostProcessors("here", [7], tmp_path).since_last(executors, ran=9.0) is None


def test_where_the_system_does_not_say_nothing_is_known(tmp_path):
    assert HostProcessors("here", [7], tmp_path).since_last(HERE, ran=9.0) is None


@pytest.mark.skipif(not os.path.exists("/proc/stat"), reason="needs Linux")
def test_computing_shows_in_the_account_of_this_process_and_of_its_machine():
    own, machine, began = own_seconds(os.getpid()), seconds_since_boot(), time.process_time()
    while time.process_time() - began < 0.3:
        pass
    assert own_seconds(os.getpid()) - own == pytest.approx(0.3, abs=0.1)
    assert seconds_since_boot() - machine > 0.2
