import numpy as np
import pytest

from rankfair.constraints import Mean
from rankfair.core.problem import Groups

rng = np.random.default_rng(0)
IN_A = np.arange(30) < 12
M = rng.normal(size=30) + IN_A
WEIGHTS = [None, rng.integers(0, 4, 30), rng.random(30)]


@pytest.mark.parametrize("weights", WEIGHTS)
def test_the_value_is_the_difference_of_means(weights):
    groups = Groups(IN_A, weights)
    w = np.ones(30) if weights is None else weights
    wanted = np.average(M[IN_A], weights=w[IN_A])
    wanted -= np.average(M[~IN_A], weights=w[~IN_A])
    assert Mean().value(M, groups) == pytest.approx(wanted)
    assert Mean().value(1e200 * M, groups, unit=1e200) == pytest.approx(wanted)
    assert Mean().show(wanted, groups) == wanted


@pytest.mark.parametrize("weights", WEIGHTS)
def test_the_gradient_is_the_derivative_by_each_prediction(weights):
    groups = Groups(IN_A, weights)
    w = np.ones(30) if weights is None else weights
    gradient = Mean().gradient(M, groups)
    for i in range(30):
        more = M + (np.arange(30) == i)
        rise = Mean().value(more, groups) - Mean().value(M, groups)
        assert rise == pytest.approx(w[i] * gradient[i], abs=1e-12)


def test_swapped_groups_negate_the_value():
    value = Mean().value(M, Groups(IN_A))
    assert Mean().value(M, Groups(~IN_A)) == pytest.approx(-value)


def test_an_estimate_is_the_value():
    groups = Groups(IN_A)
    assert Mean().estimate(M, groups) == (Mean().value(M, groups), 0.0)


@pytest.mark.parametrize("epsilon", [0.0, 0.01, 0.5])
def test_the_band(epsilon):
    groups = Groups(IN_A)
    both, upper = Mean(epsilon).band(groups), Mean(epsilon, "upper").band(groups)
    assert both.low == -both.high
    assert both.high == upper.high == pytest.approx(epsilon, abs=1e-9)
    assert upper.low == pytest.approx(0, abs=1e-9)
    assert both.miss(0.0) == upper.miss(0.0) == 0
    assert both.high - both.low >= Mean().resolution(groups)
