"""Fitted models go into the files of other libraries, and come back the same."""

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import Ridge

from rankfair import (
    DecisionBoundaryCovariance,
    RankFairPostprocessor,
    RankFairRegressor,
    RankFairRegressorCV,
)

N = 240
rng = np.random.default_rng(0)
FRAME = pd.DataFrame(
    {
        "a": rng.normal(size=N),
        "b": rng.normal(size=N),
        "town": rng.choice(["north", "south"], N),
        "job": rng.choice(["cook", "smith"], N),
        "sex": rng.choice(["F", "M"], N),
        "code": rng.integers(0, 2, N),
        "three": rng.integers(0, 3, N),
    }
)
# One task has one group only.
ALONE = (FRAME["town"] == "north") & (FRAME["job"] == "cook")
FRAME.loc[ALONE, "sex"] = "F"
Y = FRAME["a"] + FRAME["code"] + (FRAME["sex"] == "M") + rng.normal(size=N)
X = ["a", "b"]
MODELS = {
    "combined": (
        RankFairRegressor(0.2, sensitive_features=["sex", "three"], intersect=True),
        ["sex", "three"],
    ),
    "tasks of two columns": (
        RankFairRegressor(
            0.2, tasks=["town", "job"], sensitive_features="sex", scope="task"
        ),
        ["town", "job", "sex"],
    ),
    "chosen": (RankFairRegressorCV([1.0], sensitive_features="code", cv=2), ["code"]),
    "mapped, combined": (
        RankFairPostprocessor(
            Ridge(), 0.1, sensitive_features=["sex", "three"], blind=True
        ),
        ["sex", "three"],
    ),
    "covariance": (DecisionBoundaryCovariance(sensitive_features="code"), ["code"]),
}


def same(one, other):
    if isinstance(one, dict):
        alike = one.keys() == other.keys() and [*map(type, one)] == [*map(type, other)]
        return alike and all(same(one[key], other[key]) for key in one)
    if isinstance(one, np.ndarray):
        return np.array_equal(one, other)
    return one == other or (one != one and other != other)


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
@pytest.mark.parametrize("name", MODELS)
def test_skops_keeps_a_model(name):
    skops = pytest.importorskip("skops.io")
    model, labels = MODELS[name]
    rows = FRAME[X + labels]
    model.fit(rows, Y)
    held = skops.dumps(model)
    again = skops.loads(held, trusted=skops.get_untrusted_types(data=held))
    np.testing.assert_array_equal(again.predict(rows), model.predict(rows))
    for name in ("groups_", "group_auc_", "pairwise_auc_", "unbalanced_tasks_"):
        assert same(getattr(model, name, None), getattr(again, name, None))
