"""The AUC within tasks, one by one and pooled."""

import math

import numpy as np
import pytest
from scipy import special, stats

from comparisons import estimate, shifted, within
from rankfair.stats.estimate import Difference, TwoGroups
from rankfair.stats.means import mean_gap
from rankfair.stats.ordered import Ordered, placements
from rankfair.stats.permutation import normal_p
from rankfair.stats.within_tasks import pooled, task_estimates


@pytest.mark.parametrize(("seed", "weighted"), [(0, False), (1, False), (1, True)])
def test_all_tasks_at_once_are_those_one_by_one(seed, weighted):
    rng = np.random.default_rng(seed)
    n = 300
    m = np.round(rng.normal(size=n), 1 if seed % 2 else 6)
    in_a, tasks = rng.random(n) < 0.4, rng.integers(0, 30, n) * 7
    w = rng.random(n) if weighted else None
    found = within(m, in_a, tasks, w)
    both = [t for t in np.unique(tasks) if len(set(in_a[tasks == t].tolist())) == 2]
    assert found.tasks.tolist() == both
    assert found.n_tasks == len(np.unique(tasks))
    for i, t in enumerate(both):
        here = tasks == t
        own = None if w is None else w[here]
        placed = placements(m[here], in_a[here], own)
        groups = TwoGroups.of(in_a[here], weights=own)
        alone = Difference.of(*placed, groups, clustered=False)
        se = alone.se
        assert found.auc[i] == pytest.approx(alone.mean_a)
        assert math.sqrt(found.variance[i]) == pytest.approx(se, abs=1e-9, nan_ok=True)
        assert (found.n_a[i], found.n_b[i]) == (in_a[here].sum(), (~in_a[here]).sum())
        for own, part in ((found.a, alone.a), (found.b, alone.b)):
            if not weighted and part.units > 1:
                assert own.df[i] == pytest.approx(max(part.df, 1.0))
        if not weighted:
            a, b = m[here & in_a], m[here & ~in_a]
            wanted = 1.0
            if np.ptp(m[here]) > 0:
                wanted = stats.mannwhitneyu(a, b, method="asymptotic").pvalue
            p = normal_p(found.auc, found.n_a, found.n_b, found.ties)
            assert p[i] == pytest.approx(wanted)


def test_more_tasks_than_short_integers():
    rng = np.random.default_rng(0)
    tasks = rng.permutation(np.repeat(np.arange(70_000), 2))
    m, in_a = rng.normal(size=140_000), rng.random(140_000) < 0.5
    found = within(m, in_a, tasks)
    assert found.n_tasks == 70_000
    assert set(found.auc.tolist()) == {0.0, 1.0}


def test_the_pooled_auc_has_van_elterens_weights():
    rng = np.random.default_rng(0)
    tasks, in_a = rng.integers(0, 15, 400), rng.random(400) < 0.5
    m = rng.normal(size=400) + 0.5 * in_a + tasks
    found = within(m, in_a, tasks)
    w = found.n_a * found.n_b / (found.n_a + found.n_b + 1)
    one = pooled(found, 0.95)
    assert one.value == pytest.approx(np.average(found.auc, weights=w))
    assert "15 tasks differ" in one.method and one.ci_low < one.value < one.ci_high
    few = pooled(within(m, in_a, tasks % 3), 0.95)
    assert "taken as given" in few.method and one.note == few.note == ""
    # Of few tasks, by hand: Satterthwaite's degrees and the logit scale.
    w, parts = [], []
    for t in range(3):
        here = tasks % 3 == t
        groups = TwoGroups.of(in_a[here])
        way = Difference.of(*placements(m[here], in_a[here]), groups, clustered=False)
        w.append(in_a[here].sum() * (~in_a[here]).sum() / (here.sum() + 1))
        parts.append([(each.variance, each.df) for each in (way.a, way.b)])
    share = np.array(w)[:, None] / np.sum(w)
    variances, df = np.moveaxis(np.array(parts), 2, 0)
    variances = share**2 * variances
    se = math.sqrt(variances.sum())
    half = stats.t.ppf(0.975, variances.sum() ** 2 / (variances**2 / df).sum()) * se
    middle, reach = few.value, half / (few.value * (1 - few.value))
    ends = special.expit(special.logit(middle) + np.array([-reach, reach]))
    assert (few.ci_low, few.ci_high) == pytest.approx(tuple(ends))


def test_what_cannot_be_pooled():
    m, in_a = shifted(20, 20)
    assert math.isnan(pooled(within(m, in_a, in_a.astype(int)), 0.95).value)
    flat = pooled(within(np.zeros(40), in_a, np.arange(40) % 2), 0.95)
    assert flat.value == 0.5 and not flat.estimable
    apart = pooled(within(m + 99 * in_a, in_a, np.arange(40) % 2), 0.95)
    assert apart.value == 1.0 and not apart.estimable


def test_weights_that_rest_on_one_row():
    m, in_a = shifted(20, 20)
    w = np.r_[1e12, np.full(39, 1.0)]
    found = estimate(m, in_a, weights=w)
    assert "rests on one row" in found.note
    groups = TwoGroups.of(in_a, weights=w)
    assert "rests on" in mean_gap(m[in_a], m[~in_a], groups, 0.95).note
    counted = within(m, in_a, np.arange(40) % 2, w)
    assert "left out: 1 task with one row" in pooled(counted, 0.95).note
    lines = task_estimates(counted, 0.95, 2, ("A", "B"), None)
    assert "no spread" in lines[0].note and lines[1].estimable
    assert not pooled(within(m, in_a, np.zeros(40, int), w), 0.95).estimable
    heavy = within(m, in_a, np.arange(40) % 12, np.where(np.arange(40) % 12, 1e-9, w))
    assert not pooled(heavy, 0.95).estimable


def test_pooled_intervals_hold_in_most_samples():
    held = 0
    for seed in range(60):
        rng = np.random.default_rng(seed)
        tasks, in_a = rng.integers(0, 30, 600), rng.random(600) < 0.4
        m = rng.normal(size=600) + 0.5 * in_a + 2 * rng.normal(size=30)[tasks]
        truth = stats.norm.cdf(0.5 / math.sqrt(2))
        held += pooled(within(m, in_a, tasks), 0.9).covers(truth)
    assert 48 <= held <= 59


@pytest.mark.parametrize("levels", [9, 10**6])
def test_small_tasks_have_a_permutation_test_until_time_runs_out(levels):
    rng = np.random.default_rng(0)
    tasks, in_a = rng.integers(0, 5, 100), rng.random(100) < 0.5
    m = rng.integers(0, levels, 100).astype(float)
    assert Ordered.of(m).segments.tolist() == [0]
    rows = Ordered.of(m).by_task(tasks)
    given = within(m, in_a, tasks), 0.95, 2, ("A", "B"), (rows, in_a[rows.order])
    for t, line in enumerate(task_estimates(*given)):
        a, b = m[(tasks == t) & in_a], m[(tasks == t) & ~in_a]
        how = {"method": "exact"} if levels > 9 else {"method": "asymptotic"}
        wanted = stats.mannwhitneyu(a, b, **how).pvalue
        assert line.p_value == pytest.approx(wanted, abs=1e-9 if levels > 9 else 0.05)
        assert line.method.endswith("all permutations counted")
    late = task_estimates(*given, budget=0.0)
    assert all(("for want of time" in e.method) == (levels == 9) for e in late)
