import pickle
import sys
from dataclasses import replace

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn import config_context
from sklearn.base import clone
from sklearn.compose import make_column_transformer
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.linear_model import LinearRegression
from sklearn.metrics import r2_score, roc_auc_score
from sklearn.model_selection import GridSearchCV, cross_validate
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

from rankfair import (
    DecisionBoundaryCovariance,
    MultiTaskRegressor,
    RankFairRegressor,
    StratifiedBalancedResiduals,
    StratifiedEqualMeans,
)
from rankfair.balances import Mean, Rank, Residual
from rankfair.metrics import rank_auc, scorer
from rankfair.penalties import Ridge
from rankfair.solvers import Status, Tilt
from refusals import sentence

NO_GROUPS = "ignore:fit got no sensitive_features:UserWarning"


@pytest.mark.filterwarnings(NO_GROUPS)
@parametrize_with_checks(
    [
        RankFairRegressor(),
        RankFairRegressor(balance=["rank", "mean"]),
        RankFairRegressor(balance="distribution"),
        RankFairRegressor(scope="both"),
        MultiTaskRegressor(),
        StratifiedEqualMeans(),
        StratifiedBalancedResiduals(),
        DecisionBoundaryCovariance(),
    ]
)
def test_scikit_learn_checks(estimator, check):
    check(estimator)


# Data: four tasks of uneven size, two groups in each, ranks far apart

rng = np.random.default_rng(7)
N = 240
TASK = rng.choice(["n", "e", "s", "w"], N, p=[0.4, 0.3, 0.2, 0.1])
SEX = rng.choice(["F", "M"], N)
IN_A = SEX == "M"
NUMBERS = rng.normal(size=(N, 3)) + np.outer(IN_A, [0.8, 0.0, 0.4])
Y = NUMBERS @ [1.0, 0.5, -0.3] + 0.7 * IN_A + (TASK == "n") + rng.normal(size=N)
COLUMNS = {"a": NUMBERS[:, 0], "b": NUMBERS[:, 1], "c": NUMBERS[:, 2]}
FRAME = pd.DataFrame({**COLUMNS, "task": TASK, "sex": SEX})


def fair(epsilon=0.02, **settings):
    return RankFairRegressor(
        epsilon, tasks="task", sensitive_features="sex", **settings
    )


# What a fit promises


def test_the_band_is_met_and_counted_on_predict():
    free = roc_auc_score(IN_A, LinearRegression().fit(NUMBERS, Y).predict(NUMBERS))
    assert free > 0.6
    model = fair().fit(FRAME, Y)
    auc = rank_auc(Y, model.predict(FRAME), sensitive_features=SEX)
    assert model.status_ == "satisfied"
    assert auc == model.rank_auc_
    assert abs(auc - 0.5) <= 0.02 + 1 / (IN_A.sum() * (~IN_A).sum())
    assert model.multiplier_ != 0


def test_the_fitted_attributes():
    model = fair().fit(FRAME, Y)
    assert model.coef_.shape == (4, 4)
    assert model.intercept_.shape == (4,)
    assert model.tasks_.tolist() == ["e", "n", "s", "w"]
    assert model.groups_.tolist() == ["F", "M"]
    assert model.predictors_.tolist() == ["a", "b", "c", "sex"]
    assert model.feature_names_in_.tolist() == ["a", "b", "c", "task", "sex"]
    assert model.n_features_in_ == 5
    assert model.shared_coef_ is None
    assert model.n_iter_ >= 1
    assert model.stationarity_ >= 0
    assert all(len(step) == 2 for step in model.trace_)


def test_predictions_are_linear_in_the_users_units():
    model = fair().fit(FRAME, Y)
    X = np.column_stack([NUMBERS, IN_A])
    code = np.searchsorted(model.tasks_, TASK)
    expected = (X * model.coef_[code]).sum(axis=1) + model.intercept_[code]
    np.testing.assert_allclose(model.predict(FRAME), expected)


def test_a_band_already_met_is_the_unconstrained_fit():
    model = RankFairRegressor(0.5).fit(NUMBERS, Y, tasks=TASK, sensitive_features=SEX)
    free = MultiTaskRegressor().fit(NUMBERS, Y, tasks=TASK)
    assert model.status_ == "inactive"
    np.testing.assert_allclose(model.coef_, free.coef_)
    assert model.multiplier_ == 0


def test_without_groups_a_warning_and_the_unconstrained_fit():
    with pytest.warns(UserWarning, match="there is nothing to balance") as caught:
        model = RankFairRegressor(tasks="task").fit(FRAME.drop(columns="sex"), Y)
    assert caught[0].filename == __file__
    free = MultiTaskRegressor().fit(NUMBERS, Y, tasks=TASK)
    np.testing.assert_allclose(model.coef_, free.coef_)
    assert model.status_ == "inactive"
    assert np.isnan(model.rank_auc_)
    assert model.groups_ is None


class Ended:
    """A solver that ends with a given status."""

    def __init__(self, status):
        self.status = status

    def solve(self, problem, penalty, balance, on_step=None):
        return replace(Tilt().solve(problem, penalty, balance), status=self.status)


@pytest.mark.parametrize("status", [Status.INFEASIBLE, Status.MAX_ITER])
def test_a_fit_that_did_not_end_well_warns_with_the_auc(status):
    model = fair(solver=Ended(status))
    with pytest.warns(ConvergenceWarning, match=status.value) as caught:
        model.fit(FRAME, Y)
    assert f"Reached: AUC {model.rank_auc_:.4f}" in str(caught[0].message)
    assert "asked for within 0.02 of 0.5" in str(caught[0].message)
    constant = "One value for all rows would meet it" in str(caught[0].message)
    assert constant == (status is Status.INFEASIBLE)
    assert model.status_ == status.name.lower()
    assert caught[0].filename == __file__
    with pytest.warns(ConvergenceWarning, match=r"Reached: mean imbalance .* 0\.02"):
        model.set_params(balance="mean").fit(FRAME, Y)


