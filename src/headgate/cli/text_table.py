"""Rows of text as an aligned table.

Plain formatting: a table of four thousand operators must not take longer than the decision
(docs/decisions/0003 has the figures for the libraries that were tried).
"""

from collections.abc import Sequence
from unicodedata import east_asian_width


def aligned_rows(rows: Sequence[Sequence[str]], *, left: Sequence[int] = (0,)) -> list[str]:
    """A line for each row; columns in `left` begin at one place, the others end at one.

    >>> aligned_rows([("name", "n"), ("a", "10")])
    ['name   n', 'a     10']
    """
    columns = [_aligned(column, left=at in left) for at, column in enumerate(zip(*rows, strict=True))]
    return ["  ".join(cells).rstrip() for cells in zip(*columns, strict=True)]


def _aligned(cells: Sequence[str], *, left: bool) -> list[str]:
    """Cells of one column, padded to one width; on a terminal East Asian characters take two places."""
    if all(map(str.isascii, cells)):
        width = max(map(len, cells))
        return [cell.ljust(width) if left else cell.rjust(width) for cell in cells]
    widths = [sum(2 if east_asian_width(character) in "WF" else 1 for character in cell) for cell in cells]
    spaces = [" " * (max(widths) - width) for width in widths]
    return [cell + space if left else space + cell for cell, space in zip(cells, spaces, strict=True)]
