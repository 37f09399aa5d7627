"""The fits of all ε on one line, counted as if each row had been left out."""

import numpy as np
import pandas as pd
import pytest

from oracles import brute_twice_u
from rankfair import RankFairRegressor
from rankfair.metrics import rank_auc, rmse

# A band that is missed, or rows that tell the groups, are no matter here.
pytestmark = [
    pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning"),
    pytest.mark.filterwarnings("ignore::UserWarning"),
]


def rows(n_rows=120, n_tasks=6, seed=0, alone=2):
    """Uneven tasks, the last ones of one row; groups that the first column shows."""
    rng = np.random.default_rng(seed)
    in_a = rng.random(n_rows) < 0.4
    tasks = np.minimum(rng.geometric(0.35, n_rows), n_tasks)
    tasks[:alone] = 100 + np.arange(alone)
    X = rng.normal(size=(n_rows, 3)) + np.outer(in_a, [1.0, 0.0, 0.3])
    y = X @ [1.0, 0.5, 0.2] + 0.4 * tasks.clip(max=n_tasks) + rng.normal(size=n_rows)
    return X, y, tasks, in_a


def framed(X, tasks, in_a):
    frame = pd.DataFrame(X, columns=list("uvw"))
    return frame.assign(task=tasks, z=np.where(in_a, "b", "a"))


def fair(epsilon=0.02, **settings):
    return RankFairRegressor(epsilon, tasks="task", sensitive_features="z", **settings)


def inside(m, in_a, epsilon):
    """Whether predictions are in the band of ranks, by counting every pair."""
    known = ~np.isnan(m)
    m, in_a = m[known], in_a[known]
    pairs = int(in_a.sum() * (~in_a).sum())
    return abs(brute_twice_u(m, in_a) - pairs) <= max(2 * epsilon * pairs, 1) + 1e-9


def test_the_multiplier_takes_either_sign():
    """Of a skewed column the mean gap may lead up and the rank gap down."""
    rng = np.random.default_rng(1)
    a = rng.random(1500) < 0.4
    x = np.where(a, rng.gamma(1.0, 1.35, 1500), rng.gamma(4.0, 0.3, 1500))
    X = np.column_stack((x, rng.normal(size=1500), 0.3 * a + rng.normal(size=1500)))
    y = x + 0.5 * X[:, 1] + 0.5 * rng.normal(size=1500)
    up = RankFairRegressor(0.0).fit(X, y, sensitive_features=a)
    assert up.status_ == "satisfied" and up.multiplier_ < 0
    other, target, tasks, in_a = rows()
    down = RankFairRegressor(0.0)
    down.fit(other, target, tasks=tasks, sensitive_features=in_a)
    assert down.multiplier_ > 0


# Without the group, and with it


def test_with_the_group_the_line_is_a_constant_shift():
    X, y, tasks, in_a = rows(300, alone=0)
    frame = framed(X, tasks, in_a)
    free = fair(0.5, blind=False).fit(frame, y)
    model = fair(0.0, blind=False).fit(frame, y)
    start, left_out = free.predict(frame), free.loo_predictions_
    moved = model.predict(frame) - start
    gap = moved[in_a].mean() - moved[~in_a].mean()
    for group in (in_a, ~in_a):
        assert np.ptp(moved[group]) <= 1e-8
    shifted = left_out + np.where(in_a, gap, 0.0)
    assert inside(shifted, in_a, 0.0)
    # No smaller shift is enough: it ends at the first place that is inside.
    assert not inside(left_out + np.where(in_a, gap * (1 - 1e-4), 0.0), in_a, 0.0)


# Every ε


def test_the_model_of_another_epsilon_is_the_fit_of_it():
    X, y, tasks, in_a = rows(300, alone=0)
    frame = framed(X, tasks, in_a)
    model = fair(0.1).fit(frame, y)
    path = model.path([0.0, 0.05, 0.3])
    for row in path.rows:
        fit, other = fair(row.epsilon).fit(frame, y), model.at(row.epsilon)
        assert other.epsilon == row.epsilon and other.status_ == fit.status_
        np.testing.assert_allclose(other.coef_, fit.coef_, atol=1e-9)
        np.testing.assert_allclose(other.intercept_, fit.intercept_, atol=1e-9)
        left_out = fit.loo_predictions_
        np.testing.assert_allclose(other.loo_predictions_, left_out, atol=1e-9)
        assert other.loo_auc_ == pytest.approx(fit.loo_auc_, abs=1e-9)
        assert row.status == fit.status_
        assert row.rmse == pytest.approx(rmse(y, left_out))
        auc = rank_auc(y, left_out, sensitive_features=frame["z"])
        assert row.gap == pytest.approx(abs(auc - 0.5), abs=1e-9)
    assert model.epsilon == 0.1


def test_many_left_out_rows_land_within_one_pair():
    """However narrow the bracket has to be in which the count is found."""
    rng = np.random.default_rng(1)
    n_rows = 50_000
    group, task = rng.random(n_rows) < 0.5, rng.integers(0, 200, n_rows)
    y = rng.standard_normal(n_rows) + group + 0.3 * rng.standard_normal(200)[task]
    X = rng.standard_normal((n_rows, 4))
    X[:, 0] += 0.5 * group
    y += X.sum(axis=1) / 2
    model = RankFairRegressor(0.0).fit(X, y, tasks=task, sensitive_features=group)
    assert model.status_ == "satisfied"
    counted = rank_auc(y, model.loo_predictions_, sensitive_features=group)
    assert abs(counted - 0.5) * group.sum() * (~group).sum() <= 1.0 + 1e-6