def test_blind_does_not_use_the_protected_column():
    model = fair(blind=True).fit(FRAME, Y)
    assert model.predictors_.tolist() == ["a", "b", "c"]
    swapped = FRAME.assign(sex=np.where(IN_A, "F", "M"))
    np.testing.assert_array_equal(model.predict(FRAME), model.predict(swapped))
    by_array = RankFairRegressor(0.02).fit(
        NUMBERS, Y, tasks=TASK, sensitive_features=SEX
    )
    np.testing.assert_allclose(model.coef_, by_array.coef_)


def test_the_mean_balance_reports_the_auc_all_the_same():
    model = fair(balance="mean", epsilon=0.0).fit(FRAME, Y)
    predicted = model.predict(FRAME)
    auc = rank_auc(Y, predicted, sensitive_features=SEX)
    assert model.rank_auc_ == pytest.approx(auc)
    assert predicted[IN_A].mean() == pytest.approx(predicted[~IN_A].mean(), abs=1e-6)


def test_objects_do_as_well_as_names():
    by_name = fair(penalty="ridge", beta=2.0).fit(FRAME, Y)
    by_object = fair(penalty=Ridge(2.0), solver=Tilt()).fit(FRAME, Y)
    np.testing.assert_array_equal(by_name.coef_, by_object.coef_)
    mean = fair(balance=Mean(0.0)).fit(FRAME, Y)
    np.testing.assert_allclose(
        mean.coef_, fair(balance="mean", epsilon=0.0).fit(FRAME, Y).coef_
    )


@pytest.mark.parametrize("penalty", ["task", "feature", "shared", "ridge"])
def test_every_penalty(penalty):
    model = fair(penalty=penalty).fit(FRAME, Y)
    assert model.status_ == "satisfied"
    assert (model.shared_coef_ is None) == (penalty != "shared")


# Inputs of every type


