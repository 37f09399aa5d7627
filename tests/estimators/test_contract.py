"""What every estimator promises: scikit-learn's contract, and what must not matter."""

import pickle
import warnings

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.base import clone
from sklearn.compose import make_column_transformer
from sklearn.linear_model import Ridge
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder
from sklearn.utils import get_tags
from sklearn.utils.estimator_checks import parametrize_with_checks

from four_tasks import FRAME, INTERCHANGE, NO_GROUPS, SEX, N, Y
from rankfair import (
    DecisionBoundaryCovariance,
    MultiTaskRegressor,
    RankFairPostprocessor,
    RankFairRegressor,
    RankFairRegressorCV,
    StratifiedBalancedResiduals,
    StratifiedEqualMeans,
    TiltedRegressor,
    load_model,
    save_model,
)
from refusals import sentence

RACE = np.random.default_rng(0).choice(["p", "q", "r"], N)
X = FRAME.assign(race=RACE)
LINEAR = {"tasks": "task", "sensitive_features": "sex"}
RACES = {"tasks": "task", "sensitive_features": "race"}
SEEN = {"sensitive_features": "sex"}
MODELS = {
    "rank": (RankFairRegressor(0.02, **LINEAR), "race"),
    "task": (RankFairRegressor(0.02, penalty="task", beta=1.0, **LINEAR), "race"),
    "in tasks": (RankFairRegressor(0.05, scope="task", **LINEAR), "race"),
    "rank and mean": (
        RankFairRegressor(0.05, constraints=["rank", "mean"], beta=1.0, **LINEAR),
        "race",
    ),
    "three groups": (RankFairRegressor(0.05, **RACES), "sex"),
    "two attributes": (
        RankFairRegressor(0.05, tasks="task", sensitive_features=["sex", "race"]),
        None,
    ),
    "SDBC": (DecisionBoundaryCovariance(**LINEAR), "race"),
    "SSEM": (StratifiedEqualMeans(2, **LINEAR), "race"),
    "tilted": (TiltedRegressor(Ridge(), 0.02, cv=None, **SEEN), "race task"),
    "maps": (RankFairPostprocessor(Ridge(), 0.02, blind=True, **SEEN), "race task"),
    "maps, combinations": (
        RankFairPostprocessor(
            Ridge(), 0.1, blind=True, sensitive_features=["sex", "race"]
        ),
        "task",
    ),
}
SEEDED = {
    "cross-validated": (
        RankFairRegressorCV([1.0, 100.0], cv=3, random_state=0, **LINEAR),
        "race",
    ),
    "out of fold": (
        TiltedRegressor(Ridge(), 0.02, cv=3, random_state=0, **SEEN),
        "race task",
    ),
    "maps, out of fold": (
        RankFairPostprocessor(Ridge(), 0.02, blind=True, cv=3, random_state=0, **SEEN),
        "race task",
    ),
}
each = pytest.mark.parametrize("name", MODELS)
every = pytest.mark.parametrize("name", [*MODELS, *SEEDED])
pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")


def model_of(name):
    """A new model, and the rows that it takes."""
    model, away = {**MODELS, **SEEDED}[name]
    return clone(model), X.drop(columns=(away or "").split())


def fitted(name, rows=None, **more):
    model, frame = model_of(name)
    rows = np.arange(N) if rows is None else rows
    return model.fit(frame.iloc[rows], Y[rows], **more)


def dense_only(estimator):
    """Scikit-learn 1.6 runs this check whatever an estimator's tag says.

    The tag of its Ridge says no, and Ridge takes them.
    """
    name = "check_sample_weight_equivalence_on_sparse_data"
    takes = get_tags(estimator).input_tags.sparse or hasattr(estimator, "estimator")
    return {} if takes else {name: "takes dense rows"}


@pytest.mark.filterwarnings(NO_GROUPS)
@parametrize_with_checks(
    [
        RankFairRegressor(),
        MultiTaskRegressor(),
        StratifiedEqualMeans(),
        StratifiedBalancedResiduals(),
        DecisionBoundaryCovariance(),
        RankFairRegressorCV([0.1, 1.0], cv=2),
        TiltedRegressor(Ridge()),
        RankFairPostprocessor(Ridge()),
    ],
    expected_failed_checks=dense_only,
)
def test_scikit_learn_checks(estimator, check):
    check(estimator)


@each
def test_whole_weights_are_repeated_rows_and_zero_is_absence(name):
    weights = np.random.default_rng(1).integers(0, 4, N).astype(float)
    repeated = fitted(name, np.repeat(np.arange(N), weights.astype(int)))
    weighted, frame = fitted(name, sample_weight=weights), model_of(name)[1]
    assert weighted.status_ == repeated.status_
    np.testing.assert_allclose(
        weighted.predict(frame), repeated.predict(frame), atol=1e-7
    )


