import pytest
from rankfair.experiments.demo import run


@pytest.fixture(scope="session")
def small(tmp_path_factory):
    """Return a demo on three draws of twelve tasks, made once."""
    return run(tmp_path_factory.mktemp("demo"), 3, draws=3, n_tasks=12)
