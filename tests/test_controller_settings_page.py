"""docs/controller-settings.md has every setting of the controller, with its default."""

import re
import tomllib
from ast import literal_eval
from datetime import UTC, datetime
from pathlib import Path

import msgspec

from headgate.control.settings import Period, Settings

PAGE = (Path(__file__).parent.parent / "docs" / "controller-settings.md").read_text()
ELSEWHERE = {"objective", "least", "most", "mode", "slots_each"}
"""In their own places: the objective, bounds, mode and cluster of `attach` and of a job's file."""


def test_every_setting_is_on_the_page_with_its_default():
    written = {name: literal_eval(default) for name, default in re.findall(r"^\| `(\w+)` \| `(.*?)` \|", PAGE, re.M)}
    assert written == {
        field.name: field.default for field in msgspec.structs.fields(Settings) if field.name not in ELSEWHERE
    }


def test_the_example_of_a_time_off_is_the_day_that_it_says():
    (example,) = re.findall(r"```toml\n(.*?)```", PAGE, re.S)
    settings = msgspec.convert(tomllib.loads(example)["control"], Settings)
    day = Period(datetime(2026, 12, 31, tzinfo=UTC).timestamp(), datetime(2027, 1, 1, tzinfo=UTC).timestamp())
    assert settings.off == (day,)
    assert f"off=[Period(begins={day.begins:.0f}, ends={day.ends:.0f})]" in PAGE
