"""The estimator: what it promises, where it fits in, and what it refuses."""

import pickle
from typing import ClassVar

import numpy as np
import polars as pl
import pytest
from scipy.sparse import csr_array
from scipy.stats import ks_2samp, wasserstein_distance
from sklearn import config_context
from sklearn.base import BaseEstimator, RegressorMixin, clone
from sklearn.compose import make_column_transformer
from sklearn.ensemble import HistGradientBoostingRegressor
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.frozen import FrozenEstimator
from sklearn.kernel_ridge import KernelRidge
from sklearn.linear_model import LinearRegression, Ridge
from sklearn.metrics import r2_score, roc_auc_score
from sklearn.model_selection import KFold, cross_validate
from sklearn.neighbors import KNeighborsRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.tree import DecisionTreeRegressor

from mapped import (
    FRAME,
    IN_A,
    NUMBERS,
    SEX,
    WAYS,
    WITH_CODE,
    Foreign,
    N,
    Y,
    fair,
    rng,
)
from rankfair import RankFairPostprocessor
from rankfair.core.blocks import rounded
from rankfair.input.folds import deal_folds
from rankfair.metrics import scorer
from refusals import sentence

# What a fit promises


@pytest.mark.parametrize("way", WAYS)
def test_the_band_is_met_on_predict(way):
    model = fair(**WAYS[way]).fit(WITH_CODE, Y)
    m = model.predict(WITH_CODE)
    auc, ks = roc_auc_score(IN_A, m), ks_2samp(m[IN_A], m[~IN_A]).statistic
    assert model.status_ == "satisfied"
    assert model.rank_auc_ == pytest.approx(auc)
    assert model.group_auc_ == pytest.approx({0: 1 - auc, 1: auc})
    assert model.ks_ == pytest.approx(ks)
    a, b, spread = m[IN_A], m[~IN_A], Y.std()
    assert model.mean_difference_ == pytest.approx(a.mean() - b.mean())
    assert model.wasserstein_ == pytest.approx(wasserstein_distance(a, b))
    gaps = {
        "rank": abs(auc - 0.5),
        "distribution": ks,
        "mean": abs(a.mean() - b.mean()) / spread,
        "wasserstein": wasserstein_distance(a, b) / spread,
    }
    assert gaps[model.constraints] <= 0.02 + 1e-9
    assert np.isnan(model.theta_) != way.startswith("line")
    assert model.groups_.tolist() == [0, 1]


@pytest.mark.parametrize("way", WAYS)
def test_maps_are_monotone_and_defined_everywhere(way):
    model = fair(sensitive_features=0, **WAYS[way])
    X = np.column_stack((IN_A, NUMBERS[:, 0]))
    model.fit(X, Y)
    values = np.linspace(-50, 50, 2001)
    for g in (0, 1):
        moved = model.predict(np.column_stack((np.full(2001, g), values)))
        assert (np.diff(moved) >= -1e-12).all()
        plain = model.estimator_.predict(np.column_stack((np.full(2001, g), values)))
        knots = model.maps_[g]
        for end in (0, -1):
            # Far beyond the ends moves go on, but the least movement is none there.
            least = way in ("rank", "distribution")
            further = 0.0 if least else knots[1, end] - knots[0, end]
            off = model.resolution_
            assert moved[end] - plain[end] == pytest.approx(further, abs=off)


def test_three_groups_and_combinations_of_columns():
    third = rng.integers(0, 3, N)
    X = np.column_stack((WITH_CODE, third))
    model = fair(constraints="distribution", epsilon=0.05, sensitive_features=4).fit(
        X, Y
    )
    assert model.ks_ <= 0.05 + 1e-9
    assert model.rank_auc_ in model.group_auc_.values()
    both = fair(constraints="distribution", epsilon=0.1, sensitive_features=[3, 4])
    assert both.fit(X, Y).groups_.shape == (6,)
    m = both.predict(X)
    assert ks_2samp(m[IN_A], m[~IN_A]).statistic <= 0.1 + 1e-9


def test_in_the_band_nothing_moves():
    model = fair(epsilon=0.5).fit(WITH_CODE, Y)
    plain = LinearRegression().fit(WITH_CODE, Y).predict(WITH_CODE)
    assert model.status_ == "inactive"
    plain = rounded(plain, model.resolution_)
    assert np.array_equal(model.predict(WITH_CODE), plain)


