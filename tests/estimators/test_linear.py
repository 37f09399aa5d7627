from dataclasses import replace

import numpy as np
import pytest
from sklearn import config_context
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.linear_model import LinearRegression
from sklearn.metrics import r2_score, roc_auc_score
from sklearn.model_selection import cross_validate
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from four_tasks import FRAME, IN_A, NUMBERS, SEX, TASK, N, Y, fair
from rankfair import (
    MultiTaskRegressor,
    RankFairRegressor,
)
from rankfair.metrics import rank_auc, scorer
from rankfair.penalties import Ridge
from rankfair.solvers import Tilt
from rankfair.solvers.base import Status
from refusals import sentence

# What a fit promises


def test_the_band_is_met_and_counted_on_predict():
    free = roc_auc_score(IN_A, LinearRegression().fit(NUMBERS, Y).predict(NUMBERS))
    assert free > 0.6
    model = fair(count="train", blind=False).fit(FRAME, Y)
    m = model.predict(FRAME)
    auc = rank_auc(Y, m, sensitive_features=SEX)
    assert model.status_ == "satisfied"
    assert auc == model.rank_auc_
    assert abs(auc - 0.5) <= 0.02 + 1 / (IN_A.sum() * (~IN_A).sum())
    assert model.multiplier_ != 0
    # Predictions are linear in the user's units.
    code = np.searchsorted(model.tasks_, TASK)
    by_hand = (np.column_stack([NUMBERS, IN_A]) * model.coef_[code]).sum(axis=1)
    np.testing.assert_allclose(m, by_hand + model.intercept_[code])


def test_the_fitted_attributes():
    model = fair().fit(FRAME, Y)
    assert model.coef_.shape == (4, 3)
    assert model.intercept_.shape == (4,)
    assert model.tasks_.tolist() == ["e", "n", "s", "w"]
    assert model.groups_.tolist() == ["F", "M"]
    assert model.predictors_.tolist() == ["a", "b", "c"]
    assert model.feature_names_in_.tolist() == ["a", "b", "c", "task", "sex"]
    assert model.n_features_in_ == 5
    assert model.shared_coef_.shape == (3,)
    assert len(model.beta_) == 3
    assert model.loo_predictions_.shape == (N,)
    assert 0.5 <= model.proxy_auc_ <= 1
    assert model.n_iter_ == len(model.trace_) == 1
    assert all(len(step) == 2 for step in model.trace_)


def test_a_band_already_met_is_the_unconstrained_fit():
    model = RankFairRegressor(0.5).fit(NUMBERS, Y, tasks=TASK, sensitive_features=SEX)
    free = MultiTaskRegressor().fit(NUMBERS, Y, tasks=TASK)
    assert model.status_ == "inactive"
    np.testing.assert_allclose(model.coef_, free.coef_)
    assert model.multiplier_ == 0


class Ended:
    """A solver that ends with a given status."""

    def __init__(self, status):
        self.status = status

    def solve(self, problem, request, demands, on_step=None):
        return replace(Tilt().solve(problem, request, demands), status=self.status)


@pytest.mark.parametrize("status", [Status.INFEASIBLE, Status.MAX_ITER])
def test_a_fit_that_did_not_end_well_warns_with_the_auc(status):
    model = fair(solver=Ended(status))
    with pytest.warns(ConvergenceWarning, match=status.value) as caught:
        model.fit(FRAME, Y)
    assert f"Reached: AUC {model.loo_auc_:.4f}" in str(caught[0].message)
    assert "asked for within 0.02 of 0.5" in str(caught[0].message)
    constant = "A constant prediction would satisfy" in str(caught[0].message)
    assert constant == (status is Status.INFEASIBLE)
    assert model.status_ == status.name.lower()
    assert caught[0].filename == __file__
    with pytest.warns(ConvergenceWarning, match=r"Reached: mean gap .* 0\.02"):
        model.set_params(constraints="mean").fit(FRAME, Y)


def test_objects_do_as_well_as_names():
    by_name = fair(penalty="ridge", beta=2.0).fit(FRAME, Y)
    by_object = fair(penalty=Ridge(2.0), solver=Tilt()).fit(FRAME, Y)
    np.testing.assert_array_equal(by_name.coef_, by_object.coef_)


# Tasks


