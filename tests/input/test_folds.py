"""Folds that users pass: what they may be, and what is refused."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.linear_model import Ridge
from sklearn.model_selection import GroupKFold, KFold, StratifiedKFold, cross_val_score

from rankfair import RankFairPostprocessor, RankFairRegressor, TiltedRegressor
from rankfair.input.folds import make_folds
from refusals import sentence

N = 60
rng = np.random.default_rng(0)
IN_A = np.arange(N) % 2
X = np.column_stack((rng.normal(size=(N, 2)) + IN_A[:, np.newaxis], IN_A))
Y = X @ [1.0, 0.5, 0.5] + rng.normal(size=N)
HALVES = [np.arange(N) < N // 2, np.arange(N) >= N // 2]


def split_folds(cv, X, y):
    return make_folds(cv, np.zeros(N, int), IN_A, rng, X=X, y=y, every_row=True)


@pytest.mark.parametrize("model", [RankFairPostprocessor, TiltedRegressor])
@pytest.mark.parametrize("splitter", [GroupKFold(3), StratifiedKFold(3)])
def test_a_splitter_that_needs_more_is_told_how_to_get_it(model, splitter):
    it = model(Ridge(), 0.1, sensitive_features=2, cv=splitter)
    told = sentence(it.fit, X, Y)
    assert told.startswith(f"cv must split these rows; got {splitter!r:.60}, which")
    assert "cv=list(splitter.split(X, y, groups))" in told
    labels = np.arange(N) % 5
    more = {"groups": labels} if isinstance(splitter, GroupKFold) else {}
    it.set_params(cv=list(splitter.split(X, labels, **more))).fit(X, Y)
    assert it.status_ == "satisfied"


def test_a_model_must_not_see_the_rows_that_it_is_tested_on():
    folds = [(train, test) for train, test in KFold(3).split(X)]
    assert len(split_folds(folds, X, Y)) == 3
    folds[1] = (np.append(folds[1][0], folds[1][1][:1]), folds[1][1])
    told = sentence(split_folds, folds, X, Y)
    assert "holds out 1 row in fold 1 that it learns from" in told
    assert "holds out 60 rows" in sentence(split_folds, [(range(N), range(N))], X, Y)


SHUFFLED = "cv=KFold(5, shuffle=True)"
SHARED = 'penalty="pool", unseen="shared"'
OF_TASKS = {"tasks": 3, "sensitive_features": 2}


@pytest.mark.filterwarnings("always:Scoring failed:UserWarning")
@pytest.mark.parametrize(
    ("model", "cures"),
    [
        (RankFairRegressor(0.1, **OF_TASKS), [SHUFFLED, SHARED]),
        (RankFairPostprocessor(Ridge(), 0.1, sensitive_features=3), [SHUFFLED]),
    ],
)
@pytest.mark.filterwarnings("ignore:the gap may be chance:UserWarning")
def test_folds_of_sorted_rows_are_told_what_to_do(model, cures):
    sorted_rows = np.column_stack((X, np.arange(N) // (N // 5)))
    with pytest.warns(UserWarning, match="Scoring failed") as said:
        scores = cross_val_score(model, sorted_rows, Y, cv=5)
    assert np.isnan(scores).all()
    assert all(cure in str(each.message) for cure in cures for each in said)
    shuffled = KFold(5, shuffle=True, random_state=0)
    assert np.isfinite(cross_val_score(model, sorted_rows, Y, cv=shuffled)).all()
    if SHARED in cures:
        model = clone(model).set_params(penalty="pool", unseen="shared")
        assert np.isfinite(cross_val_score(model, sorted_rows, Y, cv=5)).all()
