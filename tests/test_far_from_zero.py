"""Numbers that differ by little compared with their size differ all the same."""

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LinearRegression, Ridge

from rankfair import (
    DecisionBoundaryCovariance,
    MultiTaskRegressor,
    RankFairPostprocessor,
    RankFairRegressor,
    StratifiedBalancedResiduals,
    StratifiedEqualMeans,
    TiltedRegressor,
    audit,
    stream,
)
from rankfair.metrics import rmse

FAR = 3e13  # its last digit is 1/256
EPSILON = 0.02

MODELS = {
    "ranks": RankFairRegressor(EPSILON),
    "means": RankFairRegressor(EPSILON, constraints="mean"),
    "residuals": RankFairRegressor(EPSILON, constraints="residual"),
    "unscaled": RankFairRegressor(EPSILON, standardize=False),
    "covariance": DecisionBoundaryCovariance(),
    "strata": StratifiedEqualMeans(2),
    "residuals in strata": StratifiedBalancedResiduals(2),
    "refits": TiltedRegressor(LinearRegression(), EPSILON, constraints="mean"),
    "maps": RankFairPostprocessor(LinearRegression(), EPSILON),
    "shift": RankFairPostprocessor(LinearRegression(), EPSILON, method="shift"),
}


def rows(n_rows=900, seed=0):
    """Features, target and groups in 1/256, so that they are the same far away."""
    rng = np.random.default_rng(seed)
    group = rng.random(n_rows) < 0.5
    X = 2 * rng.standard_normal((n_rows, 3))
    X[:, 0] += 2 * group
    y = X @ [0.5, 0.5, 0.2] + rng.standard_normal(n_rows)
    X, y = (np.round(256 * values) / 256 for values in (X, y))
    return X, y, np.where(group, "B", "A")


def moved(X, y, where):
    return X + FAR * ("X" in where), y + FAR * ("y" in where)


@pytest.mark.parametrize("where", ["X", "y", "Xy"])
@pytest.mark.parametrize(("weighted", "beta"), [(False, 30.0), (True, 0.0)])
def test_fits_are_scikit_learn_s_on_centred_data(where, weighted, beta):
    X, y, _ = rows()
    weights = np.random.default_rng(1).random(len(y)) if weighted else None
    Z = X - np.average(X, axis=0, weights=weights)
    spread = np.sqrt(np.average(Z * Z, axis=0, weights=weights))
    reference = Ridge(beta).fit(Z / spread, y, weights)
    model = MultiTaskRegressor(penalty="ridge", beta=beta)
    model.fit(*moved(X, y, where), sample_weight=weights)
    assert model.coef_[0] == pytest.approx(reference.coef_ / spread, rel=1e-4)
    assert model.score(*moved(X, y, where)) == pytest.approx(
        reference.score(Z / spread, y),
        abs=1e-3,  # predictions are multiples of 1/32
    )


@pytest.mark.parametrize("name", MODELS)
def test_models_are_as_good_far_from_zero(name):
    X, y, groups = rows()
    far_X, far_y = moved(X, y, "Xy")
    errors, states = [], []
    for features, target, origin in ((X, y, 0.0), (far_X, far_y, FAR)):
        model = MODELS[name].fit(features, target, sensitive_features=groups)
        given = {}
        if isinstance(model, RankFairPostprocessor):
            given = {"sensitive_features": groups}
        errors.append(rmse(y, model.predict(features, **given) - origin))
        states.append(model.status_)
    assert states == ["inactive" if name == "residuals" else "satisfied"] * 2
    assert errors[1] == pytest.approx(errors[0], rel=0.02)


@pytest.mark.parametrize("n_rows", [900, 140_000])
def test_streamed_fits_are_as_good_far_from_zero(n_rows, tmp_path):
    X, y, groups = rows(n_rows)
    task = np.arange(n_rows) % 3
    model = RankFairRegressor(
        EPSILON, sensitive_features="z", tasks="task", penalty="ridge", count="train"
    )
    found = []
    for place, (features, target) in enumerate(((X, y), moved(X, y, "Xy"))):
        frame = pd.DataFrame(features, columns=list("abc"))
        frame = frame.assign(y=target, z=groups, task=task)
        frame.to_parquet(tmp_path / f"{place}.parquet")
        model.fit(stream(tmp_path / f"{place}.parquet", target="y"))
        assert model.status_ == "satisfied"
        # At 3e13 a float has three digits of a deviation left, and the intercept of a
        # task is rounded so: other seeds are up to 2e-5 off.
        assert 0.5 <= model.rank_auc_ <= 0.5 + EPSILON + 3e-5
        found.append(model.coef_)
    assert found[1] == pytest.approx(found[0], rel=0.01, abs=1e-3)


@pytest.mark.parametrize(
    ("value", "n_rows"), [(1 / 3, 300), (1e6 + 0.1, 300), (0.1, 20_003)]
)
def test_a_constant_is_one_whatever_its_mean_is_rounded_to(value, n_rows):
    X, y, groups = rows(n_rows)
    X = np.column_stack((X, np.full(n_rows, value)))
    model = RankFairRegressor(EPSILON, penalty="ridge", beta=1e-9)
    model.fit(X, y, sensitive_features=groups)
    assert not model.coef_[:, 3].any()
    for constraint in ("rank", "mean", "residual"):
        for fair in (
            RankFairRegressor(EPSILON, constraints=constraint),
            TiltedRegressor(LinearRegression(), EPSILON, constraints=constraint),
        ):
            fair.fit(X[:, :3], np.full(n_rows, value), sensitive_features=groups)
            assert fair.status_ == "inactive"
            assert fair.predict(X[:9, :3]) == pytest.approx(np.full(9, value))


def test_a_column_that_differs_in_its_last_digit_is_no_predictor():
    X, y, _ = rows()
    X = np.column_stack((X, np.where(X[:, 1] > 0, 0.1 + 0.2, 0.3)))
    model = MultiTaskRegressor(beta=0.0).fit(X, y)
    assert not model.coef_[:, 3].any()


@pytest.mark.parametrize("value", [0.0, 0.1, 1e6 + 0.1])
def test_a_constant_has_no_share_of_variance_explained(value):
    _, y, groups = rows()
    for predicted in (y, 1e20 * y):
        (line,) = audit(
            np.full(len(y), value), predicted, sensitive_features=groups
        ).models
        assert np.isnan(line.r2.value) and "constant" in line.r2.note
    (line,) = audit(y, 1e20 * y, sensitive_features=groups).models
    assert np.isfinite(line.r2.value)


@pytest.mark.parametrize("tasks", [False, True])
def test_audits_are_the_same_far_from_zero(tasks):
    X, y, groups = rows()
    given = {"tasks": np.arange(len(y)) % 30} if tasks else {}
    predicted = np.round(256 * (X @ [0.5, 0.4, 0.2])) / 256
    here, there = (
        audit(y + far, predicted + far, sensitive_features=groups, **given)
        for far in (0.0, FAR)
    )
    for name in ("mean_difference", "balanced_residuals", "ks", "auc"):
        own, other = (getattr(found.comparisons[0], name) for found in (here, there))
        assert (other.value, other.ci_low, other.ci_high) == pytest.approx(
            (own.value, own.ci_low, own.ci_high), abs=1 / 256
        )
    for name in ("rmse", "mae", "r2"):
        own, other = (getattr(found.models[0], name) for found in (here, there))
        assert other.value == pytest.approx(own.value, rel=1e-9)
