"""What a TiltedRegressor promises, around any regressor and for any groups."""

import warnings

import numpy as np
import pandas as pd
import pytest
from scipy.stats import ks_2samp
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.linear_model import LinearRegression, Ridge
from sklearn.neighbors import KNeighborsRegressor
from sklearn.tree import DecisionTreeRegressor

import schools
import three_groups as three
from far_apart import (
    IN_A,
    NUMBERS,
    PAIR,
    SEX,
    TREES,
    N,
    Slow,
    X,
    Y,
    fair,
)
from rankfair import RankFairPostprocessor, RankFairRegressor, TiltedRegressor
from rankfair.constraints import Rank
from rankfair.metrics import (
    pairwise_rank_auc,
    rank_auc,
    rank_auc_by_group,
)
from refusals import sentence

NEAR = 0.0005  # how far several counts may end outside their bands
not_reached = pytest.mark.filterwarnings(
    "ignore::sklearn.exceptions.ConvergenceWarning", "ignore:.*useless"
)
counts = pytest.mark.parametrize("cv", [None, 3])


def recounted(model, groups=SEX, weights=None):
    """The AUC of what was counted."""
    kept = np.isfinite(model.oof_predictions_)
    return rank_auc(
        None,
        model.oof_predictions_[kept],
        sensitive_features=groups[kept],
        sample_weight=None if weights is None else weights[kept],
    )


# Two groups


@pytest.mark.filterwarnings("ignore:predictor .* blind in name only")
@pytest.mark.parametrize("n_groups", [2, 3])
def test_ridge_agrees_with_the_linear_solver(n_groups):
    numbers, y, z = three.make(n_groups, 400)
    rows = np.column_stack((numbers, np.eye(n_groups)[z]))
    ours = TiltedRegressor(Ridge(3.0), 0.01, cv=None)
    ours.fit(rows, y, sensitive_features=z)
    reference = RankFairRegressor(
        0.01, penalty="ridge", beta=3.0, standardize=False, count="train"
    )
    reference.fit(rows, y, sensitive_features=z)
    np.testing.assert_allclose(ours.predict(rows), reference.predict(rows), atol=1e-3)
    three.assert_level(ours.predict(rows), z, 0.01 + NEAR * (n_groups > 2))


REGRESSORS = {"boosting": TREES, "tree": DecisionTreeRegressor(max_depth=4)}


@counts
@pytest.mark.parametrize("name", REGRESSORS)
def test_any_regressor_meets_the_band_or_says_not(name, cv):
    model = fair(REGRESSORS[name], cv=cv)
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        model.fit(X, Y)
    kinds = {each.category for each in told}
    assert recounted(model) == model.rank_auc_
    inside = abs(model.rank_auc_ - 0.5) <= 0.02 + PAIR
    assert model.status_ == ("satisfied" if inside else "infeasible")
    assert (ConvergenceWarning in kinds) == (not inside)
    error = ((model.oof_predictions_ - Y) ** 2).mean() / Y.var()
    assert model.objective_ == pytest.approx(error)
    assert (UserWarning in kinds) == (error >= 0.99)
    assert all(each.filename == __file__ for each in told)
    assert 1 <= model.n_refits_ == len(model.trace_) - 1 <= 4
    steps = model.predict(X) / model.resolution_
    np.testing.assert_array_equal(steps, np.round(steps))
    if cv is None:
        np.testing.assert_array_equal(model.predict(X), model.oof_predictions_)
    # What predicts is one model, rounded.
    one = model.estimator_.predict(NUMBERS)
    np.testing.assert_allclose(model.predict(X), one, atol=model.resolution_)


@counts
@pytest.mark.parametrize("base", [TREES, Ridge()])
def test_the_model_is_a_refit_to_the_tilted_targets(base, cv):
    base = clone(base).set_params(random_state=3)
    model = fair(base, 0.05, cv=cv).fit(X, Y)
    g = N * np.where(IN_A, 1 / IN_A.sum(), -1 / (~IN_A).sum())
    tilted = Y - Y.std() * model.multiplier_ * g
    refit = clone(base).fit(NUMBERS, tilted).predict(NUMBERS)
    np.testing.assert_allclose(model.predict(X), refit, atol=1e-9 * Y.std())
    free = model.trace_[0][1]
    assert abs(free - 0.5) > 0.1 > abs(model.rank_auc_ - 0.5)


