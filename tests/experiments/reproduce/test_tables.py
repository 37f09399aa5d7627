import html.parser
import re

import pytest

from rankfair.experiments.reproduce.methods import METHODS, OURS, PAPERS
from rankfair.experiments.reproduce.pages import (
    NOTES,
    as_html,
    as_list,
    as_markdown,
)
from rankfair.experiments.reproduce.settings import SYNTHETIC
from rankfair.experiments.reproduce.summary import Summary
from rankfair.experiments.reproduce.tables import (
    describe_failure,
    make_tables,
    number,
    title_of,
)

EVIL = '<script>alert("1")</script>'


def record(method, repeat, rows="train", **measures):
    head = {"kind": "table", "data": "wine", "method": method, "repeat": repeat}
    return head | {"rows": rows, "n": 10, "n_a": 4} | measures


# By hand: AUC 0.4 and 0.6 below, so that means and deviations are known.
SMALL = [
    record("Data", 0, auc=0.8, md=1.0, br=0.0, irr=1.6, rmse=0.0, ks=0.5),
    record("Rank", 0, auc=0.498, md=0.1, br=0.9, irr=0.99, rmse=0.70, ks=0.2),
    record("Rank", 1, auc=0.500, md=0.3, br=0.7, irr=1.00, rmse=0.74, ks=0.2),
    record("Rank", 0, "held-out", auc=0.51, rmse=0.8),
    record("SDBC", 0, auc=0.45, md=0.0, br=1.0, irr=0.9, rmse=0.72, ks=0.1),
    record("unconstrained", 0, auc=0.9, md=1.0, br=0.0, irr=2.0, rmse=0.3, ks=0.7),
    {"kind": "table", "data": "wine", "method": "SSEM s=2", "error": EVIL},
]
EXPECTED = """\
| | Data | Rank | SSEM s=2 |
|---|---|---|---|
| **Wine (10 rows, \\|A\\| = 4; penalty task, β = 1, ε = 0)** | | | |
| AUC | 0.800<br>(0.769) | **0.501 ± 0.001**<br>(0.489 ± 0.014) | failed<br>(0.764) |
| MD | 1.000<br>(-0.563) | 0.200 ± 0.141<br>(-0.053 ± 0.028) | failed<br>(-1.537) |
| BR | – | **0.800 ± 0.141**<br>(-0.351 ± 0.217) | failed<br>(-0.356) |
| IRR | 0.625<br>(0.611) | **0.995 ± 0.007**<br>(1.020 ± 0.029) | failed<br>(0.622) |
| RMSE | – | 0.720 ± 0.028 | failed |
| KS | 0.500 | 0.200 ± 0.000 | failed |
| Wasserstein | – | – | failed |
| RMSE, held out | – | 0.800 | failed |
| AUC, held out | – | 0.510 | failed |
"""


@pytest.fixture(scope="module")
def small():
    return make_tables(Summary(SMALL), ["wine"], {})


def test_a_table_is_regenerated_from_its_records(small):
    table = small[0]
    cut = table._replace(
        columns=table.columns[:3],
        blocks=tuple(
            block._replace(
                lines=tuple(
                    line._replace(entries=line.entries[:3]) for line in block.lines
                )
            )
            for block in table.blocks
        ),
    )
    assert as_markdown([cut]) == f"### {table.caption}\n\n{EXPECTED}"


def test_every_cell_of_the_papers_columns_has_the_printed_value(small):
    papers, ours = small
    assert papers.columns == tuple(PAPERS) and ours.columns == tuple(OURS)
    for line in papers.blocks[0].lines[:4]:
        for name, entry in zip(papers.columns, line.entries, strict=True):
            assert bool(entry.printed) == ((name, line.label) != ("Data", "BR"))


def test_a_cell_tells_what_was_measured(small):
    (auc, *_) = small[0].blocks[0].lines
    assert auc.entries[1].text == "0.501 ± 0.001"
    assert auc.entries[1].raw == "as measured: 0.499000 ± 0.001414, 2 repeats"
    assert auc.entries[0].raw == "as measured: 0.800000, one run"


