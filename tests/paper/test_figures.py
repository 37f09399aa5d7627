import pytest

from paper.figures import draw_figures
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
