"""docs/certificate.md and docs/intervals.md: what their simulations write, and said."""

import re
from pathlib import Path

from benchmarks import simulate_certificate as certificate
from benchmarks import simulate_intervals as intervals

DOCS = Path(__file__).parents[1] / "docs"


def words(text):
    """The text without figures, their marks and the ends of lines."""
    text = re.sub(r"\*\*(?=\d)|(?<=%)\*\*", "", text)
    return re.sub(r"\s+", " ", re.sub(r"[-+]?\d[\d.,]*", "#", text))


def test_the_page_of_the_certificate_is_what_the_script_writes():
    tally = certificate.Tally(100, 95, 95, 60, 20.0, 15.0)
    cells = {(d, auc): tally for d in certificate.DESIGNS for auc in certificate.AUCS}
    page = (DOCS / "certificate.md").read_text(encoding="utf-8")
    assert words(certificate.page(cells, 10_000)) == words(page)


def test_the_page_of_the_intervals_is_what_the_script_writes():
    tally = intervals.Tally(100, 95, 2, 20.0, 94, 60)
    designs = (*intervals.DESIGNS, *intervals.OTHERS)
    cells = {(d, auc): tally for d in designs for auc in intervals.AUCS}
    made = intervals.page(cells)
    page = (DOCS / "intervals.md").read_text(encoding="utf-8")
    assert words(made) == words(page)
    # What the model is worth is that of the code, here and there.
    for text in (made, page):
        shown = " ".join(text.split())
        assert f"like {intervals.ROWS.variance:g} / (n θ (1 − θ)) rows" in shown
        assert f"({intervals.TASKS.variance:g} over tasks)" in shown


def test_cells_outside_are_named():
    design, auc = intervals.DESIGNS[0], 0.5
    low = intervals.Tally(100, 90, 2, 20.0, 94, 60)
    text = intervals.opening({(design, auc): low})
    assert "Outside: 10 v 10 rows at AUC 0.5 (90.0 %)." in text
