"""The few shapes that all drawings are made of. Colours are the style sheet's: shapes have classes."""

from collections.abc import Callable, Sequence

from headgate.cli.page.markup import Markup, element, figure, joined
from headgate.cli.page.scales import Scale, short

Point = tuple[float, float]


def drawing(width: float, height: float, label: str, *content: Markup, class_: str | None = None) -> Markup:
    """A drawing of its own; the label is for those who cannot see it."""
    return element(
        "svg",
        *content,
        viewBox=f"0 0 {figure(width)} {figure(height)}",
        width=width,
        height=height,
        role="img",
        aria_label=label,
        class_=class_,
    )


def group(*content: Markup, class_: str | None = None) -> Markup:
    """Shapes that belong together."""
    return element("g", *content, class_=class_)


def rectangle(
    x: float,
    y: float,
    width: float,
    height: float,
    class_: str,
    *,
    told: str | None = None,
    round_: float | None = None,
) -> Markup:
    """A rectangle; what is told is shown when pointed at."""
    content = () if told is None else (element("title", told),)
    return element("rect", *content, x=x, y=y, width=max(width, 0), height=max(height, 0), rx=round_, class_=class_)


def dot(x: float, y: float, radius: float, class_: str, told: str | None = None) -> Markup:
    """A round mark."""
    content = () if told is None else (element("title", told),)
    return element("circle", *content, cx=x, cy=y, r=radius, class_=class_)


def line(x1: float, y1: float, x2: float, y2: float, class_: str) -> Markup:
    """A straight one."""
    return element("line", x1=x1, y1=y1, x2=x2, y2=y2, class_=class_)


def path(points: Sequence[Point], class_: str, *, closed: bool = False) -> Markup:
    """Straight from point to point."""
    steps = "L".join(f"{figure(x)} {figure(y)}" for x, y in points)
    return element("path", d=f"M{steps}{'Z' if closed else ''}", class_=class_)


def text(x: float, y: float, said: str, class_: str | None = None, *, anchor: str | None = None) -> Markup:
    """One line of text; `anchor` is start, middle or end."""
    return element("text", said, x=x, y=y, text_anchor=anchor, class_=class_)


def rungs(y: Scale, left: float, right: float, *, about: int = 4, label: Callable[[float], str] = short) -> Markup:
    """A pale line across the plot for each round value of y, with the value on its left."""
    return joined(
        *(
            group(
                line(left, y.at(tick), right, y.at(tick), "rung"),
                text(left - 8, y.at(tick) + 4, label(tick), "tick", anchor="end"),
            )
            for tick in y.ticks(about)
        )
    )


def marks(x: Scale, bottom: float, ticks: Sequence[float], label: Callable[[float], str] = short) -> Markup:
    """The axis below a plot, with a mark for each tick."""
    return joined(
        line(x.start, bottom, x.end, bottom, "axis"),
        *(
            group(
                line(x.at(tick), bottom, x.at(tick), bottom + 4, "axis"),
                text(x.at(tick), bottom + 17, label(tick), "tick", anchor="middle"),
            )
            for tick in ticks
        ),
    )


def seconds(value: float) -> str:
    """A time on an axis."""
    return f"{short(value)} s"
