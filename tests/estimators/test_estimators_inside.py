"""Estimators inside others: what `fit` is passed arrives, and methods are enough."""

from inspect import signature

import lightgbm
import numpy as np
import pandas as pd
import pytest
import xgboost
from catboost import CatBoostRegressor
from joblib import parallel_config
from scipy.sparse import coo_array, csr_matrix
from sklearn import config_context
from sklearn.base import clone
from sklearn.compose import TransformedTargetRegressor
from sklearn.ensemble import (
    HistGradientBoostingRegressor,
    RandomForestRegressor,
    StackingRegressor,
    VotingRegressor,
)
from sklearn.exceptions import UnsetMetadataPassedError
from sklearn.feature_selection import RFE
from sklearn.linear_model import LinearRegression, Ridge
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.neighbors import KNeighborsRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from far_apart import FRAME, NUMBERS, SEX, TASK, N, X, Y
from rankfair import RankFairPostprocessor, TiltedRegressor
from rankfair.constraints import Mean
from rankfair.estimators.tilted import weight_argument
from refusals import sentence

TRAIN = np.arange(N) < 200


class Told(LinearRegression):
    """Keeps what its fit was told."""

    def fit(
        self, X, y, sample_weight=None, eval_set=None, X_val=None, y_val=None, **it
    ):
        self.told_ = {"y": y, "eval_set": eval_set, "val": (X_val, y_val), **it}
        return super().fit(X, y, sample_weight)


@pytest.mark.parametrize(
    "form, groups",
    [("pair", "numbers"), ("list", "three"), ("val", "unknown"), ("list", "both")],
)
@pytest.mark.filterwarnings(
    "ignore:.*useless", "ignore::sklearn.exceptions.ConvergenceWarning"
)
def test_validation_targets_are_tilted_like_those_of_training(form, groups):
    rows = FRAME.assign(two=SEX, three=np.where(SEX == "M", 2, np.arange(N) % 2))
    rows["unknown"] = np.where(np.arange(N) % 7, SEX, None)
    rows["numbers"] = rows["a"] + 2 * np.sin(np.arange(N))
    named = ["three", "two"] if groups == "both" else [groups]
    rows = rows[["a", "b", *named]]
    bins = {"bins": 3} if groups == "numbers" else {}
    model = TiltedRegressor(Told(), 0.05, sensitive_features=named, cv=None, **bins)
    passed = {
        "pair": {"eval_set": (rows, Y)},
        "list": {"eval_set": [(rows, Y)]},
        "val": {"y_val": Y, "X_val": rows},
    }
    told = model.fit(rows, Y, **passed[form]).estimator_.told_
    assert model.multiplier_ != 0
    X_seen, y = told["val"] if form == "val" else told["eval_set"][0]
    np.testing.assert_array_equal(y, told["y"])
    assert list(X_seen) == ["a", "b"]
    assert not np.array_equal(y, Y)


def test_maps_leave_validation_targets_as_they_are():
    model = RankFairPostprocessor(
        Told(), sensitive_features="sex", blind=True, cv=3, random_state=0
    )
    held = FRAME[~TRAIN].drop(columns="sex")
    model.fit(FRAME[TRAIN], Y[TRAIN], eval_set=[(held, Y[~TRAIN])])
    ((seen, y),) = model.estimator_.told_["eval_set"]
    pd.testing.assert_frame_equal(seen, held)
    np.testing.assert_array_equal(y, Y[~TRAIN])


@pytest.mark.parametrize(
    ("wrapper", "cv"), [(TiltedRegressor, 3), (RankFairPostprocessor, None)]
)
def test_values_of_rows_go_where_their_rows_go(wrapper, cv):
    weights = np.where(np.arange(N) % 5, 1.0, 0.0)
    model = wrapper(Told(), 0.05, sensitive_features=3, cv=cv, random_state=0)
    model.fit(X, Y, sample_weight=weights, of_rows=np.arange(N), other="as it is")
    told = model.estimator_.told_
    np.testing.assert_array_equal(told["of_rows"], np.flatnonzero(weights))
    assert told["other"] == "as it is"


