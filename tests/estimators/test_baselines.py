import numpy as np
import pandas as pd
import pytest
from scipy.stats import rankdata
from sklearn.linear_model import LogisticRegression

from problems import posed
from programmes import least_by_cvxpy
from rankfair import (
    DecisionBoundaryCovariance,
    MultiTaskRegressor,
    StratifiedBalancedResiduals,
    StratifiedEqualMeans,
)
from refusals import sentence

rng = np.random.default_rng(4)
N = 240
IN_A = rng.random(N) < 0.45
SEX = np.where(IN_A, "M", "F")
TASK = rng.choice(["e", "n", "s"], N, p=[0.5, 0.3, 0.2])
X = rng.normal(size=(N, 4)) + np.outer(IN_A, [0.7, 0.0, -0.3, 0.0])
Y = X @ [1.0, 0.5, -0.3, 0.2] + 0.7 * IN_A + (TASK == "n") + rng.normal(size=N)
FRAME = pd.DataFrame(X, columns=list("abcd")).assign(task=TASK, sex=SEX)
W = rng.integers(0, 4, N)

STRATIFIED = [StratifiedEqualMeans, StratifiedBalancedResiduals]
ALL = [*STRATIFIED, DecisionBoundaryCovariance]


def strata_of(features, in_a, n_strata, weights=None):
    """Strata by scikit-learn's logistic regression and mid-ranks."""
    w = np.ones(len(in_a)) if weights is None else weights
    Z = features - np.average(features, axis=0, weights=w)
    Z = Z / np.sqrt(np.average(Z**2, axis=0, weights=w))
    # 1e-4 ||w||²/2 against the mean loss, whatever the unit of the weights.
    model = LogisticRegression(C=1e4, tol=1e-12, max_iter=20_000)
    model.fit(Z, in_a, sample_weight=w / w.sum())
    score = np.round(model.predict_proba(Z)[:, 1], 7)
    rows = np.repeat(np.arange(len(in_a)), w.astype(int))
    middle = np.zeros(len(in_a))
    middle[rows] = (rankdata(score[rows]) - 0.5) / len(rows)
    return np.minimum((n_strata * middle).astype(int), n_strata - 1)


def gap(values, in_a, rows, weights=None):
    """The difference of the groups' means among some rows."""
    w = np.ones(len(in_a)) if weights is None else weights
    a, b = in_a & rows, ~in_a & rows
    return np.average(values[a], weights=w[a]) - np.average(values[b], weights=w[b])


def balanced(kind, y, m):
    return m if kind is StratifiedEqualMeans else y - m


# What is promised


@pytest.mark.parametrize("kind", STRATIFIED)
@pytest.mark.parametrize(
    ("n_strata", "weights", "blind"), [(5, W + 1, False), (9, None, True)]
)
def test_every_stratum_with_both_groups_is_balanced(kind, n_strata, weights, blind):
    model = kind(n_strata, tasks="task", sensitive_features="sex", blind=blind)
    m = model.fit(FRAME, Y, sample_weight=weights).predict(FRAME)
    strata = strata_of(X, IN_A, n_strata, weights)
    assert model.status_ in ("satisfied", "inactive")
    for s, record in enumerate(model.strata_):
        rows = strata == s
        assert record["stratum"] == s
        assert record["rows_a"] == np.count_nonzero(rows & IN_A)
        assert record["rows_b"] == np.count_nonzero(rows & ~IN_A)
        assert record["state"] == "kept"
        assert abs(gap(balanced(kind, Y, m), IN_A, rows, weights)) < 1e-8
        assert abs(record["gap"]) < 1e-8


@pytest.mark.parametrize(("penalty", "weights"), [("ridge", None), ("feature", W)])
def test_the_covariance_vanishes(penalty, weights):
    model = DecisionBoundaryCovariance(
        tasks="task", sensitive_features="sex", penalty=penalty
    )
    m = model.fit(FRAME, Y, sample_weight=weights).predict(FRAME)
    covariance = np.cov(IN_A, m, ddof=0, fweights=weights)[0, 1]
    assert abs(covariance) < 1e-8
    assert model.covariance_ == pytest.approx(covariance, abs=1e-10)
    assert model.status_ == "satisfied"


