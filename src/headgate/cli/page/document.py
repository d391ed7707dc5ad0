"""What every page is made of: one file with text, drawings and one style sheet.

Nothing on it is fetched from anywhere and nothing on it runs.
"""

from collections.abc import Sequence
from importlib.resources import files

from headgate.cli.page.markup import Markup, element, joined
from headgate.cli.page.svg import drawing, rectangle

_HEAD = Markup(
    '<meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">'
    # Whatever a name in a log might try: a browser takes nothing from elsewhere for this page, and runs nothing in it.
    "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">"
)


def picture(drawn: Markup) -> str:
    """A drawing as a file of its own."""
    style = element("style", _style(), Markup("svg { background: var(--paper); font-family: sans-serif; }"))
    opening, _, rest = drawn.partition(">")
    return f'{opening} xmlns="http://www.w3.org/2000/svg">{style}{rest}\n'


def _style() -> Markup:
    return Markup(files("headgate.cli.page").joinpath("page.css").read_text(encoding="utf-8"))


def document(title: str, command: str, *content: Markup) -> str:
    """One HTML file."""
    style = _style()
    head = element("head", _HEAD, element("title", f"{title}: {command}"), element("style", style))
    body = element("body", element("header", element("h1", command)), element("main", *content))
    return f'<!doctype html>\n<html lang="en">{head}{body}</html>'


def tiles(figures: Sequence[tuple[str, str]], accent: int | None = None) -> Markup:
    """The figures to take in first, each with what it is of; one may stand out."""
    return element(
        "div",
        *(
            element("div", element("b", figure), element("span", of), class_=f"tile{' accent' * (at == accent)}")
            for at, (figure, of) in enumerate(figures)
        ),
        class_="tiles",
    )


def captioned(drawn: Markup, said: str) -> Markup:
    """A drawing, and what must be said about it."""
    caption = (element("figcaption", said),) if said else ()
    return element("figure", element("div", drawn, class_="scroll"), *caption)


def colour_key(entries: Sequence[tuple[str, str]]) -> Markup:
    """Which colour (a class) stands for what."""
    return element("ul", *(element("li", _swatch(colour), name, title=name) for colour, name in entries), class_="key")


def meanings(words: Sequence[tuple[str, str]], summary: str = "What the words mean") -> Markup:
    """A list of words and what they mean, open at first."""
    listed = joined(*(joined(element("dt", word), element("dd", meaning)) for word, meaning in words))
    return element("details", element("summary", summary), element("dl", listed), open="")


def _swatch(colour: str) -> Markup:
    return drawing(11, 11, "", rectangle(0, 0, 11, 11, f"fill {colour}", round_=2))