def same_model(model, other):
    np.testing.assert_allclose(model.coef_, other.coef_, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(model.intercept_, other.intercept_, rtol=1e-9)


def test_pandas_polars_and_arrays_give_the_same_model():
    model = fair().fit(FRAME, Y)
    polars = pl.DataFrame({**COLUMNS, "task": TASK, "sex": SEX})
    same_model(model, fair().fit(polars, pl.Series(Y)))
    np.testing.assert_array_equal(
        model.predict(FRAME), fair().fit(polars, Y).predict(polars)
    )
    objects = FRAME.to_numpy(dtype=object)
    by_position = RankFairRegressor(0.02, tasks=3, sensitive_features=4)
    same_model(model, by_position.fit(objects, Y.tolist()))
    same_model(model, by_position.fit(objects.tolist(), Y))
    coded = np.column_stack([NUMBERS, np.searchsorted(model.tasks_, TASK), IN_A])
    same_model(model, by_position.fit(coded, Y))


@pytest.mark.parametrize(
    "labels",
    [IN_A, IN_A.astype(int), IN_A * 1.0, pd.Categorical(SEX), pl.Series(SEX)],
    ids=["bool", "int", "float", "category", "polars"],
)
def test_groups_of_any_type(labels):
    model = RankFairRegressor().fit(NUMBERS, Y, sensitive_features=labels)
    same_model(model, RankFairRegressor().fit(NUMBERS, Y, sensitive_features=SEX))


@pytest.mark.parametrize(
    "X",
    [
        NUMBERS.astype(np.float32),
        np.asfortranarray(NUMBERS),
        np.repeat(NUMBERS, 2, axis=1)[:, ::2],
        NUMBERS.tolist(),
        np.round(NUMBERS).astype(int),
    ],
    ids=["float32", "fortran", "strided", "list", "int"],
)
def test_arrays_of_any_kind(X):
    plain = np.array(X, dtype=np.float64, order="C")
    model = RankFairRegressor().fit(X, Y, tasks=TASK, sensitive_features=SEX)
    same = RankFairRegressor().fit(plain, Y, tasks=TASK, sensitive_features=SEX)
    np.testing.assert_array_equal(model.coef_, same.coef_)


def test_inputs_are_left_alone():
    X, y, w, z = NUMBERS.copy(), Y.copy(), np.ones(N), SEX.copy()
    codes = np.arange(N) % 4
    for array in (X, y, w, z, codes):
        array.flags.writeable = False
    model = RankFairRegressor().fit(
        X, y, tasks=codes, sensitive_features=z, sample_weight=w
    )
    model.predict(X, tasks=codes)
    frame = FRAME.copy()
    fair().fit(frame, Y).predict(frame)
    pd.testing.assert_frame_equal(frame, FRAME)


@pytest.mark.parametrize("unit", [1e200, 1e-200, 1e8])
@pytest.mark.parametrize("penalty", ["task", "ridge"])
def test_units_of_the_target(unit, penalty):
    model = fair(penalty=penalty).fit(FRAME, Y)
    other = fair(penalty=penalty).fit(FRAME, Y * unit)
    assert abs(other.rank_auc_ - 0.5) <= 0.0201
    np.testing.assert_allclose(other.coef_ / unit, model.coef_, rtol=1e-3, atol=1e-3)
    assert other.score(FRAME, Y * unit) == pytest.approx(
        model.score(FRAME, Y), abs=1e-3
    )


@pytest.mark.parametrize("penalty", ["task", "feature", "shared", "ridge"])
def test_whole_weights_are_repeated_rows(penalty):
    w = np.random.default_rng(3).integers(0, 3, N)
    i = np.repeat(np.arange(N), w)
    free = MultiTaskRegressor(tasks="task", penalty=penalty)
    X = FRAME.drop(columns="sex")
    weighted = free.fit(X, Y, sample_weight=w).predict(X)
    repeated = free.fit(X.iloc[i], Y[i]).predict(X)
    np.testing.assert_allclose(weighted, repeated, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("penalty", ["task", "ridge"])
def test_whole_weights_are_repeated_rows_to_the_balance(penalty):
    w = np.random.default_rng(3).integers(0, 3, N)
    i = np.repeat(np.arange(N), w)
    weighted = fair(penalty=penalty).fit(FRAME, Y, sample_weight=w)
    repeated = fair(penalty=penalty).fit(FRAME.iloc[i], Y[i])
    auc = rank_auc(Y[i], weighted.predict(FRAME.iloc[i]), sensitive_features=SEX[i])
    assert weighted.rank_auc_ == auc
    assert weighted.status_ == repeated.status_ == "satisfied"
    # Both stop at the edge of the band, where the order of sums decides on a pair.
    assert weighted.objective_ == pytest.approx(repeated.objective_, rel=5e-3)


@pytest.mark.parametrize(
    "X",
    [
        np.column_stack([NUMBERS, np.ones(N)]),
        np.column_stack([NUMBERS, NUMBERS[:, 0]]),
        np.ones((N, 2)),
        rng.normal(size=(N, 60)),
    ],
    ids=["constant column", "duplicate column", "constant X", "wide"],
)
@pytest.mark.parametrize("penalty", ["task", "ridge"])
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_degenerate_features_are_handled(X, penalty):
    model = RankFairRegressor(penalty=penalty)
    model.fit(X, Y, tasks=TASK, sensitive_features=SEX)
    assert np.isfinite(model.predict(X, tasks=TASK)).all()


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_tasks_of_one_row_and_groups_of_one():
    tasks = np.arange(N)
    model = RankFairRegressor().fit(NUMBERS, Y, tasks=tasks, sensitive_features=SEX)
    assert model.coef_.shape == (N, 3)
    alone = np.arange(N) == 3
    model = RankFairRegressor().fit(NUMBERS, Y, sensitive_features=alone)
    assert np.isfinite(model.rank_auc_)


def test_a_constant_target_is_balanced():
    model = RankFairRegressor().fit(NUMBERS, np.ones(N), sensitive_features=SEX)
    assert model.status_ == "inactive"
    assert model.rank_auc_ == 0.5


# Tasks


def test_several_task_columns():
    model = RankFairRegressor(0.05, tasks=["task", "sex"], sensitive_features="sex")
    with_tuples = model.fit(FRAME, Y)
    assert with_tuples.tasks_[0] == ("e", "F")
    assert with_tuples.predictors_.tolist() == ["a", "b", "c"]
    assert np.isfinite(with_tuples.predict(FRAME)).all()


def test_unseen_tasks_are_refused_or_shared():
    new = FRAME.assign(task="x")
    words = sentence(fair().fit(FRAME, Y).predict, new)
    assert 'tasks has labels not seen in training: "x" (240 rows)' in words
    model = fair(penalty="shared", unseen="shared").fit(FRAME, Y)
    X = np.column_stack([NUMBERS, IN_A])
    np.testing.assert_allclose(
        model.predict(new), X @ model.shared_coef_ + model.shared_intercept_
    )
    mixed = FRAME.assign(task=np.where(np.arange(N) < 9, "x", TASK))
    np.testing.assert_array_equal(model.predict(mixed)[9:], model.predict(FRAME)[9:])


def test_retyped_tasks_are_refused_even_with_a_shared_model():
    codes = np.arange(N) % 3
    model = RankFairRegressor(penalty="shared", unseen="shared")
    model.fit(NUMBERS, Y, tasks=codes, sensitive_features=SEX)
    words = sentence(model.predict, NUMBERS, tasks=codes.astype(str))
    assert 'another type than in training: "0" (str) here, 0 (int) there' in words


def test_shared_needs_the_shared_penalty():
    for estimator in (fair(unseen="shared"), MultiTaskRegressor(unseen="shared")):
        words = sentence(estimator.fit, FRAME, Y)
        assert 'unseen="shared" needs the model that penalty="shared" fits' in words
    model = fair().fit(FRAME, Y).set_params(unseen="shared")
    assert "not seen" in sentence(model.predict, FRAME.assign(task="x"))


def test_predict_with_other_columns_is_refused_as_scikit_learn_does():
    model = fair().fit(FRAME, Y)
    assert "feature names should match" in sentence(
        model.predict, FRAME.rename(columns={"a": "z"})
    )
    assert "feature names should match" in sentence(
        model.predict, FRAME.drop(columns="a")
    )
    array = RankFairRegressor().fit(NUMBERS, Y, sensitive_features=SEX)
    assert "X has 2 features, but RankFairRegressor is expecting 3" in sentence(
        array.predict, NUMBERS[:, :2]
    )


def test_a_refit_forgets_the_names():
    model = fair().fit(FRAME, Y)
    model.set_params(tasks=None, sensitive_features=None)
    model.fit(NUMBERS, Y, sensitive_features=SEX)
    assert not hasattr(model, "feature_names_in_")
    assert model.n_features_in_ == 3


# Settings


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"epsilon": -0.1}, "epsilon must be a number in [0, 0.5]; got -0.1"),
        ({"epsilon": 0.6}, "epsilon must be a number in [0, 0.5]; got 0.6"),
        ({"epsilon": np.nan}, "epsilon must be a number in [0, 0.5]; got nan"),
        ({"penalty": "rigde"}, 'Did you mean "ridge"?'),
        ({"penalty": None}, 'penalty must be one of "task", "feature", "shared"'),
        ({"solver": "titl"}, 'solver must be one of "tilt", "ncadmm", "paper"'),
        ({"balance": "ranks"}, 'Did you mean "rank"?'),
        ({"balance": ["rank", "men"]}, 'Did you mean "mean"?'),
        ({"balance": ["rank", 3]}, 'balance must be one of "rank", "mean"'),
        ({"balance": []}, "balance is an empty list"),
        ({"balance": ["mean", "mean"]}, 'balance names "mean" 2 times'),
        ({"balance": ["mean", Mean(0.1)]}, 'balance names "mean" 2 times'),
        ({"balance": [Rank(), "rank"]}, 'balance names "rank" 2 times'),
        (
            {"balance": ["rank", "mean"], "epsilon": {"rank": 0.1, "mean": 0.1}},
            "a list with one for each balance in the order of balance; got {'rank'",
        ),
        (
            {"balance": ["rank", "mean"], "epsilon": [0.1]},
            "epsilon holds 1 number for 2 balances",
        ),
        (
            {"balance": ["rank", "mean"], "epsilon": [0.1, 0.1, 0.2]},
            "epsilon holds 3 numbers for 2 balances",
        ),
        (
            {"balance": ["rank", "mean"], "epsilon": [0.6, 0.0]},
            "epsilon must be a number in [0, 0.5]; got 0.6",
        ),
        (
            {"balance": ["rank", "mean"], "epsilon": [0.1, -1.0]},
            "epsilon must be a number ≥ 0; got -1.0",
        ),
        (
            {"balance": ["rank", "mean"], "epsilon": [0.1, "x"]},
            'epsilon must be a number ≥ 0; got "x"',
        ),
        (
            {"balance": "rank", "epsilon": [0.1, 0.2]},
            "epsilon holds 2 numbers, but balance='rank' is one balance",
        ),
        (
            {"balance": ["rank", "mean"], "solver": "ncadmm"},
            'solver="ncadmm" keeps one balance at a time; got 2. Use solver="tilt"',
        ),
        (
            {"balance": ["rank", "mean"], "solver": "paper"},
            'solver="paper" keeps one balance at a time; got 2. Use solver="tilt"',
        ),
        ({"side": "uper"}, 'side must be one of "both", "upper"; got "uper"'),
        ({"unseen": "share"}, 'Did you mean "shared"?'),
        ({"scope": "tasks"}, 'got "tasks". Did you mean "task"?'),
        (
            {"scope": "task", "solver": "paper"},
            'scope="task" searches one multiplier a task, as solver="tilt" does',
        ),
        (
            {"scope": "both", "balance": ["rank", "mean"]},
            'scope="both" keeps one balance in each task; got 2',
        ),
        ({"beta": -1}, "beta must be a number ≥ 0; got -1"),
        ({"max_iter": 0}, "max_iter must be a whole number ≥ 1; got 0"),
        ({"tol": np.nan}, "tol must be a number ≥ 0; got nan"),
        ({"blind": "no"}, 'blind must be True or False; got "no"'),
        ({"standardize": 1}, "standardize must be True or False; got 1"),
        ({"tasks": "tsak"}, 'tasks="tsak" is no column of X. Did you mean "task"?'),
        ({"sensitive_features": 9}, "sensitive_features=9 is no column of X"),
        ({"verbose": -1}, "verbose must be a whole number ≥ 0; got -1"),
    ],
)
def test_bad_settings_are_refused_before_any_computing(settings, words):
    model = fair().set_params(**settings)
    assert words in sentence(model.fit, FRAME, Y)
    with pytest.raises(NotFittedError):
        model.predict(FRAME)


