"""What a RankFairPostprocessor refuses, and how."""

import numpy as np
import pytest
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import Ridge
from sklearn.model_selection import KFold, ShuffleSplit
from sklearn.preprocessing import StandardScaler

from mapped import IN_A, KNOWN, NUMBERS, SEX, WITH_CODE, Foreign, N, Y, fair
from refusals import sentence


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"epsilon": 0.6}, "epsilon must be a number in [0, 0.5]; got 0.6"),
        ({"epsilon": 1.5, "constraints": "distribution"}, "in [0, 1]; got 1.5"),
        ({"constraints": "ranks"}, 'Did you mean "rank"?'),
        ({"constraints": ["rank", "mean"]}, "constraints must be one of"),
        ({"epsilon": -1.0, "constraints": "mean"}, "epsilon must be a number"),
        ({"method": "lines"}, 'Did you mean "line"'),
        (
            {"method": "least", "constraints": "mean"},
            'method "least" knows constraints "rank", "distribution"; got "mean". '
            'Use method="line", which knows all.',
        ),
        ({"method": "shift", "constraints": "wasserstein"}, 'got "wasserstein"'),
        ({"blind": 1}, "blind must be True or False; got 1"),
        ({"prefit": "no"}, 'prefit must be True or False; got "no"'),
        ({"cv": 1}, "cv must be a whole number ≥ 2; got 1"),
        ({"cv": 2.5}, "cv must be a whole number ≥ 2; got 2.5"),
        ({"cv": "abc"}, 'cv must be a whole number ≥ 2; got "abc"'),
        ({"cv": {0: 1}}, "cv must be a whole number ≥ 2; got {0: 1}"),
        ({"cv": KFold}, "cv must be a whole number ≥ 2; got <class"),
        ({"cv": []}, "cv gives no folds: give two or more pairs"),
        ({"cv": ShuffleSplit(2)}, f"80 times, of {N} rows."),
        ({"cv": N + 1}, f"got {N + 1} for {N} rows"),
        ({"random_state": "abc"}, "random_state must be None, a whole number ≥ 0"),
        ({"cv": 5, "prefit": True}, "cv refits the estimator"),
        ({"sensitive_features": 9}, "sensitive_features=9 is no column of X"),
    ],
)
def test_settings(settings, words):
    assert words in sentence(fair(**settings).fit, WITH_CODE, Y)


def test_estimators_that_cannot_be_used():
    words = "estimator must be a regressor with fit, predict, get_params"
    for wrong in (Ridge, StandardScaler(), "ridge", Foreign()):
        told = sentence(fair(wrong).fit, WITH_CODE, Y)
        assert words in told and "set prefit=True" in told
    assert "this Ridge is not fitted" in sentence(
        fair(Ridge(), prefit=True).fit, WITH_CODE, kind=NotFittedError
    )


class Odd(RegressorMixin, BaseEstimator):
    """Predicts what it is told to."""

    def __init__(self, made):
        self.made = made

    def fit(self, X, y):
        self.fitted_ = True
        return self

    def predict(self, X):
        return np.asarray(self.made)


def test_predictions_that_cannot_be_moved():
    assert "got shape (400, 2) for 400 rows" in sentence(
        fair(Odd(np.zeros((N, 2)))).fit, WITH_CODE, Y
    )
    assert "the estimator's prediction must be finite" in sentence(
        fair(Odd(np.full(N, np.nan))).fit, WITH_CODE, Y
    )
    assert fair(Odd(Y[:, None])).fit(WITH_CODE, Y).predict(WITH_CODE).shape == (N,)


def test_groups_that_cannot_be_balanced():
    model = fair(sensitive_features=None)
    words = sentence(model.fit, NUMBERS, Y, sensitive_features=NUMBERS[:, 0])
    assert "holds 400 distinct numbers" in words and "Cut it into a few" in words
    forty = np.arange(N) % 40
    words = sentence(model.fit, NUMBERS, Y, sensitive_features=forty)
    assert "holds 40 distinct numbers" in words
    words = sentence(model.fit, NUMBERS, Y, sensitive_features={"n": forty, "s": SEX})
    assert 'sensitive_features ("n") holds 40 distinct numbers' in words
    names = [f"place {i % 70}" for i in range(N)]
    words = sentence(model.fit, NUMBERS, Y, sensitive_features=names)
    assert "70 groups" in words and "at most 60" in words
    assert f'zero for all {IN_A.sum()} rows of group "M"' in sentence(
        fair(sensitive_features=None).fit,
        NUMBERS,
        Y,
        sensitive_features=SEX,
        sample_weight=(~IN_A).astype(float),
    )
    assert "given twice" in sentence(fair().fit, WITH_CODE, Y, sensitive_features=SEX)
    assert "sensitive_features has 3 values" in sentence(
        model.fit, NUMBERS, Y, sensitive_features=[0, 1, 1]
    )
    only = np.column_stack((IN_A,))
    assert "no column left" in sentence(
        fair(sensitive_features=0, blind=True).fit, only, Y
    )


def test_new_rows_need_known_groups():
    model = fair(sensitive_features=None).fit(NUMBERS, Y, sensitive_features=SEX)
    assert "sensitive_features is missing" in sentence(model.predict, NUMBERS)
    words = sentence(model.predict, NUMBERS[:2], sensitive_features=["F", "X"])
    assert 'groups not seen in training: "X" (1 row); training had "F", "M"' in words


def test_groups_that_are_all_unknown():
    fit = fair(sensitive_features=None).fit
    words = sentence(fit, NUMBERS, Y, sensitive_features=[None] * N)
    assert "unknown in all 400 rows: there is nothing to" in words
    some = np.where(KNOWN, "a", None)
    assert "one group only" in sentence(fit, NUMBERS, Y, sensitive_features=some)


@pytest.mark.parametrize("constraint", ["mean", "wasserstein"])
def test_units_of_the_target_need_the_target(constraint):
    model = fair(Foreign(), prefit=True, constraints=constraint)
    words = sentence(model.fit, WITH_CODE)
    assert f'y is missing: with constraints="{constraint}" epsilon is in' in words