def test_missing_data_is_a_row_that_says_so():
    tables = make_tables(Summary(SMALL), ["wine", "crime"], {"crime": "no crime.csv"})
    assert tables[0].blocks[0].missing == "no crime.csv"
    text, page = as_markdown(tables), as_html(tables)
    assert "| not run: no crime.csv |" in text
    assert "Not run: no crime.csv" in page
    assert "Wine (10 rows" in text and "Wine (10 rows" in page


def test_tables_are_those_of_the_data_asked_for(records):
    assert make_tables(Summary([]), [], {}) == []
    both = make_tables(Summary(records), [*SYNTHETIC, "wine"], {})
    assert [table.caption.split(".")[0] for table in both] == [
        "Table II", "Table II", "Table III", "Table III",
    ]  # fmt: skip
    # Data without records keeps its name and has empty cells.
    assert both[2].blocks[0].title == "Wine"


def test_text_is_escaped_and_the_page_stands_alone(small):
    page = as_html(small, [EVIL])
    assert EVIL not in page and "&lt;script&gt;" in page
    assert not re.search(r"<script|https?:|src=|href=|@import|url\(", page)
    assert "default-src 'none'" in page
    assert "prefers-color-scheme: dark" in page


def test_markdown_cells_cannot_break_out():
    tables = make_tables(Summary([]), ["wine"], {"wine": f"a | b\n{EVIL}"})
    for line in as_markdown(tables).splitlines():
        assert "<script" not in line.replace("\\<", "")
        if line.startswith("| not run"):
            assert "a \\| b" in line


FAILED = {"kind": "table", "data": "wine", "method": "Rank", "repeat": 2, "error": EVIL}


def test_a_repeat_that_failed_is_in_the_cell_and_never_bold():
    auc = make_tables(Summary([*SMALL, FAILED]), ["wine"], {})[0].blocks[0].lines[0]
    assert auc.entries[1].text == "0.501 ± 0.001, 1 of 3 failed"
    assert not auc.entries[1].best
    # SDBC comes next.
    assert auc.entries[-1].best


def test_parameters_that_could_not_be_chosen_are_in_the_heading():
    bad = {"kind": "cv", "data": "wine", "method": "epsilon", "error": "no luck"}
    (table, _) = make_tables(Summary([*SMALL, bad]), ["wine"], {})
    assert "ε = 0; cross-validation of epsilon failed)" in table.blocks[0].title


def test_failures_are_sentences():
    found = Summary([FAILED, FAILED | {"kind": "path"}, FAILED | {"kind": "steps"}])
    said = [describe_failure(it).split(" failed")[0] for it in found.failures()]
    assert said == [
        "Wine, Rank (repeat 2)",
        "Wine, Rank along ε (repeat 2)",
        "Wine, the steps of Rank",
    ]


def test_failures_are_listed_on_pages_and_escaped(small):
    page, text = as_html(small, failures=[EVIL]), as_list([EVIL])
    assert "What failed" in page and "What failed" not in as_html(small)
    assert EVIL not in page and EVIL not in text
    assert "&lt;script&gt;" in page and "\\<script" in text


def test_notes_claim_neither_a_turned_paper_nor_unseen_rows():
    notes = " ".join(NOTES)
    assert "values of the paper stand as printed" in notes
    assert "seen by no fit that predicts them" in notes


class Cells(html.parser.HTMLParser):
    """Counts rows and cells, and sees that every tag is closed."""

    VOID = ("meta",)

    def __init__(self):
        super().__init__()
        self.open, self.seen = [], []

    def handle_starttag(self, tag, attrs):
        self.seen.append(tag)
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag


def test_the_page_is_well_formed(small):
    parser = Cells()
    parser.feed(as_html(small))
    assert parser.open == []
    assert parser.seen.count("table") == 2
    assert parser.seen.count("td") == 9 * len(METHODS)


def test_numbers_have_three_digits_and_zero_no_sign():
    assert number(-0.00049) == "0.000"
    assert number(-1.2345, 0.1) == "-1.234 ± 0.100"
    assert title_of("synthetic 0.6") == "Synthetic, α = 0.6"
