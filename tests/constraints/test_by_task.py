import numpy as np
import pytest

from rankfair.constraints import Mean, Rank, Residual
from rankfair.constraints.by_task import in_every_task
from rankfair.core.by_task import Segments
from rankfair.core.problem import Groups

rng = np.random.default_rng(1)
SIZES = np.array([1, 2, 2, 4, 7, 11])
N = int(SIZES.sum())
IN_A = rng.random(N) < 0.5
M, Y = np.round(rng.normal(size=(2, N)), 1) + IN_A
ROWS = np.split(np.arange(N), np.cumsum(SIZES)[:-1])
WEIGHTS = [None, rng.integers(1, 4, N), rng.random(N)]


def asked(constraint, weights=None):
    groups = Groups(IN_A, weights)
    return in_every_task(constraint, Segments(SIZES, groups), Y)


def alone(constraint, rows, weights=None):
    """The constraint on one task, and its groups; None if a group is missing."""
    groups = Groups(IN_A, weights).take(rows)
    if not (groups.total_a > 0 and groups.total_b > 0):
        return None
    return constraint.on(Y[rows], groups), groups


@pytest.mark.parametrize("weights", WEIGHTS)
@pytest.mark.parametrize("side", ["both", "upper"])
@pytest.mark.parametrize("epsilon", [0.0, 0.1])
@pytest.mark.parametrize("kind", [Rank, Mean, Residual])
def test_each_task_has_the_value_and_band_of_its_rows_alone(
    kind, epsilon, side, weights
):
    constraint = kind(epsilon, side)
    every = asked(constraint, weights)
    values, low, high = every.values(M), every.low, every.high
    shown, misses = every.show(values), every.misses(values)
    for j, rows in enumerate(ROWS):
        own = alone(constraint, rows, weights)
        if own is None:
            assert (low[j], high[j]) == (-np.inf, np.inf)
            assert np.isnan(shown[j]) and misses[j] == 0
            continue
        one, groups = own
        value = one.value(M[rows], groups)
        assert values[j] == pytest.approx(value, abs=1e-12)
        assert (low[j], high[j]) == pytest.approx(one.band(groups), abs=1e-9)
        assert shown[j] == pytest.approx(one.show(value, groups))
        assert misses[j] == pytest.approx(one.band(groups).miss(value), abs=1e-9)


@pytest.mark.parametrize("weights", WEIGHTS)
def test_differences_far_from_zero_keep_their_digits(weights):
    every, m = asked(Mean(), weights), np.round(8 * M) / 8
    far = every.values(m + 2.0**40)
    np.testing.assert_allclose(far, every.values(m), atol=1e-9)


@pytest.mark.parametrize("weights", WEIGHTS)
@pytest.mark.parametrize("constraint", [Mean(0.0), Residual(0.0)])
def test_the_direction_of_a_linear_constraint_is_its_derivative(constraint, weights):
    every = asked(constraint, weights)
    step = rng.normal(size=N)
    w = np.ones(N) if weights is None else weights
    rise = every.segments.total(every.direction * w * step)
    np.testing.assert_allclose(every.values(M + step) - every.values(M), rise)