@each
def test_neither_order_of_rows_nor_names_of_groups_matter(name):
    """Neither labels of the same order nor, for bands of two sides, their order."""
    model, frame = model_of(name)
    plain = fitted(name).predict(frame)
    mixed = fitted(name, np.random.default_rng(2).permutation(N))
    np.testing.assert_allclose(mixed.predict(frame), plain, atol=1e-7)
    for names in ({"F": "a", "M": "b"}, {"F": "y", "M": "x"}):
        if "sex" in frame:
            other = frame.assign(sex=frame["sex"].map(names))
            found = model.fit(other, Y).predict(other)
            np.testing.assert_allclose(found, plain, atol=1e-5)


@every
def test_fits_come_out_again_and_leave_inputs_alone(name):
    model, frame = model_of(name)
    before, target = frame.copy(), Y.copy()
    with pytest.raises(ValueError, match=r"y has \d+ values, but there are"):
        model.fit(frame, Y[:-1])
    assert not model.__sklearn_is_fitted__()
    first = model.fit(frame, Y).predict(frame)
    np.testing.assert_array_equal(clone(model).fit(frame, Y).predict(frame), first)
    pd.testing.assert_frame_equal(frame, before)
    np.testing.assert_array_equal(Y, target)
    # Neither a refused fit nor other settings change what was fitted.
    kept = dict(vars(model))
    with pytest.raises(ValueError, match=r"y has \d+ values, but there are"):
        model.fit(frame, Y[:-1])
    assert vars(model) == kept
    model.set_params(blind=not model.blind, sensitive_features="a")
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(again.predict(frame), first)


@each
def test_without_groups_a_warning_at_the_callers_line(name):
    model, frame = model_of(name)
    model.set_params(sensitive_features=None)
    numbers = frame[[it for it in frame if it not in ("sex", "race")]]
    with pytest.warns(UserWarning, match="there is nothing to balance") as caught:
        model.fit(numbers, Y)
    assert [each.filename for each in caught] == [__file__]
    assert model.status_ == "inactive" and model.groups_ is None
    assert np.isfinite(model.predict(numbers)).all()


@pytest.mark.parametrize(
    "model", [RankFairRegressor(0.02), DecisionBoundaryCovariance()]
)
def test_columns_and_arrays_say_the_same(model):
    numbers = FRAME[["a", "b", "c"]]
    passed = {"tasks": FRAME["task"], "sensitive_features": SEX}
    arrays = clone(model).fit(numbers, Y, **passed)
    columns = clone(model).set_params(**LINEAR).fit(FRAME, Y)
    found = arrays.predict(numbers, tasks=FRAME["task"])
    np.testing.assert_array_equal(found, columns.predict(FRAME))
    assert list(arrays.tasks_) == list(columns.tasks_)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert columns.score(FRAME, Y) == arrays.score(numbers, Y, tasks=FRAME["task"])


@pytest.mark.parametrize("library", [pd.DataFrame, pl.DataFrame])
@pytest.mark.parametrize(
    "name",
    [
        *("rank", "cross-validated", "SDBC", "SSEM"),
        pytest.param("tilted", marks=pytest.mark.filterwarnings(INTERCHANGE)),
    ],
)
def test_blind_models_take_frames_without_the_group(name, library, tmp_path):
    model, frame = model_of(name)
    whole, part = (
        library(it.to_dict("list")) for it in (frame, frame.drop(columns="sex"))
    )
    m = model.fit(whole, Y).predict(part)
    np.testing.assert_array_equal(m, model.predict(whole))
    if name == "rank":
        again = load_model(save_model(model, tmp_path / "model.rankfair"))
        np.testing.assert_array_equal(m, again.predict(part))
    if name == "tilted":
        columns = make_column_transformer(
            (OneHotEncoder(sparse_output=False), ["sex"]), ("passthrough", ["a"])
        )
        model.set_params(estimator=make_pipeline(columns, Ridge()), epsilon=0.3)
    else:
        assert model.predictors_.tolist() == ["a", "b", "c"]
    model.set_params(blind=False).fit(whole, Y)
    assert "sex" in sentence(model.predict, part)
    assert name == "tilted" or model.predictors_.tolist() == ["a", "b", "c", "sex"]


class OfTowns(RankFairRegressor):
    """A user's own, with a setting more and most settings fixed."""

    def __init__(self, epsilon=0.05, towns="task"):
        super().__init__(epsilon, tasks=towns, sensitive_features="sex")
        self.towns = towns


def test_a_subclass_has_settings_of_its_own():
    model = clone(OfTowns(0.03))
    assert model.get_params() == {"epsilon": 0.03, "towns": "task"}
    same = RankFairRegressor(0.03, **LINEAR).fit(FRAME, Y)
    np.testing.assert_array_equal(model.fit(FRAME, Y).coef_, same.coef_)
