"""Maps learnt out of fold hold for new rows of the model that predicts them."""

import numpy as np
import pytest
from sklearn.dummy import DummyRegressor
from sklearn.linear_model import Ridge
from sklearn.metrics import roc_auc_score
from sklearn.tree import DecisionTreeRegressor

from rankfair import RankFairPostprocessor

rng = np.random.default_rng(0)
SCHOOLS, PUPILS = 160, 45
SCHOOL = np.repeat(np.arange(SCHOOLS), PUPILS)
QUALITY = rng.normal(size=SCHOOLS)
N = len(SCHOOL)
IN_A = rng.random(N) < 1 / (1 + np.exp(1 + QUALITY[SCHOOL]))
HOME = rng.normal(size=N) - 0.5 * IN_A
Y = 2 * QUALITY[SCHOOL] + 2 * HOME - 2 * IN_A + rng.normal(scale=6, size=N)
X = np.column_stack((IN_A, HOME, SCHOOL[:, None] == np.arange(SCHOOLS)))


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize(
    "estimator",
    [Ridge(300.0), DecisionTreeRegressor(min_samples_leaf=5, random_state=0)],
    ids=["shrinks", "overfits"],
)
def test_no_gap_of_one_sign_is_left_on_held_out_rows(estimator):
    """Ten splits: five into halves, each half once held out, so that chance cancels."""
    left = []
    for seed in range(5):
        mixed = np.random.default_rng(seed).permutation(N)
        halves = mixed[: N // 2], mixed[N // 2 :]
        for old, new in (halves, halves[::-1]):
            model = RankFairPostprocessor(
                estimator, 0.0, balance="shift", sensitive_features=0, cv=5
            )
            m = model.fit(X[old], Y[old]).predict(X[new])
            left.append(roc_auc_score(IN_A[new], m) - 0.5)
    gaps = np.reshape(left, (5, 2)).mean(axis=1)
    error = gaps.std(ddof=1) / np.sqrt(len(gaps))
    assert abs(gaps.mean()) <= max(2 * error, 0.001)


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
        model = RankFairPostprocessor(Ridge(300.0), cv=pairs, balance="shift")
        return model.fit(X0[at], y[at], sensitive_features=groups[at], **more).maps_

    weighted = maps(np.arange(len(rows)), sample_weight=weights)
    for label, (start, end) in maps(copies).items():
        assert np.interp(start, *weighted[label]) == pytest.approx(end)


def test_a_group_of_one_row_is_predicted_by_a_fit_that_never_saw_it():
    groups = np.where(np.arange(60) == 7, "rare", np.where(IN_A[:60], "a", "b"))
    model = RankFairPostprocessor(Ridge(), 0.5, balance="shift", cv=3)
    assert model.fit(X[:60], Y[:60], sensitive_features=groups).maps_["rare"].size


def test_groups_that_tie_in_every_fold_stay_tied():
    groups = np.repeat(["a", "b"], 50)
    model = RankFairPostprocessor(DummyRegressor(), 0.0, cv=5)
    model.fit(np.ones((100, 1)), Y[:100] + 0.1, sensitive_features=groups)
    assert (model.status_, model.rank_auc_) == ("inactive", 0.5)