def test_refits_that_miss_are_followed_by_others():
    """Half of what is asked arrives: the secant takes twice as much."""

    class Half(LinearRegression):
        def fit(self, X, y):
            tilt = np.linalg.lstsq(A, y - Y, rcond=None)[0]
            return super().fit(X, y if np.abs(y).max() < 3 else y - A @ tilt / 2)

    A = np.column_stack([NUMBERS, np.ones(N)])
    model = fair(Half(), 0.0, cv=None).fit(X, Y)
    assert model.status_ == "satisfied" and model.n_refits_ == 2
    whole = fair(LinearRegression(), 0.0, cv=None).fit(X, Y)
    assert model.multiplier_ == pytest.approx(2 * whole.multiplier_, rel=1e-3)
    np.testing.assert_allclose(model.predict(X), whole.predict(X), atol=1e-3)


def test_the_closest_refit_is_kept_and_what_is_not_reached_is_named():
    """Of what is left without the proxies trees learn nothing; that is told first."""
    rng = np.random.default_rng(0)
    rows = IN_A[:, None] + rng.normal(size=(N, 3))
    y = 2.0 * IN_A + 0.5 * rng.normal(size=N)
    model = TiltedRegressor(TREES, 0.0, random_state=0)
    with pytest.warns(match="R² is") as told:
        model.fit(rows, y, sensitive_features=SEX)
    first, last = (str(told[i].message) for i in (0, -1))
    assert first.startswith("this model is useless: out of fold its R² is")
    assert f"R² is {1 - model.objective_:.3f}" in first and model.objective_ >= 0.99
    assert last.startswith("No fit reached the band") and len(told) == 2
    assert told[-1].filename == __file__ and model.status_ == "infeasible"
    gaps = [abs(auc - 0.5) for _, auc in model.trace_]
    assert abs(model.rank_auc_ - 0.5) <= min(gaps) + 0.001 < gaps[0]


def test_a_band_already_met_is_the_plain_fit():
    model = fair(epsilon=0.5, cv=3).fit(X, Y)
    assert model.status_ == "inactive"
    assert model.multiplier_ == model.n_refits_ == 0
    plain = Ridge().fit(NUMBERS, Y).predict(NUMBERS)
    np.testing.assert_allclose(model.predict(X), plain, atol=model.resolution_)
    level = fair(TREES, 0.0, cv=None).fit(X, np.full(N, 3.0))
    assert level.status_ == "inactive"
    np.testing.assert_allclose(level.predict(X), 3.0)


# Several groups


@not_reached
@pytest.mark.parametrize(
    ("n_groups", "epsilon", "estimator", "cv"),
    [
        (3, 0.0, three.RIDGE, None),
        (3, 0.02, three.TREES, 3),
        (7, 0.02, three.RIDGE, 3),
    ],
    ids=["ridge", "trees", "many"],
)
def test_every_group_is_level_with_the_rest_or_it_says_not(
    estimator, epsilon, n_groups, cv
):
    numbers, y, z = three.make(n_groups)
    rows = np.column_stack((numbers, z))
    model = three.fair(estimator, epsilon, cv=cv, blind=False).fit(rows, y)
    m = model.oof_predictions_
    aucs = rank_auc_by_group(None, m, sensitive_features=z)
    assert model.group_auc_ == pytest.approx(aucs, abs=1e-12)
    for label, over in pairwise_rank_auc(None, m, sensitive_features=z).items():
        assert model.pairwise_auc_[label] == pytest.approx(over, abs=1e-12)
    worst = max(aucs.values(), key=lambda auc: abs(auc - 0.5))
    assert abs(model.rank_auc_ - 0.5) == pytest.approx(abs(worst - 0.5))
    assert 1 <= model.n_refits_ == len(model.trace_) - 1 <= 4
    if model.status_ == "satisfied":
        three.assert_level(m, z, epsilon + NEAR)
    else:
        assert model.status_ == "infeasible" and abs(worst - 0.5) > epsilon
        assert estimator is three.TREES


