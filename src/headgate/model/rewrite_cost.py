"""How long a rewrite of state into another number of bins takes, by its size and by how fast this machine is now."""

import msgspec

_FROM_SNAPSHOTS = 0.45
"""State is read in as little as this part of the usual time where all of it is in snapshots, without changes."""
_MOST_OFF = 4.0
"""How many times slower, or faster, than usual a machine is believed to be: the first reading of a session is slow."""


class StateCost(msgspec.Struct, frozen=True):
    """Seconds that going through state takes, as a sum of parts."""

    fixed: float
    """Whatever the size, for each store."""
    per_bin: float
    """Of a slot, for each bin of each store: a task, and a snapshot to be read or written."""
    per_row: float
    per_byte: float

    def seconds(self, stores: int, rows: int, size: int, bins: int, slots: int) -> float:
        """For so many stores in so many bins, with so many rows and bytes in all of them, on so many slots."""
        return (self.fixed + self.per_bin * bins / max(1, slots)) * stores + self.per_row * rows + self.per_byte * size


class RewriteRate(msgspec.Struct, frozen=True):
    """How fast rewriting goes, measured by `make bench-rewrite` on two cores: it reads everything, and writes it anew.

    The state is also read once before, and once after it, to be compared.
    """

    reading: StateCost = StateCost(0.45, 0.04, 3.1e-6, 1.6e-9)
    writing: StateCost = StateCost(0.0, 0.12, 3.6e-6, 4.2e-9)

    def seconds_here(
        self, read: float, stores: int, rows: int, size: int, before: int, bins: int, slots: int = 2
    ) -> float:
        """What a rewrite takes on a machine that has just taken so many seconds to read it all, from the bins before.

        Fixed figures do not hold on a machine that is busy, or is another one; both show in how long reading takes.

        >>> rate = RewriteRate()
        >>> usual = rate.reading.seconds(1, 100_000, 100_000_000, 16, slots=2)
        >>> [round(rate.seconds_here(read, 1, 100_000, 100_000_000, 16, 24), 2) for read in (usual, 2 * usual)]
        [3.46, 6.92]
        """
        usual = self.reading.seconds(stores, rows, size, before, slots)
        ratio = read / usual if usual else 1.0
        slower = ratio if ratio > 1 else min(1.0, ratio / _FROM_SNAPSHOTS)
        slower = min(max(slower, 1 / _MOST_OFF), _MOST_OFF)
        return read + self.writing.seconds(stores, rows, size, bins, slots) * slower

    def pause(self, stores: int, rows: int, size: int, bins: int, slots: int = 2) -> float:
        """To rewrite it into so many bins from about as many, with reading it before and after; not yet tried here.

        >>> round(RewriteRate().pause(stores=1, rows=100_000, size=100_000_000, bins=24), 2)
        6.42
        """
        reading = self.reading.seconds(stores, rows, size, bins, slots)
        return 3 * reading + self.writing.seconds(stores, rows, size, bins, slots)