@pytest.mark.parametrize("penalty", ["pool", "shared"])
def test_unseen_tasks_are_refused_or_shared(penalty):
    new = FRAME.assign(task="x")
    words = sentence(fair().fit(FRAME, Y).predict, new)
    assert 'tasks has labels not seen in training: "x" (240 rows)' in words
    model = fair(penalty=penalty, unseen="shared", blind=False).fit(FRAME, Y)
    X = np.column_stack([NUMBERS, IN_A])
    np.testing.assert_allclose(
        model.predict(new), X @ model.shared_coef_ + model.shared_intercept_
    )
    mixed = FRAME.assign(task=np.where(np.arange(N) < 9, "x", TASK))
    np.testing.assert_array_equal(model.predict(mixed)[9:], model.predict(FRAME)[9:])
    words = sentence(MultiTaskRegressor(penalty="ridge", unseen="shared").fit, FRAME, Y)
    assert 'unseen "shared" needs a penalty that fits a model of all tasks' in words


# Settings


RANK_MEAN = {"constraints": ["rank", "mean"]}


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"epsilon": 0.6}, "epsilon must be a number in [0, 0.5]; got 0.6"),
        ({"penalty": "rigde"}, 'Did you mean "ridge"?'),
        ({"solver": "titl"}, 'solver must be one of "tilt", "ncadmm", "paper"'),
        ({"constraints": ["rank", "men"]}, 'Did you mean "mean"?'),
        ({"constraints": []}, "constraints is an empty list"),
        ({"constraints": ["mean", "mean"]}, 'constraints names "mean" 2 times'),
        (RANK_MEAN | {"epsilon": {"rank": 0.1}}, "in their order; got {'rank'"),
        (RANK_MEAN | {"epsilon": [0.1]}, "in their order; got [0.1] for"),
        (RANK_MEAN | {"epsilon": [0.1, -1.0]}, "epsilon must be a number ≥ 0; got -1"),
        ({"epsilon": [0.1, 0.2]}, 'got [0.1, 0.2] for constraints="rank"'),
        (RANK_MEAN | {"solver": "ncadmm"}, "projects ranks of two groups and knows"),
        (RANK_MEAN | {"scope": "both"}, "keeps one constraint in each task"),
        ({"side": "uper"}, 'side must be one of "both", "upper"; got "uper"'),
        ({"unseen": "share"}, 'Did you mean "shared"?'),
        ({"scope": "tasks"}, 'got "tasks". Did you mean "task"?'),
        ({"scope": "task", "solver": "paper"}, '(scope="global"). Use solver="tilt"'),
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


def test_score_is_r2():
    model, w = fair().fit(FRAME, Y), np.random.default_rng(8).random(N)
    weighted = r2_score(Y, model.predict(FRAME), sample_weight=w)
    assert model.score(FRAME, Y, w) == pytest.approx(weighted)
    assert "y holds text" in sentence(model.score, FRAME, Y.astype(str))
    by_array = MultiTaskRegressor().fit(NUMBERS, Y, tasks=TASK)
    assert by_array.score(NUMBERS, Y, tasks=TASK, sample_weight=w) > 0


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.filterwarnings("ignore:the gap may be chance:UserWarning")
def test_cross_validate_with_routed_arrays():
    with config_context(enable_metadata_routing=True):
        model = (
            RankFairRegressor(0.1)
            .set_fit_request(tasks=True, sensitive_features=True, sample_weight=True)
            .set_predict_request(tasks=True)
            .set_score_request(tasks=True, sample_weight=False)
        )
        params = {"tasks": TASK, "sensitive_features": SEX, "sample_weight": np.ones(N)}
        scoring = scorer("rank_auc").set_score_request(sample_weight=False)
        found = cross_validate(model, NUMBERS, Y, params=params, scoring=scoring, cv=3)
        assert (found["test_score"] > -0.2).all()
        found = cross_validate(model, NUMBERS, Y, params=params, cv=3)
        assert (found["test_score"] > 0).all()
        pipeline = make_pipeline(StandardScaler(), model)
        pipeline.fit(NUMBERS, Y, **{**params, "sample_weight": None})
        assert pipeline.predict(NUMBERS, tasks=TASK).shape == (N,)


# What a fit tells on its way, and what an interrupted one leaves


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


class Interrupted:
    """A solver that the user stops after its first step."""

    def solve(self, problem, request, demands, on_step=None):
        def stop(step):
            on_step(step)
            raise KeyboardInterrupt

        return Tilt().solve(problem, request, demands, on_step=stop)


def test_ctrl_c_leaves_an_estimator_as_it_was():
    model = fair(solver=Interrupted())
    before = set(vars(model))
    with pytest.raises(KeyboardInterrupt):
        model.fit(FRAME, Y)
    assert set(vars(model)) == before
    model = fair().fit(FRAME, Y)
    predicted, before = model.predict(FRAME), set(vars(model))
    model.set_params(solver=Interrupted())
    with pytest.raises(KeyboardInterrupt):
        model.fit(FRAME.rename(columns={"a": "z"}), -Y)
    np.testing.assert_array_equal(model.predict(FRAME), predicted)
    assert set(vars(model)) == before
