"""A load that grows, from batches alone."""

import pytest

from batches import Op, batch
from headgate.model.rising import rate_ahead


def coming(*records, every=10):
    """Batches that begin every so many seconds, with so many records each."""
    return [batch({"map": Op([count])}, number=n, began=n * every * 1000) for n, count in enumerate(records)]


def test_a_load_that_rises_evenly_is_drawn_out():
    # 100, 101, … records a second: 1/s more every 10 s. The last batch came at 111/s, so in two minutes it is 123/s.
    assert rate_ahead(coming(*range(1000, 1120, 10)), 120.0) == pytest.approx(123.0)


def test_a_rise_that_slows_down_goes_on_at_its_slower_pace():
    # The first batch follows on none. Parts of two: 101.5, 104, 105/s, at 15, 35 and 55 s; slower: 0.05/s each second.
    # From the middle of the last part it is 5 s to its last batch and 100 s more.
    rises = coming(1000, 1010, 1020, 1035, 1045, 1050, 1050)
    assert rate_ahead(rises, 100.0) == pytest.approx(105.0 + 0.05 * 105)


@pytest.mark.parametrize(
    "records",
    [
        (1000,) * 12,
        (1000,) * 6 + (2000,) * 6,
        (1000,) * 3 + (2000,) * 9,
        (1100, 1090, 1080, 1070, 1060, 1050, 1040, 1030, 1020, 1010, 1000, 990),
        (1000, 1050, 1100, 1150, 1150, 1100, 1050, 1000, 1000, 1000, 1000, 1000),
        (0,) * 12,
    ],
    ids=["level", "a step", "a step a while ago", "falling", "a hump", "nothing comes"],
)
def test_what_has_not_risen_all_along_is_not_drawn_out(records):
    assert rate_ahead(coming(*records), 120.0) is None


def test_a_step_that_a_batch_cuts_in_two_is_no_rise():
    # The batch in between has some of each; it came at a rate unlike those after it.
    assert rate_ahead(coming(*(1000,) * 5, 1700, *(2000,) * 7), 120.0) is None


def test_a_handful_of_batches_tells_no_rise():
    assert rate_ahead(coming(1000, 1010, 1020, 1030, 1040, 1050), 120.0) is None


def test_nothing_is_drawn_out_by_no_time():
    assert rate_ahead(coming(*range(1000, 1120, 10)), 0.0) is None
