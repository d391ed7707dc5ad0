"""What state held before and after, compared."""

from headgate.model.state_digest import StoreDigest, differences


def test_what_a_rewrite_has_changed_is_told_store_by_store():
    before = [StoreDigest(0, "default", 10, "77"), StoreDigest(1, "default", 5, "1"), StoreDigest(2, "default", 1, "9")]
    after = [StoreDigest(0, "default", 10, "77"), StoreDigest(1, "default", 4, "1")]
    assert differences(before, after) == [
        "store default of operator 1 had 5 rows (sum 1) and has 4 (sum 1)",
        "store default of operator 2 is gone",
    ]
    assert differences(before, before) == []


def test_rows_in_bins_where_nobody_looks_for_them_are_a_difference_where_there_were_none():
    right, wrong = StoreDigest(0, "default", 10, "77"), StoreDigest(0, "default", 10, "77", misplaced=3)
    told = "3 of 10 rows of store default of operator 0 are in bins that their keys do not belong to"
    assert differences([right], [wrong]) == [told]
    assert differences([wrong], [wrong]) == []  # then it is the rule that does not hold here
