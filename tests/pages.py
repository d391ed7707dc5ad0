"""Pages taken apart: what tests ask of the HTML and the drawings in it."""

import re
from html.parser import HTMLParser
from xml.etree import ElementTree

from headgate.cli.page.page import Subject, page
from headgate.model.inspection import Question, inspection


def page_of(seen, question=Question(), log="app.log"):  # noqa: B008 - frozen
    """The page about one query."""
    return page([Subject(log, inspection(seen, question), seen)])


class Parts(HTMLParser):
    """All elements with their attributes, and all text; fails where an element is closed that is not open."""

    def __init__(self, html):
        super().__init__()
        self.elements, self.text, self.open = [], [], []
        self.feed(html)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag, attrs):
        self.elements.append((tag, dict(attrs)))
        if tag != "meta":
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if self.open[-1:] != ["style"]:
            self.text.append(data)

    @property
    def said(self):
        return " ".join(self.text)


def drawings(html):
    """Each SVG of the page, as XML: what a stricter reader than a browser makes of it."""
    return [ElementTree.fromstring(one) for one in re.findall(r"<svg.*?</svg>", html, re.DOTALL)]


def drawing(html, label):
    """The one whose label has these words."""
    (found,) = [one for one in drawings(html) if label in one.get("aria-label", "")]
    return found


def of_class(svg, name):
    """Elements of a class, in order of drawing."""
    return [one for one in svg.iter() if name in one.get("class", "").split()]


def told(element):
    """What is shown when it is pointed at."""
    return element.findtext("title")


def at(element, *names):
    return tuple(float(element.get(name)) for name in names)
