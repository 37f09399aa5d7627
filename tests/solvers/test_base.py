from dataclasses import dataclass

import numpy as np
import pytest

from problems import PENALTIES, biased, free_fit, predictions, target
from rankfair.input.errors import InputError
from rankfair.penalties import Ridge
from rankfair.solvers.base import Request


@pytest.mark.parametrize("penalty", PENALTIES)
def test_intercepts_are_free(penalty):
    problem = biased()
    m = predictions(problem, free_fit(problem, penalty, 5.0))
    residuals = np.bincount(problem.codes, target(problem) - m)
    assert residuals == pytest.approx(np.zeros(problem.n_tasks), abs=1e-9)


@dataclass(frozen=True)
class NoLeverages(Ridge):
    """What a user's penalty may lack."""

    leverages = False


def test_no_beta_is_chosen_without_leverages():
    with pytest.raises(InputError, match=r'beta "auto" needs .*; got NoLeverages'):
        Request(NoLeverages())
    assert Request(NoLeverages(2.0), 2.0).beta == 2.0
    assert Request(NoLeverages(2.0), fixed=True).beta is None
