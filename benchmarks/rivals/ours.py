"""Our methods, and the two that need no package: nothing, and a constant shift."""

from __future__ import annotations

from typing import Any

from paper.cases import Rows
from rankfair import RankFairPostprocessor, TiltedRegressor
from rankfair.constraints import Mean, Rank

from .cases import Base, folds
from .methods import ANY, LINEAR, Fit, Method, Predict, Setting
from .points import OURS

# The first is the one whose cost is measured.  Those that come close to a rival's point
# are added when the rivals have run.
EPSILONS = (0.01, 0.0, 0.005, 0.02, 0.05, 0.1, 0.2, 0.3, 0.4)
# For means ε is in standard deviations of the target.
MEANS = (0.0, 0.01, 0.02, 0.05, 0.1, 0.2, 0.4, 0.8, 1.2)
PAIRS = tuple((e, 2.4 * e) for e in (0.01, 0.0, 0.02, 0.05, 0.1))


def unconstrained(rows: Rows, base: Base, setting: float) -> Predict:
    model = base.fitted(rows)
    return lambda new: model.predict(base.table(new))


def rank_fair(**wanted: Any) -> Fit:
    def fit(rows: Rows, base: Base, epsilon: float) -> Predict:
        model = base.rank_fair(epsilon, rows, **wanted)
        model.fit(base.table(rows), rows.y)
        return lambda new: model.predict(base.table(new))

    return fit


def rank_and_mean(rows: Rows, base: Base, both: tuple[float, float]) -> Predict:
    model = base.rank_fair(0.0, rows, constraints=[Rank(both[0]), Mean(both[1])])
    model.fit(base.table(rows), rows.y)
    return lambda new: model.predict(base.table(new))


def tilted(rows: Rows, base: Base, epsilon: float) -> Predict:
    X = base.table(rows)
    model = TiltedRegressor(
        base.learner(), epsilon, sensitive_features=X.shape[1] - 1, cv=folds(rows)
    ).fit(X, rows.y)
    return lambda new: model.predict(base.table(new))


def mapped(constraint: str, method: str = "auto") -> Fit:
    def fit(rows: Rows, base: Base, epsilon: Setting) -> Predict:
        X = base.table(rows)
        model = RankFairPostprocessor(
            base.learner(remember=True),
            epsilon,
            constraints=constraint,
            method=method,
            sensitive_features=X.shape[1] - 1,
            cv=folds(rows),
        ).fit(X, rows.y)
        return lambda new: model.predict(base.table(new))

    return fit


METHODS = (
    Method(OURS, "unconstrained", unconstrained),
    Method(
        OURS, "constant shift", mapped("rank", "shift"), "ε", EPSILONS, group=True
    ),
    Method(OURS, "tilt", rank_fair(), "ε", EPSILONS, LINEAR, ("gap",)),
    Method(
        OURS, "tilt, group", rank_fair(blind=False), "ε", EPSILONS, LINEAR, ("gap",),
        group=True,
    ),
    Method(OURS, "NC-ADMM", rank_fair(solver="ncadmm"), "ε", EPSILONS, LINEAR),
    Method(
        OURS, "tilt, rank and mean", rank_and_mean, "ε", PAIRS, LINEAR, ("gap", "md")
    ),
    Method(OURS, "tilt, mean", rank_fair(constraints="mean"), "ε", MEANS, LINEAR,
    ("md",)), Method(
        OURS, "linear, distribution", rank_fair(constraints="distribution"), "ε",
        (0.05, 0.02, 0.1, 0.2, 0.4), LINEAR,
    ),
    Method(OURS, "TiltedRegressor", tilted, "ε", (0.01, 0.05, 0.2)),
    Method(OURS, "map, rank", mapped("rank"), "ε", EPSILONS, ANY, ("gap",), True),
    Method(
        OURS, "map, distribution", mapped("distribution"), "ε", EPSILONS, ANY, ("ks",),
        True,
    ),
    Method(
        OURS, "line, rank", mapped("rank", "line"), "ε", EPSILONS, ANY, ("gap",), True
    ),
    Method(OURS, "line, mean", mapped("mean"), "ε", MEANS, ANY, ("md",), True),
)  # fmt: skip
