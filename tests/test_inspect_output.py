"""docs/inspect-output.md names every field that `headgate inspect` prints as JSON or CSV, and no other."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import get_args

import msgspec
import pytest

from headgate.model.arrivals import Arrivals
from headgate.model.cold import ColdStart
from headgate.model.inspection import Answer, Inspection, Question
from headgate.model.keeping_up import Prospect
from headgate.model.limits import Finding, Limit
from headgate.model.line import Figure
from headgate.model.microbatch import Executor
from headgate.model.profile import OperatorProfile, QueryProfile, StateProfile
from headgate.model.silence import Silence

PAGE = (Path(__file__).parent.parent / "docs" / "inspect-output.md").read_text()
LOGS = Path(__file__).parent / "data" / "eventlogs"
SECTIONS = {
    "A query": Inspection,
    "profile": QueryProfile,
    "profile.arrivals": Arrivals,
    "profile.executors": Executor,
    "profile.cold": ColdStart,
    "profile.operators": OperatorProfile,
    "profile.operators.state": StateProfile,
    "limits": Finding,
    "now": Prospect,
    "answer": Answer,
    "answer.question": Question,
    "silence": Silence,
    "A figure": Figure,
}


def documented(section: str) -> Iterator[str]:
    """The names in the first column of a section's table."""
    text = re.search(rf"^### {re.escape(section)}\n(.*?)(?=^##|\Z)", PAGE, re.S | re.M)
    assert text is not None, f"no section {section}"
    for cell in re.findall(r"^\| (`.*?) \|", text[1], re.M):
        yield from re.findall(r"`(\w+)`", cell)


@pytest.mark.parametrize(("section", "kind"), SECTIONS.items())
def test_every_field_of_the_json_is_on_the_page(section, kind):
    names = {field.encode_name for field in msgspec.structs.fields(kind)}
    added = {"log", "notes"} if kind is Inspection else set()
    assert set(documented(section)) == names | added


def test_every_limit_is_on_the_page_with_its_fields():
    rows = dict(
        re.findall(r"^\| `([\w-]+)` \| ([^|]*?) \|", PAGE.split("### Kinds of limits")[1].split("\n## ")[0], re.M)
    )
    for kind in get_args(Limit):
        fields = {field.name for field in msgspec.structs.fields(kind)}
        assert set(re.findall(r"`(\w+)`", rows.pop(kind.__struct_config__.tag))) == fields
    assert not rows


def test_every_column_of_the_csv_is_on_the_page(headgate):
    heading = headgate("inspect", LOGS / "wordcount-4.3.0.zstd", "--format", "csv").out.splitlines()[0]
    assert list(documented("CSV")) == heading.split(",")
