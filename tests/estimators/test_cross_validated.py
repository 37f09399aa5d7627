import numpy as np
import pytest
from joblib import parallel_config
from sklearn.base import clone
from sklearn.model_selection import KFold

from rankfair import RankFairRegressor, RankFairRegressorCV
from rankfair.datasets.synthetic import make_biased_tasks

DATA = make_biased_tasks(6, 30, random_state=1)
FRAME, Y = DATA.frame, DATA.target
NUMBERS = FRAME.drop(columns=["task", "z"])
COLUMNS = {"tasks": "task", "sensitive_features": "z"}
FOLDS = list(KFold(3, shuffle=True, random_state=0).split(Y))
BETAS = [0.1, 3.0, 300.0]


def chosen(**settings):
    given = {"betas": BETAS, "cv": FOLDS, "random_state": 0, **COLUMNS, **settings}
    return RankFairRegressorCV(**given).fit(FRAME, Y)


def held_out(beta):
    """Mean squared errors of the folds, by hand."""
    errors = []
    for train, test in FOLDS:
        model = RankFairRegressor(0.01, beta=beta, **COLUMNS)
        model.fit(FRAME.iloc[train], Y[train])
        errors.append(np.mean((Y[test] - model.predict(FRAME.iloc[test])) ** 2))
    return np.array(errors)


def test_beta_is_the_one_with_the_least_held_out_error():
    model = chosen()
    by_hand = np.array([held_out(beta) for beta in BETAS])
    assert model.cv_results_["split_mse"] == pytest.approx(by_hand)
    assert model.cv_results_["mse"] == pytest.approx(by_hand.mean(axis=1))
    assert model.beta_ == BETAS[int(np.argmin(by_hand.mean(axis=1)))]
    assert model.best_score_ == pytest.approx(-by_hand.mean(axis=1).min())
    # The last fit is a plain one with what was chosen.
    plain = RankFairRegressor(0.01, beta=model.beta_, **COLUMNS).fit(FRAME, Y)
    assert (model.predict(FRAME) == plain.predict(FRAME)).all()
    assert all(hasattr(model, it) for it in vars(plain) if it.endswith("_"))
    assert model.score(FRAME, Y) == plain.score(FRAME, Y)


@pytest.mark.filterwarnings("ignore:predictor .* blind in name only:UserWarning")
def test_whole_weights_are_repeated_rows():
    weights = np.random.default_rng(0).integers(0, 3, len(Y))
    again = np.repeat(np.arange(len(Y)), weights)
    place = np.repeat(np.arange(3), len(Y) // 3)

    def folds(at):
        return [(np.flatnonzero(at != k), np.flatnonzero(at == k)) for k in range(3)]

    # With an inactive band the fits are linear solves: equal but for rounding.
    settings = {"betas": BETAS, "epsilon": 0.5, "sensitive_features": "z"}
    X = FRAME.drop(columns="task")
    one, two = (
        RankFairRegressorCV(**settings, cv=folds(at)) for at in (place, place[again])
    )
    one.fit(X, Y, sample_weight=weights)
    two.fit(X.iloc[again], Y[again])
    assert one.cv_results_["mse"] == pytest.approx(two.cv_results_["mse"])
    assert one.beta_ == two.beta_


def test_settings_are_those_of_the_regressor():
    ours = RankFairRegressorCV().get_params()
    theirs = RankFairRegressor().get_params()
    assert {*theirs} - {*ours} == {"beta"}
    assert {*ours} - {*theirs} == {"betas", "cv", "n_jobs"}
    assert all(ours[name] == theirs[name] for name in {*ours} & {*theirs})


def test_only_the_last_fit_warns():
    with pytest.warns(UserWarning, match="sensitive_features was not given") as record:
        RankFairRegressorCV([1.0, 2.0], cv=2).fit(NUMBERS, Y)
    assert len(record) == 1


@pytest.mark.parametrize(
    ("settings", "sentence"),
    [
        ({"betas": 1.0}, "betas must be a list of values to try; got 1.0"),
        ({"betas": [-1.0]}, "each of betas must be a number ≥ 0; got -1.0"),
        ({"epsilon": 0.7}, r"epsilon must be a number in \[0, 0.5\]; got 0.7"),
        ({"penalty": "taks"}, 'penalty must be one of .* Did you mean "task"'),
        ({"cv": 1}, "cv must be a whole number ≥ 2"),
        ({"epsilon": [0.1, 0.2]}, "epsilon must be one number"),
        ({"n_jobs": 0}, "n_jobs must be"),
    ],
)
def test_bad_input_gets_a_sentence(settings, sentence):
    with pytest.raises(ValueError, match=sentence):
        chosen(**settings)


@pytest.mark.filterwarnings(
    "ignore:predictor .* blind in name only:UserWarning"
)  # by the only row
def test_a_group_of_one_row_is_never_held_out():
    race = np.where(np.arange(len(Y)) == 7, "rare", FRAME["z"].astype(str))
    model = RankFairRegressorCV([1.0], epsilon=0.4, cv=3, random_state=0)
    for more in ({}, {"sex": np.arange(len(Y)) % 2}):
        model.fit(NUMBERS, Y, sensitive_features={"race": race, **more})
        assert np.isfinite(model.best_score_)
    model.set_params(**COLUMNS).fit(FRAME.assign(z=race), Y)
    assert np.isfinite(model.best_score_)
    # A number that bins cut is held out as usual.
    model.set_params(bins=2, blind=False).fit(FRAME.assign(z=np.arange(len(Y)) / 3), Y)
    assert model.cv_results_["split_mse"].shape == (1, 3)


@pytest.mark.parametrize("power", [300, -100])
def test_what_is_chosen_does_not_depend_on_the_unit_of_y(power):
    settings = {"betas": [1e4, 0.1], "cv": FOLDS}
    model = RankFairRegressorCV(**settings, penalty="ridge", **COLUMNS)
    plain, unit = clone(model).fit(FRAME, Y), 2.0**power
    other = clone(model).fit(FRAME, Y * unit)
    assert other.beta_ == plain.beta_ == 0.1
    # As far as it goes, the error is in the squared unit of y: 0, or infinite.
    assert other.best_score_ == plain.best_score_ * unit * unit
    small = model.fit(FRAME, Y / 1024)
    for name in ("mse", "split_mse"):
        expected = plain.cv_results_[name] / 1024**2
        assert small.cv_results_[name] == pytest.approx(expected)


def test_candidates_may_be_tried_at_once():
    settings = {"epsilon": 0.5, "cv": 2, "random_state": 0, **COLUMNS}
    model = RankFairRegressorCV([1.0, 10.0], **settings)
    alone = model.fit(FRAME, Y).cv_results_["split_mse"]
    with parallel_config("threading"):
        model.set_params(n_jobs=2).fit(FRAME, Y)
    np.testing.assert_array_equal(model.cv_results_["split_mse"], alone)
