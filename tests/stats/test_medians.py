"""Gaps of medians and relative gaps against numpy, repeats of rows and a bootstrap."""

import numpy as np
import pytest
from scipy.stats import norm

from rankfair.stats.estimate import TwoGroups
from rankfair.stats.means import relative_gap
from rankfair.stats.medians import Quantiles, median_gaps


def two(n_a, n_b, tasks=None, weights=None):
    in_a = np.arange(n_a + n_b) < n_a
    return TwoGroups.of(in_a, tasks, weights)


@pytest.mark.parametrize("unit", [1.0, 0.1])
def test_quantiles_are_numpys_of_repeated_values(unit):
    """Weights are known but for rounding."""
    rng = np.random.default_rng(0)
    for n in (1, 2, 7, 20):
        values, often = rng.integers(-5, 6, n) / 2, rng.integers(1, 4, n)
        repeated, found = np.repeat(values, often), Quantiles.of(values, unit * often)
        for share in (0.0, 0.1, 0.25, 0.3, 0.5, 0.75, 0.9, 1.0):
            wanted = np.quantile(repeated, share, method="averaged_inverted_cdf")
            assert found.at(share) == Quantiles.of(repeated).at(share) == wanted
        assert found.at() == np.median(repeated)


def median_gap(a, b, groups):
    return median_gaps(a, b, groups, 0.95)[2]


def shares(a, b, groups):
    return relative_gap(a, b, groups, 0.95), median_gaps(a, b, groups, 0.95)[3]


def ends(estimate):
    return np.array([estimate.value, estimate.ci_low, estimate.ci_high])


@pytest.mark.parametrize("k", [None, 30])
def test_the_interval_is_about_as_wide_as_a_bootstrap_by_hand(k):
    rng, n, tasks = np.random.default_rng(0), 400, None
    y = np.exp(rng.normal(size=2 * n) * 0.5)
    if k is not None:
        tasks = np.concatenate([rng.integers(0, k, n) + i * k for i in (0, 1)])
        y *= np.exp(0.4 * rng.normal(size=2 * k))[tasks]
    a, b = y[:n], y[n:]
    found = median_gap(a, b, two(n, n, tasks))
    drawn = []
    for _ in range(500):
        if k is None:
            one, other = rng.choice(a, n), rng.choice(b, n)
        else:
            picks = rng.integers(0, k, k), k + rng.integers(0, k, k)
            one, other = (np.concatenate([y[tasks == t] for t in p]) for p in picks)
        drawn.append(np.median(one) - np.median(other))
    low, high = np.quantile(drawn, (0.025, 0.975))
    assert found.ci_high - found.ci_low == pytest.approx(high - low, rel=0.25)
    assert found.value == np.median(a) - np.median(b)


def test_groups_swapped_units_changed_and_rows_shuffled():
    rng = np.random.default_rng(1)
    a, b = np.exp(rng.normal(size=(2, 60)))
    found = ends(median_gap(a, b, two(60, 60)))
    swapped = ends(median_gap(b, a, two(60, 60)))
    np.testing.assert_allclose(found, -swapped[[0, 2, 1]])
    scaled = ends(median_gap(1e3 * a + 7, 1e3 * b + 7, two(60, 60)))
    np.testing.assert_allclose(scaled, 1e3 * found)
    mixed = ends(median_gap(rng.permutation(a), rng.permutation(b), two(60, 60)))
    np.testing.assert_allclose(mixed, found)


def test_relative_gaps_know_no_unit_and_follow_the_delta_method():
    rng = np.random.default_rng(2)
    a, b = 0.9 * np.exp(0.3 * rng.normal(size=300)), np.exp(0.3 * rng.normal(size=300))
    groups = two(300, 300)
    of_means, of_medians = shares(a, b, groups)
    for one, other in zip(
        (of_means, of_medians), shares(12 * a, 12 * b, groups), strict=True
    ):
        np.testing.assert_allclose(ends(one), ends(other))
    assert of_means.value == pytest.approx(a.mean() / b.mean() - 1)
    assert of_medians.value == pytest.approx(np.median(a) / np.median(b) - 1)
    ratio = a.mean() / b.mean()
    se = ratio * np.hypot(a.std(ddof=1) / a.mean(), b.std(ddof=1) / b.mean()) / 300**0.5
    half = (of_means.ci_high - of_means.ci_low) / 2
    assert half == pytest.approx(1.96 * se, rel=0.01)
    assert of_means.p_value == pytest.approx(2 * norm.sf(-of_means.value / se), rel=0.2)


def test_what_has_no_interval_says_why():
    groups = two(20, 20)
    of_means, of_medians = shares(np.ones(20), np.linspace(-5, 1, 20), groups)
    assert not of_means.estimable and "not above 0" in of_means.note
    assert not of_medians.estimable and "not above 0" in of_medians.note
    one = two(1, 3)
    assert "one row only" in median_gap(np.ones(1), np.arange(3.0), one).note
    tied = median_gap(np.ones(50), np.ones(50), two(50, 50))
    assert (tied.value, tied.ci_low, tied.ci_high) == (0.0, 0.0, 0.0)
