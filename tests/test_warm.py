"""Which batches count: by hand."""

from batches import Op, batch
from headgate.model.warm import warm


def ran(*times, empty=0):
    """Batches that began and ended at these seconds, on one executor that had just come; the first had no records."""
    return [
        batch(
            {"map": Op([10], fixed=1000 * (end - begin), per_record=0)},
            number=n, began=1000 * begin, driver=0, rows=0 if n < empty else 10,
        )
        for n, (begin, end) in enumerate(times)
    ]  # fmt: skip


def counted(batches):
    return [one.number for one in warm(batches)]


def test_the_first_three_batches_do_not_count():
    assert counted(ran((0, 2), (2, 4), (4, 6), (6, 8), (8, 10))) == [3, 4]


def test_a_batch_that_begins_half_a_minute_after_the_first_one_counts():
    assert counted(ran((0, 29), (29, 35), (35, 41))) == [2]


def test_a_first_batch_without_records_does_not_make_the_next_ones_warm_however_long_it_took():
    # Eight executors on two cores: 54 s of starting JVMs, then what had piled up meanwhile, in cold code.
    assert counted(ran((0, 54), (54, 76), (76, 92), (92, 99), (99, 104), empty=1)) == [3, 4]
    assert counted(ran((0, 54), (54, 76), (76, 92), (92, 99), (99, 104))) == [1, 2, 3, 4]
