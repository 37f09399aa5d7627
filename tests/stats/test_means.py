"""Differences of means and shares against scipy."""

import math
import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from scipy import stats

from comparisons import samples, shifted
from rankfair.stats.estimate import GroupRows, MeanVariance, TwoGroups
from rankfair.stats.means import mean_gap, paired_cost, shares_and_ratio
from rankfair.stats.ordered import is_whole


@settings(max_examples=25, deadline=None)
@given(samples())
def test_means_are_compared_by_welchs_t(case):
    m, in_a = case
    found = mean_gap(m[in_a], m[~in_a], TwoGroups.of(in_a), 0.95)
    assert found.value == pytest.approx(m[in_a].mean() - m[~in_a].mean(), abs=1e-9)
    if found.estimable:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of scipy, where a group is constant
            wanted = stats.ttest_ind(m[in_a], m[~in_a], equal_var=False)
        limits = wanted.confidence_interval(0.95)
        assert found.p_value == pytest.approx(wanted.pvalue, rel=1e-6, abs=1e-12)
        assert found.ci_low == pytest.approx(limits.low, rel=1e-6, abs=1e-9)
        assert found.ci_high == pytest.approx(limits.high, rel=1e-6, abs=1e-9)


def test_means_over_tasks_are_those_of_task_means():
    rng = np.random.default_rng(0)
    tasks = np.repeat(np.arange(12), 5)
    in_a = tasks % 2 == 0
    m = rng.normal(size=60) + rng.normal(size=12)[tasks]
    groups = TwoGroups.of(in_a, tasks)
    found = mean_gap(m[in_a], m[~in_a], groups, 0.95)
    means = m.reshape(12, 5).mean(axis=1)
    wanted = stats.ttest_ind(means[::2], means[1::2], equal_var=False)
    assert found.p_value == pytest.approx(wanted.pvalue)
    assert "12 tasks" in found.method


@pytest.mark.parametrize("size", [1e-170, 1e170])
def test_differences_of_any_size_have_degrees_of_freedom(size):
    m, in_a = shifted()
    groups = TwoGroups.of(in_a)
    found = mean_gap(size * m[in_a], size * m[~in_a], groups, 0.95)
    one = mean_gap(m[in_a], m[~in_a], groups, 0.95)
    assert found.p_value == pytest.approx(one.p_value)


def measures(found):
    return found.variance, found.df, found.units, found.worth


def test_clusters_are_rows_where_each_has_one_or_all_in_it_are_alike():
    rng = np.random.default_rng(0)
    x = rng.normal(size=12)
    every, off = np.arange(12), x - x.mean()
    rows = MeanVariance.of(x, float(x.mean()), GroupRows(every), None)
    alone = MeanVariance.of_clusters(off, every, 12, None)
    alike = MeanVariance.of_clusters(np.repeat(off, 5), np.repeat(every, 5), 12, None)
    for found in (alone, alike):
        assert measures(found) == pytest.approx(measures(rows))
    # Units of values and of weights are no matter.
    codes, w = rng.integers(0, 4, 12), rng.uniform(0.5, 2.0, 12)
    off = x - np.average(x, weights=w)
    one = MeanVariance.of_clusters(off, codes, 4, w)
    other = MeanVariance.of_clusters(7.0 * off, codes, 4, 3.0 * w)
    assert measures(other)[1:] == pytest.approx(measures(one)[1:])
    assert other.variance == pytest.approx(49.0 * one.variance)
    # What groups have in common is no difference.
    same = one.clusters.less(one.clusters)
    assert not same.sums.any() and np.array_equal(same.share, one.share)


def test_effective_rows_are_counted_as_kish_does():
    w, tasks = np.array([2.0, 2.0, 2.0, 2.0, 1e-9]), np.array([0, 0, 1, 1, 2])
    group = GroupRows(np.arange(5), tasks, w)
    assert group.kish() == pytest.approx(4.0)
    assert group.kish(by_task=True) == pytest.approx(2.0)
    assert GroupRows(np.arange(5), tasks).kish() == 5.0
    assert TwoGroups.of(w > 1).n_tasks == 1 and TwoGroups.of(w > 1, tasks).n_tasks == 3


def test_ten_tasks_or_more_are_units_of_a_cost_and_fewer_are_not():
    y, m, best = np.random.default_rng(0).normal(size=(3, 60))
    more = (y - m) ** 2 - (y - best) ** 2
    for k in (9, 10):
        tasks = np.arange(60) % k
        sums = np.bincount(tasks, more - more.mean()) / (60 - np.bincount(tasks))
        by_task = math.sqrt((k - 1) / k * (sums @ sums))
        by_row = math.sqrt(more.var(ddof=1) / 60)
        cost, se = paired_cost(y, m, best, tasks, None)
        assert cost == pytest.approx(more.mean())
        assert se == pytest.approx(by_task if k >= 10 else by_row)


def test_whole_weights_are_told_from_others():
    assert is_whole(np.array([1.0, 2.0]))
    assert not is_whole(np.array([1.0, 2.5])) and not is_whole(np.array([2.0**53, 1.0]))


def test_shares_are_near_those_of_statistics_books():
    n = 300
    rng = np.random.default_rng(n)
    in_a = np.arange(2 * n) < n
    chosen = rng.random(2 * n) < np.where(in_a, 0.6, 0.3)
    groups = TwoGroups.of(in_a)
    of_a, of_b, ratio = shares_and_ratio(chosen[in_a], chosen[~in_a], groups, 0.95)
    for e, c in ((of_a, chosen[in_a]), (of_b, chosen[~in_a])):
        wilson = stats.binomtest(int(c.sum()), n).proportion_ci(method="wilson")
        assert (e.ci_low, e.ci_high) == pytest.approx(
            (wilson.low, wilson.high), abs=0.01
        )
    risk = stats.contingency.relative_risk(
        chosen[in_a].sum(), n, chosen[~in_a].sum(), n
    )
    limits = risk.confidence_interval(0.95)
    assert ratio.value == pytest.approx(risk.relative_risk)
    assert (ratio.ci_low, ratio.ci_high) == pytest.approx(tuple(limits), rel=0.1)


def test_shares_at_the_edge():
    in_a = np.arange(20) < 10
    groups = TwoGroups.of(in_a)
    none, some, all_ = np.zeros(10, bool), np.arange(10) < 5, np.ones(10, bool)
    of_a, _, ratio = shares_and_ratio(none, some, groups, 0.95)
    assert (
        of_a.ci_low == 0.0 < of_a.ci_high and ratio.value == 0.0 and not ratio.estimable
    )
    assert math.isnan(shares_and_ratio(some, none, groups, 0.95)[2].value)
    assert math.isnan(shares_and_ratio(none, none, groups, 0.95)[2].value)
    same = shares_and_ratio(all_, all_, groups, 0.95)
    assert (
        same[0].ci_low < same[0].ci_high == pytest.approx(1.0) and not same[2].estimable
    )
    alone = TwoGroups.of(in_a[9:])
    lost = shares_and_ratio(all_[:1], some, alone, 0.95)
    assert not any(e.estimable for e in lost)