def boosters():
    many = {"n_estimators": 300, "n_jobs": 1, "random_state": 0}
    stop = lightgbm.early_stopping(5, verbose=False)
    quiet = {"thread_count": 1, "random_seed": 0, "allow_writing_files": False}
    yield (
        lightgbm.LGBMRegressor(**many, verbose=-1),
        ("eval_X", "eval_y"),
        {"callbacks": [stop], "categorical_feature": [4]},
    )
    yield (
        xgboost.XGBRegressor(**many, max_depth=2, early_stopping_rounds=5),
        "eval_set",
        {"verbose": False},
    )
    yield (
        CatBoostRegressor(iterations=300, **quiet),
        "eval_set",
        {"early_stopping_rounds": 5, "verbose": False, "cat_features": [4]},
    )
    hist = HistGradientBoostingRegressor(
        max_iter=300, early_stopping=True, n_iter_no_change=5, random_state=0
    )
    if "X_val" in signature(hist.fit).parameters:  # from scikit-learn 1.7 on
        yield hist, ("X_val", "y_val"), {}
    yield clone(hist).set_params(validation_fraction=0.2), (), {}  # of its own rows


def trees_of(booster):
    names = ("best_iteration_", "best_iteration", "n_iter_")
    return next(found for it in names if (found := getattr(booster, it, None)))


@pytest.mark.parametrize("booster, names, more", [*boosters()])
def test_boosters_stop_early_on_validation_rows(booster, names, more):
    of_trees = isinstance(booster, HistGradientBoostingRegressor)
    wrapper = RankFairPostprocessor if of_trees else TiltedRegressor
    codes = pd.Categorical(TASK).codes.astype(int)
    rows = FRAME[["a", "b", "sex", "c"]].assign(town=codes)
    model = wrapper(
        booster, 0.05, sensitive_features="sex", blind=True, cv=3, random_state=0
    )
    held = rows[~TRAIN], Y[~TRAIN]
    sets = {names: [held]}
    if names != "eval_set":
        sets = dict(zip(names, held, strict=False))
    model.fit(rows[TRAIN], Y[TRAIN], **sets, **more)
    assert 1 < trees_of(model.estimator_) < 290
    assert model.status_ == "satisfied"


def test_what_cannot_be_handed_on_is_refused():
    rows = FRAME.assign(town=TASK)
    model = TiltedRegressor(Told(), sensitive_features="sex")
    for passed, said in (
        ({"eval_set": [rows]}, "eval_set must be one set of validation rows"),
        ({"X_val": rows}, "X_val must be one set of validation rows"),
        ({"eval_set": 2 * [(rows, Y)]}, "eval_set must be one set"),
        ({"eval_set": (rows.assign(sex="X"), Y)}, "labels not seen in training"),
        ({"eval_set": (rows, Y[:5])}, "y has 5 values, but there are 300 rows"),
        ({"cat_features": [3]}, "columns of X that the estimator does not see: 3"),
    ):
        assert said in sentence(model.fit, rows, Y, **passed)
    pipe = clone(model).set_params(estimator=make_pipeline(StandardScaler(), Told()))
    said = sentence(pipe.fit, rows, Y, told__eval_set=(rows, Y))
    assert "without the steps before it" in said
    known = RankFairPostprocessor(Told().fit(X, Y), sensitive_features=3, prefit=True)
    assert "eval_set is for a fit" in sentence(known.fit, X, Y, eval_set=[(X, Y)])


def test_validation_rows_need_their_groups():
    model, given = TiltedRegressor(Told(), 0.1), {"eval_set": (NUMBERS, Y)}
    said = sentence(model.fit, NUMBERS, Y, sensitive_features=SEX, **given)
    assert "eval_set needs the group of each of its rows" in said
    with pytest.warns(UserWarning, match="there is nothing to balance"):
        model.fit(NUMBERS, Y, **given)
    np.testing.assert_allclose(model.estimator_.told_["eval_set"][0][1], Y)


def test_a_direction_of_ones_own_is_not_that_of_other_rows():
    class Uneven(Mean):
        def direction(self, groups):
            return super().direction(groups) * np.linspace(1, 2, len(groups.in_a))

    model = TiltedRegressor(Told(), constraints=Uneven(0.0), sensitive_features="sex")
    said = sentence(model.fit, FRAME, Y, eval_set=(FRAME, Y))
    assert "eval_set cannot be used with this constraint" in said


@pytest.mark.parametrize(
    ("form", "wrapper"),
    [(csr_matrix, TiltedRegressor), (coo_array, RankFairPostprocessor)],
)
def test_sparse_rows_of_any_format_are_handed_on(wrapper, form):
    sparse, groups = form(NUMBERS), {"sensitive_features": SEX}
    fits = [
        wrapper(Ridge(), 0.05, cv=3, random_state=0).fit(rows, Y, **groups)
        for rows in (sparse, NUMBERS)
    ]
    needed = groups if wrapper is RankFairPostprocessor else {}
    one, other = (
        model.predict(rows, **needed)
        for model, rows in zip(fits, (sparse, NUMBERS), strict=True)
    )
    np.testing.assert_allclose(one, other, atol=1e-3)


