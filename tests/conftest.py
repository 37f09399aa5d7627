import os
from pathlib import Path

import pytest
from hypothesis import settings

# A busy machine must not turn a slow example into a failure.  `make test` tries the
# same examples each time, so that it fails for a change and not by chance; `make
# explore` looks for new ones.
settings.register_profile(
    "rankfair", deadline=None, derandomize=not os.environ.get("RANKFAIR_EXPLORE")
)
settings.load_profile("rankfair")


@pytest.fixture
def real_data():
    """Return the folder with the four real datasets, or skip and say why."""
    folder = os.environ.get("RANKFAIR_DATA")
    if not folder:
        pytest.skip("RANKFAIR_DATA is not set: the real files are not here")
    return Path(folder)
