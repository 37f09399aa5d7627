import pytest

from paper.cells import plan, run_cell
from paper.methods import Choices
from paper.settings import Settings

# Small enough for a second, with everything that a whole run has.
TINY = Settings(
    ("synthetic 0.9",),
    repeats=2,
    grid=(0.1, 1.0),
    epsilons=(0.0, 0.005),
    folds=2,
    path=(0.0, 0.2),
    n_tasks=6,
)


@pytest.fixture(scope="session")
def tiny():
    """Return the smallest settings that still give every kind of record."""
    return TINY


@pytest.fixture(scope="session")
def records(tiny):
    """Return the records of a tiny run, made in this process."""
    chosen = Choices(1.0, "task", 0.01, 0.005, 1.0)
    cells = plan(tiny, tiny.data)
    return [row for cell in cells for row in run_cell(cell, tiny, chosen)]
