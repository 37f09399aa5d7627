"""What a TiltedRegressor refuses, and how."""

import numpy as np
import pytest
from sklearn.linear_model import LinearRegression, Ridge
from sklearn.model_selection import LeaveOneGroupOut
from sklearn.neighbors import KNeighborsRegressor
from sklearn.tree import DecisionTreeRegressor

from far_apart import SEX, TASK, N, X, Y, fair
from rankfair import TiltedRegressor
from refusals import sentence


@pytest.mark.parametrize(
    ("settings", "told"),
    [
        ({"epsilon": 0.6}, "epsilon must be a number in [0, 0.5]; got 0.6."),
        (
            {"epsilon": -1, "constraints": "mean"},
            "epsilon must be a number ≥ 0; got -1.",
        ),
        ({"constraints": "rnak"}, 'Did you mean "rank"?'),
        ({"constraints": ["rank", "rank"]}, 'names "rank" 2 times. Once is enough.'),
        ({"side": "uper"}, 'Did you mean "upper"?'),
        ({"constraints": "distribution", "side": "upper"}, "has no side"),
        ({"cv": 1}, "cv must be a whole number ≥ 2; got 1."),
        ({"cv": "five"}, 'cv must be a whole number ≥ 2; got "five".'),
        ({"cv": []}, "cv gives no folds: give two or more pairs"),
        ({"cv": N + 1}, f"got {N + 1} for {N} rows"),
        ({"blind": 1}, "blind must be True or False; got 1."),
        ({"verbose": -1}, "verbose must be a whole number ≥ 0; got -1."),
        ({"verbose": "much"}, 'verbose must be a whole number ≥ 0; got "much".'),
        ({"random_state": "x"}, "random_state must be None"),
        ({"estimator": Ridge}, "estimator must be a regressor"),
        ({"estimator": "ridge"}, 'got "ridge".'),
        ({"sensitive_features": "sex"}, "X is an array without column names"),
        ({"sensitive_features": 0}, "sensitive_features (column"),
        ({"tasks": 9}, "tasks=9 is no column of X"),
    ],
)
def test_bad_settings_are_named(settings, told):
    model = fair().set_params(**settings)
    assert told in sentence(model.fit, X, Y)
    assert not hasattr(model, "estimator_")


def test_bad_rows_are_named():
    fit = TiltedRegressor(Ridge()).fit
    told = sentence(fit, X, Y, sensitive_features=SEX[:-1])
    assert "sensitive_features has 299 values" in told
    assert "one group only" in sentence(fit, X, Y, sensitive_features=["F"] * N)
    assert "given twice" in sentence(fair().fit, X, Y, sensitive_features=SEX)
    told = sentence(fair(KNeighborsRegressor()).fit, X, Y, sample_weight=Y**2)
    assert "estimator (KNeighborsRegressor) takes none. Leave it out" in told
    told = sentence(fair().fit, X[:, -1:], Y)
    assert told.startswith("X has no column left")
    whole = list(LeaveOneGroupOut().split(X, Y, TASK))
    told = sentence(fair(cv=whole).fit, X, Y, tasks=TASK)
    assert 'cv holds out all rows of tasks at once: "n".' in told
    tree = fair(DecisionTreeRegressor(max_depth=2), 0.5).fit(X, Y)
    other = X.copy()
    other[0, -1] = 7
    np.testing.assert_array_equal(tree.predict(other), tree.predict(X))
    assert "fitted without tasks" in sentence(tree.predict, X, tasks=TASK)


@pytest.mark.parametrize("tasks", [None, TASK])
@pytest.mark.parametrize(
    ("predicted", "told"),
    [
        (lambda X: np.where(X[:, 0] > 1, np.nan, 0.0), "prediction must be finite"),
        (lambda X: X[:, :2], "must predict one number a row; got shape"),
    ],
)
def test_predictions_that_are_no_numbers_are_refused(predicted, told, tasks):
    class Odd(LinearRegression):
        def predict(self, X):
            return predicted(X)

    assert told in sentence(fair(Odd()).fit, X, Y, tasks=tasks)


def test_a_number_is_refused_with_a_way_out():
    X = np.random.default_rng(0).normal(size=(30, 2))
    with pytest.raises(ValueError, match=r"holds 30 distinct numbers.*Set bins=4"):
        TiltedRegressor(Ridge()).fit(X, X[:, 0], sensitive_features=np.arange(30.0))