# Pipelines, searches, copies


def test_clone_and_pickle():
    model = fair(penalty="feature", beta=0.3).fit(FRAME, Y)
    assert clone(model).get_params() == model.get_params()
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(again.predict(FRAME), model.predict(FRAME))


def test_score_is_r2():
    model = fair().fit(FRAME, Y)
    w = rng.random(N)
    predicted = model.predict(FRAME)
    assert model.score(FRAME, Y) == pytest.approx(r2_score(Y, predicted))
    weighted = r2_score(Y, predicted, sample_weight=w)
    assert model.score(FRAME, Y, w) == pytest.approx(weighted)
    by_array = MultiTaskRegressor().fit(NUMBERS, Y, tasks=TASK)
    assert by_array.score(NUMBERS, Y, tasks=TASK, sample_weight=w) > 0


def test_pipeline_and_search_with_labels_inside_x():
    scaler = make_column_transformer(
        (StandardScaler(), ["a", "b", "c"]),
        remainder="passthrough",
        verbose_feature_names_out=False,
    ).set_output(transform="pandas")
    pipeline = make_pipeline(scaler, fair())
    search = GridSearchCV(
        pipeline,
        {"rankfairregressor__beta": [0.1, 10.0]},
        cv=3,
        scoring={
            "auc": scorer("rank_auc", sensitive_features="sex"),
            "rmse": scorer("rmse"),
        },
        refit="rmse",
    )
    search.fit(FRAME, Y)
    assert search.best_estimator_[-1].status_ == "satisfied"
    assert (search.cv_results_["mean_test_auc"] > -0.2).all()
    assert search.predict(FRAME).shape == (N,)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_cross_validate_with_routed_arrays():
    with config_context(enable_metadata_routing=True):
        model = (
            RankFairRegressor(0.02)
            .set_fit_request(tasks=True, sensitive_features=True, sample_weight=True)
            .set_predict_request(tasks=True)
            .set_score_request(tasks=True, sample_weight=False)
        )
        params = {
            "tasks": TASK,
            "sensitive_features": SEX,
            "sample_weight": np.ones(N),
        }
        scoring = scorer("rank_auc").set_score_request(sample_weight=False)
        found = cross_validate(model, NUMBERS, Y, params=params, scoring=scoring, cv=3)
        assert (found["test_score"] > -0.2).all()
        found = cross_validate(model, NUMBERS, Y, params=params, cv=3)
        assert (found["test_score"] > 0).all()
        search = GridSearchCV(model, {"beta": [0.1, 1.0]}, cv=3)
        search.fit(NUMBERS, Y, **params)
        pipeline = make_pipeline(StandardScaler(), model)
        pipeline.fit(NUMBERS, Y, **{**params, "sample_weight": None})
        assert pipeline.predict(NUMBERS, tasks=TASK).shape == (N,)
    assert abs(search.best_estimator_.rank_auc_ - 0.5) <= 0.0201


