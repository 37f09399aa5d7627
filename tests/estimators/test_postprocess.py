"""What a RankFairPostprocessor promises, where it fits in, and what it refuses."""

from itertools import combinations

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy.stats import ks_2samp, wasserstein_distance
from sklearn import config_context
from sklearn.base import clone
from sklearn.compose import make_column_transformer
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.frozen import FrozenEstimator
from sklearn.kernel_ridge import KernelRidge
from sklearn.linear_model import LinearRegression, Ridge
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import ShuffleSplit, cross_validate
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.tree import DecisionTreeRegressor

import schools
from four_tasks import INTERCHANGE
from rankfair import RankFairPostprocessor
from rankfair.core.blocks import rounded
from rankfair.input.folds import make_folds
from rankfair.metrics import scorer
from rankfair.stats.certificate import certify
from refusals import sentence

rng = np.random.default_rng(3)
N = 400
SEX = rng.choice(["F", "M"], N)
IN_A = SEX == "M"
NUMBERS = rng.normal(size=(N, 3)) + np.outer(IN_A, [0.8, 0.0, 0.4])
Y = NUMBERS @ [1.0, 0.5, -0.3] + 0.7 * IN_A + rng.normal(size=N)
WITH_CODE = np.column_stack((NUMBERS, IN_A))
FRAME = pd.DataFrame({**dict(zip("abc", NUMBERS.T, strict=True)), "sex": SEX})
WAYS = {
    "rank": {},
    "distribution": {"constraints": "distribution"},
    "line": {"method": "line"},
    "line, mean": {"constraints": "mean"},
    "line, wasserstein": {"constraints": "wasserstein", "method": "line"},
    "shift": {"method": "shift"},
    "shift, mean": {"constraints": "mean", "method": "shift"},
}
KNOWN = np.arange(N) % 9 != 4
SOME = np.where(KNOWN, SEX, None)


def fair(estimator=None, epsilon=0.02, **settings):
    settings = {"sensitive_features": 3, **settings}
    return RankFairPostprocessor(estimator or LinearRegression(), epsilon, **settings)


class Foreign:
    """A fitted model of another library: it predicts, and that is all."""

    def predict(self, X):
        return np.asarray(X)[:, 0] * 2


# What a fit promises


@pytest.mark.parametrize("way", WAYS)
def test_the_band_is_met_on_predict(way):
    model = fair(**WAYS[way]).fit(WITH_CODE, Y)
    m = model.predict(WITH_CODE)
    auc, ks = roc_auc_score(IN_A, m), ks_2samp(m[IN_A], m[~IN_A]).statistic
    a, b, spread = m[IN_A], m[~IN_A], Y.std()
    assert model.status_ == "satisfied"
    assert model.rank_auc_ == pytest.approx(auc)
    assert model.group_auc_ == pytest.approx({0: 1 - auc, 1: auc})
    assert model.ks_ == pytest.approx(ks)
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
    # Far beyond the ends moves go on, but the least movement is none there.
    for g, (start, end) in model.maps_.items():
        rows = np.column_stack((np.linspace([-50] * 3, [50] * 3, 500), [g] * 500))
        plain = model.estimator_.predict(rows)
        rows, plain = rows[np.argsort(plain)], np.sort(plain)
        moved = model.predict(rows)
        assert (np.diff(moved) >= -1e-12).all()
        for at in (0, -1):
            further = 0.0 if way in ("rank", "distribution") else end[at] - start[at]
            off = model.resolution_
            assert moved[at] - plain[at] == pytest.approx(further, abs=off)


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


# Folds, weights and fitted estimators


def test_out_of_fold_maps_hold_for_new_rows_of_an_estimator_that_overfits():
    loose = KernelRidge(kernel="rbf", gamma=1.0, alpha=0.05)
    old, new = slice(0, 300), slice(300, None)

    def fit(**settings):
        model = fair(loose, constraints="distribution", **settings)
        return model.fit(WITH_CODE[old], Y[old])

    model = fit(cv=5, random_state=0)
    assert abs(roc_auc_score(IN_A[new], model.predict(WITH_CODE[new])) - 0.5) < 0.15
    assert not np.array_equal(fit().maps_[0], model.maps_[0])
    seed, of_all = np.random.default_rng(0), np.zeros(300, int)
    pairs = make_folds(5, of_all, IN_A[old], seed, every_row=True)
    for cv in (pairs, iter(pairs)):
        assert np.array_equal(fit(cv=cv).maps_[0], model.maps_[0])


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize(
    ("estimator", "method"),
    [
        (Ridge(300.0), "least"),
        (DecisionTreeRegressor(min_samples_leaf=5, random_state=0), "line"),
    ],
    ids=["shrinks-least", "overfits-line"],
)
def test_no_gap_of_one_sign_is_left_on_held_out_rows(estimator, method):
    model = RankFairPostprocessor(
        estimator, 0.0, method=method, sensitive_features=0, cv=5, random_state=0
    )
    gap, error = schools.held_out_gap(model, 3)
    assert abs(gap) <= max(2 * error, 0.001)


