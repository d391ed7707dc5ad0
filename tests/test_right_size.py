"""When a sweep over fixed numbers of executors believes what it sees: batches every 8 s."""

from right_size import far_too_long, settled


def worked_off(first, part, fixed=1.0):
    """Batches after one that took so long, each with what came meanwhile; in time they take what 8 s bring."""
    times = [first]
    while len(times) < 12:
        times.append(fixed + part * max(times[-1], 8.0))
    return times


def test_what_a_cold_start_has_piled_up_is_waited_for():
    # Three executors of which three quarters are busy: 40, 31, 24.25, ... and 7 s once it is worked off.
    times = worked_off(40.0, 0.75)
    first = next(count for count in range(1, 13) if settled(times[:count]))
    assert [round(one, 2) for one in times[first - 3 : first]] == [7.0, 7.0, 7.0]
    assert not any(far_too_long(times[:count]) for count in range(2, first))


def test_batches_that_stay_late_have_settled_too():
    # 2 s, and 0.8 of what came: for ever 10 s, whichever side they come from.
    assert not settled(worked_off(30.0, 0.8, fixed=2.0)[:5])
    assert settled([10.3, 9.8, 10.1, 9.9])
    assert not far_too_long([10.3, 9.8, 10.1, 9.9])


def test_one_long_batch_among_shorter_and_shorter_ones_does_not_settle_it():
    assert not settled([19.0, 15.0, 12.0, 9.5, 11.8])
    assert not far_too_long([19.0, 15.0, 12.2, 12.3])


def test_batches_that_get_ever_longer_are_too_long_at_once():
    assert far_too_long([8.5, 9.0, 12.5])
    assert not far_too_long([8.5, 9.0, 10.5])  # longer, but not by so much that it could not be chance