# Progress, callbacks, Ctrl-C


def test_verbose_writes_to_stderr(capsys):
    fair(verbose=1).fit(FRAME, Y)
    captured = capsys.readouterr()
    assert captured.out == ""
    assert "[RankFairRegressor] step 1: objective " in captured.err
    assert "[RankFairRegressor] satisfied: objective" in captured.err
    MultiTaskRegressor(verbose=1).fit(NUMBERS, Y)
    assert "[MultiTaskRegressor] done" in capsys.readouterr().err
    fair().fit(FRAME, Y)
    assert capsys.readouterr().err == ""


class Recorder:
    """A scikit-learn callback that notes what it is told."""

    def __init__(self):
        self.events = []

    def setup(self, estimator, context):
        self.events.append("setup")

    def teardown(self, estimator, context):
        self.events.append("teardown")

    def on_fit_task_begin(self, estimator, context, *, X=None):
        self.events.append(f"begin {context.task_name}")

    def on_fit_task_end(self, estimator, context, *, X=None, fitted_estimator=None):
        self.events.append(f"end {context.task_name}")
        if fitted_estimator is not None:
            self.predicted = fitted_estimator.predict(X)


@pytest.mark.skipif(
    not hasattr(RankFairRegressor, "set_callbacks"), reason="scikit-learn before 1.9"
)
def test_scikit_learn_callbacks_hear_of_each_step():
    recorder = Recorder()
    model = fair().set_callbacks(recorder).fit(FRAME, Y)
    steps = ["begin step", "end step"] * len(model.trace_)
    assert recorder.events == ["setup", "begin fit", *steps, "end fit", "teardown"]
    np.testing.assert_array_equal(recorder.predicted, model.predict(FRAME))


def test_it_works_where_scikit_learn_has_no_callbacks(monkeypatch):
    import importlib

    monkeypatch.setitem(sys.modules, "sklearn.callback", None)
    for name in [*sys.modules]:
        if name.startswith(("rankfair._regressor", "rankfair.estimators")):
            monkeypatch.delitem(sys.modules, name)
    old = importlib.import_module("rankfair.estimators")
    model = old.RankFairRegressor(0.02, tasks="task", sensitive_features="sex")
    assert not hasattr(model, "set_callbacks")
    assert model.fit(FRAME, Y).status_ == "satisfied"


class Interrupted:
    """A solver that the user stops after its first step."""

    def solve(self, problem, penalty, balance, on_step=None):
        def stop(step):
            on_step(step)
            raise KeyboardInterrupt

        return Tilt().solve(problem, penalty, balance, on_step=stop)


def test_ctrl_c_leaves_a_new_estimator_unfitted():
    model = fair(solver=Interrupted())
    before = set(vars(model))
    with pytest.raises(KeyboardInterrupt):
        model.fit(FRAME, Y)
    assert set(vars(model)) == before
    with pytest.raises(NotFittedError):
        model.predict(FRAME)


def test_ctrl_c_leaves_a_fitted_estimator_as_it_was():
    model = fair().fit(FRAME, Y)
    predicted, before = model.predict(FRAME), dict(vars(model))
    model.set_params(solver=Interrupted())
    with pytest.raises(KeyboardInterrupt):
        model.fit(FRAME.rename(columns={"a": "z"}), -Y)
    np.testing.assert_array_equal(model.predict(FRAME), predicted)
    assert set(vars(model)) == set(before)


def test_a_refused_fit_leaves_a_fitted_estimator_as_it_was():
    model = fair().fit(FRAME, Y)
    predicted = model.predict(FRAME)
    sentence(model.fit, FRAME.assign(a=np.nan), Y)
    np.testing.assert_array_equal(model.predict(FRAME), predicted)


@pytest.mark.parametrize("size", [1e-3, 0.01, 1000.5])
@pytest.mark.parametrize("epsilon", [0.0, 0.01])
def test_the_size_of_fractional_weights_does_not_matter(size, epsilon):
    rng = np.random.default_rng(0)
    groups = rng.integers(0, 2, 400)
    X = rng.normal(size=(400, 2)) + groups[:, None]
    y = X.sum(axis=1) + groups
    weights = rng.uniform(0.5, 1.5, 400)

    def fitted(factor):
        model = RankFairRegressor(epsilon, penalty="ridge", beta=0.0)
        model.fit(X, y, sensitive_features=groups, sample_weight=factor * weights)
        return model.status_, model.rank_auc_

    status, auc = fitted(size)
    assert status == fitted(1.0)[0] == "satisfied"
    assert auc == pytest.approx(fitted(1.0)[1], abs=1e-4)
    assert abs(auc - 0.5) <= epsilon + 1e-4


