import numpy as np
import pytest

from rankfair.constraints import Linear, Mean, Rank, Residual, Within, main_and_beside
from rankfair.core.problem import Groups

rng = np.random.default_rng(0)
IN_A = np.arange(30) < 12
M, Y = rng.normal(size=(2, 30)) + IN_A
WEIGHTS = [None, rng.integers(1, 4, 30), rng.random(30)]
ROWS = np.arange(30) % 3 > 0


@pytest.mark.parametrize("weights", WEIGHTS)
@pytest.mark.parametrize(
    "constraint",
    [Mean(), Residual(), Within(rows=ROWS), Within(whole=Residual(), rows=ROWS)],
    ids=["mean", "residual", "mean within", "residual within"],
)
def test_the_value_is_the_direction_less_what_is_due(constraint, weights):
    groups = Groups(IN_A, weights)
    known = constraint.on(Y, groups)
    w = np.ones(30) if weights is None else weights
    value = (w * known.direction(groups)) @ M - known.due
    assert known.value(M, groups) == pytest.approx(value)
    assert known.value(1e200 * M, groups, unit=1e200) == pytest.approx(value)
    np.testing.assert_array_equal(
        known.gradient(M, groups), known.field(Y, groups)(M, groups)
    )
    np.testing.assert_array_equal(known.gradient(M, groups), known.direction(groups))
    np.testing.assert_array_equal(
        known.start(groups)(M, groups), known.direction(groups)
    )
    # A constant more for everybody changes nothing.
    assert known.value(M + 5, groups) == pytest.approx(value)
    assert known.show(value, groups) == value


@pytest.mark.parametrize(
    "constraint", [Mean(0.2), Residual(0.2), Within(0.2, rows=ROWS)]
)
def test_to_be_put_on_a_target_changes_nothing_else(constraint):
    known = constraint.on(Y, Groups(IN_A))
    assert type(known) is type(constraint)
    assert (known.epsilon, known.side) == (constraint.epsilon, constraint.side)
    twice = known.on(Y, Groups(IN_A))
    assert twice.due == pytest.approx(known.due)


def test_the_band_forgives_rounding_and_no_more():
    groups = Groups(IN_A)
    for epsilon in (0.0, 0.3):
        both, upper = Mean(epsilon), Mean(epsilon, "upper")
        assert tuple(both.allowed()) == (-epsilon, epsilon)
        assert tuple(upper.allowed()) == (0.0, epsilon)
        assert both.band(groups).low == pytest.approx(-epsilon, abs=1e-9)
        assert upper.band(groups).high == pytest.approx(epsilon, abs=1e-9)
        assert both.band(groups).miss(epsilon) == both.band(groups).miss(-epsilon) == 0


def test_the_one_searched_for_and_those_beside():
    rank, mean, residual = Rank(), Mean(), Residual()
    for order in ([rank, mean, residual], [mean, rank, residual]):
        assert main_and_beside(order) == (rank, (mean, residual))
    assert main_and_beside([residual, mean]) == (residual, (mean,))
    assert main_and_beside([rank]) == (rank, ())
    assert all(isinstance(each, Linear) for each in (mean, residual))


def test_two_that_are_not_linear_are_refused():
    with pytest.raises(ValueError, match="one constraint that is not linear") as error:
        main_and_beside([Rank(), Mean(), Rank(0.1)])
    words = str(error.value)
    assert "got Rank and Rank." in words and words.endswith(
        "Leave out all but one of these."
    )
