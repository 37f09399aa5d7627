"""What the pages show is what the code does: blocks run, outputs agree."""

import ast
import re
import shlex
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest

from rankfair.cli.app import app
from tools import readme

ROOT = Path(__file__).parents[1]
TEXT = (ROOT / "README.md").read_text(encoding="utf-8")
WRITTEN = (*ROOT.glob("*.md"), *(ROOT / "docs").glob("*.md"))
NUMBER = re.compile(r"[-+]?\d+\.\d+")


pages = pytest.mark.parametrize("page", readme.PAGES, ids=lambda page: page.name)


def words(text):
    """Return the text with numbers and the width of columns left out."""
    return re.sub(r"\s+", " ", NUMBER.sub("#", text))


def shell_lines():
    """Return every command shown: in shell blocks, after "$ ", and indented."""
    blocks = re.findall(r"```shell\n(.*?)```", TEXT, re.S)
    lines = [line for block in blocks for line in block.splitlines()]
    return lines + re.findall(r"^(?:\$ |    (?=make ))(.*)$", TEXT, re.M)


@pages
def test_outputs_are_those_of_a_run(page, tmp_path):
    text = page.read_text(encoding="utf-8")
    found = readme.refreshed(text, tmp_path)
    assert words(found) == words(text), "outputs changed: make readme"
    for new, old in zip(found.splitlines(), text.splitlines(), strict=True):
        # Sums round otherwise elsewhere; splits and what does not settle multiply that.
        loose = ("paper's solver", "Reached", "boosting")
        far = 0.1 if any(word in new for word in loose) else 0.005
        close = pytest.approx(
            [float(number) for number in NUMBER.findall(old)], abs=far
        )
        assert [float(number) for number in NUMBER.findall(new)] == close, "make readme"
    pictures = [path.name for path in tmp_path.glob("demo/*.svg")]
    assert pictures == ["frontier.svg"] * (page.name == "README.md")


def test_every_command_shown_exists():
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.M))
    commands = {each.name or each.callback.__name__ for each in app.registered_commands}
    lines = shell_lines()
    assert {"make", "pip", "rankfair"} <= {line.split()[0] for line in lines}
    for line in lines:
        program, first, *_ = shlex.split(line, comments=True)
        if program == "make":
            assert first in targets
        elif program == "rankfair" and not first.startswith("-"):
            assert first in commands


@pages
def test_every_python_block_is_followed_by_its_output(page):
    text = page.read_text(encoding="utf-8")
    assert len(readme.PYTHON.findall(text)) == text.count("```python") >= 1


def test_options_of_the_table_are_those_of_the_estimator():
    from rankfair import RankFairRegressor

    rows = re.findall(r"^\| (`.*?`) \| (`.*?`) \|", TEXT, re.M)
    shown = {}
    for names, defaults in rows:
        values = re.findall(r"`(.*?)`", defaults)
        shown |= dict(zip(re.findall(r"`(\w+)`", names), values, strict=False))
    for name, default in RankFairRegressor().get_params().items():
        assert ast.literal_eval(shown[name]) == default


@pytest.mark.parametrize("page", WRITTEN, ids=lambda page: page.name)
def test_what_a_page_links_to_is_there(page):
    links = re.findall(r"\]\(([^)\s]*)\)", page.read_text(encoding="utf-8"))
    for link in links:
        target, _, anchor = link.partition("#")
        if not target.startswith("https:"):
            there = page.parent / target if target else page
            assert there.is_file(), link
            assert not anchor or anchor in anchors(there), link


def anchors(page):
    """The names under which a page's headings can be linked to."""
    heads = re.findall(r"^#+ (.*)$", page.read_text(encoding="utf-8"), re.M)
    return {re.sub(r"[^\w -]", "", head.lower()).replace(" ", "-") for head in heads}


def test_every_page_is_listed():
    listed = TEXT.partition("## All pages")[2].partition("\n## ")[0]
    for page in (ROOT / "docs").glob("*.md"):
        assert f"(docs/{page.name})" in listed


def test_the_picture_is_one():
    assert ET.parse(readme.PICTURE).getroot().tag.endswith("svg")