@pytest.mark.parametrize("size", [1e-300, 1e12, 1e15, 1e300])
@pytest.mark.parametrize("penalty", ["ridge", "task"])
@pytest.mark.parametrize("standardize", [True, False])
@pytest.mark.parametrize(
    ("n_groups", "balance"), [(2, "rank"), (3, "rank"), (2, "residual")]
)
def test_weights_may_be_of_any_size(size, penalty, standardize, n_groups, balance):
    rng = np.random.default_rng(0)
    groups = rng.integers(0, n_groups, 300)
    X = rng.normal(size=(300, 3)) + 0.5 * groups[:, None]
    y = 7 * (X @ [1.0, 2.0, -1.0] + groups)
    weights = rng.uniform(0.5, 1.5, 300)

    def fitted(factor):
        model = RankFairRegressor(
            0.02, penalty=penalty, beta=factor, balance=balance, standardize=standardize
        )
        return model.fit(
            X, y, sensitive_features=groups, sample_weight=factor * weights
        )

    model, usual = fitted(size), fitted(1.0)
    assert model.status_ == usual.status_ == "satisfied"
    assert model.objective_ / size == pytest.approx(usual.objective_, rel=0.02)
    assert model.multiplier_ / size == pytest.approx(usual.multiplier_, rel=0.1)
    assert model.coef_ == pytest.approx(usual.coef_, rel=0.1, abs=0.1)


@pytest.mark.parametrize("penalty", ["ridge", "task", "feature", "shared"])
def test_a_weight_of_the_penalty_beyond_all_digits_is_none(penalty):
    y = NUMBERS.sum(axis=1)
    found = [
        MultiTaskRegressor(penalty=penalty, beta=beta)
        .fit(NUMBERS, y + NUMBERS[:, 0] ** 2)
        .coef_
        for beta in (0.0, 1e-200)
    ]
    np.testing.assert_allclose(*found, atol=1e-12)


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"random_state": "abc"}, "random_state must be None, a whole number"),
        ({"verbose": "x"}, "verbose must be a whole number"),
    ],
)
def test_settings_of_the_wrong_kind(settings, words):
    with pytest.raises(ValueError, match=words):
        RankFairRegressor(**settings).fit([[1.0], [2.0]], [1.0, 2.0])


def test_means_may_differ_by_more_than_half_a_deviation():
    rng = np.random.default_rng(0)
    groups = rng.integers(0, 2, 200)
    X = rng.normal(size=(200, 2)) + 3 * groups[:, None]
    y = X.sum(axis=1)
    model = RankFairRegressor(0.8, balance="mean").fit(X, y, sensitive_features=groups)
    m = model.predict(X)
    gap = m[groups == 1].mean() - m[groups == 0].mean()
    assert gap / y.std() == pytest.approx(0.8, rel=1e-6)


# Several balances at once


def apart(values, in_a, weights=None):
    """The difference of the groups' means."""
    w = np.ones(len(in_a)) if weights is None else weights
    of_a = np.average(values[in_a], weights=w[in_a])
    return of_a - np.average(values[~in_a], weights=w[~in_a])


def uneven(seed, ties=False, few=False):
    """Tasks of uneven size; with many equal rows, or a group of a handful."""
    rng = np.random.default_rng(seed)
    codes = np.repeat(np.arange(6), (3, 6, 12, 24, 48, 87))
    in_a = np.arange(180) % 45 == 0 if few else rng.random(180) < 0.4
    X = rng.normal(size=(180, 3)) + np.outer(in_a, [0.8, 0.0, 0.4])
    X = np.round(X) if ties else X
    y = X @ [1.0, 0.5, -0.3] + 0.7 * in_a + rng.normal(size=180)
    return X, y, codes, in_a


BOTH = ["rank", "mean"]


@pytest.mark.parametrize("penalty", ["task", "feature", "shared", "ridge"])
@pytest.mark.parametrize("epsilon", [0.0, 0.01, [0.005, 0.0], [0.0, 0.05]])
@pytest.mark.parametrize("seed", range(2))
def test_ranks_and_means_are_kept_together(penalty, epsilon, seed):
    X, y, codes, in_a = uneven(seed)
    model = RankFairRegressor(epsilon, balance=BOTH, penalty=penalty)
    model.fit(X, y, tasks=codes, sensitive_features=in_a)
    m = model.predict(X, tasks=codes)
    widths = epsilon if isinstance(epsilon, list) else [epsilon] * 2
    assert model.status_ == "satisfied"
    auc = roc_auc_score(in_a, m)
    assert abs(auc - 0.5) <= widths[0] + 1.01 / (in_a.sum() * (~in_a).sum())
    assert abs(apart(m, in_a)) <= (widths[1] + 1e-8) * y.std()
    assert [*model.balance_] == BOTH
    assert model.balance_["rank"] == model.rank_auc_ == pytest.approx(auc)
    assert model.balance_["mean"] == pytest.approx(apart(m, in_a) / y.std(), abs=1e-9)


