import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import norm

from oracles import brute_twice_u
from problems import tied as sample
from rankfair.constraints import Rank
from rankfair.core.problem import Groups


def swapped(groups):
    return Groups(~groups.in_a, groups.weights)


# The band


@given(
    n_a=st.integers(1, 400),
    n_b=st.integers(1, 400),
    epsilon=st.sampled_from([0.0, 0.001, 0.01, 0.05, 0.1, 0.25, 0.3, 0.5]),
)
def test_the_band_holds_the_counts_within_epsilon_and_no_others(n_a, n_b, epsilon):
    groups = Groups(np.arange(n_a + n_b) < n_a)
    low, high = Rank(epsilon).band(groups)
    pairs = n_a * n_b
    assert isinstance(low, int)
    assert low + high == 2 * pairs
    width = high - pairs
    # |2U / (2 pairs) − 1/2| ≤ ε in whole numbers, ε in thousandths, or one half pair
    thousandths = round(1000 * epsilon)
    assert width == 1 or 1000 * width <= 2 * thousandths * pairs
    assert 1000 * (width + 1) > 2 * thousandths * pairs


@pytest.mark.parametrize("epsilon", [0.0, 0.01, 0.2])
def test_the_upper_band_begins_at_one_half(epsilon):
    _, groups = sample()
    low, high = Rank(epsilon, "upper").band(groups)
    assert low == groups.total_a * groups.total_b
    assert high == Rank(epsilon).band(groups).high


def test_an_odd_number_of_pairs_still_has_a_value_in_the_band():
    groups = Groups(np.array([True, False, False, False]))
    rank = Rank(0.0)
    values = {
        rank.value(np.array([x, 1.0, 2.0, 3.0]), groups) for x in (0, 1.5, 2.5, 4)
    }
    assert any(rank.band(groups).miss(value) == 0 for value in values)


def test_epsilon_one_half_holds_everything():
    m, groups = sample()
    m = m + 100 * groups.in_a
    assert Rank(0.5).band(groups).miss(Rank(0.5).value(m, groups)) == 0


def test_real_weights_have_a_band_in_weight():
    _, groups = sample(weights="real")
    pairs = groups.total_a * groups.total_b
    low, high = Rank(0.1).band(groups)
    assert high - low == pytest.approx(max(0.4 * pairs, 2))
    assert low + high == pytest.approx(2 * pairs)


# The value


@pytest.mark.parametrize("weights", [None, "whole", "real"])
def test_the_value_counts_pairs(weights):
    m, groups = sample(weights=weights)
    value = Rank().value(m, groups)
    assert value == pytest.approx(brute_twice_u(m, groups.in_a, groups.weights))
    assert isinstance(value, float if weights == "real" else int)
    pairs = groups.total_a * groups.total_b
    assert Rank().show(value, groups) == pytest.approx(value / 2 / pairs)


@pytest.mark.parametrize("weights", [None, "whole", "real"])
def test_several_groups_are_counted_as_each_alone(weights):
    m, groups = sample(weights=weights)
    kinds = np.random.default_rng(2).integers(5, size=len(m))
    several = [Groups(kinds == g, groups.weights) for g in range(5)]
    found = Rank().values(m, several)
    alone = [Rank().value(m, each) for each in several]
    assert found == (pytest.approx(alone, rel=1e-12) if weights == "real" else alone)
    assert all(isinstance(it, float if weights == "real" else int) for it in found)


@pytest.mark.parametrize("weights", [None, "whole", "real"])
def test_swapped_groups_mirror_the_auc(weights):
    m, groups = sample(weights=weights)
    rank = Rank()
    auc = rank.show(rank.value(m, groups), groups)
    other = rank.show(rank.value(m, swapped(groups)), swapped(groups))
    assert auc + other == pytest.approx(1)


@pytest.mark.parametrize("weights", [None, "whole", "real"])
@pytest.mark.parametrize("n", [200, 3_000, 80_000])
def test_an_estimate_is_within_its_bound(n, weights):
    m, groups = sample(n, weights=weights)
    m = m + np.random.default_rng(1).normal(size=n)
    exact = Rank().value(m, groups)
    quick, bound = Rank().estimate(m, groups)
    assert abs(quick - exact) <= bound + 1e-9 * exact
    assert bound <= 1e-3 * exact
    assert (bound == 0) == (n < 80_000)


