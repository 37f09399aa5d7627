"""Three and more groups: each level with the rest."""

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from oracles import brute_twice_u
from rankfair import RankFairRegressor
from rankfair.balances import Rank
from rankfair.solvers import NCADMM

PENALTIES = ["ridge", "task", "shared", "feature"]


def made(n_groups, n=400, n_tasks=6, seed=0):
    rng = np.random.default_rng(seed)
    codes = rng.integers(n_groups, size=n)
    X = rng.normal(size=(n, 3)) + 0.3 * rng.normal(size=(n_groups, 3))[codes]
    y = X.sum(axis=1) + rng.normal(size=n_groups)[codes] + rng.normal(size=n)
    labels = np.array([f"g{code}" for code in codes])
    return X, y, labels, rng.integers(n_tasks, size=n)


def one_against_the_rest(m, labels):
    found = {}
    for label in np.unique(labels).tolist():
        in_a = labels == label
        pairs = in_a.sum() * (~in_a).sum()
        found[label] = (brute_twice_u(m, in_a) / (2 * pairs), 1 / pairs)
    return found


@pytest.mark.parametrize("penalty", PENALTIES)
@pytest.mark.parametrize("epsilon", [0.0, 0.03])
@pytest.mark.parametrize("n_groups", [3, 4])
def test_every_group_is_level_with_the_rest(n_groups, epsilon, penalty):
    X, y, labels, tasks = made(n_groups)
    model = RankFairRegressor(epsilon, penalty=penalty)
    model.fit(X, y, tasks=tasks, sensitive_features=labels)
    assert model.status_ == "satisfied"
    m = model.predict(X, tasks=tasks)
    for label, (auc, pair) in one_against_the_rest(m, labels).items():
        assert abs(auc - 0.5) <= epsilon + pair + 1e-12
        assert model.group_auc_[label] == pytest.approx(auc)
    worst = max(model.group_auc_.values(), key=lambda auc: abs(auc - 0.5))
    assert model.rank_auc_ == worst == model.balance_["rank"]


def test_levelling_costs_error_and_a_wider_band_less():
    X, y, labels, tasks = made(3)
    errors = []
    for epsilon in (0.0, 0.05, 0.5):
        model = RankFairRegressor(epsilon, penalty="ridge")
        model.fit(X, y, tasks=tasks, sensitive_features=labels)
        errors.append(model.objective_)
    assert errors == sorted(errors, reverse=True)
    assert model.status_ == "inactive"


def test_two_groups_come_out_as_by_the_search_for_two():
    """A third group of a few rows that is level already changes next to nothing."""
    X, y, labels, tasks = made(2, n=600)
    two = RankFairRegressor(0.0, penalty="ridge")
    two.fit(X, y, tasks=tasks, sensitive_features=labels)
    more = labels.copy()
    middle = np.argsort(two.predict(X, tasks=tasks))[290:300]
    more[middle] = "other"
    three = RankFairRegressor(0.0, penalty="ridge")
    three.fit(X, y, tasks=tasks, sensitive_features=more)
    assert three.objective_ == pytest.approx(two.objective_, rel=0.02)


def test_a_column_of_groups_is_a_predictor_for_each_but_the_first():
    pandas = pytest.importorskip("pandas")
    X, y, labels, _ = made(3)
    frame = pandas.DataFrame(X, columns=["a", "b", "c"])
    frame.insert(1, "who", labels)
    model = RankFairRegressor(0.02, sensitive_features="who", penalty="ridge")
    model.fit(frame, y)
    assert model.predictors_.tolist() == ["a", "b", "c", "who=g1", "who=g2"]
    own = np.column_stack((X, labels == "g1", labels == "g2"))
    by_hand = own @ model.coef_[0] + model.intercept_[0]
    np.testing.assert_allclose(model.predict(frame), by_hand)
    with pytest.raises(ValueError, match="not seen in training"):
        model.predict(frame.assign(who="g9"))
    blind = RankFairRegressor(0.02, sensitive_features="who", blind=True)
    assert blind.fit(frame, y).predictors_.tolist() == ["a", "b", "c"]


@pytest.mark.parametrize("penalty", ["ridge", "task"])
def test_means_and_ranks_of_all_groups_at_once(penalty):
    X, y, labels, tasks = made(3, n=600)
    model = RankFairRegressor([0.01, 0.0], balance=["rank", "mean"], penalty=penalty)
    model.fit(X, y, tasks=tasks, sensitive_features=labels)
    m = model.predict(X, tasks=tasks)
    assert model.status_ == "satisfied"
    means = [m[labels == label].mean() for label in np.unique(labels)]
    assert np.ptp(means) <= 1e-8 * y.std()
    for auc, pair in one_against_the_rest(m, labels).values():
        assert abs(auc - 0.5) <= 0.01 + pair + 1e-12


@pytest.mark.parametrize("balance", ["mean", "residual"])
def test_linear_balances_of_several_groups(balance):
    X, y, labels, tasks = made(4)
    model = RankFairRegressor(0.0, balance=balance)
    model.fit(X, y, tasks=tasks, sensitive_features=labels)
    m = model.predict(X, tasks=tasks)
    values = m if balance == "mean" else y - m
    found = [values[labels == label].mean() for label in np.unique(labels)]
    assert np.ptp(found) <= 1e-8 * y.std()
    assert model.balance_[balance] == pytest.approx(0.0, abs=1e-8)