# Weights arrive, and methods are enough


@pytest.mark.parametrize(
    "wrapped",
    [
        TransformedTargetRegressor(make_pipeline(Ridge())),
        GridSearchCV(make_pipeline(Ridge()), {"ridge__alpha": [1.0]}, cv=2),
        make_pipeline(GridSearchCV(Ridge(), {"alpha": [1.0]}, cv=2)),
        VotingRegressor([("one", Ridge()), ("none", "drop")]),
    ],
)
def test_weights_are_handed_on(wrapped, cv=3):
    weights = np.linspace(0.1, 2, N)
    bare, inside = (
        RankFairPostprocessor(
            estimator, 0.05, sensitive_features=3, cv=cv, random_state=0
        ).fit(X, Y, sample_weight=weights)
        for estimator in (Ridge(), wrapped)
    )
    assert inside.predict(X) == pytest.approx(bare.predict(X))


@pytest.mark.parametrize(
    "estimator, name",
    [
        (TransformedTargetRegressor(), "sample_weight"),
        (TransformedTargetRegressor(RandomForestRegressor()), "sample_weight"),
        (TransformedTargetRegressor(KNeighborsRegressor()), None),
        (RFE(make_pipeline(Ridge())), "ridge__sample_weight"),
        (StackingRegressor([("one", Ridge())]), "sample_weight"),
        (StackingRegressor([("one", Ridge())], KNeighborsRegressor()), None),
        (VotingRegressor([("one", make_pipeline(Ridge()))]), None),
    ],
)
def test_names_of_weights(estimator, name):
    assert weight_argument(estimator) == name


both = pytest.mark.parametrize("wrapper", [TiltedRegressor, RankFairPostprocessor])


@both
def test_weights_are_routed_where_scikit_learn_routes(wrapper):
    weights = np.linspace(0.1, 2, N)

    def fit(estimator):
        it = wrapper(estimator, 0.05, sensitive_features=3, cv=3, random_state=0)
        return it.fit(X, Y, sample_weight=weights).predict(X)

    alone = fit(Ridge())
    with config_context(enable_metadata_routing=True):
        asks = Ridge().set_fit_request(sample_weight=True)
        np.testing.assert_array_equal(fit(make_pipeline(asks)), alone)
        with pytest.raises(UnsetMetadataPassedError, match="set_fit_request"):
            fit(make_pipeline(Ridge()))


class Duck:
    """Has the methods of an estimator, and none of scikit-learn's classes."""

    def get_params(self, deep=True):
        return {}

    def fit(self, X, y):
        self.line_ = LinearRegression().fit(X, y)
        return self

    def predict(self, X):
        return self.line_.predict(X)


@both
def test_an_estimator_is_what_its_methods_are(wrapper):
    one, other = (
        wrapper(estimator, 0.2, sensitive_features=3, cv=3, random_state=0)
        for estimator in (LinearRegression(), Duck())
    )
    np.testing.assert_array_equal(other.fit(X, Y).predict(X), one.fit(X, Y).predict(X))
    assert np.isfinite(cross_val_score(other, X, Y, cv=2, error_score="raise")).all()


@both
def test_a_target_that_cannot_be_used_is_refused(wrapper):
    model = wrapper(Ridge(), 0.1, sensitive_features=3)
    fitted = model.fit(X, Y * 1e130)
    assert model.fit(X, Y * 1e-130).status_ == fitted.status_ == "satisfied"
    with pytest.raises(ValueError, match=r"y has values of up to .*e\+200.* another"):
        model.fit(X, Y * 1e200)
    with pytest.raises(ValueError, match=r"y has values at most .*e-200 apart.* unit"):
        model.fit(X, Y * 1e-200)
    assert model.fit(X, 0 * Y).status_ == "inactive"


@both
def test_folds_may_be_fitted_at_once(wrapper):
    model = wrapper(Ridge(), 0.2, sensitive_features=3, cv=3, random_state=0)
    alone = model.fit(X, Y).predict(X)
    with parallel_config("threading"):
        together = model.set_params(n_jobs=2).fit(X, Y).predict(X)
    np.testing.assert_array_equal(together, alone)
    assert "n_jobs must be" in sentence(model.set_params(n_jobs=0).fit, X, Y)
