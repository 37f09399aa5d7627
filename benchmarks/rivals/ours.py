"""Our methods, and the two that need no package: nothing, and a constant shift."""

from __future__ import annotations

from typing import Any

from rankfair import RankFairPostprocessor, TiltedRegressor
from rankfair.balances import Mean, Rank
from rankfair.experiments.methods import Rows

from .cases import Base, folds
from .methods import LINEAR, OURS, Fit, Method, Predict

# For normal predictions of usual spread a rank gap of ε goes with means so many ε of a
# standard deviation apart.
MEANS_PER_RANK = 2.4


def grid(first: tuple[float, ...], top: float, step: float) -> tuple[float, ...]:
    """These, and then every step up to the top.

    Many, because a rival may sit anywhere between fair and free.  The first is the one
    whose cost is measured, and the first few are all that the largest data gets.
    """
    rest = [round(i * step, 6) for i in range(1, int(top / step) + 1)]
    # Coarse ones before fine ones: time may run out.
    rest.sort(key=lambda value: (round(value / step) % 2, value))
    return (*first, *(value for value in rest if value not in first))


EPSILONS = grid((0.01, 0.0, 0.05, 0.1, 0.2, 0.3, 0.4, 0.005), 0.49, 0.01)
# For means ε is in standard deviations of the target.
MEANS = grid((0.0, 0.1, 0.2, 0.4, 0.8, 1.2, 0.01, 0.02), 1.5, 0.025)
DISTRIBUTIONS = grid((0.01, 0.0, 0.05, 0.1, 0.2, 0.4, 0.6, 0.02), 0.8, 0.0125)


def unconstrained(rows: Rows, base: Base, setting: float) -> Predict:
    model = base.fitted(rows)
    return lambda new: model.predict(base.table(new))


def rank_fair(**wanted: Any) -> Fit:
    def fit(rows: Rows, base: Base, epsilon: float) -> Predict:
        model = base.rank_fair(epsilon, rows, **wanted)
        model.fit(base.table(rows), rows.y)
        return lambda new: model.predict(base.table(new))

    return fit


def rank_and_mean(rows: Rows, base: Base, epsilon: float) -> Predict:
    both = [Rank(epsilon), Mean(MEANS_PER_RANK * epsilon)]
    return rank_fair(balance=both)(rows, base, epsilon)


def tilted(rows: Rows, base: Base, epsilon: float) -> Predict:
    X = base.table(rows)
    model = TiltedRegressor(
        base.learner(), epsilon, sensitive_features=X.shape[1] - 1, cv=folds(rows)
    ).fit(X, rows.y)
    return lambda new: model.predict(base.table(new))


def mapped(balance: str) -> Fit:
    def fit(rows: Rows, base: Base, epsilon: float) -> Predict:
        X = base.table(rows)
        model = RankFairPostprocessor(
            base.learner(remember=True),
            epsilon,
            balance=balance,
            sensitive_features=X.shape[1] - 1,
            cv=folds(rows),
        ).fit(X, rows.y)
        return lambda new: model.predict(base.table(new))

    return fit


METHODS = (
    Method(OURS, "unconstrained", unconstrained),
    Method(OURS, "constant shift", mapped("shift"), "ε", EPSILONS),
    Method(OURS, "tilt", rank_fair(), "ε", EPSILONS, LINEAR),
    Method(OURS, "NC-ADMM", rank_fair(solver="ncadmm"), "ε", EPSILONS[:8], LINEAR),
    Method(OURS, "tilt, rank and mean", rank_and_mean, "ε", EPSILONS, LINEAR),
    Method(OURS, "tilt, mean", rank_fair(balance="mean"), "ε", MEANS, LINEAR),
    Method(
        OURS, "linear, distribution", rank_fair(balance="distribution"), "ε",
        (0.05, 0.02, 0.1, 0.2, 0.4), LINEAR,
    ),
    Method(OURS, "TiltedRegressor", tilted, "ε", EPSILONS[:8]),
    Method(OURS, "map, rank", mapped("rank"), "ε", EPSILONS),
    Method(OURS, "map, distribution", mapped("distribution"), "ε", DISTRIBUTIONS),
)  # fmt: skip