def test_a_fit_that_only_the_means_hold_back_is_not_called_inactive():
    X, y, labels, tasks = made(3, n=600)
    model = RankFairRegressor([0.5, 0.01], balance=["rank", "mean"], penalty="ridge")
    model.fit(X, y, tasks=tasks, sensitive_features=labels)
    assert model.status_ == "satisfied"
    model.set_params(epsilon=[0.5, 9.0])
    model.fit(X, y, tasks=tasks, sensitive_features=labels)
    assert model.status_ == "inactive"


@pytest.mark.parametrize("width", [0.5, 0.0])
@pytest.mark.parametrize("n_groups", [2, 3])
def test_means_that_contradict_each_other_are_not_called_satisfied(n_groups, width):
    """Equal means of predictions and of residuals, where those of y differ."""
    X, y, labels, _ = made(n_groups)
    y = y + 2.0 * np.unique(labels, return_inverse=True)[1]
    model = RankFairRegressor(
        [width, 0.0, 0.0], balance=["rank", "mean", "residual"], penalty="ridge"
    )
    with pytest.warns(ConvergenceWarning, match="mean imbalance"):
        model.fit(X, y, sensitive_features=labels)
    assert model.status_ == "infeasible"
    assert abs(model.balance_["mean"]) > 0.1


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("seed", [2, 4, 5])
def test_ranks_are_not_bought_with_predictions_beyond_all_measure(seed):
    # Four groups and four features: hardly any fit keeps residuals and ranks level,
    # and ranks are as level among predictions a million times too far apart.
    rng = np.random.default_rng(seed)
    X, groups = rng.normal(size=(200, 4)), rng.integers(4, size=200)
    y = X @ rng.normal(size=4) + 0.5 * groups + rng.normal(size=200)
    cost = {}
    for balance in ("residual", ["rank", "residual"]):
        model = RankFairRegressor(0.02, penalty="ridge", beta=10.0, balance=balance)
        model.fit(X, y, sensitive_features=groups)
        cost[len(balance)] = model.objective_
        assert abs(model.balance_["residual"]) <= 0.02 + 1e-6
    alone, together = cost[len("residual")], cost[2]
    assert together <= 10 * max(alone, len(y) / 2) * (1 + 1e-9)


def test_one_side_is_for_two_groups():
    X, y, labels, _ = made(3)
    with pytest.raises(ValueError, match=r'of 3 groups not all .* Use side="both"'):
        RankFairRegressor(side="upper").fit(X, y, sensitive_features=labels)
    # A balance brings its own side.
    with pytest.raises(ValueError, match='side="upper"'):
        upper = RankFairRegressor(balance=Rank(0.05, side="upper"))
        upper.fit(X, y, sensitive_features=labels)
    both = RankFairRegressor(balance=Rank(0.05), side="upper", penalty="ridge")
    assert both.fit(X, y, sensitive_features=labels).status_ == "satisfied"


def test_order_names_and_weights_of_rows():
    X, y, labels, tasks = made(3, n=150)
    weights = np.random.default_rng(1).integers(1, 4, len(y))
    model = RankFairRegressor(0.02, penalty="ridge")

    def fitted(rows, labels=labels, weights=None):
        return (
            model.fit(
                X[rows],
                y[rows],
                tasks=tasks[rows],
                sensitive_features=labels[rows],
                sample_weight=None if weights is None else weights[rows],
            )
            .predict(X, tasks=tasks)
            .copy()
        )

    rows = np.arange(len(y))
    m = fitted(rows)
    mixed = np.random.default_rng(2).permutation(rows)
    np.testing.assert_allclose(fitted(mixed), m, atol=1e-6 * y.std())
    np.testing.assert_array_equal(fitted(rows), m)
    weighted, repeated = fitted(rows, weights=weights), fitted(rows.repeat(weights))
    np.testing.assert_allclose(weighted, repeated, atol=1e-6 * y.std())


def test_what_cannot_be_levelled_is_said():
    rng = np.random.default_rng(0)
    labels = np.repeat(["a", "b", "c"], 30)
    X = np.repeat([0.0, 1.0, 2.0], 30)[:, None]
    y = X[:, 0] + rng.normal(size=90)
    # One slope can only turn the order round, or leave all predictions equal.
    model = RankFairRegressor(0.0, penalty="ridge")
    try:
        model.fit(X, y, sensitive_features=labels)
    except ConvergenceWarning as warning:
        assert "Reached: AUC" in str(warning)
    else:
        assert np.ptp(model.predict(X)) <= 1e-6 * y.std()


def test_other_solvers_and_too_many_groups_are_refused():
    X, y, labels, _ = made(3)
    with pytest.raises(
        ValueError, match=r'knows two groups; .* has 3\. Use solver="tilt"'
    ):
        RankFairRegressor(solver=NCADMM()).fit(X, y, sensitive_features=labels)
    with pytest.raises(ValueError, match=r"400 distinct numbers .* Set bins=4"):
        RankFairRegressor().fit(X, y, sensitive_features=X[:, 0])
    with pytest.raises(ValueError, match=r"400 groups .* at most 60 .* Join small"):
        RankFairRegressor().fit(X, y, sensitive_features=X[:, 0].astype(str))
    none = np.where(labels == "g0", 0.0, 1.0)
    with pytest.raises(ValueError, match=r'all .* rows of group "g0"'):
        RankFairRegressor().fit(X, y, sensitive_features=labels, sample_weight=none)
