import numpy as np
import pytest

from rankfair.constraints import Mean, Residual
from rankfair.core.problem import Groups

rng = np.random.default_rng(0)
IN_A = np.arange(30) < 12
M, Y = rng.normal(size=(2, 30)) + IN_A


@pytest.mark.parametrize("weights", [None, rng.integers(1, 4, 30), rng.random(30)])
def test_the_value_is_the_difference_of_mean_residuals(weights):
    groups = Groups(IN_A, weights)
    w = np.ones(30) if weights is None else weights
    wanted = np.average((Y - M)[IN_A], weights=w[IN_A])
    wanted -= np.average((Y - M)[~IN_A], weights=w[~IN_A])
    assert Residual().on(Y, groups).value(M, groups) == pytest.approx(wanted)


def test_it_is_the_gap_of_the_targets_less_that_of_the_predictions():
    groups = Groups(IN_A)
    of_y, of_m = Mean().value(Y, groups), Mean().value(M, groups)
    assert Residual().on(Y, groups).value(M, groups) == pytest.approx(of_y - of_m)


def test_perfect_predictions_are_balanced():
    groups = Groups(IN_A)
    assert Residual().on(Y, groups).value(Y, groups) == pytest.approx(0, abs=1e-12)


def test_swapped_groups_negate_the_value():
    value = Residual().on(Y, Groups(IN_A)).value(M, Groups(IN_A))
    swapped = Residual().on(Y, Groups(~IN_A)).value(M, Groups(~IN_A))
    assert swapped == pytest.approx(-value)
