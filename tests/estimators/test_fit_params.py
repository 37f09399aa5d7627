"""What `fit` is passed for the estimator inside arrives, validation rows tilted."""

import lightgbm
import numpy as np
import pandas as pd
import pytest
import xgboost
from catboost import CatBoostRegressor
from scipy.sparse import coo_array, csr_matrix
from sklearn.base import clone
from sklearn.ensemble import HistGradientBoostingRegressor
from sklearn.linear_model import LinearRegression, Ridge
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from far_apart import FRAME, NUMBERS, SEX, TASK, N, X, Y
from rankfair import RankFairPostprocessor, TiltedRegressor
from rankfair.constraints import Mean
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
    [
        ("pair", "two"),
        ("list", "three"),
        ("val", "unknown"),
        ("several", "both"),
        ("pair", "numbers"),
    ],
)
@pytest.mark.filterwarnings(
    "ignore:.*useless", "ignore::sklearn.exceptions.ConvergenceWarning"
)
def test_validation_targets_are_tilted_like_those_of_training(form, groups):
    rows = FRAME.assign(two=SEX, three=np.where(SEX == "M", 2, np.arange(N) % 2))
    rows["unknown"] = np.where(np.arange(N) % 7, SEX, None)
    rows["numbers"] = rows["a"] + 2 * np.sin(np.arange(N))
    named = ["two", "three"] if groups == "both" else groups
    used = ["a", "b", *({"three", "two"} if groups == "both" else {groups})]
    rows = rows[used]
    bins = {"bins": 3} if groups == "numbers" else {}
    model = TiltedRegressor(Told(), 0.05, sensitive_features=named, cv=None, **bins)
    sets = {
        "pair": {"eval_set": (rows, Y)},
        "list": {"eval_set": [(rows[:9], Y[:9]), (rows, Y)]},
        "val": {"X_val": rows, "y_val": Y},
        "several": {"eval_X": (rows[:9], rows), "eval_y": (Y[:9], Y)},
    }
    model.fit(rows, Y, **sets[form])
    assert model.multiplier_ != 0
    told = model.estimator_.told_
    (X_seen, y) = {
        "pair": lambda: told["eval_set"],
        "list": lambda: told["eval_set"][1],
        "val": lambda: told["val"],
        "several": lambda: (told["eval_X"][1], told["eval_y"][1]),
    }[form]()
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
    yield pytest.param(
        lightgbm.LGBMRegressor(**many, verbose=-1),
        {"callbacks": [stop], "categorical_feature": [4]},
        id="lightgbm",
    )
    yield pytest.param(
        xgboost.XGBRegressor(**many, max_depth=2, early_stopping_rounds=5),
        {"verbose": False},
        id="xgboost",
    )
    yield pytest.param(
        CatBoostRegressor(
            iterations=300, thread_count=1, random_seed=0, allow_writing_files=False
        ),
        {"early_stopping_rounds": 5, "verbose": False, "cat_features": [4]},
        id="catboost",
    )
    hist = HistGradientBoostingRegressor(
        max_iter=300, early_stopping=True, n_iter_no_change=5, random_state=0
    )
    yield pytest.param(hist, {}, id="sklearn")
    held = clone(hist).set_params(validation_fraction=0.2)
    yield pytest.param(held, None, id="sklearn, of its own rows")


BOOSTERS = [*boosters()]


def trees_of(booster):
    for name in ("best_iteration_", "best_iteration", "n_iter_"):
        if getattr(booster, name, None) is not None:
            return getattr(booster, name)
    raise AssertionError(booster)


@pytest.mark.parametrize("booster, more", BOOSTERS)
def test_boosters_stop_early_on_validation_rows(booster, more):
    of_trees = isinstance(booster, HistGradientBoostingRegressor)
    wrapper = RankFairPostprocessor if of_trees else TiltedRegressor
    rows = FRAME[["a", "b", "sex", "c"]].assign(
        town=pd.Categorical(TASK).codes.astype(int)
    )
    model = wrapper(
        booster, 0.05, sensitive_features="sex", blind=True, cv=3, random_state=0
    )
    held = rows[~TRAIN], Y[~TRAIN]
    names = ("X_val", "y_val")
    if isinstance(booster, lightgbm.LGBMRegressor):
        names = ("eval_X", "eval_y")
    sets = dict(zip(names, held, strict=True))
    if not isinstance(booster, lightgbm.LGBMRegressor | HistGradientBoostingRegressor):
        sets = {"eval_set": [held]}
    model.fit(rows[TRAIN], Y[TRAIN], **(sets if more is not None else {}), **more or {})
    assert 1 < trees_of(model.estimator_) < 290
    assert model.status_ == "satisfied"
    assert model.predict(
        rows.drop(columns="sex") if wrapper is TiltedRegressor else rows
    )[0] == pytest.approx(model.predict(rows)[0])


ROWS = FRAME.assign(town=TASK)
PIPE = make_pipeline(StandardScaler(), Told())


@pytest.mark.parametrize(
    "passed, settings, told",
    [
        ({"eval_set": [ROWS]}, {}, "eval_set must be (X, y) or a list of such pairs"),
        (
            {"told__eval_set": (ROWS, Y)},
            {"estimator": PIPE},
            "without the steps before it",
        ),
        ({"eval_set": (ROWS.assign(sex="X"), Y)}, {}, "labels not seen in training"),
        (
            {"eval_set": (ROWS, Y)},
            {"tasks": "town"},
            "each task has a model of its own",
        ),
        ({"eval_set": (ROWS, Y[:5])}, {}, "y has 5 values, but there are 300 rows"),
        ({"cat_features": [3]}, {}, "columns of X that the estimator does not see: 3"),
    ],
)
def test_what_cannot_be_handed_on_is_refused(passed, settings, told):
    model = TiltedRegressor(Told(), sensitive_features="sex").set_params(**settings)
    assert told in sentence(model.fit, ROWS, Y, **passed)


def test_validation_rows_need_their_groups():
    model, given = TiltedRegressor(Told(), 0.1), {"eval_set": (NUMBERS, Y)}
    said = sentence(model.fit, NUMBERS, Y, sensitive_features=SEX, **given)
    assert "eval_set needs the group of each of its rows" in said
    with pytest.warns(UserWarning, match="there is nothing to balance"):
        model.fit(NUMBERS, Y, **given)
    np.testing.assert_allclose(model.estimator_.told_["eval_set"][1], Y)


def test_a_direction_of_ones_own_is_not_that_of_other_rows():
    class Uneven(Mean):
        def direction(self, groups):
            return super().direction(groups) * np.linspace(1, 2, len(groups.in_a))

    model = TiltedRegressor(Told(), constraints=Uneven(0.0), sensitive_features="sex")
    said = sentence(model.fit, FRAME, Y, eval_set=(FRAME, Y))
    assert "eval_set cannot be tilted" in said


def test_a_fitted_estimator_takes_no_more():
    model = RankFairPostprocessor(Told().fit(X, Y), sensitive_features=3, prefit=True)
    assert "eval_set is for a fit" in sentence(model.fit, X, Y, eval_set=[(X, Y)])


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
