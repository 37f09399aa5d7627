"""Limits, tests and clusters against SciPy, brute force and known populations."""

import math

import numpy as np
import pytest
from scipy.special import expit, logit
from scipy.stats import (
    binomtest,
    norm,
    wasserstein_distance,
)
from scipy.stats import t as student

import audited
from rankfair.stats.certificate import certify_predictions


def compared(m, in_a, tasks=None, weights=None):
    return audited.compared(m, in_a, tasks=tasks, sample_weight=weights)


def sample(kind, seed=0, n=465):
    """Predictions, groups and tasks: none, of one group each, or mixing the groups."""
    rng = np.random.default_rng(seed)
    tasks = np.repeat(np.arange(30), n // 465 * np.arange(1, 31))  # 30 times larger
    in_a = tasks % 2 == 0 if kind == "apart" else rng.random(n) < 0.4
    m = rng.normal(size=n) + 0.4 * in_a
    if kind != "rows":
        m += 0.7 * rng.normal(size=30)[tasks] + rng.normal(size=30)[tasks] * in_a
    return m, in_a, None if kind == "rows" else tasks


# Distances, by drawing rows and whole tasks one by one


def gap_of(m, in_a, grid, weights):
    """``F_A − F_B`` at each point of the grid."""
    below = m[:, None] <= grid
    shares = [np.average(below[g], axis=0, weights=weights[g]) for g in (in_a, ~in_a)]
    return shares[0] - shares[1]


def drawn(m, in_a, tasks, weights, how, rng):
    """One bootstrap sample of rows, of tasks, or of tasks of either group."""
    if how == "rows":
        at = []
        for g in (in_a, ~in_a):
            own, w = np.flatnonzero(g), weights[g]
            size = round(w.sum() ** 2 / (w @ w))
            at.append(rng.choice(own, size, p=w / w.sum()))
        at = np.concatenate(at)
        return m[at], in_a[at], np.ones(len(at))
    if how == "apart":
        both = [
            rng.choice(t, len(t)) for t in map(np.unique, (tasks[in_a], tasks[~in_a]))
        ]
        labels = np.concatenate(both)
    else:
        labels = rng.choice(np.unique(tasks), len(np.unique(tasks)))
    at = np.concatenate([np.flatnonzero(tasks == t) for t in labels])
    return m[at], in_a[at], weights[at]


@pytest.mark.parametrize("kind", ["rows", "weights", "apart", "mixed"])
def test_limits_of_distances_are_those_of_a_bootstrap_by_hand(kind):
    m, in_a, tasks = sample("rows" if kind == "weights" else kind, seed=2)
    rng = np.random.default_rng(1)
    weights = rng.random(len(m)) ** 2 + 0.05 if kind == "weights" else np.ones(len(m))
    found = compared(m, in_a, tasks, weights if kind == "weights" else None)
    a, b, w_a, w_b = m[in_a], m[~in_a], weights[in_a], weights[~in_a]
    assert found.wasserstein.value == pytest.approx(
        wasserstein_distance(a, b, w_a, w_b)
    )
    grid = np.sort(m)
    counted = gap_of(m, in_a, grid, weights)
    assert found.ks.value == pytest.approx(np.abs(counted).max())
    ways = {"apart": ["apart"], "mixed": ["rows", "mixed"]}.get(kind, ["rows"])
    far = []
    for how in ways:
        off = [
            gap_of(*again[:2], grid, again[2]) - counted
            for again in (drawn(m, in_a, tasks, weights, how, rng) for _ in range(300))
        ]
        off = np.abs(off)
        far.append((off.max(axis=1), off[:, :-1] @ np.diff(grid)))
    ks, moved = (max(np.quantile(way[i], 0.95) for way in far) for i in (0, 1))
    assert found.ks.ci_high - found.ks.value == pytest.approx(ks, rel=0.2)
    assert found.ks.value - found.ks.ci_low == pytest.approx(
        min(ks, found.ks.value), rel=0.2
    )
    reach = found.wasserstein.ci_high - found.wasserstein.value
    assert reach == pytest.approx(moved, rel=0.2)


# Which tasks are clusters


@pytest.mark.parametrize(
    ("alone", "mixed", "clusters"), [(60, 60, True), (58, 60, False)]
)
def test_most_rows_means_half_of_them_or_more(alone, mixed, clusters):
    """Rows in tasks of one group, and in tasks of both; tasks of two rows each."""
    n = alone + mixed
    tasks = np.arange(n) // 2
    in_a = np.arange(n) % 2 == 0
    in_a[:alone] = np.arange(alone) // 2 % 2 == 0
    m = np.random.default_rng(0).normal(size=n)
    found = certify_predictions(m, in_a, tasks)
    assert found.notes[0].startswith("Most rows are in tasks of one") == clusters
    assert ("tasks" in compared(m, in_a, tasks).auc.method) or not clusters


def test_a_group_whose_tasks_have_one_row_says_nothing_of_how_alike_rows_are():
    """Each group's variance over its tasks, by hand, and the normal law."""
    rng = np.random.default_rng(3)
    tasks = np.concatenate((np.arange(400), 400 + np.repeat(np.arange(20), 100)))
    in_a = np.arange(len(tasks)) < 400
    m = rng.normal(size=len(tasks)) + 0.25 * rng.normal(size=420)[tasks]
    found = compared(m, in_a, tasks).auc
    above = (m[in_a, None] > m[~in_a]).mean(axis=1)
    below = (m[in_a, None] > m[~in_a]).mean(axis=0)
    means = below.reshape(20, 100).mean(axis=1)
    variance = above.var(ddof=1) / 400 + means.var(ddof=1) / 20
    width = 2 * norm.ppf(0.975) * math.sqrt(variance)
    assert found.ci_high - found.ci_low == pytest.approx(width, rel=0.1)


# What is not known


def test_what_tasks_do_not_show_is_taken_from_the_rows():
    """Many tasks, but one has all the weight: over tasks nothing is known."""
    m, in_a, tasks = sample("mixed")
    weights = np.where(tasks == 3, 1.0, 1e-13)
    m, in_a = np.tile(m, 5), np.tile(in_a, 5)
    tasks, weights = np.tile(tasks, 5), np.tile(weights, 5)
    found, rows = compared(m, in_a, tasks, weights), compared(m, in_a, None, weights)
    for name in ("auc", "mean_difference", "share_above_median", "impact_ratio"):
        one, other = getattr(found, name), getattr(rows, name)
        assert one.estimable
        assert (one.ci_low, one.ci_high) == pytest.approx((other.ci_low, other.ci_high))


# The certificate, from its formulas


def by_hand(m, in_a, tasks, df_of):
    """AUC, standard error and degrees of freedom: leave out one task after another."""
    beats = (m[in_a, None] > m[~in_a]) + 0.5 * (m[in_a, None] == m[~in_a])
    variances, degrees = [], []
    for side, axis in ((in_a, 1), (~in_a, 0)):
        placed, of = beats.mean(axis=axis), tasks[side]
        labels, counts = np.unique(of, return_counts=True)
        left = np.array([placed[of != t].mean() for t in labels]) - beats.mean()
        variances.append((1 - 1 / len(labels)) * float(left @ left))
        degrees.append(df_of(counts / len(of)))
    total = sum(variances)
    parts = [(v / total) ** 2 / d for v, d in zip(variances, degrees, strict=True)]
    return beats.mean(), math.sqrt(total), 1 / sum(parts)


@pytest.mark.parametrize("largest", [8, 60])
@pytest.mark.parametrize("alike", [True, False])
def test_the_bound_over_tasks_is_a_jackknife_with_students_t(largest, alike):
    """Rows of a task are all alike, or as unlike as can be; one task is large."""
    rng = np.random.default_rng(1)
    tasks = np.repeat(np.arange(14), np.tile([largest, 6, 4, 2, 4, 8, 2], 2))
    in_a, signs = tasks < 7, np.where(np.arange(len(tasks)) % 2, -1, 1)
    m = signs * (1 + rng.random(len(tasks)))
    if alike:
        m = rng.permutation(14)[tasks]

    def degrees(share):
        v = share**2 if alike else share
        return max(v.sum() ** 2 / (v @ v) - 1, 1)

    auc, se, df = by_hand(m, in_a, tasks, degrees)
    found = certify_predictions(m, in_a, tasks)
    assert found.method == "clusters" and 0 < auc < 1
    half = student.isf(0.05, df) * se / (auc * (1 - auc))
    assert found.bound == pytest.approx(expit(abs(logit(auc)) + half) - 0.5)


def test_few_rows_allow_for_wilsons_variance():
    """Four rows at the middle of forty: AUC is 1/2, and both ends are as far."""
    m = np.concatenate((np.arange(40.0), [19.2, 19.4, 19.6, 19.8]))
    found = certify_predictions(m, np.arange(44) >= 40)
    assert found.auc == 0.5
    low, high = found.interval
    assert low + high == pytest.approx(1)
    wilson = binomtest(2, 4).proportion_ci(0.95, "wilson")
    assert (low, high) == pytest.approx((wilson.low, wilson.high))
    # Twenty rows above nine tenths: the end towards 1/2 allows for it.
    m = np.concatenate((np.arange(1000.0), 899.0 + np.linspace(0.1, 0.9, 20)))
    found = certify_predictions(m, np.arange(1020) >= 1000)
    assert found.auc == pytest.approx(0.9)
    wilson = binomtest(18, 20).proportion_ci(0.95, "wilson")
    assert found.interval[0] == pytest.approx(wilson.low)
    assert found.interval[1] < wilson.high


def test_groups_apart_in_uneven_tasks_have_clopper_and_pearsons_limit():
    """The largest task says how many independent pairs there are, at least."""
    tasks = np.repeat(np.arange(12), [10, 2, 2, 2, 2, 2, 3, 3, 3, 3, 3, 3])
    in_a = tasks < 6
    found = certify_predictions(np.arange(len(tasks)) - 100.0 * in_a, ~in_a, tasks)
    assert found.auc == 1.0 and found.method == "exact"
    assert found.interval == pytest.approx((0.025 ** (10 / 20), 1.0))
