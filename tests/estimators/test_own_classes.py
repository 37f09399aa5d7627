"""Far values, and constraints, penalties and solvers of one's own."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LinearRegression

from rankfair import (
    RankFairRegressor,
    TiltedRegressor,
    fairness_path,
)
from rankfair.constraints import Band, Constraint
from rankfair.metrics import rmse
from rankfair.penalties import Factor, Penalty
from rankfair.solvers import Tilt


def skewed(n_rows, column):
    """Rows whose group shows in ``a``, and whose ``c`` reaches far."""
    rng = np.random.default_rng(0)
    group = rng.random(n_rows) < 0.5
    X = rng.standard_normal((n_rows, 3))
    X[:, 0] += group
    if column == "lognormal":
        X[:, 2] = np.exp(5 * rng.standard_normal(n_rows))
    noise = rng.standard_normal(n_rows)
    if column == "outlier":
        X[0, 2] = 1e5
    y = X @ [1.0, 0.5, 0.01 if column == "lognormal" else 1.0] + noise
    return X, y, np.where(group, "B", "A")


@pytest.mark.parametrize(
    ("column", "epsilon", "constraints"),
    [("outlier", 0.02, "rank"), ("lognormal", [0.02, 0.5], ["rank", "mean"])],
)
def test_far_values_do_not_turn_the_order_of_the_groups(column, epsilon, constraints):
    X, y, z = skewed(20_000, column)
    model = RankFairRegressor(0.5, penalty="ridge", count="train")
    assert model.fit(X, y, sensitive_features=z).rank_auc_ > 0.52
    model.set_params(epsilon=epsilon, constraints=constraints)
    model.fit(X, y, sensitive_features=z)
    # The least tilt that is enough ends at the edge it comes to first.
    assert model.status_ == "satisfied"
    assert 0.5 <= model.rank_auc_ <= 0.52


@dataclass(frozen=True)
class Bounded(Constraint):
    """The mean of tanh of the predictions of A less that of B, a user's own.

    It is shown in ``parts`` of one, as others show percents.
    """

    parts: float = 1.0

    def band(self, groups):
        return Band(-self.epsilon, self.epsilon)

    def value(self, m, groups, unit=1.0):
        bent = np.tanh(m / unit)
        if groups.weights is not None:
            bent = bent * groups.weights
        a, b = bent[groups.in_a].sum(), bent[~groups.in_a].sum()
        return self.parts * float(a / groups.total_a - b / groups.total_b)

    def slope(self, m, groups):
        side = np.where(groups.in_a, 1 / groups.total_a, -1 / groups.total_b)
        return self.parts * side / np.cosh(m) ** 2


class Inverse(Factor):
    """An exact fit of the moments of any target, and of nothing else."""

    def __init__(self, gram):
        self.gram = gram

    def solve(self, B, start=None):
        return np.linalg.solve(self.gram, B[:, :, None])[:, :, 0]


@dataclass(frozen=True)
class Squares(Penalty):
    """Ridge, a user's own."""

    degree = 2

    def value(self, W):
        return 0.5 * self.beta * float((W * W).sum())

    def factorise(self, G):
        return Inverse(G + self.beta * np.eye(G.shape[1]))


def grouped(n_groups, n_rows=600):
    """Rows of as many groups, which show in ``a``, in four tasks."""
    rng = np.random.default_rng(0)
    group = rng.integers(n_groups, size=n_rows)
    X = rng.standard_normal((n_rows, 3))
    X[:, 0] += group
    y = X @ [1.0, 1.0, 0.0] + rng.standard_normal(n_rows)
    frame = pd.DataFrame(X, columns=list("abc"))
    frame["task"] = rng.integers(4, size=n_rows)
    return frame.assign(z=np.array(list("ABC"))[group]), y


NAMED = {"tasks": "task", "sensitive_features": "z"}


# Everywhere that takes a constraint of one's own: it is met, or refused at once