@pytest.mark.parametrize("penalty", ["task", "ridge"])
@pytest.mark.parametrize("kind", ["ties", "few"])
@pytest.mark.parametrize("seed", range(3))
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_ties_and_tiny_groups_keep_the_means_whatever_the_ranks(penalty, kind, seed):
    X, y, codes, in_a = uneven(seed, **{kind: True})
    model = RankFairRegressor(0.01, balance=BOTH, penalty=penalty)
    model.fit(X, y, tasks=codes, sensitive_features=in_a)
    m = model.predict(X, tasks=codes)
    assert abs(apart(m, in_a)) <= (0.01 + 1e-8) * y.std()
    missed = abs(model.rank_auc_ - 0.5) - 0.01 - 1.01 / (in_a.sum() * (~in_a).sum())
    assert (missed <= 0) == (model.status_ != "infeasible")
    assert missed <= 0.02


def test_means_cost_something_on_top_of_ranks():
    ranks = fair(0.0, penalty="ridge").fit(FRAME, Y)
    both = fair(0.0, penalty="ridge", balance=BOTH).fit(FRAME, Y)
    loose = fair([0.0, 9.0], penalty="ridge", balance=BOTH).fit(FRAME, Y)
    assert both.objective_ >= 0.999 * ranks.objective_
    assert loose.objective_ == pytest.approx(ranks.objective_, rel=1e-2)


@pytest.mark.parametrize("penalty", ["task", "ridge"])
def test_means_and_residuals_together(penalty):
    free = MultiTaskRegressor(penalty=penalty).fit(NUMBERS, Y)
    gap = apart(Y, IN_A) / Y.std()
    widths = [0.4 * gap, 0.7 * gap]
    how = {"penalty": penalty}
    model = RankFairRegressor(widths, balance=["mean", "residual"], **how)
    model.fit(NUMBERS, Y, sensitive_features=SEX)
    m = model.predict(NUMBERS)
    assert model.status_ == "satisfied"
    assert abs(apart(m, IN_A)) <= (widths[0] + 1e-8) * Y.std()
    assert abs(apart(Y - m, IN_A)) <= (widths[1] + 1e-8) * Y.std()
    assert model.objective_ > free.objective_
    turned = RankFairRegressor(widths[::-1], balance=["residual", "mean"], **how)
    turned.fit(NUMBERS, Y, sensitive_features=SEX)
    np.testing.assert_allclose(turned.predict(NUMBERS), m, atol=1e-6)
    assert turned.balance_.keys() == model.balance_.keys()


@pytest.mark.parametrize("penalty", ["task", "feature", "shared", "ridge"])
def test_ranks_means_and_residuals_together(penalty):
    gap = apart(Y, IN_A) / Y.std()
    widths = [0.05, 0.2 * gap, 0.9 * gap]
    names = ["rank", "mean", "residual"]
    model = fair(widths, balance=names, penalty=penalty).fit(FRAME, Y)
    m = model.predict(FRAME)
    assert model.status_ == "satisfied"
    assert abs(rank_auc(Y, m, sensitive_features=SEX) - 0.5) <= 0.05 + 1e-4
    assert abs(apart(m, IN_A)) <= (widths[1] + 1e-8) * Y.std()
    assert abs(apart(Y - m, IN_A)) <= (widths[2] + 1e-8) * Y.std()
    assert [*model.balance_] == names


@pytest.mark.parametrize("names", [["mean", "residual"], ["rank", "mean", "residual"]])
@pytest.mark.parametrize("penalty", ["task", "ridge"])
@pytest.mark.parametrize("width", [0.0, 0.01])
def test_demands_that_exclude_each_other_are_named_in_a_warning(names, penalty, width):
    model = fair(width, balance=names, penalty=penalty)
    with pytest.warns(ConvergenceWarning, match="No fit reached the band") as caught:
        model.fit(FRAME, Y)
    words = str(caught[0].message)
    assert model.status_ == "infeasible"
    assert caught[0].filename == __file__
    for name in names[-2:]:
        asked = f"{name} imbalance {model.balance_[name]:.4g}, asked for {width:g}"
        assert asked in words
    assert ("AUC" in words) == ("rank" in names)
    assert "One value" not in words  # whose residuals differ
    gap = apart(Y, IN_A) / Y.std()
    assert model.balance_["mean"] + model.balance_["residual"] == pytest.approx(gap)


def test_nothing_to_do_is_the_unconstrained_fit():
    names = ["rank", "mean", "residual"]
    model = fair([0.5, 9.0, 9.0], balance=names).fit(FRAME, Y)
    free = fair(0.5).fit(FRAME, Y)
    assert model.status_ == free.status_ == "inactive"
    np.testing.assert_array_equal(model.coef_, free.coef_)
    assert model.multiplier_ == 0


def test_a_mean_alone_that_binds_is_satisfied_not_inactive():
    model = fair([0.5, 0.0], balance=BOTH, penalty="ridge").fit(FRAME, Y)
    assert model.status_ == "satisfied"
    mean = fair(0.0, balance="mean", penalty="ridge").fit(FRAME, Y)
    np.testing.assert_allclose(model.coef_, mean.coef_, atol=1e-7)


@pytest.mark.parametrize("k", [1, 30, 20_000])
def test_many_rows_keep_both(k):
    rng = np.random.default_rng(1)
    codes = rng.integers(0, k, 200_000)
    in_a = rng.random(200_000) < 0.4
    X = rng.normal(size=(200_000, 4))
    X[:, 0] += in_a
    y = X @ [1.0, 0.5, -0.5, 0.2] + in_a + rng.normal(size=200_000) ** 3
    model = RankFairRegressor([0.0, 0.0], balance=BOTH, penalty="ridge")
    model.fit(X, y, tasks=codes, sensitive_features=in_a)
    m = model.predict(X, tasks=codes)
    assert model.status_ == "satisfied"
    pairs = in_a.sum() * (~in_a).sum()
    assert abs(roc_auc_score(in_a, m) - 0.5) <= 1.01 / pairs
    assert abs(apart(m, in_a)) <= 1e-8 * y.std()


