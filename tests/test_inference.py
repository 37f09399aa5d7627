import math

import numpy as np
import pytest
from scipy.stats import binomtest, brunnermunzel
from scipy.stats import t as student
from sklearn.metrics import roc_auc_score

from rankfair.stats import Spread, auc_spread, auc_standard_error, clusters_of


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


def obuchowski(m, in_a, clusters):
    """Formula (2) of Obuchowski (1997), cluster by cluster."""
    a, b = m[in_a], m[~in_a]
    auc = sum(points(x, z) for x in a for z in b) / (len(a) * len(b))
    labels = sorted(set(clusters.tolist()))
    of_a, of_b = [], []
    for label in labels:
        own_a, own_b = m[in_a & (clusters == label)], m[~in_a & (clusters == label)]
        of_a.append(sum(sum(points(x, z) for z in b) / len(b) - auc for x in own_a))
        of_b.append(sum(sum(points(x, z) for x in a) / len(a) - auc for z in own_b))
    i10 = len(set(clusters[in_a].tolist()))
    i01, both = len(set(clusters[~in_a].tolist())), len(labels)
    s10 = i10 / ((i10 - 1) * len(a)) * sum(v * v for v in of_a)
    s01 = i01 / ((i01 - 1) * len(b)) * sum(v * v for v in of_b)
    s11 = both / (both - 1) * sum(u * v for u, v in zip(of_a, of_b, strict=True))
    return math.sqrt(s10 / len(a) + s01 / len(b) + 2 * s11 / (len(a) * len(b)))


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("ties", [False, True])
def test_it_is_delong_pair_by_pair(seed, ties):
    m, in_a, _ = sample(seed, ties=ties)
    assert auc_standard_error(m, in_a) == pytest.approx(delong(m, in_a))


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("ties", [False, True])
@pytest.mark.parametrize("kind", [int, str, float])
def test_it_is_obuchowski_cluster_by_cluster(seed, ties, kind):
    m, in_a, clusters = sample(seed, ties=ties)
    wanted = obuchowski(m, in_a, clusters)
    assert auc_standard_error(m, in_a, clusters.astype(kind)) == pytest.approx(wanted)


def test_groups_constant_within_clusters_add_no_covariance():
    m, _, clusters = sample(0)
    in_a = clusters < 3
    wanted = obuchowski(m, in_a, clusters)
    assert auc_standard_error(m, in_a, clusters) == pytest.approx(wanted)


@pytest.mark.parametrize("seed", range(5))
def test_clusters_of_one_row_are_independent_rows(seed):
    m, in_a, _ = sample(seed, ties=seed > 2)
    alone = auc_standard_error(m, in_a, np.arange(len(m)))
    assert alone == pytest.approx(auc_standard_error(m, in_a))


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("clustered", [False, True])
def test_what_makes_no_difference(seed, clustered):
    m, in_a, clusters = sample(seed, ties=seed > 2)
    given = clusters if clustered else None
    found = auc_standard_error(m, in_a, given)
    order = np.random.default_rng(seed).permutation(len(m))
    for other, groups in (
        (np.exp(m), in_a),
        (-m, in_a),
        (m, ~in_a),
        (m.astype(np.float32) if seed > 2 else m, in_a),
    ):
        assert auc_standard_error(other, groups, given) == pytest.approx(found)
    shuffled = None if given is None else given[order]
    assert auc_standard_error(m[order], in_a[order], shuffled) == pytest.approx(found)


@pytest.mark.parametrize("clustered", [False, True])
def test_it_is_near_the_spread_of_many_samples(clustered):
    rng = np.random.default_rng(1)
    aucs, errors = [], []
    for _ in range(200):
        clusters = np.repeat(np.arange(40), 5)
        in_a = rng.random(200) < 0.5
        common = rng.normal(size=40)[clusters] if clustered else 0.0
        if clustered:  # the group is one of whole clusters, as in Crime and Income
            in_a = (rng.permutation(40) < 20)[clusters]
        m = common + rng.normal(size=200) + 0.5 * in_a
        aucs.append(roc_auc_score(in_a, m))
        errors.append(auc_standard_error(m, in_a, clusters if clustered else None))
    assert np.mean(errors) == pytest.approx(np.std(aucs), rel=0.2)