@pytest.mark.parametrize(
    "settings",
    [
        {"weights": True},
        {"groups": 3, "parts": 10.0},
        {"unknown": True},
        {"penalty": "ridge", "count": "loo"},
        {"penalty": "shared", "groups": 3},
        {"direction": "density"},
        {"beside": ["mean", "residual"], "epsilon": [0.05, 0.3, 0.8]},
    ],
    ids=str,
)
def test_a_constraint_of_one_s_own_is_met(settings):
    settings = {"count": "train", **settings}
    X, y = grouped(settings.pop("groups", 2))
    if settings.pop("unknown", False):
        X.loc[:9, "z"] = None
    weighted = settings.pop("weights", False)
    weights = np.random.default_rng(0).uniform(0.5, 2.0, len(y)) if weighted else None
    parts, beside = settings.pop("parts", 1.0), settings.pop("beside", [])
    own = Bounded(epsilon=0.05 * parts, parts=parts)  # a band in its own unit
    settings["constraints"] = [own, *beside] if beside else own
    model = RankFairRegressor(**NAMED, **settings).fit(X, y, sample_weight=weights)
    assert model.status_ == "satisfied"
    assert abs(model.constraint_values_["bounded"]) <= own.epsilon + 1e-6
    if settings["count"] == "train" and not weighted:
        known = X["z"].notna().to_numpy()
        bent, z = np.tanh(model.predict(X) / y.std())[known], X["z"][known]
        gaps = [abs(bent[z == g].mean() - bent[z != g].mean()) for g in set(z)]
        assert max(gaps) <= 0.05 + 1e-6


def test_a_constraint_of_one_s_own_is_met_by_any_model():
    X, y = grouped(2)
    own = Bounded(epsilon=0.05)
    model = TiltedRegressor(LinearRegression(), constraints=own, cv=None)
    model.set_params(sensitive_features="z")
    assert model.fit(X, y).status_ == "satisfied"
    bent = np.tanh(model.predict(X) / y.std())
    a = (X["z"] == "B").to_numpy()
    assert abs(bent[a].mean() - bent[~a].mean()) <= 0.05 + 1e-6


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"scope": "both"}, 'one constraint in each task.* got "bounded"'),
        ({"solver": "ncadmm"}, 'solver "ncadmm" .* got Bounded. Use solver="tilt"'),
        ({"solver": "paper"}, 'solver "paper" .* got Bounded. Use solver="tilt"'),
        (
            {"constraints": [Bounded(0.05), "rank"]},
            "at most one .* besides Mean and Residual; got Bounded and Rank",
        ),
        (
            {"constraints": "rank", "penalty": Squares(), "solver": "paper"},
            'penalty="task" only; got Squares',
        ),
    ],
    ids=str,
)
def test_what_one_s_own_classes_cannot_do_is_refused(settings, words):
    model = RankFairRegressor(**NAMED, constraints=Bounded(0.05)).set_params(**settings)
    with pytest.raises(ValueError, match=words):
        model.fit(*grouped(2))


def test_a_path_of_a_constraint_of_one_s_own_is_refused_with_a_cure_that_helps():
    model = RankFairRegressor(**NAMED, constraints=Bounded(0.05))
    with pytest.raises(ValueError, match="one epsilon after another"):
        fairness_path(model, *grouped(2), epsilons=[0.01, 0.1])


@pytest.mark.parametrize(
    "settings",
    [{"scope": "both"}, {"solver": "ncadmm"}, {"direction": "density"}, {"groups": 3}],
    ids=str,
)
def test_a_penalty_of_one_s_own_serves_wherever_ridge_does(settings):
    settings = {**settings, **NAMED, "count": "train"}
    X, y = grouped(settings.pop("groups", 2))
    own = RankFairRegressor(0.05, penalty=Squares(2.0), **settings).fit(X, y)
    same = RankFairRegressor(0.05, penalty="ridge", beta=2.0, **settings).fit(X, y)
    assert own.status_ == same.status_
    assert rmse(y, own.predict(X)) == pytest.approx(rmse(y, same.predict(X)), rel=5e-3)


def test_a_solver_of_one_s_own_keeps_several_constraints():
    class Wrapped:
        def solve(self, *given):
            return Tilt(count="train").solve(*given)

    model = RankFairRegressor(0.05, constraints=["rank", "mean"], **NAMED)
    model.set_params(solver=Wrapped()).fit(*grouped(2))
    assert model.status_ == "satisfied"
    with pytest.raises(ValueError, match=r'for one constraint .* Use solver="tilt"'):
        model.set_params(scope="task", constraints="rank").fit(*grouped(2))
