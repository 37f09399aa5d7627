import math

import numpy as np
import pytest
from sklearn.metrics import roc_auc_score

from rankfair.inference import auc_standard_error


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
