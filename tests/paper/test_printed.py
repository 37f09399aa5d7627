import re

import pytest

from paper.methods import PAPERS
from paper.printed import (
    printed_tables,
)

BLOCK = re.compile(r"\\multicolumn\{12\}\{\|c\|\}\{(.*)\}\\\\")
LINE = re.compile(r"(AUC|MD|BR|IRR)\s*&(.*)\\\\")


def parsed(tex):
    """Return Tables II and III as they stand in the source of the paper."""
    found, block = {}, None
    for line in map(str.strip, tex.splitlines()):
        if title := BLOCK.match(line):
            alpha = re.search(r"alpha\$ = (\S+)", title[1])
            name = f"synthetic {alpha[1]}" if alpha else title[1].split()[0].lower()
            block = found.setdefault(name, {})
        elif (row := LINE.match(line)) and block is not None:
            cells = [re.findall(r"-?\d+\.\d+", cell) for cell in row[2].split("&")]
            named = zip(PAPERS, cells, strict=True)
            block[row[1].lower()] = {n: [*map(float, c)] for n, c in named if c}
    return found


def test_every_value_is_the_one_of_the_paper(real_data):
    path = real_data.parent / "paper.tex"
    if not path.is_file():
        pytest.skip("the source of the paper is not beside the data")
    assert parsed(path.read_text(encoding="utf-8")) == printed_tables()
