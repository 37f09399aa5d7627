"""A pay roll and a model of it, made once for all tests of commands."""

import pytest

from commands import COMMON, run
from sheets import pay_csv


@pytest.fixture(scope="session")
def made(tmp_path_factory):
    """Names of a file and of a model that predicts from all its columns."""
    folder = tmp_path_factory.mktemp("made")
    csv, model = pay_csv(folder), folder / "m.rankfair"
    options = [*COMMON, "--no-blind", "--folds", 0, "-o", model, "--notes", "A note."]
    run("fit", csv, *options, code=0)
    return csv, str(model)


@pytest.fixture
def model(made):
    return made[1]