@not_reached
@pytest.mark.parametrize("groups", [2, 4])
def test_what_cannot_follow_is_not_thrown_away_to_get_nearer(groups):
    # Counts of a line through one or two columns get nearer by steep lines of noise.
    rng = np.random.default_rng(0)
    z = np.arange(90) % groups
    x = rng.normal(size=(90, groups // 2))
    x[:, 0] += z / 2
    y = x.sum(axis=1) + z / 2 + rng.normal(size=90)
    model = TiltedRegressor(LinearRegression(), 0.0, cv=None)
    model.fit(x, y, sensitive_features=z)
    assert model.status_ in ("satisfied", "infeasible")
    assert model.score(x, y) >= -1e-9


@not_reached
@pytest.mark.parametrize(("weighted", "labels"), [(False, 2), (True, 4)])
def test_rounding_is_no_rank(weighted, labels):
    # Of one feature that tells the group only a slope of zero is level.
    rng = np.random.default_rng(2)
    sex, race = rng.integers(0, 2, (2, 200))
    one = (rng.normal(size=200) + sex)[:, None]
    y = one[:, 0] + sex + race + rng.normal(size=200)
    given = {
        "sensitive_features": sex if labels == 2 else 2 * sex + race,
        "sample_weight": rng.random(200) + 0.5 if weighted else None,
    }
    near, far = (
        TiltedRegressor(Ridge(), 0.02, cv=None).fit(one, y - y.mean() + off, **given)
        for off in (0.0, 1e3)
    )
    for model in (near, far):
        m = model.predict(one)
        aucs = rank_auc_by_group(None, m, **given)
        level = all(abs(auc - 0.5) <= 0.02 + NEAR for auc in aucs.values())
        assert model.status_ == ("satisfied" if level else "infeasible")
        assert not level or np.ptp(m) == 0
    assert near.status_ == far.status_
    assert near.group_auc_ == pytest.approx(far.group_auc_, abs=1e-3)


# Constraints


@not_reached
@pytest.mark.parametrize(
    ("base", "epsilon", "cv"),
    [(three.RIDGE, 0.0, None), (three.TREES, 0.1, 3)],
    ids=["ridge", "trees"],
)
@pytest.mark.parametrize("kind", ["mean", "residual", "distribution"])
def test_means_residuals_and_distributions(kind, base, epsilon, cv):
    z, y = three.Z, three.Y
    if kind == "distribution":  # of three.RIDGE at 0 it would be one value
        epsilon = 0.1
    model = three.fair(base, epsilon, constraints=kind, cv=cv, blind=False)
    m = model.fit(three.X, y).oof_predictions_
    value = abs(model.constraint_values_[kind])
    off = m - (y if kind == "residual" else 0)
    apart = [abs(off[g == z].mean() - off[g != z].mean()) / y.std() for g in range(3)]
    if kind == "distribution":
        apart = [ks_2samp(m[g == z], m[g != z]).statistic for g in range(3)]
    assert value == pytest.approx(max(apart), abs=1e-9)
    slack = NEAR if kind == "distribution" else 1e-6
    assert (model.status_ == "infeasible") == (value > epsilon + slack)
    assert base is three.TREES or model.status_ in ("satisfied", "inactive")


def test_a_band_of_one_side():
    above = fair(constraints=Rank(0.05, side="upper")).fit(X, Y)
    assert 0.5 - PAIR <= above.rank_auc_ <= 0.55
    below = fair(epsilon=0.0, side="upper").fit(X, -Y)
    assert abs(below.rank_auc_ - 0.5) <= PAIR


# Folds


def test_no_gap_of_one_sign_is_left_on_held_out_rows():
    """A ridge on fewer rows shrinks more; talent is what is left to a blind model."""
    talent = np.random.default_rng(5).normal(size=len(schools.Y))
    rows, y = np.column_stack((schools.X, talent)), schools.Y + 3 * talent
    model = TiltedRegressor(Ridge(300.0), 0.0, sensitive_features=0, random_state=0)
    gap, error = schools.held_out_gap(model, 3, rows, y)
    assert abs(gap) <= max(2 * error, 0.005)


# Symmetries


def test_rows_of_weight_zero_have_no_prediction_out_of_fold():
    w = np.random.default_rng(1).integers(0, 4, N)
    model = fair(TREES, cv=3, blind=False).fit(X, Y, sample_weight=w)
    np.testing.assert_array_equal(np.isnan(model.oof_predictions_), w == 0)
    assert recounted(model, weights=w) == model.rank_auc_


# Costs and interruptions


def test_an_interrupted_fit_leaves_the_estimator_as_it_was():
    Slow.fits = 0
    model = fair(Slow(), 0.0, cv=3).fit(X, Y)
    # To the target, to the direction and to the tilted target; the model.
    assert Slow.fits == 3 * 3 + 1
    assert model.status_ == "satisfied" and model.n_refits_ == 1
    before, Slow.fits = model.predict(X), 0
    with pytest.raises(KeyboardInterrupt):
        model.set_params(estimator=Slow(4)).fit(X[:100], Y[:100])
    np.testing.assert_array_equal(model.predict(X), before)
    with pytest.raises(NotFittedError):
        clone(model).predict(X)


# What estimators see


# Groups as they come


@pytest.mark.parametrize("kind", [TiltedRegressor, RankFairPostprocessor])
@pytest.mark.parametrize(
    ("labels", "words"),
    [
        (np.where(three.KNOWN, three.Z, np.nan), "NaN"),
        (three.NAMES, "could not convert"),
    ],
)
def test_what_the_estimator_cannot_read_is_explained(kind, labels, words):
    rows = pd.DataFrame(three.NUMBERS).assign(part=labels).rename(columns=str)
    model = kind(Ridge(), 0.1, sensitive_features="part", blind=False)
    with pytest.raises(ValueError, match=words) as error:
        model.fit(rows, three.Y)
    (note,) = error.value.__notes__
    assert "sees the column of sensitive_features as it is" in note
    assert "blind=True hides it" in note and "ColumnTransformer" in note
    assert model.set_params(blind=True).fit(rows, three.Y).status_ == "satisfied"


# Refusals


@pytest.mark.parametrize(
    ("settings", "told"),
    [
        ({"epsilon": -1, "constraints": "mean"}, "must be a number ≥ 0; got -1."),
        ({"constraints": "rnak"}, 'Did you mean "rank"?'),
        ({"constraints": "distribution", "side": "upper"}, "has no side"),
        ({"estimator": Ridge}, "estimator must be a regressor"),
        ({"sensitive_features": "sex"}, "X is an array without column names"),
    ],
)
def test_bad_settings_are_named(settings, told):
    model = fair().set_params(**settings)
    assert told in sentence(model.fit, X, Y)
    assert not hasattr(model, "estimator_")


def test_bad_rows_are_named():
    upper = three.fair(constraints=Rank(0.01, side="upper"))
    assert "got 3 groups" in sentence(upper.fit, three.X, three.Y)
    with pytest.warns(UserWarning, match="not taken by KNeighborsRegressor.fit"):
        fair(KNeighborsRegressor(), 0.1).fit(X, Y, sample_weight=1 + IN_A)


@pytest.mark.parametrize(
    ("predicted", "told"),
    [
        (lambda X: np.where(X[:, 0] > 1, np.nan, 0.0), "prediction must be finite"),
        (lambda X: X[:, :2], "must predict one number a row; got shape"),
    ],
)
def test_predictions_that_are_no_numbers_are_refused(predicted, told):
    class Odd(LinearRegression):
        def predict(self, X):
            return predicted(X)

    assert told in sentence(fair(Odd()).fit, X, Y)