def test_rows_of_a_cluster_that_are_alike_count_once():
    m, in_a, _ = sample(3, n=60)
    clusters = np.arange(60)
    once = auc_standard_error(m, in_a, clusters)
    thrice = auc_standard_error(*(np.repeat(v, 3) for v in (m, in_a, clusters)))
    assert thrice == pytest.approx(once)
    assert auc_standard_error(np.repeat(m, 3), np.repeat(in_a, 3)) < 0.7 * once


@pytest.mark.parametrize("n_a", [0, 1, 9, 10])
def test_one_row_tells_nothing_of_the_spread(n_a):
    m, in_a = np.arange(10.0), np.arange(10) < n_a
    assert math.isnan(auc_standard_error(m, in_a))
    assert math.isnan(auc_standard_error(m, in_a, np.arange(10)))


def test_one_cluster_tells_nothing_of_the_spread():
    m, in_a, _ = sample(0)
    assert math.isnan(auc_standard_error(m, in_a, np.zeros(40)))
    assert math.isnan(auc_standard_error(m, in_a, in_a))
    assert math.isnan(auc_standard_error(m, in_a, np.where(in_a, 0, np.arange(40))))


def test_groups_apart_have_no_spread_left():
    in_a = np.arange(20) < 8
    assert auc_standard_error(10.0 * in_a, in_a) == 0
    assert auc_standard_error(10.0 * in_a, in_a, np.arange(20) // 2) == 0
    assert auc_standard_error(np.ones(20), in_a) == 0


def test_inputs_are_left_alone():
    m, in_a, clusters = sample(0)
    for array in (m, in_a, clusters):
        array.flags.writeable = False
    auc_standard_error(m, in_a, clusters)


# Limits of the population's AUC


@pytest.mark.parametrize("tiny", [1e-3, 1e-9, 1e-300])
def test_one_row_with_all_the_weight_says_nothing(tiny):
    m, in_a = np.array([1.0, 2.0, 1.5, 3.0]), np.array([True, True, False, False])
    spread = auc_spread(m, in_a, None, np.array([1.0, tiny, 1.0, 1.0]))
    assert not spread.estimable or spread.bound(0.95) == pytest.approx(0.5)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("ties", [False, True])
def test_spread_of_rows_is_delong_with_satterthwaite(seed, ties):
    m, in_a, _ = sample(seed, ties=ties)
    spread = auc_spread(m, in_a)
    assert spread.auc == pytest.approx(roc_auc_score(in_a, m))
    assert spread.se == pytest.approx(delong(m, in_a))
    # Brunner and Munzel's degrees of freedom, by SciPy's own formula.
    reference = brunnermunzel(m[~in_a], m[in_a], distribution="t")
    p = 2 * student.sf(abs(spread.auc - 0.5) / spread.se, spread.df)
    assert p == pytest.approx(reference.pvalue)


def test_clusters_of_one_size_and_group_give_obuchowski():
    rng = np.random.default_rng(0)
    clusters = np.repeat(np.arange(12), 4)
    in_a = clusters < 6
    m = rng.normal(size=48) + rng.normal(size=12)[clusters]
    spread = auc_spread(m, in_a, clusters)
    assert spread.se == pytest.approx(obuchowski(m, in_a, clusters))
    assert (spread.units, spread.n_clusters) == (pytest.approx(6), 12)


def test_a_cluster_of_each_row_changes_nothing():
    m, in_a, _ = sample(1)
    rows, clusters = auc_spread(m, in_a), auc_spread(m, in_a, np.arange(len(m)))
    assert clusters.se == pytest.approx(rows.se)
    assert clusters.df == pytest.approx(rows.df)
    assert clusters.bound(0.95) == pytest.approx(rows.bound(0.95))


def test_weights_of_one_size_change_nothing_and_others_move_the_auc():
    m, in_a, clusters = sample(2, ties=True)
    equal = auc_spread(m, in_a, weights=np.full(len(m), 3.0))
    plain = auc_spread(m, in_a)
    assert (equal.auc, equal.se) == (pytest.approx(plain.auc), pytest.approx(plain.se))
    weights = np.random.default_rng(0).integers(1, 4, len(m)).astype(float)
    expected = roc_auc_score(in_a, m, sample_weight=weights)
    assert auc_spread(m, in_a, weights=weights).auc == pytest.approx(expected)
    assert auc_spread(m, in_a, clusters, weights).auc == pytest.approx(expected)


def test_weights_are_repeats_within_a_cluster():
    m, in_a, clusters = sample(3)
    weights = np.random.default_rng(1).integers(1, 4, len(m))
    again = np.repeat(np.arange(len(m)), weights)
    once = auc_spread(m, in_a, clusters, weights.astype(float))
    repeated = auc_spread(m[again], in_a[again], clusters[again])
    assert once.se == pytest.approx(repeated.se)


def test_swapping_groups_mirrors_the_limits():
    m, in_a, clusters = sample(4)
    for labels in (None, clusters):
        one, other = auc_spread(m, in_a, labels), auc_spread(m, ~in_a, labels)
        assert one.bound(0.9) == pytest.approx(other.bound(0.9))
        low, high = one.interval(0.9)
        assert other.interval(0.9) == pytest.approx((1 - high, 1 - low))


@pytest.mark.parametrize("auc", [0.5, 0.7, 0.97])
@pytest.mark.parametrize("units", [5, 30, 5000])
def test_more_confidence_is_wider_and_the_bound_is_within_the_interval(auc, units):
    spread = Spread(auc, 0.3 / math.sqrt(units), units, units, units)
    bounds = [spread.bound(c) for c in (0.5, 0.9, 0.95, 0.999)]
    assert bounds == sorted(bounds)
    assert abs(auc - 0.5) - 1e-12 <= bounds[0] and bounds[-1] <= 0.5
    low, high = spread.interval(0.95)
    assert 0 <= low < auc < high <= 1
    # One-sided limits with all of the doubt are inside two-sided ones with half of it.
    assert spread.bound(0.95) < max(high - 0.5, 0.5 - low)


@pytest.mark.parametrize("n", [2, 10, 1000])
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
        auc_spread(m, m > 2, np.array([0, 0, 0, 1, 1, 2])),
    ):
        assert not spread.estimable
        assert math.isnan(spread.bound(0.95))
        assert all(map(math.isnan, spread.interval(0.95)))


def test_clusters_are_chosen_by_how_tasks_hold_the_groups():
    in_a = np.arange(40) % 2 == 0
    assert clusters_of(None, in_a)[:2] == (None, None)
    apart = np.arange(40) % 2 + 2 * (np.arange(40) // 8)
    needed, possible, why = clusters_of(apart, in_a)
    assert needed is apart and possible is None and "clusters" in why
    few, many = np.arange(40) // 20, np.arange(40) // 4
    assert clusters_of(few, in_a)[:2] == (None, None)
    needed, possible, _ = clusters_of(many, in_a)
    assert needed is None and possible is many


def test_mixed_clusters_that_cancel_have_no_spread_below_zero():
    # Each task holds the same two predictions: the groups' placements cancel exactly.
    clusters = np.repeat(np.arange(10), 2)
    in_a = np.arange(20) % 2 == 0
    m = np.repeat(np.arange(10.0), 2)
    spread = auc_spread(m, in_a, clusters)
    assert spread.se >= 0 and spread.auc == 0.5
    assert 0 < spread.bound(0.95) <= 0.5
