"""Far values, and constraints, penalties and solvers of one's own."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
import pytest
from numpy.typing import NDArray
from sklearn.linear_model import LinearRegression

from rankfair import (
    RankFairRegressor,
    TiltedRegressor,
)
from rankfair.constraints import Band, Constraint
from rankfair.core.problem import Groups, Problem
from rankfair.metrics import rmse
from rankfair.penalties import Factor, Penalty
from rankfair.solvers import Tilt
from rankfair.solvers.base import OnStep, Request, Solution
from rankfair.solvers.counted import Demand

Floats = NDArray[np.float64]

EPSILON = 0.02


def skewed(
    n_rows: int, column: str, seed: int = 0
) -> tuple[pd.DataFrame, NDArray[Any]]:
    """Rows whose group shows in ``a``, and whose ``c`` reaches far or is ``plain``."""
    rng = np.random.default_rng(seed)
    group = rng.random(n_rows) < 0.5
    X = rng.standard_normal((n_rows, 3))
    X[:, 0] += group
    if column == "lognormal":
        X[:, 2] = np.exp(5 * rng.standard_normal(n_rows))
    noise = rng.standard_normal(n_rows)
    if column == "outlier":
        X[0, 2] = 1e5
    y = X @ [1.0, 0.5, 0.01 if column == "lognormal" else 1.0] + noise
    frame = pd.DataFrame(X, columns=list("abc"))
    return frame.assign(z=np.where(group, "B", "A")), y


def fair(epsilon: Any = EPSILON, **settings: Any) -> RankFairRegressor:
    """A model that does not read the group, counted on training rows."""
    return RankFairRegressor(
        epsilon, sensitive_features="z", penalty="ridge", count="train", **settings
    )


@pytest.mark.parametrize(
    ("column", "beside", "weighted"),
    [("outlier", False, True), ("lognormal", True, False)],
)
def test_far_values_do_not_turn_the_order_of_the_groups(
    column: str, beside: bool, weighted: bool
) -> None:
    X, y = skewed(20_000, column)
    weights = np.random.default_rng(1).uniform(0.5, 1.5, len(y)) if weighted else None
    model = fair()
    if beside:
        model = fair([EPSILON, 0.5], constraints=["rank", "mean"])
    free = fair(0.5).fit(X, y, sample_weight=weights)
    assert free.rank_auc_ > 0.5 + EPSILON
    model.fit(X, y, sample_weight=weights)
    # The least tilt that is enough ends at the edge it comes to first.
    assert model.status_ == "satisfied"
    assert 0.5 <= model.rank_auc_ <= 0.5 + EPSILON


@dataclass(frozen=True)
class Bounded(Constraint):
    """The mean of tanh of the predictions of A less that of B, a user's own.

    It is shown in ``parts`` of one, as others show percents.
    """

    parts: float = 1.0

    def band(self, groups: Groups) -> Band:
        return Band(-self.epsilon, self.epsilon)

    def value(self, m: Floats, groups: Groups, unit: float = 1.0) -> float:
        bent = np.tanh(m / unit)
        if groups.weights is not None:
            bent = bent * groups.weights
        a, b = bent[groups.in_a].sum(), bent[~groups.in_a].sum()
        return self.parts * float(a / groups.total_a - b / groups.total_b)

    def slope(self, m: Floats, groups: Groups) -> Floats:
        side = np.where(groups.in_a, 1 / groups.total_a, -1 / groups.total_b)
        return self.parts * side / np.cosh(m) ** 2


class Inverse(Factor):
    """An exact fit of the moments of any target, and of nothing else."""

    def __init__(self, gram: Floats):
        self.gram = gram

    def solve(self, B: Floats, start: Floats | None = None) -> Floats:
        return np.linalg.solve(self.gram, B[:, :, None])[:, :, 0]


@dataclass(frozen=True)
class Squares(Penalty):
    """Ridge, a user's own."""

    degree = 2

    def value(self, W: Floats) -> float:
        return 0.5 * self.beta * float((W * W).sum())

    def factorise(self, G: Floats) -> Inverse:
        return Inverse(G + self.beta * np.eye(G.shape[1]))


@dataclass(frozen=True)
class Plain:
    """A user's own solver: the settings, and one method of the published form."""

    def solve(
        self,
        problem: Problem,
        request: Request,
        demands: Sequence[Demand],
        on_step: OnStep | None = None,
    ) -> Solution:
        return Tilt().solve(problem, request, demands, on_step)


def grouped(n_groups: int, n_rows: int = 600) -> tuple[pd.DataFrame, NDArray[Any]]:
    """Rows of as many groups, which show in ``a``, in four tasks."""
    rng = np.random.default_rng(0)
    group = rng.integers(n_groups, size=n_rows)
    X = rng.standard_normal((n_rows, 3))
    X[:, 0] += group
    y = X @ [1.0, 1.0, 0.0] + rng.standard_normal(n_rows)
    frame = pd.DataFrame(X, columns=list("abc"))
    frame["task"] = rng.integers(4, size=n_rows)
    return frame.assign(z=np.array(list("ABC"))[group]), y


def bounded_gap(model: RankFairRegressor, X: pd.DataFrame, y: NDArray[Any]) -> float:
    """The largest value of `Bounded` of a known group against all other known ones."""
    known = X["z"].notna().to_numpy()
    bent, z = np.tanh(model.predict(X) / y.std())[known], X["z"][known]
    return max(abs(bent[z == g].mean() - bent[z != g].mean()) for g in set(z))


