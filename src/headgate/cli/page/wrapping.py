"""Text broken into lines that fit a box. SVG does not wrap, and only a browser knows how wide text is.

So widths are estimated, on the wide side of the fonts in use: a line that ends early looks better than one that sticks
out.
"""

from unicodedata import east_asian_width

_NARROW, _BROAD = frozenset(" .,:;!|'`ijlftr()[]{}-/\\"), frozenset("mwMW@%&—→")


def width(text: str) -> float:
    """In units of the font's size, for bold type."""
    return sum(map(_width, text))


def _width(character: str) -> float:
    if character in _NARROW:
        return 0.46
    if character in _BROAD or east_asian_width(character) in "WF" or ord(character) > 0xFFFF:
        return 1.11
    return 0.7 if character.islower() and character.isascii() else 0.8


def wrapped(text: str, room: float, most: int) -> list[str]:
    """Lines no wider than the room there is, at most so many; what is left over is cut off with an ellipsis.

    >>> wrapped("scan -> count by word", 10, 4)
    ['scan -> count', 'by word']
    >>> wrapped("abcdefghijkl", 3, 2)
    ['abcd', 'efg…']
    """
    lines = [""]
    for word in text.split():
        if lines[-1] and width(f"{lines[-1]} {word}") <= room:
            lines[-1] += f" {word}"
            continue
        if lines[-1]:
            lines.append("")
        for character in word:  # a word wider than a line is broken wherever the line is full
            if lines[-1] and width(lines[-1] + character) > room:
                lines.append("")
            lines[-1] += character
        if len(lines) > most:
            break
    if len(lines) <= most:
        return lines
    last = lines[most - 1]
    while last and width(f"{last}…") > room:
        last = last[:-1]
    return [*lines[: most - 1], f"{last}…"]
