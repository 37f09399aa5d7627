import numpy as np
import pytest

from rankfair.constraints import Mean, Rank, Residual, main_and_beside
from rankfair.core.problem import Groups

rng = np.random.default_rng(0)
IN_A = np.arange(30) < 12
M, Y = rng.normal(size=(2, 30)) + IN_A
WEIGHTS = [None, rng.integers(1, 4, 30), rng.random(30)]
every_weight = pytest.mark.parametrize("weights", WEIGHTS)
either = pytest.mark.parametrize("constraint", [Mean(0.2), Residual(0.2)])


@either
@every_weight
def test_the_value_is_the_direction_less_what_is_due(constraint, weights):
    groups = Groups(IN_A, weights)
    known = constraint.on(Y, groups)
    w = np.ones(30) if weights is None else weights
    value = (w * known.direction(groups)) @ M - known.due
    assert known.value(M, groups) == pytest.approx(value)
    assert known.value(1e200 * M, groups, unit=1e200) == pytest.approx(value)
    # A constant more for everybody changes nothing.
    assert known.value(M + 5, groups) == pytest.approx(value)
    assert known.show(value, groups) == value


@pytest.mark.parametrize("epsilon", [0.0, 0.01, 0.5])
def test_the_band_forgives_rounding_and_no_more(epsilon):
    groups = Groups(IN_A)
    both, upper = Mean(epsilon).band(groups), Mean(epsilon, "upper").band(groups)
    assert both.low == -both.high
    assert both.high == upper.high == pytest.approx(epsilon, abs=1e-9)
    assert upper.low == pytest.approx(0, abs=1e-9)
    assert both.miss(epsilon) == both.miss(-epsilon) == upper.miss(0.0) == 0
    assert both.miss(epsilon + 2e-9) > 0 > both.miss(-epsilon - 2e-9)
    assert upper.miss(-2e-9) < 0


def test_the_one_searched_for_and_those_beside():
    rank, mean, residual = Rank(), Mean(), Residual()
    for order in ([rank, mean, residual], [mean, rank, residual]):
        assert main_and_beside(order) == (rank, (mean, residual))
    assert main_and_beside([residual, mean]) == (residual, (mean,))
    assert main_and_beside([rank]) == (rank, ())
    assert mean.linear and residual.linear and not rank.linear


def test_two_that_are_not_linear_are_refused():
    with pytest.raises(ValueError, match="at most one constraint besides") as error:
        main_and_beside([Rank(), Mean(), Rank(0.1)])
    words = str(error.value)
    assert "got Rank and Rank." in words and words.endswith("Keep one of these.")