@pytest.mark.parametrize(
    ("kind", "penalty", "beta", "weighted"),
    [
        (StratifiedEqualMeans, "ridge", 0.0, False),
        (StratifiedEqualMeans, "task", 2.0, True),
        (StratifiedBalancedResiduals, "ridge", 3.0, True),
        (DecisionBoundaryCovariance, "task", 2.0, False),
        (DecisionBoundaryCovariance, "shared", 2.0, False),
    ],
)
def test_it_is_the_convex_optimum(kind, penalty, beta, weighted):
    i = np.random.default_rng(0).choice(N, 90, replace=False)
    weights = W[i] + 1 if weighted else None
    tasks = np.zeros(90) if weighted else TASK[i]
    strata = np.zeros(90, int)
    model = kind(penalty=penalty, beta=beta)
    if kind in STRATIFIED:
        model.set_params(n_strata=3)
        strata = strata_of(X[i], IN_A[i], 3, weights)
    model.fit(X[i], Y[i], tasks=tasks, sensitive_features=SEX[i], sample_weight=weights)
    kept = "residual" if kind is StratifiedBalancedResiduals else "mean"
    least = least_by_cvxpy(
        posed(X[i], Y[i], tasks, IN_A[i], weights),
        penalty,
        beta,
        [(kept, 0.0, strata == s) for s in range(strata.max() + 1)],
    )
    assert model.objective_ == pytest.approx(least, rel=1e-6)


# Degenerate features


DEGENERATE = {
    "duplicate": np.column_stack([X, X[:, 0]]),
    "constant": np.column_stack([X, np.full(N, 7.0)]),
    "rank deficient": X @ rng.normal(size=(4, 9)),
    "collinear": np.column_stack([X, X[:, 0] + 1e-12 * rng.normal(size=N)]),
    "wide": rng.normal(size=(N, 60)),
}


@pytest.mark.parametrize("name", DEGENERATE)
@pytest.mark.parametrize("kind", STRATIFIED)
def test_degenerate_features(name, kind):
    Z = DEGENERATE[name]
    model = kind(3, penalty="ridge", beta=0.0)
    m = model.fit(Z, Y, sensitive_features=SEX).predict(Z)
    assert model.status_ == "satisfied"
    strata = strata_of(Z[:, Z.std(axis=0) > 0], IN_A, 3)
    for s in range(3):
        assert abs(gap(balanced(kind, Y, m), IN_A, strata == s)) < 1e-8
    covariance = DecisionBoundaryCovariance().fit(Z, Y, sensitive_features=SEX)
    assert abs(np.cov(IN_A, covariance.predict(Z), ddof=0)[0, 1]) < 1e-8


@pytest.mark.parametrize("unit", [1e150, 1e-150])
@pytest.mark.parametrize("kind", ALL)
def test_units_do_not_matter(kind, unit):
    model = kind().fit(X, Y, sensitive_features=SEX)
    other = kind().fit(X * unit, Y * unit, sensitive_features=SEX)
    np.testing.assert_allclose(
        other.predict(X * unit) / unit, model.predict(X), atol=1e-7
    )


# Strata that ask for nothing, or too much


@pytest.mark.parametrize("kind", STRATIFIED)
def test_strata_of_one_group_ask_for_nothing(kind):
    Z = X.copy()
    Z[:, 0] = 3 * IN_A + rng.normal(size=N)
    model = kind(8).fit(Z, Y, sensitive_features=SEX)
    strata, m = strata_of(Z, IN_A, 8), model.predict(Z)
    alone = [r for r in model.strata_ if r["state"] == "one group only"]
    assert alone
    assert all(np.isnan(r["gap"]) and r["rows_a"] * r["rows_b"] == 0 for r in alone)
    for record in model.strata_:
        if record["state"] == "kept":
            rows = strata == record["stratum"]
            assert abs(gap(balanced(kind, Y, m), IN_A, rows)) < 1e-8


