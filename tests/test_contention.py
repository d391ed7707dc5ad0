"""What tasks beside each other cost, as far as it was seen."""

from headgate.model.contention import Contention, contention


def test_what_was_seen_far_apart_is_drawn_out_to_larger_numbers():
    # Twice as many at once take twice as long: a shared core, which eight share as well as sixteen.
    assert Contention(((4, 1.0), (8, 2.0))).slowdown(16) == 4.0


def test_what_was_seen_close_together_says_nothing_about_far_larger_numbers():
    # Ten at once and eleven, an hour later and 15 % slower: that may be anything, and twice as many need not be slower.
    near = contention([(10, 1.0), (11, 1.15), (11, 1.15)])
    assert near.slowdown(11) == near.slowdown(22) == 1.15
