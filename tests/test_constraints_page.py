"""docs/constraints.md, and what it says of ranks and means asked for together."""

import re
from pathlib import Path

import pytest

from benchmarks import compare_constraints as script
from paper.cases import make_case
from paper.settings import DATASETS, REAL, SYNTHETIC, Settings, title_of

ROOT = Path(__file__).parents[1]
PAGE = (ROOT / "docs" / "constraints.md").read_text(encoding="utf-8")


def check(data):
    """Compare on all rows of a dataset; every promise of the page holds."""
    rows = {row.name: row for row in script.compare(data)}
    together = rows["rank and mean"].train
    # Targets have variance 1: MD is in standard deviations.
    assert make_case(data, 0, Settings()).full.y.std() == pytest.approx(1.0)
    assert together["gap"] <= 0.001
    assert abs(together["md"]) <= 0.001
    distribution = rows.pop("distribution")
    # One direction may not do: the nearest is kept, and the page says so.
    reached = distribution.train["ks"] <= script.KS + 1e-9
    assert distribution.status == ("satisfied" if reached else "infeasible")
    assert distribution.train["gap"] <= max(script.KS, distribution.train["ks"]) + 1e-9
    assert distribution.train["ks"] < 0.7 * rows["nothing"].train["ks"]
    errors = {name: row.train["rmse"] for name, row in rows.items()}
    assert errors["nothing"] == min(errors.values())
    # Each direction has penalties of its own, so that a demand more can err less than
    # one alone (Income), but not less than the cheaper of the two.
    cheaper = min(errors["rank"], errors["mean"])
    assert cheaper <= errors["rank and mean"] * (1 + 2e-3)
    assert all(row.status != "infeasible" for row in rows.values())


@pytest.mark.parametrize("data", SYNTHETIC)
def test_ranks_and_means_together_on_synthetic_rows(data):
    check(data)


@pytest.mark.usefixtures("real_data")
@pytest.mark.parametrize("data", REAL)
def test_ranks_and_means_together_on_real_rows(data):
    check(data)


def test_the_page_has_every_dataset_and_constraint():
    for data in DATASETS:
        assert f"| {title_of(data)} |" in PAGE
    for name, *_ in script.ASKED:
        shown = rf"\| {name}( \(not reached\))? \|"
        assert len(re.findall(shown, PAGE)) == len(DATASETS)
    for line in re.findall(r"^.*\| rank and mean \|.*$", PAGE, re.M):
        _, gap, md = (float(cell) for cell in line.split("|")[3:6])
        assert gap <= 0.001 and abs(md) <= 0.001


def test_the_page_is_what_the_script_writes():
    """Words and tables are the script's; only figures may be of another machine."""
    small = script.compare("synthetic 0.9", Settings(n_tasks=4))
    made = script.page(dict.fromkeys(DATASETS, small))

    def words(text):
        text = re.sub(r"\(not reached\)", "", text)
        return re.sub(r"\s+", " ", re.sub(r"[-+]?\d[\d.e+-]*", "#", text))

    assert words(made) == words(PAGE)