@pytest.mark.parametrize("kind", STRATIFIED)
def test_ties_in_the_score_leave_strata_empty(kind):
    Z = (X[:, :1] > 0).astype(float)
    model = kind(7).fit(Z, Y, sensitive_features=SEX)
    states = [r["state"] for r in model.strata_]
    # Two cells of rows that are alike: the fit cannot tell their groups apart.
    wanted = "kept" if kind is StratifiedEqualMeans else "contradictory"
    assert states.count("empty") == 5 and states.count(wanted) == 2
    assert sum(r["rows_a"] + r["rows_b"] for r in model.strata_) == N
    free = MultiTaskRegressor(penalty="ridge", beta=0.0).fit(Z, Y)
    np.testing.assert_allclose(model.predict(Z), free.predict(Z), atol=1e-7)


def test_residuals_that_cannot_be_balanced_are_as_near_as_can_be():
    Z = X[:, :2]
    model = StratifiedBalancedResiduals(6).fit(Z, Y, sensitive_features=SEX)
    strata, m = strata_of(Z, IN_A, 6), model.predict(Z)
    assert model.status_ == "infeasible"
    found = np.array([r["gap"] for r in model.strata_])
    left = np.array([gap(Y - m, IN_A, strata == s) for s in range(6)]) / Y.std()
    np.testing.assert_allclose(found, left, atol=1e-9)
    assert {r["state"] for r in model.strata_} == {"contradictory"}
    moves = [[gap(z, IN_A, strata == s) for z in Z.T] for s in range(6)]
    wanted = [gap(Y, IN_A, strata == s) for s in range(6)]
    least = np.linalg.lstsq(np.array(moves), np.array(wanted), rcond=None)[1][0]
    assert (left**2).sum() * Y.var() == pytest.approx(least)


# The alternating direction method


def test_adm_gets_to_the_exact_solution_and_depends_on_its_seed():
    def adm(max_iter, random_state=0):
        how = {"method": "adm", "max_iter": max_iter, "random_state": random_state}
        return DecisionBoundaryCovariance(**how).fit(X, Y, sensitive_features=SEX)

    exact = DecisionBoundaryCovariance().fit(X, Y, sensitive_features=SEX)
    many, few = adm(2000), adm(3)
    assert many.status_ == "satisfied"
    np.testing.assert_allclose(many.predict(X), exact.predict(X), atol=1e-6)
    assert few.status_ == "max_iter" and few.n_iter_ == 3
    covariance = np.cov(IN_A, few.predict(X), ddof=0)[0, 1]
    assert few.covariance_ == pytest.approx(covariance) and abs(covariance) > 1e-6
    np.testing.assert_array_equal(few.coef_, adm(3).coef_)
    assert not np.array_equal(few.coef_, adm(3, random_state=1).coef_)


# The door


@pytest.mark.parametrize(
    ("kind", "settings", "words"),
    [
        (0, {"n_strata": 0}, "n_strata must be a whole number ≥ 1; got 0"),
        (2, {"method": "exat"}, 'method must be one of "exact", "adm"; got "exat".'),
        (2, {"trade_off": 0}, "trade_off must be above 0; got 0"),
        (2, {"trade_off": -1.0}, "trade_off must be a number ≥ 0; got -1.0"),
        (1, {"beta": -1}, "beta must be a number ≥ 0; got -1"),
        (0, {"unseen": "shared", "penalty": "task"}, 'unseen "shared" needs'),
    ],
)
def test_bad_settings_are_refused_in_a_sentence(kind, settings, words):
    model = ALL[kind](**settings)
    assert words in sentence(model.fit, X, Y, sensitive_features=SEX)
    assert not hasattr(model, "coef_")
    three, groups = ALL[kind](), np.arange(N) % 3
    assert "two are expected" in sentence(three.fit, X, Y, sensitive_features=groups)
