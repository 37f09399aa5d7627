import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import ndtr

from problems import tied as sample
from rankfair.constraints import Distribution, Mean, Rank, main_and_beside
from rankfair.constraints.rank import drawn_in
from rankfair.core.problem import Groups


def brute(m, groups):
    """The largest difference of shares up to a threshold, over all thresholds."""
    w = np.ones(len(m)) if groups.weights is None else groups.weights
    a, b = groups.in_a, ~groups.in_a
    found = []
    for t in m:
        below = m <= t
        found.append(w[a & below].sum() / w[a].sum() - w[b & below].sum() / w[b].sum())
    return np.abs(found).max()


@pytest.mark.parametrize("weights", [None, "whole", "real"])
@pytest.mark.parametrize("seed", range(5))
def test_the_value_is_the_largest_difference_of_shares(weights, seed):
    m, groups = sample(seed=seed, weights=weights)
    both = Distribution()
    value = both.value(m, groups)
    assert both.show(value, groups) == pytest.approx(brute(m, groups), abs=1e-12)
    assert isinstance(value, float if weights == "real" else int)
    swapped = Groups(~groups.in_a, groups.weights)
    assert both.value(m, swapped) == pytest.approx(value, abs=1e-9)
    assert both.value(-m, groups) == pytest.approx(value, abs=1e-9)


@given(
    n_a=st.integers(1, 300),
    n_b=st.integers(1, 300),
    epsilon=st.sampled_from([0.0, 0.001, 0.01, 0.05, 0.1, 0.25, 1.0]),
)
def test_the_band_is_epsilon_or_one_row(n_a, n_b, epsilon):
    low, high = Distribution(epsilon).band(Groups(np.arange(n_a + n_b) < n_a))
    thousandths, pairs = round(1000 * epsilon), n_a * n_b
    assert low == 0 and isinstance(high, int)
    assert high == max(thousandths * pairs // 1000, n_a, n_b)


def test_the_band_of_fractional_weights_is_that_of_the_heaviest_row():
    _, groups = sample(weights="real")
    w, a = groups.weights, groups.in_a
    high = Distribution(0.0).band(groups).high
    rows = max(w[a].max() / w[a].sum(), w[~a].max() / w[~a].sum())
    assert high == pytest.approx(rows * w[a].sum() * w[~a].sum())


@pytest.mark.parametrize("weights", [None, "whole", "real"])
@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_the_slope_is_the_derivative_of_the_smoothed_distance(weights, sign):
    m, groups = sample(weights=weights)
    m = sign * m + np.random.default_rng(1).normal(size=len(m)) * 1e-3
    both = Distribution()
    g = both.slope(m, groups)
    m, rate = drawn_in(m, groups.weights)
    w = np.ones(len(m)) if groups.weights is None else groups.weights
    width = both.bandwidth
    share = np.where(groups.in_a, -w / groups.total_a, w / groups.total_b)
    exact = [share[m <= t].sum() for t in m]
    at, side = m[np.abs(exact).argmax()], np.sign(exact[np.abs(exact).argmax()])

    def smoothed(m):
        return side * (share @ ndtr((at - m) / width))

    for i in range(0, len(m), 7):
        step = np.zeros(len(m))
        step[i] = 1e-5
        slope = (smoothed(m + step) - smoothed(m - step)) / 2e-5
        assert w[i] * g[i] == pytest.approx(slope * rate[i], abs=1e-8)


def test_ranks_beside_distributions_are_refused_with_the_reason():
    with pytest.raises(ValueError, match=r"must not hold both .* KS ≤ ε.* smaller"):
        main_and_beside([Rank(0.1), Distribution(0.1)])
    main, beside = main_and_beside([Mean(), Distribution(0.1)])
    assert isinstance(main, Distribution) and beside == (Mean(),)
