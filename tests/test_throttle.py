"""How long a throttled operator takes, by a clock that only the test moves. All by hand."""

import pyarrow as pa

from headgate.workloads.throttle import throttle

TEN = pa.RecordBatch.from_pydict({"number": list(range(10))})


class Clock:
    """Seconds go by where somebody waits, and nowhere else."""

    def __init__(self):
        self.now = 0.0
        self.slept = []

    def __call__(self):
        return self.now

    def wait(self, seconds):
        self.now += seconds

    def sleep(self, seconds):
        self.slept.append(seconds)
        self.now += seconds


def ran(coming, working, handing_on, oversleeping=0.0):
    """A clock after batches of ten records, at a second for each: what each waits for, works and is handed on."""
    clock, works = Clock(), iter(working)

    def batches():
        for seconds in coming:
            clock.wait(seconds)
            yield TEN

    def work(batch):
        clock.wait(next(works))
        return batch

    def sleep(seconds):
        clock.sleep(seconds)
        clock.wait(oversleeping)

    results = throttle(1.0, work, clock=clock, sleep=sleep)(batches())
    for seconds, result in zip(handing_on, results, strict=True):
        assert result is TEN
        clock.wait(seconds)
    return clock


def test_what_one_batch_overruns_the_next_makes_up_for():
    # 5 s of waiting and 12 of work, which is 2 too many; 5 s and 3 of work: of the 20 s for both 15 are gone.
    clock = ran(coming=[5, 5], working=[12, 3], handing_on=[0, 0])
    assert clock.slept == [5]
    assert clock.now == 5 + 5 + 20


def test_waiting_for_input_is_not_time_spent_on_records():
    clock = ran(coming=[100, 0, 30], working=[1, 1, 1], handing_on=[0, 0, 0])
    assert clock.slept == [9, 9, 9]
    assert clock.now == 130 + 30


def test_whoever_sleeps_too_long_is_quicker_the_next_time():
    # Half a second too long each time: the first sleep is of 10 s, the others of 9.5, and only the last is not made up.
    clock = ran(coming=[0, 7, 0], working=[0, 0, 0], handing_on=[0, 0, 0], oversleeping=0.5)
    assert clock.slept == [10, 9.5, 9.5]
    assert clock.now == 7 + 30.5


def test_handing_on_a_result_is_part_of_the_time_for_records():
    # 4 s in which somebody takes the first result: 6 are left for the second batch.
    clock = ran(coming=[0, 0], working=[0, 0], handing_on=[4, 0])
    assert clock.slept == [10, 6]
    assert clock.now == 20


def test_work_that_is_slower_than_asked_for_never_sleeps():
    assert ran(coming=[0, 0], working=[11, 11], handing_on=[0, 0]).slept == []


def test_without_batches_nothing_is_waited_for():
    assert ran(coming=[], working=[], handing_on=[]).now == 0


def test_it_bears_the_name_of_its_work():
    def split(batch):
        return batch

    assert throttle(0.1, split).__name__ == "split"
    assert throttle(0.1).__name__ == "throttle"
