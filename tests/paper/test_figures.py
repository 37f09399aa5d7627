import xml.etree.ElementTree as ET

import pytest

from paper.figures import as_svg, draw_figures
from paper.settings import DATASETS, SYNTHETIC
from paper.summary import Summary


@pytest.fixture(scope="module")
def everywhere(records):
    """Return the tiny records, as if every dataset had given them."""
    return Summary([row | {"data": name} for name in DATASETS for row in records])


def test_all_figures_of_the_paper_are_drawn(everywhere):
    found = draw_figures(everywhere, DATASETS)
    panels = {name: len(figure.axes) for name, figure in found.items()}
    assert panels == {
        "bars-synthetic": 4,
        "bars-real": 4,
        "epsilon-synthetic": 1,
        "epsilon-real": 4,
        "rmse": 2,
        "steps": 8,
    }
    # Empty panels are hidden.
    figure = draw_figures(everywhere, [*SYNTHETIC, "wine"])["steps"]
    assert [axes.axison for axes in figure.axes] == [True] * 5 + [False] * 3


def test_bars_are_the_means_of_the_summary_and_a_failure_leaves_a_gap(records):
    table = [row for row in records if row["kind"] == "table"]
    summary = Summary([row for row in table if row["method"] != "SDBC"])
    found = draw_figures(summary, ["synthetic 0.9"])
    assert list(found) == ["bars-synthetic"]
    heights = [bar.get_height() for bar in found["bars-synthetic"].axes[0].patches]
    assert heights[0] == summary.shown("synthetic 0.9", "Rank", "auc").mean
    assert len(heights) == 4


def test_files_are_the_same_for_the_same_records(everywhere):
    one, two = (
        as_svg(draw_figures(everywhere, ["wine"])["bars-real"]) for _ in range(2)
    )
    assert one == two
    assert ET.fromstring(one).tag.endswith("svg")
