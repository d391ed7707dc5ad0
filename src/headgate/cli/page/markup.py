"""HTML and SVG by one function that escapes whatever is not markup yet: names come from users' code.

Text is escaped because of what it is, not because someone remembered: only what `element` made is let through.
"""

import re
from html import escape
from typing import TypeAlias

Value: TypeAlias = str | int | float | None

_UNSEEN = re.compile(
    "[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069\ud800-\udfff\ufffe\uffff]"
)
"""What no page may contain, and what would turn the direction of the text around it."""


class Markup(str):
    """Text that is markup already, and is not escaped again."""

    __slots__ = ()


def element(name: str, *content: str, **attributes: Value) -> Markup:
    """An element; attributes that are None are left out, `class_` is class and `stroke_width` is stroke-width.

    >>> element("text", "a < b", x=1.50, class_="name")
    '<text x="1.5" class="name">a &lt; b</text>'
    >>> element("g", element("b", "&"), "&")
    '<g><b>&amp;</b>&amp;</g>'
    """
    given = "".join(
        f' {key.rstrip("_").replace("_", "-")}="{_value(value)}"'
        for key, value in attributes.items()
        if value is not None
    )
    return Markup(f"<{name}{given}>{joined(*content)}</{name}>")


def joined(*content: str) -> Markup:
    """One after the other; what is no markup is escaped."""
    return Markup("".join(one if isinstance(one, Markup) else _escaped(one) for one in content))


def figure(value: float) -> str:
    """A coordinate: a hundredth of a pixel is as fine as anything is drawn.

    >>> figure(2.0), figure(1 / 3), figure(-0.001)
    ('2', '0.33', '0')
    """
    text = f"{value:.2f}".rstrip("0").rstrip(".")
    return "0" if text == "-0" else text


def _value(value: str | int | float) -> str:
    return _escaped(value) if isinstance(value, str) else figure(value)


def _escaped(text: str) -> str:
    return escape(_UNSEEN.sub("\ufffd", text))