def test_prefit_takes_whatever_predicts():
    model = fair(Foreign(), prefit=True).fit(WITH_CODE)
    assert model.status_ == "satisfied"
    auc = roc_auc_score(IN_A, model.predict(WITH_CODE))
    assert abs(auc - 0.5) <= 0.02 + 1e-9
    assert np.isfinite(clone(model).fit(WITH_CODE).score(WITH_CODE, Y))
    told = sentence(fair(StandardScaler(), prefit=True).fit, WITH_CODE)
    assert "must be a regressor with predict, as" in told
    # A frozen estimator is known to clones.
    base = LinearRegression().fit(WITH_CODE, Y)
    for copied in (clone(fair(base, prefit=True)), fair(Ridge(), prefit=True)):
        told = sentence(copied.fit, WITH_CODE, Y, kind=NotFittedError)
        assert "is not fitted" in told
        assert "FrozenEstimator(estimator) keeps it" in told
    frozen = clone(fair(FrozenEstimator(base), prefit=True)).fit(WITH_CODE, Y)
    assert frozen.score(WITH_CODE, Y) > 0
    for constraint in ("mean", "wasserstein"):
        model = fair(Foreign(), prefit=True, constraints=constraint)
        told = sentence(model.fit, WITH_CODE)
        assert f'deviations with constraints="{constraint}". Pass y.' in told


# Where it fits in


@pytest.mark.filterwarnings(INTERCHANGE)
@pytest.mark.parametrize("library", [pd.DataFrame, pl.DataFrame])
def test_frames_blind_and_not(library):
    frame = library(FRAME.to_dict("list"))
    blind = fair(sensitive_features="sex", blind=True).fit(frame, Y)
    assert blind.estimator_.coef_.shape == (3,)
    assert blind.feature_names_in_.tolist() == ["a", "b", "c", "sex"]
    assert blind.groups_.tolist() == ["F", "M"]
    array = fair(blind=True).fit(WITH_CODE, Y)
    assert blind.predict(frame) == pytest.approx(array.predict(WITH_CODE))
    encode = make_column_transformer(
        (OneHotEncoder(drop="first", sparse_output=False), ["sex"]),
        remainder="passthrough",
    )
    sees = fair(make_pipeline(encode, LinearRegression()), sensitive_features="sex")
    coded = fair().fit(WITH_CODE, Y).predict(WITH_CODE)
    assert sees.fit(frame, Y).predict(frame) == pytest.approx(coded)


# Groups as they come


@pytest.mark.parametrize("way", ["rank", "line, mean"])
def test_rows_of_unknown_group_are_fitted_and_not_balanced(way):
    labels = np.where(KNOWN, np.where(np.arange(N) % 3 == 0, "X", SOME), None)
    model = fair(Ridge(), sensitive_features=None, **WAYS[way])
    model.fit(NUMBERS, Y, sensitive_features=labels)
    assert model.n_unknown_ == (~KNOWN).sum()
    assert model.groups_.tolist() == ["F", "M", "X"]
    # The estimator saw all rows; the maps are those of the known ones.
    raw = Ridge().fit(NUMBERS, Y)
    np.testing.assert_allclose(model.estimator_.predict(NUMBERS), raw.predict(NUMBERS))
    prefit = fair(model.estimator_, sensitive_features=None, prefit=True)
    prefit.set_params(**WAYS[way])
    # What ε is a share of, for means: the spread of y in all rows.
    scaled = (Y[KNOWN] - Y[KNOWN].mean()) * Y.std() / Y[KNOWN].std()
    prefit.fit(NUMBERS[KNOWN], scaled, sensitive_features=labels[KNOWN])
    for label in model.groups_:
        np.testing.assert_allclose(model.maps_[label], prefit.maps_[label], rtol=1e-9)
    m = model.predict(NUMBERS, sensitive_features=labels)
    pairs = [[m[labels == g] for g in pair] for pair in combinations("FMX", 2)]
    assert model.ks_ == pytest.approx(max(ks_2samp(*it).statistic for it in pairs))
    far = max(wasserstein_distance(*it) for it in pairs)
    assert model.wasserstein_ == pytest.approx(far)
    # A row of unknown group moves by the average of the moves of all groups.
    each = [
        model.predict(NUMBERS, sensitive_features=[label] * N)
        for label in model.groups_
    ]
    shares = [(labels == label).sum() / KNOWN.sum() for label in model.groups_]
    np.testing.assert_allclose(m[~KNOWN], np.average(each, 0, shares)[~KNOWN])


