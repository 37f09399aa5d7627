import json
import re

import pytest

from rankfair.experiments.reproduce.methods import PAPERS
from rankfair.experiments.reproduce.printed import printed, printed_tables
from rankfair.experiments.reproduce.settings import DATASETS

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


def test_every_cell_is_there():
    for data in DATASETS:
        for method in PAPERS:
            for metric in ("auc", "md", "br", "irr"):
                there = printed(data, method, metric) is not None
                assert there == ((method, metric) != ("Data", "br"))


def test_values_that_other_pages_quote():
    assert printed("wine", "Data", "auc") == (0.769, None)
    assert printed("synthetic 0.6", "Data", "irr") == (0.709, None)
    assert printed("income", "Rank", "md") == (-0.003, 0.005)
    assert printed("wine", "Rank (paper)", "auc") == printed("wine", "Rank", "auc")
    assert printed("wine", "Rank", "rmse") is None
    assert printed("wine", "unconstrained", "auc") is None


def test_values_are_numbers_and_deviations():
    for cell in json.loads(json.dumps(printed_tables()))["crime"]["auc"].values():
        assert len(cell) in (1, 2)