@pytest.mark.parametrize("penalty", ["task", "ridge"])
def test_the_order_of_the_list_does_not_matter(penalty):
    one = fair([0.005, 0.01], balance=["rank", "mean"], penalty=penalty)
    two = fair([0.01, 0.005], balance=("mean", "rank"), penalty=penalty)
    np.testing.assert_array_equal(one.fit(FRAME, Y).coef_, two.fit(FRAME, Y).coef_)
    assert one.balance_ == two.balance_


def test_objects_in_the_list_bring_their_own_epsilon():
    named = fair([0.005, 0.01], balance=BOTH).fit(FRAME, Y)
    mixed = fair(0.005, balance=["rank", Mean(0.01)]).fit(FRAME, Y)
    objects = fair(balance=[Rank(0.005), Mean(0.01)]).fit(FRAME, Y)
    as_array = fair(np.array([0.005, 0.01]), balance=BOTH).fit(FRAME, Y)
    for other in (mixed, objects, as_array):
        np.testing.assert_array_equal(other.coef_, named.coef_)
    upper = fair(balance=[Rank(0.01), Residual(0.9, "upper")]).fit(FRAME, Y)
    assert -1e-8 <= upper.balance_["residual"] <= 0.9 + 1e-8


def test_a_list_of_one_is_the_balance_itself():
    for name in ("rank", "mean", "residual", "distribution"):
        alone = fair(0.1, balance=name).fit(FRAME, Y)
        listed = fair([0.1], balance=[name]).fit(FRAME, Y)
        np.testing.assert_array_equal(alone.coef_, listed.coef_)
        assert [*alone.balance_] == [name]


def test_lists_are_cloned_searched_and_pickled():
    model = fair([0.02, 0.05], balance=BOTH, penalty="ridge")
    search = GridSearchCV(
        model,
        {"epsilon": [[0.02, 0.0], [0.05, 0.1], 0.03]},
        cv=3,
        scoring=scorer("rmse"),
    ).fit(FRAME, Y)
    assert np.isfinite(search.cv_results_["mean_test_score"]).all()
    copy = clone(model.fit(FRAME, Y))
    assert copy.get_params() == model.get_params()
    np.testing.assert_array_equal(copy.fit(FRAME, Y).coef_, model.coef_)
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(again.predict(FRAME), model.predict(FRAME))
    assert again.balance_ == model.balance_
    assert model.epsilon == [0.02, 0.05] and model.balance == ["rank", "mean"]


@pytest.mark.parametrize("penalty", ["task", "ridge"])
def test_whole_weights_are_repeated_rows_to_several_balances(penalty):
    w = np.random.default_rng(3).integers(0, 3, N)
    i = np.repeat(np.arange(N), w)
    how = {"balance": BOTH, "penalty": penalty}
    weighted = fair([0.01, 0.0], **how).fit(FRAME, Y, sample_weight=w)
    repeated = fair([0.01, 0.0], **how).fit(FRAME.iloc[i], Y[i])
    m = weighted.predict(FRAME)
    assert abs(apart(m[i], IN_A[i])) <= 1e-8 * Y.std()
    assert weighted.rank_auc_ == rank_auc(Y[i], m[i], sensitive_features=SEX[i])
    assert weighted.status_ == repeated.status_ == "satisfied"
    assert weighted.objective_ == pytest.approx(repeated.objective_, rel=5e-3)


def test_several_balances_leave_inputs_alone():
    given = {"tasks": TASK.copy(), "sensitive_features": SEX.copy()}
    X, y = NUMBERS.copy(), Y.copy()
    for array in (X, y, *given.values()):
        array.flags.writeable = False
    model = RankFairRegressor(balance=BOTH, penalty="ridge").fit(X, y, **given)
    again = RankFairRegressor(balance=BOTH, penalty="ridge").fit(X, y, **given)
    np.testing.assert_array_equal(model.coef_, again.coef_)


def test_a_refit_without_groups_forgets_the_balance():
    model = RankFairRegressor(balance=BOTH).fit(NUMBERS, Y, sensitive_features=SEX)
    with pytest.warns(UserWarning, match="nothing to balance"):
        model.fit(NUMBERS, Y)
    assert not getattr(model, "balance_", None)


@pytest.mark.parametrize("penalty", ["task", "feature", "shared", "ridge"])
def test_residuals_alone(penalty):
    model = fair(0.0, balance="residual", penalty=penalty).fit(FRAME, Y)
    assert abs(apart(Y - model.predict(FRAME), IN_A)) <= 1e-8 * Y.std()
    assert model.balance_["residual"] == pytest.approx(0, abs=1e-8)


def test_an_array_without_axes_is_a_number():
    rng = np.random.default_rng(0)
    X, z = rng.normal(size=(40, 2)), np.arange(40) % 2
    plain = RankFairRegressor(0.1).fit(X, X[:, 0] + z, sensitive_features=z)
    array = RankFairRegressor(np.array(0.1), beta=np.array(1.0))
    array.fit(X, X[:, 0] + z, sensitive_features=z)
    np.testing.assert_array_equal(array.coef_, plain.coef_)
    two = RankFairRegressor(np.array(1.0), balance=["mean", "residual"])
    assert two.fit(X, X[:, 0] + z, sensitive_features=z).balance_.keys() == {
        "mean",
        "residual",
    }
