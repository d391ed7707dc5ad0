"""Every policy has a page, and the pages have one form."""

import re
from pathlib import Path

import pytest

from headgate.lab.scenario import ORACLE
from headgate.policies.pool_registry import POOL_POLICIES
from headgate.policies.registry import POLICIES

PAGES = Path(__file__).parents[1] / "docs" / "policies"
FORM = ["Idea", "Formula", "Needs", "Faults, and what was changed", "Where", "Result"]
NAMES = sorted({*POOL_POLICIES, *POLICIES, ORACLE})


@pytest.mark.parametrize("name", NAMES)
def test_every_policy_has_a_page_in_the_form_of_the_others(name):
    text = (PAGES / f"{name}.md").read_text()
    assert re.findall(r"^## (.*)$", text, re.MULTILINE) == FORM
    assert text.startswith("# ")
    assert f"(`{name}`)" in text.splitlines()[0]


@pytest.mark.parametrize("name", NAMES)
def test_a_page_names_the_files_that_are_there(name):
    for file in re.findall(r"`((?:policies|lab|tests)/[\w./]+\.py)`", (PAGES / f"{name}.md").read_text()):
        folder = PAGES.parents[1] if file.startswith("tests") else PAGES.parents[1] / "src" / "headgate"
        assert (folder / file).exists(), file


def test_the_table_of_policies_says_what_the_registries_say():
    row = re.compile(r"^\| \[([\w-]+)\]\(([\w-]+)\.md\) \| ([^|]+) \|.*\| (yes|no) \|$", re.MULTILINE)
    rows = row.findall((PAGES / "README.md").read_text())
    told = {name: (kinds.strip(), timing == "yes") for name, page, kinds, timing in rows if name == page}
    there = {
        name: (
            ", ".join(kind for kind, where in (("pool", POOL_POLICIES), ("operators", POLICIES)) if name in where),
            POOL_POLICIES[name].own_timing,
        )
        for name in NAMES
        if name != ORACLE  # it is in no registry: nobody can ask for it where the future is not known
    }
    there[ORACLE] = ("lab", True)
    assert told == there
