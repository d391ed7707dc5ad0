"""docs/controller-settings.md has every setting of the controller, with its default."""

import re
from ast import literal_eval
from pathlib import Path

import msgspec

from headgate.control.settings import Settings

PAGE = (Path(__file__).parent.parent / "docs" / "controller-settings.md").read_text()
ELSEWHERE = {"objective", "least", "most", "mode", "slots_each"}
"""In their own places: the objective, bounds, mode and cluster of `attach` and of a job's file."""


def test_every_setting_is_on_the_page_with_its_default():
    written = {name: literal_eval(default) for name, default in re.findall(r"^\| `(\w+)` \| `(.*?)` \|", PAGE, re.M)}
    assert written == {
        field.name: field.default for field in msgspec.structs.fields(Settings) if field.name not in ELSEWHERE
    }