def test_differences_below_the_resolution_are_a_share_of_the_pairs():
    _, few = sample(9)
    _, many = sample(30_000)
    assert Rank().resolution(few) == 2
    pairs = many.total_a * many.total_b
    assert 2 < Rank().resolution(many) < 1e-4 * 2 * pairs


# The direction


def smooth_auc(m, groups, width):
    """AUC with every step replaced by a Gaussian one, over all pairs."""
    w = np.ones(len(m)) if groups.weights is None else groups.weights
    a, b = groups.in_a, ~groups.in_a
    steps = norm.cdf((m[a][:, None] - m[b]) / width)
    return w[a] @ steps @ w[b] / (w[a].sum() * w[b].sum())


@pytest.mark.parametrize("weights", [None, "whole", "real"])
@pytest.mark.parametrize("bandwidth", [0.1, 0.25, 1.0])
def test_the_field_is_the_derivative_of_a_smooth_auc(weights, bandwidth):
    m, groups = sample(weights=weights)
    w = np.ones(len(m)) if groups.weights is None else groups.weights.astype(float)
    spread = np.sqrt(np.cov(m, aweights=w, ddof=0))
    width, step = bandwidth * float(spread), 1e-5
    gradient = Rank(bandwidth=bandwidth).gradient(m, groups)
    wanted = np.zeros(len(m))
    for i in np.flatnonzero(w > 0):
        up, down = (m + sign * step * (np.arange(len(m)) == i) for sign in (1, -1))
        rise = smooth_auc(up, groups, width) - smooth_auc(down, groups, width)
        wanted[i] = rise / (2 * step) / w[i]
    seen = w > 0
    tolerance = 0.02 * np.abs(wanted).max()
    assert gradient[seen] == pytest.approx(wanted[seen], abs=tolerance)


@pytest.mark.parametrize("weights", [None, "whole", "real"])
def test_swapped_groups_negate_the_field(weights):
    m, groups = sample(weights=weights)
    gradient = Rank().gradient(m, groups)
    assert Rank().gradient(m, swapped(groups)) == pytest.approx(-gradient)


def test_whole_weights_mean_repeated_rows():
    m, groups = sample(weights="whole")
    often = np.repeat(np.arange(len(m)), groups.weights)
    repeated = Groups(groups.in_a[often])
    assert Rank().value(m, groups) == Rank().value(m[often], repeated)
    assert Rank(0.1).band(groups) == Rank(0.1).band(repeated)
    gradient = Rank().gradient(m, groups)
    tolerance = 0.02 * np.abs(gradient).max()
    again = Rank().gradient(m[often], repeated)
    assert again == pytest.approx(gradient[often], abs=tolerance)


def test_what_was_learnt_on_some_rows_can_be_asked_of_others():
    m, groups = sample(4_000)
    some = np.arange(0, 4_000, 2)
    field = Rank().field(m[some], Groups(groups.in_a[some]))
    gradient = Rank().gradient(m, groups)
    # Half the rows weigh twice as much each.
    assert field(m, groups) / 2 == pytest.approx(
        gradient, abs=0.1 * np.abs(gradient).max()
    )


def test_the_field_of_constant_predictions_is_the_first_direction():
    _, groups = sample()
    m = np.full(len(groups.in_a), 3.0)
    gradient = Rank().gradient(m, groups)
    assert np.array_equal(gradient, Rank().start(groups)(m, groups))


def test_the_first_direction_parts_the_means():
    m, groups = sample()
    g = Rank().start(groups)(m, groups)
    gap = m[groups.in_a].mean() - m[~groups.in_a].mean()
    assert g @ m == pytest.approx(gap)


@pytest.mark.parametrize("unit", [1e-100, 1e100])
def test_units_scale_the_field(unit):
    m, groups = sample()
    scaled = Rank().gradient(m * unit, groups) * unit
    gradient = Rank().gradient(m, groups)
    assert scaled == pytest.approx(gradient, abs=0.01 * np.abs(gradient).max())


def test_an_outlier_does_not_break_the_field():
    m, groups = sample()
    m[5] = 1e9
    gradient = Rank().gradient(m, groups)
    assert np.isfinite(gradient).all()
    assert (gradient[groups.in_a] >= 0).all()
    assert (gradient[~groups.in_a] <= 0).all()
