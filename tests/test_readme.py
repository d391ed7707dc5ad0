"""What the README shows is what happens."""

import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

PROJECT = Path(__file__).parent.parent
README = (PROJECT / "README.md").read_text()


def test_the_library_example_gives_what_its_comments_say():
    (code,) = re.findall(r"```python\n(import headgate\n.*?)```", README, re.S)
    names = {}
    exec(code, names)
    claimed = dict(re.findall(r"^decision\.(\w+)\s+# (.*)$", code, re.M))
    assert str(names["decision"].parallelism) == claimed["parallelism"]
    assert repr(names["decision"].bottleneck).startswith(claimed["bottleneck"].removesuffix("...)"))


def test_the_output_of_make_demo_is_what_the_readme_shows():
    makefile = (PROJECT / "Makefile").read_text().replace("\\\n", " ")
    command = re.findall(r"^\t\$\(BIN\)/headgate (decide .*)$", makefile, re.M)[-1]
    ran = subprocess.run(
        [sys.executable, "-m", "headgate", *shlex.split(command)],
        cwd=PROJECT,
        capture_output=True,
        text=True,
        check=True,
    )
    assert ran.stdout.strip() in README


@pytest.mark.parametrize("page", ["README.md", "docs/why-is-my-job-slow.md"])
def test_what_pages_show_of_inspect_is_what_it_prints(headgate, monkeypatch, page):
    monkeypatch.chdir(PROJECT)
    text = (PROJECT / page).read_text()
    shown = re.findall(r"```\n\.venv/bin/headgate (inspect [^\n]*)\n```\n\n```text\n(.*?)\n```", text, re.S)
    if page == "README.md":
        shown = [("inspect examples/slow-job/slow.zstd", *re.findall(r"```text\n(query.*?)\n```", text, re.S))]
    assert shown
    for command, output in shown:
        assert output in headgate(*shlex.split(command)).out


def test_the_load_that_a_page_shows_is_what_is_drawn(headgate, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    text = (PROJECT / "docs/loads.md").read_text()
    ((command, output),) = re.findall(r"```\nheadgate (load [^\n]*)\n```\n\n```text\n(.*?)\n```", text, re.S)
    assert headgate(*shlex.split(command)).out.rstrip() == output


def test_every_link_leads_somewhere():
    for page in [PROJECT / "README.md", PROJECT / "CONTRIBUTING.md", *(PROJECT / "docs").rglob("*.md")]:
        for link in re.findall(r"\]\((?!http)([^)#]+)\)", page.read_text()):
            assert (page.parent / link).exists(), f"{page.name}: {link}"
