"""The line that says how far a long read is."""

import io

import pytest

from headgate.cli import progress


class Terminal(io.StringIO):
    def isatty(self):
        return True


class Breaking:
    """A thousand items, and then an error."""

    bytes_read = 5

    def __iter__(self):
        yield from range(1000)
        raise OSError("gone")


@pytest.fixture
def impatient(monkeypatch):
    monkeypatch.setattr(progress, "_PATIENCE", 0.0)


def test_the_bar_is_gone_before_an_error_is_said(impatient):
    screen = Terminal()
    with pytest.raises(OSError, match="gone"):
        list(progress.shown(Breaking(), 10, "app", screen))
    assert "50 %" in screen.getvalue()
    assert screen.getvalue().endswith("\r\x1b[K")


def test_the_bar_is_gone_where_the_reader_stops_early(impatient):
    screen = Terminal()
    items = progress.shown(Breaking(), 10, "app", screen)
    next(items)
    items.close()
    assert screen.getvalue().endswith("\r\x1b[K")
