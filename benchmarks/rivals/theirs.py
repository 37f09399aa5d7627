"""Other packages, each used as its documentation shows.

All see what ours see: the same rows, features, group, and base learner.  What works on
predictions learns from the same out-of-fold ones.  Packages are imported when a method
is fitted, so that one that does not load costs its own rows only.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.linear_model import LinearRegression

from paper.cases import Rows

from .cases import Base
from .methods import Fit, Method, Mover, Predict

# Before the base learner


def _filtered(transform: Callable[[Rows], np.ndarray], rows: Rows, base: Base, own):
    """Fit base learner, or plain least squares, to features without the group."""
    if own:
        model = base.learner().fit(base.table(rows, transform(rows)), rows.y)
        return lambda new: model.predict(base.table(new, transform(new)))
    model = LinearRegression().fit(transform(rows), rows.y)
    return lambda new: model.predict(transform(new))


def correlation_remover(own: bool) -> Fit:
    def fit(rows: Rows, base: Base, alpha: float) -> Predict:
        from fairlearn.preprocessing import CorrelationRemover

        remover = CorrelationRemover(
            sensitive_feature_ids=[rows.group_column], alpha=alpha
        ).fit(rows.X)
        return _filtered(lambda new: remover.transform(new.X), rows, base, own)

    return fit


def information_filter(own: bool) -> Fit:
    def fit(rows: Rows, base: Base, alpha: float) -> Predict:
        from sklego.preprocessing import InformationFilter

        # It projects without centring: the group has to have mean 0 itself.
        centre = np.zeros(rows.X.shape[1])
        centre[-1] = rows.in_a.mean()
        information = InformationFilter(columns=[rows.group_column], alpha=alpha)
        information.fit(rows.X - centre)
        return _filtered(
            lambda new: information.transform(new.X - centre), rows, base, own
        )

    return fit


def holistic_remover(rows: Rows, base: Base, setting: float) -> Predict:
    from holisticai.bias.mitigation import CorrelationRemover

    remover = CorrelationRemover()
    remover.fit(rows.X[:, :-1], rows.in_a, ~rows.in_a)

    def transform(new: Rows) -> np.ndarray:
        found = remover.transform(new.X[:, :-1], new.in_a, ~new.in_a)
        return np.asarray(found, dtype=float)

    return _filtered(transform, rows, base, own=True)


# Reductions to the base learner


def _bounds(rows: Rows, base: Base) -> tuple[float, float, float]:
    """The ends of the target, and the mean square error of the worse group."""
    square = (rows.y - base.fitted(rows).predict(base.table(rows))) ** 2
    worse = max(square[rows.in_a].mean(), square[~rows.in_a].mean())
    return float(rows.y.min()), float(rows.y.max()), float(worse)


def bounded_gradient(rows: Rows, base: Base, share: float) -> Predict:
    from fairlearn.reductions import BoundedGroupLoss, ExponentiatedGradient, SquareLoss

    low, high, worse = _bounds(rows, base)
    constraint = BoundedGroupLoss(SquareLoss(low, high), upper_bound=share * worse)
    model = ExponentiatedGradient(base.learner(), constraint)
    model.fit(base.table(rows), rows.y, sensitive_features=rows.in_a)
    return lambda new: np.ravel(model.predict(base.table(new), random_state=0))


def bounded_grid(rows: Rows, base: Base, setting: float) -> Predict:
    from fairlearn.reductions import BoundedGroupLoss, GridSearch, SquareLoss

    low, high, _ = _bounds(rows, base)
    model = GridSearch(
        base.learner(), BoundedGroupLoss(SquareLoss(low, high)), grid_size=10
    )
    model.fit(base.table(rows), rows.y, sensitive_features=rows.in_a)
    return lambda new: np.ravel(model.predict(base.table(new)))


def holistic_gradient(rows: Rows, base: Base, share: float) -> Predict:
    from holisticai.bias.mitigation import ExponentiatedGradientReduction

    low, high, worse = _bounds(rows, base)
    model = ExponentiatedGradientReduction(
        constraints="BoundedGroupLoss",
        loss="Square",
        min_val=low,
        max_val=high,
        upper_bound=share * worse,
        estimator=base.learner(),
    )
    model.fit(base.table(rows), rows.y, rows.in_a, ~rows.in_a)
    return lambda new: np.ravel(model.predict(base.table(new)))


def holistic_grid(rows: Rows, base: Base, setting: float) -> Predict:
    """Its grid needs pandas 2: with 3 every point of it is 0, and none is left."""
    from holisticai.bias.mitigation import GridSearchReduction
    from joblib import parallel_config

    low, high, _ = _bounds(rows, base)
    model = GridSearchReduction(
        constraints="BoundedGroupLoss", loss="Square", min_val=low, max_val=high
    ).transform_estimator(base.learner())
    # It starts a process for each core; here every method has one.
    with parallel_config(backend="sequential"):
        model.fit(base.table(rows), rows.y, rows.in_a, ~rows.in_a)
    return lambda new: np.ravel(model.predict(base.table(new)))


# After the base learner


def equipy(rows: Rows, base: Base, share: float) -> Predict:
    from equipy.fairness import FairWasserstein

    m, model, mover = base.out_of_fold(rows), base.fitted(rows), FairWasserstein()
    mover.fit(m, rows.in_a.astype(int))

    def move(plain: np.ndarray, in_a: np.ndarray) -> np.ndarray:
        return np.ravel(mover.transform(plain, in_a.astype(int), epsilon=share))

    return Mover(model, base, m, move)


def holistic_map(name: str, unit: bool) -> Fit:
    """`unit`: it works on targets between 0 and 1."""

    def fit(rows: Rows, base: Base, setting: float) -> Predict:
        from holisticai.bias import mitigation

        low, width = (rows.y.min(), np.ptp(rows.y)) if unit else (0.0, 1.0)
        m, model = base.out_of_fold(rows), base.fitted(rows)
        mover = getattr(mitigation, name)()
        mover.fit((m - low) / width, rows.in_a, ~rows.in_a)

        def move(plain: np.ndarray, in_a: np.ndarray) -> np.ndarray:
            moved = mover.transform((plain - low) / width, in_a, ~in_a)["y_pred"]
            return np.ravel(moved) * width + low

        return Mover(model, base, m, move)

    return fit


# Their own learner (torch)


def _one_hot(rows: Rows, base: Base) -> np.ndarray:
    """Features, and the task as 0/1 columns where the base learner knows it."""
    if base.kind == "pooled" or rows.tasks.max() >= 500:
        return rows.X.astype(np.float32)
    codes = np.eye(int(rows.tasks.max()) + 1, dtype=np.float32)[rows.tasks.astype(int)]
    return np.hstack((rows.X.astype(np.float32), codes))


def fairret(rows: Rows, base: Base, strength: float) -> Predict:
    """A linear model by Adam, mean square error plus strength × NormLoss.

    The statistic is the share of positives, that is the mean of predictions, which
    has to be positive: the target is between 0 and 1 while fitting.
    """
    import torch
    from fairret.loss import NormLoss
    from fairret.statistic import PositiveRate

    torch.manual_seed(0)
    low, width = rows.y.min(), np.ptp(rows.y)
    X = torch.from_numpy(_one_hot(rows, base))
    y = torch.from_numpy(((rows.y - low) / width).astype(np.float32))[:, None]
    sens = torch.from_numpy(np.stack((rows.in_a, ~rows.in_a), 1).astype(np.float32))
    model, penalty = torch.nn.Linear(X.shape[1], 1), NormLoss(PositiveRate())
    unit = float(y.var())
    rate = torch.optim.Adam(model.parameters(), lr=0.02)
    slower = torch.optim.lr_scheduler.CosineAnnealingLR(rate, 400)
    for _ in range(400):
        rate.zero_grad()
        m = model(X)
        loss = ((m - y) ** 2).mean() / unit
        loss = loss + strength * penalty(m, sens, pred_as_logit=False)
        loss.backward()
        rate.step()
        slower.step()

    def predict(new: Rows) -> np.ndarray:
        with torch.no_grad():
            m = model(torch.from_numpy(_one_hot(new, base))).numpy().ravel()
        return m.astype(float) * width + low

    return predict


def adversarial(rows: Rows, base: Base, alpha: float) -> Predict:
    """A linear predictor against a linear adversary, at most 20 passes."""
    from fairlearn.adversarial import AdversarialFairnessRegressor

    X = _one_hot(rows, base)
    model: Any = AdversarialFairnessRegressor(
        backend="torch",
        predictor_model=[],
        adversary_model=[],
        alpha=alpha,
        learning_rate=0.01,
        epochs=int(np.clip(10**6 // len(X), 1, 20)),
        batch_size=256,
        shuffle=True,
        random_state=0,
    )
    model.fit(X, rows.y.astype(np.float32), sensitive_features=rows.in_a.astype(int))
    return lambda new: np.ravel(model.predict(_one_hot(new, base))).astype(float)


HALVES = (1.0, 0.5)
TASKED = ("tasks", "boosting")
METHODS = (
    Method(
        "fairlearn", "CorrelationRemover", correlation_remover(True), "α", HALVES,
        group=True,
    ),
    Method(
        "fairlearn", "CorrelationRemover, least squares", correlation_remover(False),
        "α", HALVES, TASKED, group=True,
    ),
    Method(
        "fairlearn", "ExponentiatedGradient, BoundedGroupLoss", bounded_gradient,
        "bound ×", (0.9,),
    ),
    Method("fairlearn", "GridSearch, BoundedGroupLoss", bounded_grid),
    Method(
        "fairlearn", "AdversarialFairnessRegressor", adversarial, "α", (1.0, 0.1),
        ("pooled", "tasks"),
    ),
    Method("holisticai", "CorrelationRemover", holistic_remover, group=True),
    Method(
        "holisticai", "WassersteinBarycenter",
        holistic_map("WassersteinBarycenter", unit=False), group=True,
    ),
    Method(
        "holisticai", "PluginEstimationAndCalibration",
        holistic_map("PluginEstimationAndCalibration", unit=True), group=True,
    ),
    Method(
        "holisticai", "ExponentiatedGradientReduction", holistic_gradient,
        "bound ×", (0.9,),
    ),
    Method("holisticai", "GridSearchReduction", holistic_grid),
    Method(
        "equipy", "FairWasserstein", equipy, "ε", (0.0, 0.25, 0.5, 0.75), group=True
    ),
    Method(
        "scikit-lego", "InformationFilter", information_filter(True), "α", HALVES,
        group=True,
    ),
    Method(
        "scikit-lego", "InformationFilter, least squares", information_filter(False),
        "α", HALVES, TASKED, group=True,
    ),
    Method(
        "fairret", "NormLoss, PositiveRate", fairret, "strength", (10.0, 3.0, 1.0),
        ("pooled", "tasks"),
    ),
)  # fmt: skip