def test_ties_stay_ties_and_what_they_prevent_is_said():
    stump = DecisionTreeRegressor(max_leaf_nodes=3, random_state=0)
    model = fair(stump, epsilon=0.001, constraints="distribution")
    with pytest.warns(ConvergenceWarning, match=r"predictions tie .* KS is 0\.\d+"):
        model.fit(WITH_CODE, Y)
    assert model.status_ == "infeasible"
    plain = model.estimator_.predict(WITH_CODE)
    for g in (0, 1):
        rows = IN_A if g else ~IN_A
        moved = model.predict(WITH_CODE)[rows]
        assert len(np.unique(moved)) <= len(np.unique(plain[rows]))


def test_out_of_fold_maps_hold_for_new_rows_of_an_estimator_that_overfits():
    loose = KernelRidge(kernel="rbf", gamma=1.0, alpha=0.05)
    old, new = slice(0, 300), slice(300, None)

    def drift(**settings):
        model = fair(loose, constraints="distribution", **settings)
        model.fit(WITH_CODE[old], Y[old])
        m = model.predict(WITH_CODE[new])
        return abs(roc_auc_score(IN_A[new], m) - 0.5), model

    _, plain = drift()
    out_of_fold, model = drift(cv=5)
    assert out_of_fold < 0.15
    assert not np.array_equal(plain.maps_[0], model.maps_[0])
    pairs = deal_folds(IN_A[old] + 1, 5, np.random.default_rng(0))
    for cv in (pairs, iter(pairs)):
        _, same = drift(cv=cv)
        assert np.array_equal(same.maps_[0], model.maps_[0])
    _, same = drift(cv=KFold(5, shuffle=True, random_state=0))
    assert not np.array_equal(same.maps_[0], model.maps_[0])


class Folds(RegressorMixin, BaseEstimator):
    """Remembers the first column of the rows of each fit; predicts zeros and ones."""

    seen: ClassVar = []

    def fit(self, X, y, sample_weight=None):
        counts = np.ones(len(y)) if sample_weight is None else sample_weight
        self.seen.append(X[counts > 0, 0])
        self.fitted_ = True
        return self

    def predict(self, X):
        return np.arange(len(X)) % 2.0


@pytest.mark.parametrize("weighted", [False, True])
def test_a_rare_group_is_in_every_fold(weighted):
    groups = np.where(np.arange(60) < 6, "rare", np.where(np.arange(60) < 30, "a", "b"))
    X = np.column_stack((np.arange(60.0), np.ones(60)))
    weights = np.where(np.arange(60) % 2, 1.0, 0.0) if weighted else None
    folds = 3

    def held_out(seed):
        Folds.seen.clear()
        model = RankFairPostprocessor(Folds(), 0.5, cv=folds, random_state=seed)
        model.fit(X, X[:, 0], sensitive_features=groups, sample_weight=weights)
        everywhere, *rest = Folds.seen
        return [np.setdiff1d(everywhere, seen).tolist() for seen in rest]

    for seed in range(10):
        tests = held_out(seed)
        assert len(tests) == folds and tests == held_out(seed)
        for label in ("rare", "a", "b"):
            own = [np.sum(groups[np.array(t, int)] == label) for t in tests]
            assert min(own) >= 1 and max(own) - min(own) <= 1
    assert held_out(0) != held_out(1)
    assert len(held_out(None)) == folds


def test_prefit_leaves_the_estimator_alone():
    base = LinearRegression().fit(WITH_CODE[:200], Y[:200])
    before = base.coef_.copy()
    model = fair(base, prefit=True, constraints="distribution").fit(WITH_CODE[200:])
    assert model.estimator_ is base
    assert np.array_equal(base.coef_, before)
    assert model.ks_ <= 0.02 + 1e-9
    same = fair(base, prefit=True, constraints="distribution").fit(
        WITH_CODE[200:], Y[200:]
    )
    assert np.array_equal(same.maps_[1], model.maps_[1])


def test_prefit_takes_whatever_predicts():
    model = fair(Foreign(), prefit=True).fit(WITH_CODE)
    assert model.status_ == "satisfied"
    auc = roc_auc_score(IN_A, pickle.loads(pickle.dumps(model)).predict(WITH_CODE))
    assert abs(auc - 0.5) <= 0.02 + 1e-9
    assert np.isfinite(clone(model).fit(WITH_CODE).score(WITH_CODE, Y))
    assert "must be a regressor with predict, as" in sentence(
        fair(StandardScaler(), prefit=True).fit, WITH_CODE
    )


def test_a_frozen_estimator_is_known_to_clones():
    base = LinearRegression().fit(WITH_CODE, Y)
    told = sentence(
        clone(fair(base, prefit=True)).fit, WITH_CODE, Y, kind=NotFittedError
    )
    assert "FrozenEstimator(estimator) keeps it" in told
    frozen = fair(FrozenEstimator(base), prefit=True)
    scores = cross_validate(frozen, WITH_CODE, Y, cv=3, error_score="raise")
    assert (scores["test_score"] > 0).all()


