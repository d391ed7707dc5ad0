"""What stores hold, in a form that can be compared: the same before and after a rewrite, whatever the bins."""

from collections.abc import Sequence

import msgspec


class StoreDigest(msgspec.Struct, frozen=True):
    """What one store holds over all its bins: so many rows, and a sum that does not depend on their order."""

    operator: int
    store: str
    rows: int
    checksum: str
    rows_in_bins: tuple[int, ...] = ()
    """One a bin."""
    misplaced: int = 0
    """Rows that are not in the bin that their key belongs to, where the query would not find them."""


def differences(before: Sequence[StoreDigest], after: Sequence[StoreDigest]) -> list[str]:
    """What is not the same after a rewrite, in words; empty where all is."""
    told = {(one.operator, one.store): one for one in after}
    found = []
    for one in before:
        then = told.get((one.operator, one.store))
        if then is None:
            found.append(f"store {one.store} of operator {one.operator} is gone")
        elif (one.rows, one.checksum) != (then.rows, then.checksum):
            found.append(
                f"store {one.store} of operator {one.operator} had {one.rows:,} rows (sum {one.checksum}) and has "
                f"{then.rows:,} (sum {then.checksum})"
            )
        elif then.misplaced and not one.misplaced:
            found.append(
                f"{then.misplaced:,} of {then.rows:,} rows of store {one.store} of operator {one.operator} are in bins "
                f"that their keys do not belong to"
            )
    return found
