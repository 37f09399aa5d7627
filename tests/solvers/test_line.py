"""The fits of all ε on one line, counted as if each row had been left out."""

import warnings

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.exceptions import ConvergenceWarning

from oracles import brute_twice_u
from rankfair import MultiTaskRegressor, RankFairRegressor
from rankfair.metrics import rank_auc, rmse

BETAS = (3.0, 0.5, 2.0)  # of pool


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


def quiet(model, *args, **given):
    """Fit; a band that is missed, or rows that tell the groups, are no matter here."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        warnings.simplefilter("ignore", UserWarning)
        return model.fit(*args, **given)


def inside(m, in_a, epsilon, weights=None):
    """Whether predictions are in the band of ranks, by counting every pair."""
    if weights is not None:
        m, in_a = np.repeat(m, weights), np.repeat(in_a, weights)
    known = ~np.isnan(m)
    m, in_a = m[known], in_a[known]
    pairs = int(in_a.sum() * (~in_a).sum())
    return abs(brute_twice_u(m, in_a) - pairs) <= max(2 * epsilon * pairs, 1) + 1e-9


# Left out


def design(X, tasks, penalty):
    """Columns and pulls of a fit that is one big ridge regression."""
    spread = (X - X.mean(axis=0)) / X.std(axis=0)
    own = (tasks[:, None] == np.unique(tasks)).astype(float)
    one = np.ones((len(X), 1))
    slopes = [own[:, [j]] * spread for j in range(own.shape[1])]
    if penalty == "ridge":
        pulls = np.full(3 * own.shape[1], 2.0)
        return np.hstack((own, *slopes)), np.append(np.zeros(own.shape[1]), pulls)
    beta, of_intercepts, common = BETAS
    pulls = [0.0, *[common] * 3, *[of_intercepts] * own.shape[1]]
    return np.hstack((one, spread, own, *slopes)), np.append(
        pulls, np.full(3 * own.shape[1], beta)
    )


def left_out_by_refits(X, target, tasks, penalty):
    """The prediction of each row by the fit without it, with all scales held."""
    Z, pulls = design(X, tasks, penalty)
    found = np.empty(len(X))
    for i in range(len(X)):
        rest = np.arange(len(X)) != i
        gram = Z[rest].T @ Z[rest] + np.diag(pulls)
        found[i] = Z[i] @ np.linalg.lstsq(gram, Z[rest].T @ target[rest], rcond=None)[0]
    return found


@pytest.mark.parametrize("penalty", ["pool", "ridge"])
def test_left_out_predictions_are_those_of_refits(penalty):
    X, y, tasks, in_a = rows()
    beta = BETAS if penalty == "pool" else 2.0
    free = MultiTaskRegressor(penalty=penalty, beta=beta).fit(X, y, tasks=tasks)
    standard = (y - y.mean()) / y.std()
    expected = left_out_by_refits(X, standard, tasks, penalty)
    expected[tasks >= 100] = np.nan  # left out, they are of no task
    found = (free.loo_predictions_ - y.mean()) / y.std()
    np.testing.assert_allclose(found, expected, atol=1e-8)
    assert np.isnan(found).sum() == 2
    # The tilted fit: that of y − λ g.
    model = RankFairRegressor(0.01, penalty=penalty, beta=beta)
    quiet(model, X, y, tasks=tasks, sensitive_features=in_a)
    assert model.multiplier_ != 0
    g = np.where(in_a, len(y) / in_a.sum(), -len(y) / (~in_a).sum())
    expected -= model.multiplier_ * left_out_by_refits(X, g, tasks, penalty)
    found = (model.loo_predictions_ - y.mean()) / y.std()
    np.testing.assert_allclose(found, expected, atol=1e-8)


def test_left_out_predictions_of_three_groups_do_not_know_their_target():
    """h (t − q) is what leaving out moves, and q is linear: refits of all targets."""
    X, y, tasks, _ = rows(200, alone=0)
    z = np.arange(200) % 3
    X[:, 0] += z
    model = RankFairRegressor(0.05, beta=BETAS)
    quiet(model, X, y, tasks=tasks, sensitive_features=z)
    targets = [(y - y.mean()) / y.std()]
    for group in range(3):
        own = z == group
        targets.append(np.where(own, 1 / own.sum(), -1 / (~own).sum()))
    left_out = [left_out_by_refits(X, each, tasks, "pool") for each in targets]
    Z, pulls = design(X, tasks, "pool")
    hat = Z @ np.linalg.solve(Z.T @ Z + np.diag(pulls), Z.T)
    fitted = (model.predict(X, tasks=tasks) - y.mean()) / y.std()
    # The multipliers of the three directions, from the predictions of training rows.
    moved = np.column_stack([hat @ each for each in targets[1:]])
    lam = np.linalg.lstsq(moved, fitted - hat @ targets[0], rcond=None)[0]
    np.testing.assert_allclose(moved @ lam, fitted - hat @ targets[0], atol=1e-8)
    expected = left_out[0] + np.column_stack(left_out[1:]) @ lam
    found = (model.loo_predictions_ - y.mean()) / y.std()
    np.testing.assert_allclose(found, expected, atol=1e-8)


# Weights


@pytest.mark.parametrize("settings", [{}, {"count": "train"}, {"penalty": "ridge"}])
def test_whole_weights_are_repeated_rows(settings):
    X, y, tasks, in_a = rows(200)
    w = np.random.default_rng(1).integers(0, 4, len(y))
    i = np.repeat(np.arange(len(y)), w)
    model = RankFairRegressor(0.02, **settings)
    weighted = quiet(model, X, y, tasks=tasks, sensitive_features=in_a, sample_weight=w)
    known = w > 0
    m = weighted.predict(X[known], tasks=tasks[known])
    left_out = weighted.loo_predictions_
    repeated = quiet(model, X[i], y[i], tasks=tasks[i], sensitive_features=in_a[i])
    found = repeated.predict(X[known], tasks=tasks[known])
    np.testing.assert_allclose(m, found, atol=1e-6)
    np.testing.assert_allclose(left_out[i], repeated.loo_predictions_, atol=1e-6)


# The band


@st.composite
def few(draw):
    """Few rows: ties, tiny groups, uneven tasks or those of one row, whole weights."""
    n_rows = draw(st.integers(3, 30))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    levels = draw(st.sampled_from([2, 4, 0]))  # 0: every value is different
    X, y = rng.normal(size=(n_rows, 2)), rng.normal(size=n_rows)
    if levels:
        X = rng.integers(0, levels, (n_rows, 2)).astype(float)
        y = rng.integers(0, levels, n_rows).astype(float)
    in_a = rng.permutation(n_rows) < draw(st.sampled_from([1, 2, n_rows // 2]))
    tasks = np.minimum(rng.geometric(0.4, n_rows), draw(st.integers(1, 6)))
    weights = rng.integers(1, 4, n_rows) if draw(st.booleans()) else None
    return X, y + draw(st.sampled_from([0.0, 2.0])) * in_a, tasks, in_a, weights


@given(
    data=few(),
    epsilon=st.sampled_from([0.0, 0.02, 0.2]),
    count=st.sampled_from(["loo", "train"]),
    penalty=st.sampled_from(["pool", "ridge"]),
)
def test_recounted_the_band_is_met_or_said_to_be_missed(data, epsilon, count, penalty):
    X, y, tasks, in_a, weights = data
    model = quiet(
        RankFairRegressor(epsilon, count=count, penalty=penalty),
        X,
        y,
        tasks=tasks,
        sensitive_features=in_a,
        sample_weight=weights,
    )
    m = model.predict(X, tasks=tasks)
    w = np.ones(len(y), int) if weights is None else weights
    left_out = model.loo_predictions_
    few_left = left_out is None or 2 * np.isfinite(left_out).sum() < len(y)
    counted = m if count == "train" or few_left else left_out
    assert inside(counted, in_a, epsilon, w) == (model.status_ != "infeasible")
    # Never worse than one constant.
    constant = np.average(y, weights=w)
    off = np.average((m - y) ** 2, weights=w)
    spread = np.average((y - constant) ** 2, weights=w)
    assert off <= spread * (1 + 1e-9) + 1e-18


@pytest.mark.filterwarnings("ignore:what is outside the band may be:UserWarning")
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
    down = quiet(
        RankFairRegressor(0.0), other, target, tasks=tasks, sensitive_features=in_a
    )
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


@pytest.mark.filterwarnings("ignore:what is outside the band may be:UserWarning")
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


# The order of rows and the names of groups


def test_rows_in_any_order_and_groups_of_any_name():
    X, y, tasks, in_a = rows(300)
    frame = framed(X, tasks, in_a)
    model = quiet(fair(), frame, y)
    moved = np.random.default_rng(0).permutation(len(y))
    other = quiet(fair(), frame.iloc[moved], y[moved])
    np.testing.assert_allclose(other.coef_, model.coef_, atol=1e-9)
    np.testing.assert_allclose(
        other.loo_predictions_, model.loo_predictions_[moved], atol=1e-9
    )
    swapped = quiet(fair(), frame.assign(z=np.where(in_a, "a", "b")), y)
    assert swapped.loo_auc_ == pytest.approx(1 - model.loo_auc_, abs=1e-9)
    np.testing.assert_allclose(swapped.coef_, model.coef_, atol=1e-6)


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
