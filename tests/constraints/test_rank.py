import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import norm

from problems import tied as sample
from rankfair.constraints import Distribution, Mean, Rank, Residual
from rankfair.constraints.rank import drawn_in
from rankfair.core.problem import Groups

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


def test_real_weights_have_a_band_in_weight():
    _, groups = sample(weights="real")
    pairs = groups.total_a * groups.total_b
    low, high = Rank(0.1).band(groups)
    assert high - low == pytest.approx(max(0.4 * pairs, 2))
    assert low + high == pytest.approx(2 * pairs)


# The value


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
@pytest.mark.parametrize("n", [200, 3_000, 20_000])
def test_an_estimate_is_within_its_bound(n, weights):
    m, groups = sample(n, weights=weights)
    m = m + np.random.default_rng(1).normal(size=n)
    exact = Rank().value(m, groups)
    quick, bound = Rank().estimate(m, groups)
    assert abs(quick - exact) <= bound + 1e-9 * exact
    assert bound <= 1e-3 * exact
    assert (bound == 0) == (n < 20_000)


# The direction


def smooth_auc(m, groups, width):
    """AUC with every step replaced by a Gaussian one, over all pairs."""
    w = np.ones(len(m)) if groups.weights is None else groups.weights
    a, b = groups.in_a, ~groups.in_a
    steps = norm.cdf((m[a][:, None] - m[b]) / width)
    return w[a] @ steps @ w[b] / (w[a].sum() * w[b].sum())


@pytest.mark.parametrize("weights", [None, "whole", "real"])
@pytest.mark.parametrize("bandwidth", [0.1, 0.25, 1.0])
@pytest.mark.parametrize("heavy", [False, True], ids=["normal", "heavy tails"])
def test_the_slope_is_the_derivative_of_a_smooth_auc(weights, bandwidth, heavy):
    m, groups = sample(weights=weights)
    m = np.sinh(3 * m) if heavy else m
    w = np.ones(len(m)) if groups.weights is None else groups.weights.astype(float)
    (t, rate), width, step = drawn_in(m, groups.weights), bandwidth, 1e-5
    slope = Rank(bandwidth=bandwidth).slope(m, groups) / rate
    wanted = np.zeros(len(m))
    for i in np.flatnonzero(w > 0):
        up, down = (t + sign * step * (np.arange(len(t)) == i) for sign in (1, -1))
        rise = smooth_auc(up, groups, width) - smooth_auc(down, groups, width)
        wanted[i] = rise / (2 * step) / w[i]
    seen = w > 0
    tolerance = 0.02 * np.abs(wanted).max()
    assert slope[seen] == pytest.approx(wanted[seen], abs=tolerance)


@pytest.mark.parametrize("weights", [None, "whole", "real"])
def test_values_drawn_in_know_no_unit_and_are_their_own_in_the_middle(weights):
    m, groups = sample(weights=weights)
    m = m + np.random.default_rng(1).normal(size=len(m))
    t, rate = drawn_in(m, groups.weights)
    other, slower = drawn_in(70.0 * m - 3.0, groups.weights)
    np.testing.assert_allclose(other, t, atol=1e-9)
    np.testing.assert_allclose(70.0 * slower, rate)
    order = np.argsort(m)
    between = np.diff(t[order]) / np.diff(m[order])
    ends = rate[order][1:], rate[order][:-1]
    assert (between <= np.maximum(*ends) * (1 + 0.05)).all()
    assert (between >= np.minimum(*ends) * (1 - 0.05)).all()
    middle = np.abs(t) < 0.1
    assert rate[middle] == pytest.approx(rate.max(), rel=1e-2)
    s = np.subtract(*np.quantile(m, [0.75, 0.25], method="inverted_cdf")) / 1.349
    assert weights or rate.max() == pytest.approx(1 / s, rel=1e-3)


@pytest.mark.parametrize("weights", [None, "whole", "real"])
@pytest.mark.parametrize("kind", [Rank, Mean, Residual, Distribution])
def test_what_all_constraints_have_in_common(kind, weights):
    """Parity is the middle of the values shown, and the band lies around it."""
    m, groups = sample(weights=weights)
    both = Groups(
        np.repeat([True, False], len(m)),
        None if weights is None else np.tile(groups.weights, 2),
    )
    for constraint in (kind(0.1), kind(0.1, "upper")):
        same = constraint.value(np.tile(m, 2), both)
        assert constraint.show(same, both) == pytest.approx(constraint.middle)
        low, high = (constraint.show(end, both) for end in constraint.band(both))
        assert high - constraint.middle == pytest.approx(0.1, rel=1e-2)
        one_sided = constraint.side == "upper" or kind is Distribution
        assert low == pytest.approx(constraint.middle - (not one_sided) * 0.1, abs=1e-3)
        alone = [constraint.value(m, groups)] * 2
        assert constraint.values(m, [groups, groups]) == pytest.approx(alone)
    g = kind().direction(both)
    assert (g == np.where(both.in_a, *kind().levels(both))).all()
    w = np.ones(len(g)) if both.weights is None else both.weights
    assert (w * g).sum() == pytest.approx(0, abs=1e-9)
    assert (w * g)[both.in_a].sum() == pytest.approx(kind.sign)
    pairs, units = both.total_a * both.total_b, {Rank: 2.0, Distribution: 1.0}
    slack = 1e-6
    if kind in units:
        slack = units[kind] * max(both.pair, 5e-4 * pairs)
    assert kind().slack(both) == pytest.approx(slack)


def test_an_outlier_does_not_break_the_slope():
    m, groups = sample()
    before = Rank().slope(m, groups)
    m[5] = 1e9
    slope = Rank().slope(m, groups)
    rest = np.arange(len(m)) != 5
    assert slope[rest] == pytest.approx(before[rest], abs=0.2 * np.abs(before).max())
    assert np.isfinite(slope).all()
    assert (slope[groups.in_a] >= 0).all()
    assert (slope[~groups.in_a] <= 0).all()
