"""The AUC of two groups: its variance, the score interval and the safe bound."""

import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy import stats
from scipy.integrate import quad
from scipy.stats import binomtest, brunnermunzel
from scipy.stats import t as student
from sklearn.metrics import roc_auc_score

from comparisons import estimate, samples, shifted
from rankfair.stats.auc import (
    GroupSpread,
    Prior,
    ScoreModel,
    auc_spread,
    tied_share,
)
from rankfair.stats.certificate import certify_predictions
from rankfair.stats.estimate import Difference, Estimate, TwoGroups
from rankfair.stats.ordered import placements

# Rows of either group, and the share of each at the levels 0, 1, …
DESIGNS = {
    "5 v 2000": (5, 2000, [0.7, 0.3], [0.95, 0.05]),
    "2000 v 20": (2000, 20, [0.99, 0.01], [0.9, 0.1]),
    "200 v 200": (200, 200, [0.3, 0.3, 0.2, 0.2], [0.4, 0.3, 0.2, 0.1]),
}


def sample(seed, n=40, ties=False):
    rng = np.random.default_rng(seed)
    in_a = rng.permutation(np.arange(n) < n // 3)
    m = rng.normal(size=n) + 0.6 * in_a
    return (np.round(2 * m) if ties else m), in_a, rng.integers(0, 8, n)


def points(value, other):
    return float(value > other) + 0.5 * float(value == other)


def delong(m, in_a):
    """The standard error, pair by pair."""
    a, b = m[in_a], m[~in_a]
    v10 = [sum(points(x, z) for z in b) / len(b) for x in a]
    v01 = [sum(points(x, z) for x in a) / len(a) for z in b]
    auc = sum(v10) / len(a)
    s10 = sum((v - auc) ** 2 for v in v10) / (len(a) - 1)
    s01 = sum((v - auc) ** 2 for v in v01) / (len(b) - 1)
    return math.sqrt(s10 / len(a) + s01 / len(b))


def left_out(m, in_a, clusters):
    """A jackknife: how the mean placement of a group moves without each cluster."""
    beats = (m[in_a, None] > m[~in_a]) + 0.5 * (m[in_a, None] == m[~in_a])
    moves = []
    for group, axis in ((in_a, 1), (~in_a, 0)):
        placed, of = beats.mean(axis=axis), clusters[group]
        present = np.unique(of)
        moved = [placed[of != t].mean() for t in np.unique(clusters)]
        moved = np.nan_to_num(np.array(moved) - beats.mean())
        moves.append(moved * math.sqrt(1 - 1 / len(present)))
    return math.sqrt(sum(moves) @ sum(moves))


# The variance


@pytest.mark.parametrize(("seed", "kind"), list(enumerate([int, str, float])))
def test_over_clusters_it_is_a_jackknife_of_the_placements(seed, kind):
    """Clusters of any size that mix the groups, whatever their labels."""
    m, in_a, clusters = sample(seed, ties=seed > 0)
    found = auc_spread(m, in_a, clusters.astype(kind))
    assert found.se == pytest.approx(left_out(m, in_a, clusters))


@pytest.mark.parametrize(("seed", "clustered"), [(0, True), (3, False), (4, True)])
def test_what_makes_no_difference(seed, clustered):
    m, in_a, clusters = sample(seed, ties=seed > 2)
    given = clusters if clustered else None
    spread = auc_spread(m, in_a, given)
    found, (low, high) = spread.se, spread.interval(0.9)
    for other in (auc_spread(m, ~in_a, given), auc_spread(-m, in_a, given)):
        assert other.interval(0.9) == pytest.approx((1 - high, 1 - low))
    order = np.random.default_rng(seed).permutation(len(m))
    for other, groups in (
        (np.exp(m), in_a),
        (-m, in_a),
        (m, ~in_a),
        (m.astype(np.float32) if seed > 2 else m, in_a),
    ):
        assert auc_spread(other, groups, given).se == pytest.approx(found)
    shuffled = None if given is None else given[order]
    assert auc_spread(m[order], in_a[order], shuffled).se == pytest.approx(found)


# The safe bound


@pytest.mark.parametrize("ties", [False, True])
def test_spread_of_rows_is_delong_with_satterthwaite(ties):
    m, in_a, _ = sample(0, ties=ties)
    spread = auc_spread(m, in_a)
    assert spread.auc == pytest.approx(roc_auc_score(in_a, m))
    assert spread.se == pytest.approx(delong(m, in_a))
    # Brunner and Munzel's degrees of freedom, by SciPy's own formula.
    reference = brunnermunzel(m[~in_a], m[in_a], distribution="t")
    p = 2 * student.sf(abs(spread.auc - 0.5) / spread.se, spread.df)
    assert p == pytest.approx(reference.pvalue)


def test_weights_are_repeats_within_a_cluster():
    """Tasks of one group each: their variance is the same; only rows count less."""
    rng = np.random.default_rng(1)
    clusters = np.repeat(np.arange(40), 3)
    in_a, m = clusters % 2 == 0, rng.normal(size=120)
    weights = rng.integers(1, 4, 120)
    again = np.repeat(np.arange(120), weights)
    placed = placements(m, in_a, weights.astype(float))
    groups = TwoGroups.of(in_a, clusters, weights.astype(float))
    once = Difference.of(*placed, groups, clustered=True)
    repeated = auc_spread(m[again], in_a[again], clusters[again])
    assert once.se == pytest.approx(repeated.se)


@pytest.mark.parametrize(("n", "by"), [(5, 1.2), (30, 0.0), (5000, 0.7)])
def test_more_confidence_is_wider_and_the_bound_is_within_the_interval(n, by):
    m, in_a = shifted(n, n, by)
    spread = auc_spread(m, in_a)
    bounds = [spread.bound(c) for c in (0.5, 0.9, 0.95, 0.999)]
    assert bounds == sorted(bounds)
    assert abs(spread.auc - 0.5) - 1e-12 <= bounds[0] and bounds[-1] <= 0.5
    low, high = spread.interval(0.95)
    assert 0 <= low < spread.auc < high <= 1
    # One-sided limits with all of the doubt are inside two-sided ones with half of it.
    assert spread.bound(0.95) < max(high - 0.5, 0.5 - low)


@pytest.mark.parametrize("n", [2, 1000])
def test_without_overlap_the_limit_is_clopper_and_pearsons(n):
    in_a = np.arange(2 * n) < n
    spread = auc_spread(-np.arange(2.0 * n), ~in_a)
    assert spread.exact and spread.auc == 0.0
    exact = binomtest(0, n).proportion_ci(0.95, "exact")
    assert spread.interval(0.95) == pytest.approx((0.0, exact.high))
    assert spread.bound(0.95) == 0.5
    assert auc_spread(np.arange(2.0 * n), ~in_a).interval(0.95)[1] == 1.0


def test_constant_predictions_have_hoeffdings_limits():
    spread = auc_spread(np.zeros(400), np.arange(400) < 200)
    assert spread.exact and spread.auc == 0.5
    bound = spread.bound(0.95)
    # KL(1/2, 1/2 + b) = log(1/α) / n
    assert -0.5 * math.log(1 - 4 * bound**2) == pytest.approx(math.log(20) / 200)
    assert auc_spread(np.zeros(4), np.arange(4) < 2).bound(0.9999) <= 0.5


def test_one_row_or_cluster_is_not_estimable():
    m = np.arange(6.0)
    for spread in (
        auc_spread(m, m > 4),
        auc_spread(m, m < 1, np.arange(6)),
        auc_spread(m, m > 2, np.array([0, 0, 0, 1, 1, 2])),
        auc_spread(m, m > 2, m > 2),
        auc_spread(m, m > 2, np.zeros(6)),
    ):
        assert not spread.estimable
        assert math.isnan(spread.bound(0.95))
        assert all(map(math.isnan, spread.interval(0.95)))


def test_mixed_clusters_that_cancel_have_no_spread_below_zero():
    # Each task holds the same two predictions: the groups' placements cancel exactly.
    clusters = np.repeat(np.arange(10), 2)
    in_a = np.arange(20) % 2 == 0
    m = np.repeat(np.arange(10.0), 2)
    spread = auc_spread(m, in_a, clusters)
    assert spread.se >= 0 and spread.auc == 0.5
    assert 0 < spread.bound(0.95) <= 0.5


def population(of_a, of_b):
    lower = np.cumsum(of_b) - of_b
    return float(np.dot(of_a, lower + np.array(of_b) / 2))


@pytest.mark.parametrize("design", DESIGNS)
def test_bound_and_interval_hold_where_most_rows_tie(design):
    n_a, n_b, of_a, of_b = DESIGNS[design]
    rng, sets = np.random.default_rng(0), 200
    theta, in_a = population(of_a, of_b), np.arange(n_a + n_b) < n_a
    held = inside = 0
    for _ in range(sets):
        a, b = rng.choice(len(of_a), n_a, p=of_a), rng.choice(len(of_b), n_b, p=of_b)
        found = certify_predictions(np.concatenate((a, b)).astype(float), in_a)
        held += found.bound >= abs(theta - 0.5)
        inside += found.interval[0] <= theta <= found.interval[1]
    assert held >= 0.93 * sets and inside >= 0.93 * sets


def test_rows_at_one_level_say_what_a_share_of_none_says():
    """Clopper and Pearson: at most 1 − 0.05^(1/n) of the population are elsewhere."""
    n = 20
    m = np.concatenate((np.ones(n), np.arange(5_000) % 3))
    in_a = np.arange(len(m)) < n
    elsewhere = 1.0 - 0.05 ** (1 / n)
    bound = auc_spread(m, in_a).bound(0.95)
    assert bound == pytest.approx(elsewhere / 2, rel=0.2)


def test_without_ties_nothing_changes():
    rng = np.random.default_rng(1)
    m, in_a = rng.normal(size=60), np.arange(60) < 20
    assert auc_spread(m, in_a).ties == (0.0, 0.0)
    # Rows that share a value within a cluster are no ties: that is what clusters are.
    tasks = np.arange(60) // 5
    assert auc_spread(m[tasks], in_a, tasks).ties == (0.0, 0.0)
    tied = auc_spread(m.round(1), in_a)
    assert tied.se == pytest.approx(delong(m.round(1), in_a))
    assert tied.bound(0.95) > replace(tied, ties=(0.0, 0.0)).bound(0.95)


@settings(max_examples=30, deadline=None)
@given(
    arrays(np.float64, 9, elements=st.integers(0, 5).map(float)),
    arrays(np.intp, 9, elements=st.integers(0, 3)),
)
def test_the_share_is_that_of_all_pairs_of_different_units(values, units):
    for of_rows, u in ((None, np.arange(9)), (units, units)):
        apart = u[:, None] != u
        tied = apart & (values[:, None] == values)
        expected = tied.sum() / apart.sum() if apart.any() else 0.0
        assert tied_share(values, of_rows) == pytest.approx(expected, abs=1e-12)


# The score interval


@settings(max_examples=25, deadline=None)
@given(samples(), st.integers(0, 2**32 - 1))
def test_weighted_auc_is_that_of_scikit_learn(case, seed):
    m, in_a = case
    w = np.random.default_rng(seed).random(len(m)) + 0.1
    found = estimate(m, in_a, weights=w).value
    assert found == pytest.approx(roc_auc_score(in_a, m, sample_weight=w))


@settings(max_examples=25, deadline=None)
@given(samples())
def test_intervals_hold_the_count_and_are_never_of_zero_width(case):
    found = estimate(*case)
    if found.estimable:
        assert 0 <= found.ci_low <= found.value <= found.ci_high <= 1
        assert found.ci_high - found.ci_low > 0.01
        assert 0 <= found.p_value <= 1
    else:
        assert found.note and found.p_value is None


def test_the_model_is_that_of_two_normal_groups():
    """The share of two rows that both win, by numerical integration."""
    mu, n_a, n_b = 0.8, 30, 50
    theta = stats.norm.cdf(mu / math.sqrt(2))
    win = quad(lambda y: stats.norm.cdf(mu - y) ** 2 * stats.norm.pdf(y), -9, 9)[0]
    common = (theta * (1 - theta) - 2 * (win - theta**2)) / (n_a * n_b)
    of_a, of_b = ((win - theta**2) / n + common for n in (n_a, n_b))
    for times in (1.0, 2.0):
        a = GroupSpread(times * of_a, n_a - 1.0, n_a)
        b = GroupSpread(times * of_b, n_b - 1.0, n_b)
        # Without a prior the observed variances count, with a heavy one the model's.
        for prior, wanted in (((0.0, 0.0), times), ((1e9, 0.0), 1.0)):
            model = ScoreModel(theta, a, b, Prior(*prior))
            variance = wanted * (of_a + of_b - common)
            assert model.variance(theta) == pytest.approx(variance, rel=1e-6)
            df = (of_a + of_b) ** 2 / (of_a**2 / a.df + of_b**2 / b.df)
            t = (theta - 0.5) / math.sqrt(model.variance(0.5))
            assert model.p_value() == pytest.approx(2 * student.sf(t, df), rel=1e-6)
            low, high = model.interval(0.9)
            for end in (low, high):
                t = (theta - end) / math.sqrt(model.variance(end))
                assert 2 * student.sf(abs(t), df) == pytest.approx(0.1, rel=1e-4)
            mirrored = ScoreModel(1 - theta, b, a, Prior(*prior)).interval(0.9)
            assert mirrored == pytest.approx((1 - high, 1 - low))


def test_what_shows_no_spread_has_no_interval_unless_groups_are_apart():
    in_a = np.arange(40) < 20
    flat, apart = estimate(np.zeros(40), in_a), estimate(np.arange(40.0), in_a)
    assert "no row is placed differently" in flat.note and flat.value == 0.5
    assert apart.estimable and apart.value == 0.0 and not apart.note
    # The smaller group says how sure that is, as for Clopper and Pearson's interval.
    few, many = GroupSpread(0.0, 2.0, 3.0), GroupSpread(0.0, 49.0, 50.0)
    for pair in ((few, many), (many, few)):
        model = ScoreModel(1.0, *pair)
        assert model.p_value() == pytest.approx(2 * 0.5**3)
        assert model.interval(0.95)[0] <= 0.025 ** (1 / 3) + 1e-9


def test_where_tasks_mix_the_groups_the_wider_interval_counts():
    rng = np.random.default_rng(0)
    tasks, in_a = np.arange(600) // 30, rng.random(600) < 0.5
    alike, signs = rng.normal(size=600), rng.choice([-1, 1], 20)[tasks]
    for m, words in ((alike - 0.7 * in_a, "DeLong"), (alike + 3 * in_a * signs, "20")):
        rows, both = estimate(m, in_a), estimate(m, in_a, tasks)
        assert words in both.method
        width = both.ci_high - both.ci_low
        assert width >= rows.ci_high - rows.ci_low
        assert (width > rows.ci_high - rows.ci_low) == (words == "20")


@settings(max_examples=15, deadline=None)
@given(samples(least=30, most=50))
def test_large_groups_have_scipys_normal_p_value(case):
    m, in_a = case
    if np.ptp(m) == 0:
        return
    wanted = stats.mannwhitneyu(m[in_a], m[~in_a], method="asymptotic").pvalue
    found = estimate(m, in_a)
    if found.estimable:
        assert found.p_value == pytest.approx(wanted)


def test_an_estimate_is_short_whatever_its_size():
    for scale in (1e-100, 1e-5, 1.0, 1e5, 1e100):
        made = Estimate(scale, 0.9 * scale, 1.1 * scale)
        assert len(str(made)) < 50
        assert float(str(made).partition(" ")[0]) == pytest.approx(scale)
    assert str(Estimate(0.0, -0.5, 0.25)) == "0.000 (-0.500 to 0.250)"