def test_in_the_band_nothing_moves():
    model = fair(epsilon=0.5, sensitive_features=None)
    model.fit(NUMBERS, Y, sensitive_features=SOME)
    assert model.status_ == "inactive" and model.theta_ == 0
    plain = LinearRegression().fit(NUMBERS, Y).predict(NUMBERS)
    m = model.predict(NUMBERS, sensitive_features=SOME)
    np.testing.assert_array_equal(m, rounded(plain, model.resolution_))
    nobody = model.predict(NUMBERS[:2], sensitive_features=[None, np.nan])
    np.testing.assert_array_equal(nobody, m[:2])


@pytest.mark.parametrize("form", [dict, pl.DataFrame])
def test_groups_are_known_by_the_names_of_training(form):
    sex, race = IN_A.astype(int), rng.integers(0, 2, N)
    model = RankFairPostprocessor(LinearRegression(), 0.05)
    model.fit(NUMBERS, Y, sensitive_features=form({"sex": sex, "race": race}))
    known = model.predict(NUMBERS, sensitive_features=form({"race": race, "sex": sex}))
    same = model.predict(NUMBERS, sensitive_features=form({"sex": sex, "race": race}))
    np.testing.assert_array_equal(known, same)
    other = form({"race": race, "gender": sex})
    with pytest.raises(ValueError, match=r'training .*"sex".* got .*"gender"'):
        model.predict(NUMBERS, sensitive_features=other)
    told = sentence(model.predict, NUMBERS[:2], sensitive_features=[0, 1])
    assert "sensitive_features has 1 column; training had 2." in told


def test_groups_reach_the_last_step_of_a_pipeline():
    step, named = fair(sensitive_features=None), {"sensitive_features": SEX}
    alone = clone(step).fit(NUMBERS, Y, **named)
    gap, bound = scorer("rank_gap"), certify(alone, NUMBERS, **named)
    key = "pipeline__rankfairpostprocessor__sensitive_features"
    inside = make_pipeline(make_pipeline(clone(step))).fit(NUMBERS, Y, **{key: SEX})
    assert certify(inside, NUMBERS, **named) == bound
    assert gap(inside, NUMBERS, Y, **named) == gap(alone, NUMBERS, Y, **named)
    with config_context(enable_metadata_routing=True):
        step.set_fit_request(sensitive_features=True)
        routed = make_pipeline(step).fit(NUMBERS, Y, **named)
        assert certify(routed, NUMBERS, **named) == bound
        found = cross_validate(routed, NUMBERS, Y, params=named, scoring=gap, cv=2)
    assert np.isfinite(found["test_score"]).all()


# Refusals


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"epsilon": 1.5, "constraints": "distribution"}, "in [0, 1]; got 1.5"),
        ({"constraints": ["rank", "mean"]}, "constraints must be one of"),
        ({"method": "lines"}, 'Did you mean "line"'),
        (
            {"method": "least", "constraints": "mean"},
            'method "least" knows constraints "rank", "distribution"; got "mean". '
            'Use method="line", which knows all.',
        ),
        ({"cv": {0: 1}}, "cv must be a whole number ≥ 2; got {0: 1}"),
        ({"cv": []}, "cv holds out no row that counts, in 0 folds"),
        ({"cv": ShuffleSplit(2)}, f"of {N} rows, 80 times in all"),
        ({"cv": N + 1}, f"got {N + 1} for n_samples = {N}"),
        ({"cv": 5, "prefit": True}, "cv refits the estimator"),
    ],
)
def test_settings(settings, words):
    assert words in sentence(fair(**settings).fit, WITH_CODE, Y)


def test_estimators_that_cannot_be_used():
    words = "estimator must be a regressor with fit, predict, get_params"
    for wrong in (Ridge, StandardScaler(), "ridge", Foreign()):
        told = sentence(fair(wrong).fit, WITH_CODE, Y)
        assert words in told and "set prefit=True" in told


def test_quantities_are_to_be_cut_first():
    fit, several = fair(sensitive_features=None).fit, {"n": np.arange(N) % 40, "s": SEX}
    told = sentence(fit, NUMBERS, Y, sensitive_features=several)
    assert '("n") holds 40 distinct numbers' in told and "Cut it into a few" in told


def test_new_rows_need_known_groups():
    model = fair(sensitive_features=None).fit(NUMBERS, Y, sensitive_features=SEX)
    assert "sensitive_features is missing" in sentence(model.predict, NUMBERS)
    for labels, words in (
        (["F", "X"], 'not seen in training: "X" (1 row); training had "F", "M"'),
        ([["M", "F"]] * 2, "sensitive_features has 2 columns; training had 1."),
    ):
        told = sentence(model.predict, NUMBERS[:2], sensitive_features=labels)
        assert words in told
