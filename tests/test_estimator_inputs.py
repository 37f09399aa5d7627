"""Rows, units and weights of any kind give the linear estimators the same model."""

import numpy as np
import polars as pl
import pytest
from sklearn.linear_model import LinearRegression

from four_tasks import COLUMNS, FRAME, IN_A, NUMBERS, SEX, TASK, N, Y, fair
from rankfair import (
    DecisionBoundaryCovariance,
    MultiTaskRegressor,
    RankFairPostprocessor,
    RankFairRegressor,
    RankFairRegressorCV,
    StratifiedEqualMeans,
    TiltedRegressor,
)

HEAVY = "ignore:sample_weight has a mean of:UserWarning"


def same_model(model, other):
    np.testing.assert_allclose(model.coef_, other.coef_, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(model.intercept_, other.intercept_, rtol=1e-9)


def test_pandas_polars_and_arrays_give_the_same_model():
    model = fair().fit(FRAME, Y)
    polars = pl.DataFrame({**COLUMNS, "task": TASK, "sex": SEX})
    same_model(model, fair().fit(polars, pl.Series(Y)))
    np.testing.assert_array_equal(
        model.predict(FRAME), fair().fit(polars, Y).predict(polars)
    )
    objects = FRAME.to_numpy(dtype=object)
    by_position = RankFairRegressor(0.02, tasks=3, sensitive_features=4)
    same_model(model, by_position.fit(objects, Y.tolist()))
    same_model(model, by_position.fit(objects.tolist(), Y))
    coded = np.column_stack([NUMBERS, np.searchsorted(model.tasks_, TASK), IN_A])
    same_model(model, by_position.fit(coded, Y))


@pytest.mark.parametrize("unit", [1e200, 1e-200])
@pytest.mark.parametrize(("penalty", "count"), [("pool", "loo"), ("task", "train")])
def test_units_of_the_target(unit, penalty, count):
    model = fair(penalty=penalty, count=count).fit(FRAME, Y)
    other = fair(penalty=penalty, count=count).fit(FRAME, Y * unit)
    assert abs(other.constraint_values_["rank"] - 0.5) <= 0.0201
    assert other.beta_ == pytest.approx(model.beta_)
    np.testing.assert_allclose(other.coef_ / unit, model.coef_, rtol=1e-3, atol=1e-3)
    assert other.score(FRAME, Y * unit) == pytest.approx(
        model.score(FRAME, Y), abs=1e-3
    )


@pytest.mark.parametrize("penalty", ["feature", "shared"])
def test_whole_weights_are_repeated_rows(penalty):
    w = np.random.default_rng(3).integers(0, 3, N)
    i = np.repeat(np.arange(N), w)
    free = MultiTaskRegressor(tasks="task", penalty=penalty)
    X = FRAME.drop(columns="sex")
    weighted = free.fit(X, Y, sample_weight=w).predict(X)
    repeated = free.fit(X.iloc[i], Y[i]).predict(X)
    np.testing.assert_allclose(weighted, repeated, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize(
    "X",
    [
        np.column_stack([NUMBERS, np.ones(N)]),
        np.column_stack([NUMBERS, NUMBERS[:, 0]]),
        np.ones((N, 2)),
        np.random.default_rng(8).normal(size=(N, 60)),
    ],
    ids=["constant column", "duplicate column", "constant X", "wide"],
)
@pytest.mark.parametrize("penalty", ["pool", "task"])
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.filterwarnings("ignore:X has 4 distinct rows:UserWarning")
def test_degenerate_features_are_handled(X, penalty):
    model = RankFairRegressor(penalty=penalty)
    model.fit(X, Y, tasks=TASK, sensitive_features=SEX)
    assert np.isfinite(model.predict(X, tasks=TASK)).all()


@pytest.mark.parametrize("n_groups", [2, 3])
@pytest.mark.parametrize("constraint", ["rank", "mean"])
def test_a_constant_target_is_a_constant_prediction(n_groups, constraint):
    model = RankFairRegressor(0.0, constraints=constraint)
    model.fit(NUMBERS, np.full(N, 4.0), sensitive_features=np.arange(N) % n_groups)
    assert model.status_ == "inactive" and model.multiplier_ == 0
    np.testing.assert_allclose(model.predict(NUMBERS), 4.0)


@pytest.mark.parametrize("size", [1e-300, 1e300])
@pytest.mark.parametrize(
    ("penalty", "standardize", "n_groups", "constraint"),
    [
        ("ridge", True, 2, "rank"),
        ("task", False, 3, "rank"),
        ("ridge", False, 2, "residual"),
    ],
)
@pytest.mark.filterwarnings(HEAVY)
def test_weights_may_be_of_any_size(size, penalty, standardize, n_groups, constraint):
    rng = np.random.default_rng(0)
    groups = rng.integers(0, n_groups, 300)
    X = rng.normal(size=(300, 3)) + 0.5 * groups[:, None]
    y = 7 * (X @ [1.0, 2.0, -1.0] + groups)
    weights = rng.uniform(0.5, 1.5, 300)

    def fitted(factor):
        model = RankFairRegressor(
            0.02,
            penalty=penalty,
            beta=factor,
            constraints=constraint,
            count="train",
            standardize=standardize,
        )
        return model.fit(
            X, y, sensitive_features=groups, sample_weight=factor * weights
        )

    model, usual = fitted(size), fitted(1.0)
    assert model.status_ == usual.status_ == "satisfied"
    assert model.objective_ / size == pytest.approx(usual.objective_, rel=0.02)
    assert model.multiplier_ == pytest.approx(usual.multiplier_, rel=0.1)
    assert model.coef_ == pytest.approx(usual.coef_, rel=0.1, abs=0.1)


# Predictions that no float holds


@pytest.mark.parametrize(
    "model",
    [
        MultiTaskRegressor(),
        RankFairRegressor(),
        RankFairRegressorCV([1.0], cv=2),
        DecisionBoundaryCovariance(),
        StratifiedEqualMeans(2),
        TiltedRegressor(LinearRegression(), 0.1),
        RankFairPostprocessor(LinearRegression(), 0.1),
    ],
    ids=lambda model: type(model).__name__,
)
@pytest.mark.filterwarnings("ignore:overflow")  # of the estimator inside
def test_predictions_too_large_to_be_numbers_are_refused(model):
    y = 1e6 * NUMBERS @ [1.0, 0.5, 0.5] + Y
    groups = {"sensitive_features": SEX}
    model.fit(NUMBERS, y, **({} if isinstance(model, MultiTaskRegressor) else groups))
    given = {}
    if isinstance(model, RankFairPostprocessor):
        given = {"sensitive_features": SEX[:5]}
    new = NUMBERS[:5].copy()
    assert np.isfinite(model.predict(new, **given)).all()
    new[1:3] = 1.7e308
    with pytest.raises(ValueError, match=r"\b2 (of 5 predictions are too large|inf)"):
        model.predict(new, **given)
