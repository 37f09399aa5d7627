"""Rows that show little, or are written oddly: no number is surer than they are."""

import numpy as np
import pytest
from scipy.stats import binomtest

from audited import compared
from rankfair import audit

# Distances where tasks mix the groups


def test_task_draws_find_groups_that_tasks_hold_unevenly():
    # Nine in ten rows of a task are of one group: rows are far fewer than they look.
    rng = np.random.default_rng(0)
    t = np.repeat(np.arange(20), 40)
    g = np.where(rng.random(800) < np.where(t % 2, 0.9, 0.1), "M", "F")
    p = rng.normal(size=20)[t] + 0.1 * rng.normal(size=800)
    by_task, by_row = compared(p, g, tasks=t), compared(p, g)
    width, narrow = (c.ks.ci_high - c.ks.ci_low for c in (by_task, by_row))
    assert width > 1.5 * narrow


# No spread: not estimable, whatever the rounding


@pytest.mark.parametrize(
    ("scale", "tasks"), [(1.0, False), (1e-200, True), (1e200, False), (0.1, True)]
)
def test_constants_of_each_group_have_no_limits(scale, tasks):
    g = np.repeat(["F", "M"], 30)
    p = scale * np.where(g == "M", 0.7, 0.1)
    t = {"tasks": np.arange(60) // 5} if tasks else {}
    found = compared(p, g, **t)
    assert found.ks.value == 1.0
    for name in ("mean_difference", "ks", "wasserstein"):
        own = getattr(found, name)
        assert not own.estimable and own.p_value is None and own.note, name


@pytest.mark.parametrize("offset", [0.0, 1e6])
def test_residuals_constant_in_each_group_have_no_limits(offset):
    rng = np.random.default_rng(0)
    g = np.repeat(["F", "M"], 30)
    y = offset + rng.normal(size=60)
    found = compared(y - np.where(g == "M", 0.3, 0.1), g, y)
    residuals = found.balanced_residuals
    assert residuals.value == pytest.approx(0.2) and not residuals.estimable
    assert found.mean_difference.estimable


def test_errors_of_one_size_have_no_limits():
    rng = np.random.default_rng(0)
    y = rng.normal(size=60)
    g = np.repeat(["F", "M"], 30)
    (line,) = audit(y, y - 0.1, sensitive_features=g).models
    assert line.rmse.value == pytest.approx(0.1) and not line.rmse.estimable
    assert not line.mae.estimable
    (near,) = audit(y, y + 1e-9 * rng.normal(size=60), sensitive_features=g).models
    assert near.rmse.estimable and near.mae.estimable


def test_tasks_that_are_all_alike_show_no_spread():
    # Every task of a group holds the same three predictions.
    t = np.repeat(np.arange(14), 3)
    g = np.where(t < 7, "M", "F")
    found = compared(np.tile([0.1, 0.2, 0.3], 14) + (g == "M"), g, tasks=t)
    assert not found.ks.estimable and not found.wasserstein.estimable
    assert "no draw of tasks" in found.ks.note


def tasks_apart(k, seed=0):
    rng = np.random.default_rng(seed)
    sizes = rng.integers(4, 9, k)
    t = np.repeat(np.arange(k), sizes)
    g = np.where(np.arange(len(t)) % 2, "M", "F")
    return t, g, rng.random(len(t))


@pytest.mark.parametrize("sign", [1, -1])
def test_tasks_that_all_keep_the_groups_apart(sign):
    t, g, noise = tasks_apart(30)
    p = sign * (2.0 * (g == "M") + noise)
    found = compared(p, g, tasks=t).within_task_auc
    assert found.value == (1.0 if sign == 1 else 0.0)
    exact = binomtest(30, 30).proportion_ci(0.95, "exact").low
    inner = found.ci_low if sign == 1 else 1.0 - found.ci_high
    # Tasks of uneven size are worth somewhat less than as many of one size.
    assert 0.75 < inner <= exact and found.p_value < 1e-6
    few = compared(p[t < 5], g[t < 5], tasks=t[t < 5]).within_task_auc
    assert not few.estimable


# Weights and rounding


@pytest.mark.parametrize("sign", [1, -1])
def test_weighted_groups_apart_are_exactly_apart(sign):
    rng = np.random.default_rng(0)
    g = np.repeat(["F", "M"], 50)
    t = np.arange(100) % 2
    p = sign * (2.0 * (g == "M") + rng.random(100))
    found = audit(None, p, sensitive_features=g, tasks=t, sample_weight=rng.random(100))
    (whole,) = found.comparisons
    for auc in (whole.auc, *(line.auc for line in found.tasks)):
        assert auc.value == (1.0 if sign == 1 else 0.0)
        assert auc.ci_high > auc.ci_low and {auc.ci_low, auc.ci_high} & {0.0, 1.0}
    given = {"tasks": t, "sample_weight": rng.random(100)}
    found = audit(None, np.ones(100), sensitive_features=g, **given)
    (flat,) = found.comparisons
    assert not (flat.auc.estimable or flat.impact_ratio.estimable)
    assert len(found.tasks) == 2 and not any(e.auc.estimable for e in found.tasks)


@pytest.mark.parametrize("ties", [False, True])
def test_a_heavy_task_does_not_blur_a_light_one(ties):
    rng = np.random.default_rng(0)
    n = 600
    t = rng.integers(0, 6, n)
    g = np.where(rng.random(n) < 0.5, "M", "F")
    p = rng.normal(size=n)
    p = np.round(p) if ties else p
    w = rng.random(n) + 0.1
    heavy = w * np.array([1e15, 1.0, 1e-9, 1e12, 1.0, 1e-3])[t]
    one, other = (
        audit(None, p, sensitive_features=g, tasks=t, sample_weight=v).tasks
        for v in (w, heavy)
    )
    for plain, scaled in zip(one, other, strict=True):
        assert scaled.auc.value == pytest.approx(plain.auc.value, abs=1e-12)
        assert scaled.auc.ci_low == pytest.approx(plain.auc.ci_low, abs=1e-9)


# Limits and tests agree


@pytest.mark.parametrize(("k", "sign"), [(2, 1), (4, -1), (30, 1)])
def test_clusters_apart_have_a_test_that_agrees_with_the_limits(k, sign):
    rng = np.random.default_rng(0)
    t = np.repeat(np.arange(2 * k), 6)
    g = np.where(t < k, "M", "F")
    found = compared(sign * (2.0 * (g == "M") + rng.random(12 * k)), g, tasks=t).auc
    assert found.value == (1.0 if sign == 1 else 0.0)
    assert (found.p_value < 0.05) == (not found.covers(0.5))
    assert found.p_value >= min(2.0 * 0.5**k, 1.0)


def test_shares_of_all_or_none_are_of_tasks():
    t = np.repeat(np.arange(8), 25)
    g = np.where(t < 4, "M", "F")
    p = 2.0 * (g == "M") + np.random.default_rng(0).random(200)
    by_task, by_row = compared(p, g, tasks=t), compared(p, g)
    assert by_task.share_above_median.value == 1.0
    assert by_task.share_above_median.ci_low < 0.65 < by_row.share_above_median.ci_low
    assert by_task.share_above_median_against.ci_high > 0.35
    weights = np.where(np.arange(200) % 25 == 0, 50.5, 0.1) * np.where(g == "F", 2, 1)
    weighted = compared(p, g, sample_weight=weights)
    assert weighted.share_above_median.value == pytest.approx(1.0)
    assert weighted.share_above_median.ci_low < 0.65