# Where it fits in


@pytest.mark.parametrize(
    "as_frame",
    [lambda f: f, lambda f: pl.DataFrame(f.to_dict("list"))],
    ids=["pandas", "polars"],
)
def test_frames_blind_and_not(as_frame):
    frame = as_frame(FRAME)
    blind = fair(sensitive_features="sex", blind=True).fit(frame, Y)
    assert blind.estimator_.coef_.shape == (3,)
    assert blind.feature_names_in_.tolist() == ["a", "b", "c", "sex"]
    assert blind.groups_.tolist() == ["F", "M"]
    array = fair(blind=True).fit(WITH_CODE, Y)
    assert blind.predict(frame) == pytest.approx(array.predict(WITH_CODE))
    encode = make_column_transformer(
        (OneHotEncoder(drop="first"), ["sex"]), remainder="passthrough"
    )
    sees = fair(make_pipeline(encode, LinearRegression()), sensitive_features="sex")
    coded = fair().fit(WITH_CODE, Y).predict(WITH_CODE)
    assert sees.fit(frame, Y).predict(frame) == pytest.approx(coded)


def test_lists_of_mixed_rows():
    rows = [[*row, label] for row, label in zip(NUMBERS.tolist(), SEX, strict=True)]
    model = fair(blind=True).fit(rows, Y.tolist())
    assert model.predict(rows[:2]).shape == (2,)


def test_groups_as_an_array_and_sparse_rows():
    X = csr_array(NUMBERS)
    model = fair(Ridge(), sensitive_features=None).fit(X, Y, sensitive_features=SEX)
    m = model.predict(X, sensitive_features=SEX)
    assert model.score(X, Y, sensitive_features=SEX) == pytest.approx(r2_score(Y, m))


def test_missing_values_are_the_estimators_business():
    X = WITH_CODE.copy()
    X[::7, 0] = np.nan
    model = fair(HistGradientBoostingRegressor(max_iter=5), epsilon=0.05).fit(X, Y)
    assert np.isfinite(model.predict(X)).all()


def test_metadata_routing():
    with config_context(enable_metadata_routing=True):
        model = fair(sensitive_features=None)
        model.set_fit_request(sensitive_features=True)
        model.set_predict_request(sensitive_features=True)
        model.set_score_request(sensitive_features=True)
        scores = cross_validate(
            model, NUMBERS, Y, params={"sensitive_features": SEX}, error_score="raise"
        )
    assert np.isfinite(scores["test_score"]).all()


@pytest.mark.parametrize("name", ["rank_auc", "rmse"])
def test_a_scorer_hands_on_groups_that_came_as_an_array(name):
    model = fair(sensitive_features=None).fit(NUMBERS, Y, sensitive_features=SEX)
    score = scorer(name)(model, NUMBERS, Y, sensitive_features=SEX)
    named = fair(blind=True).fit(WITH_CODE, Y)
    assert score == pytest.approx(scorer(name)(named, WITH_CODE, Y))
    with config_context(enable_metadata_routing=True):
        model.set_fit_request(sensitive_features=True)
        scores = cross_validate(
            model,
            NUMBERS,
            Y,
            scoring=scorer(name).set_score_request(sensitive_features=True),
            params={"sensitive_features": SEX},
            error_score="raise",
        )
    assert np.isfinite(scores["test_score"]).all()
    with pytest.warns(UserWarning, match="sensitive_features was not given"):
        bare = clone(model).fit(NUMBERS, Y)
    assert np.isfinite(scorer(name)(bare, NUMBERS, Y, sensitive_features=SEX))


def test_an_estimator_without_weights_is_told():
    model = fair(KNeighborsRegressor(), epsilon=0.2)
    with pytest.warns(UserWarning, match="not taken by KNeighborsRegressor.fit"):
        model.fit(WITH_CODE, Y, sample_weight=np.linspace(1, 2, N))


@pytest.mark.parametrize("cv", [None, 3])
def test_weights_reach_the_last_step_of_a_pipeline(cv):
    weights = np.linspace(0.1, 2, N)
    bare, piped = (
        fair(estimator, cv=cv).fit(WITH_CODE, Y, sample_weight=weights)
        for estimator in (LinearRegression(), make_pipeline(LinearRegression()))
    )
    np.testing.assert_array_equal(piped.predict(WITH_CODE), bare.predict(WITH_CODE))
