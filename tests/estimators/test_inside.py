"""Scores and certificates find tasks and groups of a model inside others."""

import numpy as np
import pytest
from sklearn.base import BaseEstimator, RegressorMixin, clone
from sklearn.compose import TransformedTargetRegressor, make_column_transformer
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import Ridge
from sklearn.model_selection import GridSearchCV, KFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from rankfair import (
    MultiTaskRegressor,
    RankFairPostprocessor,
    RankFairRegressor,
    RankFairRegressorCV,
    TiltedRegressor,
)
from rankfair.datasets.synthetic import make_biased_tasks
from rankfair.metrics import rank_gap, scorer
from rankfair.stats.certificate import certify

DATA = make_biased_tasks(12, 40, auc=0.85, random_state=0)
FRAME, Y = DATA.frame.astype({"task": int, "z": int}), DATA.target
OLD, NEW = np.arange(len(Y)) % 2 == 0, np.arange(len(Y)) % 2 == 1
FOLDS = KFold(3, shuffle=True, random_state=0)
GAP = scorer("rank_gap")
PARTS = {"tasks": "task", "sensitive_features": "z"}
FAIR = RankFairRegressor(0.1, **PARTS)
# The last two columns of the frame come first, and columns have no names behind it.
MOVED = make_column_transformer(
    ("passthrough", ["task", "z"]), (StandardScaler(), ["x1", "x2", "x3", "x4"])
)
BY_PLACE = RankFairRegressor(
    0.1, tasks=0, sensitive_features=1, penalty="shared", unseen="shared"
)


def search(model):
    return GridSearchCV(model, {}, cv=KFold(2, shuffle=True, random_state=0))


MODELS = {
    "pipeline": make_pipeline("passthrough", FAIR),
    "behind a transformer": make_pipeline(MOVED, BY_PLACE),
    "search": search(FAIR),
    "transformed target": TransformedTargetRegressor(
        FAIR, func=np.arcsinh, inverse_func=np.sinh
    ),
    "all of them": search(
        make_pipeline(MOVED, TransformedTargetRegressor(search(BY_PLACE)))
    ),
    "frozen": make_pipeline(FrozenEstimator(FAIR.fit(FRAME[OLD], Y[OLD]))),
    "chosen": make_pipeline(RankFairRegressorCV([1.0], cv=2, **PARTS)),
    "bins": make_pipeline(
        RankFairRegressor(0.1, tasks="task", sensitive_features="x4", bins=2)
    ),
    "moved": RankFairPostprocessor(
        make_pipeline("passthrough", MultiTaskRegressor(tasks=3)),
        sensitive_features="x1",
        blind=True,
    ),
    "refitted": TiltedRegressor(
        MultiTaskRegressor(tasks="task"), 0.1, sensitive_features="z"
    ),
}


def fitted(name):
    X, groups = FRAME, FRAME["z"]
    if name == "moved":  # two groups in the first column, which the estimator misses
        X = FRAME.assign(x1=FRAME["z"])[["x1", "x2", "x3", "x4", "task"]]
    if name == "bins":
        groups = X["x4"] >= np.median(X["x4"][OLD])
    return clone(MODELS[name]).fit(X[OLD], Y[OLD]), X[NEW], Y[NEW], groups[NEW]


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.filterwarnings("ignore:the gap may be chance:UserWarning")
def test_scores_and_certificates_are_those_of_groups_that_are_passed(name):
    model, X, y, groups = fitted(name)
    gap = rank_gap(y, model.predict(X), sensitive_features=groups)
    assert GAP(model, X, y) == pytest.approx(-gap)
    found = certify(model, X, y)

    class Told:  # knows nothing of columns
        def predict(self, rows):
            return model.predict(rows)

    passed = {"sensitive_features": groups.to_numpy(), "tasks": X["task"].to_numpy()}
    told = certify(Told(), X, y, **passed)
    assert abs(found.auc - 0.5) == pytest.approx(abs(told.auc - 0.5))
    assert (found.bound, found.method) == (pytest.approx(told.bound), told.method)


class Odd(RegressorMixin, BaseEstimator):
    """Refuses to predict, or predicts so much that sums overflow."""

    def __init__(self, refuses=True):
        self.refuses = refuses

    def fit(self, X, y):
        self.fitted_ = True
        return self

    def predict(self, X):
        if self.refuses:
            raise RuntimeError("no prediction today")
        return np.full(len(X), 1e308)


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize(
    ("model", "scoring", "told"),
    [
        (Ridge(), scorer("rank_auc", sensitive_features="task"), "12 groups"),
        (Odd(), scorer("rank_gap", sensitive_features="z"), "no prediction today"),
        (
            Odd(refuses=False),
            scorer("mean_difference", sensitive_features="z"),
            "is not a number for these predictions: they overflow",
        ),
    ],
)
def test_a_score_that_cannot_be_had_stops_a_search(model, scoring, told):
    scoring = {"gap": scoring, "rmse": scorer("rmse")}
    tried = GridSearchCV(model, {}, scoring=scoring, refit=False, cv=FOLDS)
    with pytest.raises(ValueError, match=told):
        tried.fit(FRAME, Y)
