import os
from pathlib import Path

import pytest
from hypothesis import settings

# A busy machine must not turn a slow example into a failure.  A server tries the same
# examples each time; anywhere else every run looks for new ones.
settings.register_profile(
    "rankfair", deadline=None, derandomize=bool(os.environ.get("CI"))
)
settings.load_profile("rankfair")


@pytest.fixture
def real_data():
    """Return the folder with the four real datasets, or skip and say why."""
    folder = os.environ.get("RANKFAIR_DATA")
    if not folder:
        pytest.skip("RANKFAIR_DATA is not set: the real files are not here")
    return Path(folder)
