"""Maps learnt out of fold hold for new rows of the model that predicts them."""

import numpy as np
import pytest
from sklearn.dummy import DummyRegressor
from sklearn.linear_model import Ridge
from sklearn.tree import DecisionTreeRegressor

from rankfair import RankFairPostprocessor
from schools import IN_A, N, X, Y, held_out_gap

rng = np.random.default_rng(1)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("method", ["shift", "line", "least"])
@pytest.mark.parametrize(
    "estimator",
    [Ridge(300.0), DecisionTreeRegressor(min_samples_leaf=5, random_state=0)],
    ids=["shrinks", "overfits"],
)
def test_no_gap_of_one_sign_is_left_on_held_out_rows(estimator, method):
    model = RankFairPostprocessor(
        estimator, 0.0, method=method, sensitive_features=0, cv=5
    )
    gap, error = held_out_gap(model, 5)
    assert abs(gap) <= max(2 * error, 0.001)


def test_weights_repeat_rows_and_rows_of_no_group_or_weight_change_nothing():
    rows = rng.permutation(N)[:400]
    X0, y, groups = X[rows], Y[rows], IN_A[rows].astype(object)
    groups[:40] = None
    weights = rng.integers(0, 4, len(rows))
    folds = np.arange(len(rows)) % 3
    copies = np.repeat(np.arange(len(rows)), weights)

    def maps(at, **more):
        of = folds[at]
        pairs = [(np.flatnonzero(of != k), np.flatnonzero(of == k)) for k in range(3)]
        model = RankFairPostprocessor(Ridge(300.0), cv=pairs, method="shift")
        return model.fit(X0[at], y[at], sensitive_features=groups[at], **more).maps_

    weighted = maps(np.arange(len(rows)), sample_weight=weights)
    for label, (start, end) in maps(copies).items():
        assert np.interp(start, *weighted[label]) == pytest.approx(end)


def test_a_group_of_one_row_is_predicted_by_a_fit_that_never_saw_it():
    groups = np.where(np.arange(60) == 7, "rare", np.where(IN_A[:60], "a", "b"))
    model = RankFairPostprocessor(Ridge(), 0.5, method="shift", cv=3)
    assert model.fit(X[:60], Y[:60], sensitive_features=groups).maps_["rare"].size


def test_groups_that_tie_in_every_fold_stay_tied():
    groups = np.repeat(["a", "b"], 50)
    model = RankFairPostprocessor(DummyRegressor(), 0.0, cv=5)
    model.fit(np.ones((100, 1)), Y[:100] + 0.1, sensitive_features=groups)
    assert (model.status_, model.rank_auc_) == ("inactive", 0.5)