@pytest.mark.parametrize("constraint", [["rank", "mean"], ["distribution", "mean"]])
def test_a_solver_of_one_s_own_takes_two_constraints_or_says_no(
    constraint: Any,
) -> None:
    X, y = grouped(2)
    model = RankFairRegressor(
        0.05,
        tasks="task",
        sensitive_features="z",
        solver=Plain(),
        constraints=constraint,
    )
    try:
        model.fit(X, y)
    except ValueError as refusal:
        assert "solver" in str(refusal) and "tilt" in str(refusal)
    else:
        assert model.status_ == "satisfied"
        assert abs(model.constraint_values_["mean"]) <= 0.05 + 1e-9


# Everywhere that takes a constraint of one's own: it is met, or refused at once


@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"weights": True},
        {"groups": 3, "parts": 10.0},
        {"unknown": True},
        {"penalty": "ridge", "count": "loo"},
        {"penalty": "task"},
        {"penalty": "shared", "groups": 3},
        {"direction": "density"},
        {"beside": ["mean"]},
        {"beside": ["mean", "residual"], "epsilon": [0.3, 0.8]},
    ],
    ids=str,
)
def test_a_constraint_of_one_s_own_is_met(settings: dict[str, Any]) -> None:
    settings = {"count": "train", **settings}
    X, y = grouped(settings.pop("groups", 2))
    if settings.pop("unknown", False):
        X.loc[:9, "z"] = None
    weighted = settings.pop("weights", False)
    weights = np.random.default_rng(0).uniform(0.5, 2.0, len(y)) if weighted else None
    parts, beside = settings.pop("parts", 1.0), settings.pop("beside", [])
    own = Bounded(epsilon=0.05 * parts, parts=parts)  # a band in its own unit
    if beside:
        wide = settings.pop("epsilon", [0.3])
        settings["epsilon"] = [0.05, *wide]
    model = RankFairRegressor(
        tasks="task",
        sensitive_features="z",
        constraints=[own, *beside] if beside else own,
        **settings,
    )
    model.fit(X, y, sample_weight=weights)
    assert model.status_ == "satisfied"
    assert abs(model.constraint_values_["bounded"]) <= own.epsilon + 1e-6
    if settings["count"] == "train" and not weighted:
        assert bounded_gap(model, X, y) <= 0.05 + 1e-6


def test_a_constraint_of_one_s_own_is_met_by_any_model() -> None:
    X, y = grouped(2)
    model = TiltedRegressor(
        LinearRegression(),
        tasks="task",
        sensitive_features="z",
        constraints=Bounded(epsilon=0.05),
        cv=None,
    )
    assert model.fit(X, y).status_ == "satisfied"
    bent = np.tanh(model.predict(X) / y.std())
    a = (X["z"] == "B").to_numpy()
    assert abs(bent[a].mean() - bent[~a].mean()) <= 0.05 + 1e-6


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        (
            {"scope": "task"},
            'scope "task" keeps one constraint in each task.* got "bounded"',
        ),
        (
            {"scope": "both"},
            'scope "both" keeps one constraint in each task.* got "bounded"',
        ),
        ({"solver": "ncadmm"}, 'solver "ncadmm" .* got Bounded. Use solver="tilt"'),
        ({"solver": "paper"}, 'solver "paper" .* got Bounded. Use solver="tilt"'),
        ({"beside": ["rank"]}, "one that is not linear .* got Bounded and Rank"),
    ],
    ids=str,
)
def test_a_constraint_of_one_s_own_is_refused_before_any_computing(
    settings: dict[str, Any], words: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def computed(*_: Any, **__: Any) -> None:
        raise AssertionError("it computed")

    monkeypatch.setattr(Problem, "from_rows", computed)
    beside = settings.pop("beside", None)
    own: Any = Bounded(epsilon=0.05)
    model = RankFairRegressor(
        tasks="task",
        sensitive_features="z",
        constraints=[own, *beside] if beside else own,
        **settings,
    )
    with pytest.raises(ValueError, match=words):
        model.fit(*grouped(2))


@pytest.mark.parametrize(
    "settings",
    [
        {"scope": "both"},
        {"solver": "ncadmm"},
        {"direction": "density"},
        {"groups": 3},
    ],
    ids=str,
)
def test_a_penalty_of_one_s_own_serves_wherever_ridge_does(
    settings: dict[str, Any],
) -> None:
    settings = {**settings}
    X, y = grouped(settings.pop("groups", 2))
    settings |= {"tasks": "task", "sensitive_features": "z", "count": "train"}
    own = RankFairRegressor(0.05, penalty=Squares(2.0), **settings).fit(X, y)
    same = RankFairRegressor(0.05, penalty="ridge", beta=2.0, **settings).fit(X, y)
    assert own.status_ == same.status_
    assert rmse(y, own.predict(X)) == pytest.approx(rmse(y, same.predict(X)), rel=5e-3)


def test_the_paper_s_solver_refuses_a_penalty_of_one_s_own_at_once() -> None:
    X, y = grouped(2)
    model = RankFairRegressor(
        tasks="task", sensitive_features="z", penalty=Squares(), solver="paper"
    )
    with pytest.raises(ValueError, match='penalty="task" only; got Squares'):
        model.fit(X, y)
