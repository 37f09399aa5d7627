"""Predictions put on a line through y in each group before they are moved."""

import numpy as np
import pytest
from scipy.stats import ks_2samp
from sklearn.linear_model import LinearRegression
from sklearn.metrics import roc_auc_score

from rankfair import RankFairPostprocessor
from rankfair.core.blocks import rounded

rng = np.random.default_rng(8)
N = 800
IN_A = rng.random(N) < 0.4
X = np.column_stack((rng.normal(size=(N, 2)) + np.outer(IN_A, [0.9, 0.3]), IN_A))
# The slope of A is a third of that of B: a pooled line fits neither.
Y = X[:, 0] * np.where(IN_A, 0.5, 1.5) + IN_A + 0.3 * rng.normal(size=N)
CONSTRAINTS = ["rank", "distribution", "shift", "mean", ["rank", "mean"]]


def fitted(constraint, epsilon, calibrate=True, **more):
    model = RankFairPostprocessor(
        LinearRegression(), epsilon, constraints=constraint, sensitive_features=2,
        calibrate=calibrate,
    )  # fmt: skip
    return model.fit(X, Y, **more)


def error(model):
    return float(((model.predict(X) - Y) ** 2).mean())


def test_without_a_demand_it_is_least_squares_in_each_group():
    model, free = fitted("rank", 0.5), LinearRegression().fit(X, Y).predict(X)
    for rows in (IN_A, ~IN_A):
        slope, height = np.polyfit(free[rows], Y[rows], 1)
        assert model.predict(X)[rows] == pytest.approx(slope * free[rows] + height)


@pytest.mark.parametrize("constraint", CONSTRAINTS)
def test_bands_are_met_at_less_error(constraint):
    epsilon = 0.05
    model = fitted(constraint, epsilon)
    m = model.predict(X)
    assert model.status_ == "satisfied"
    assert model.mean_difference_ == pytest.approx(m[IN_A].mean() - m[~IN_A].mean())
    assert model.rank_auc_ == pytest.approx(roc_auc_score(IN_A, m))
    assert model.ks_ == pytest.approx(ks_2samp(m[IN_A], m[~IN_A]).statistic)
    left = {
        "rank": abs(model.rank_auc_ - 0.5),
        "shift": abs(model.rank_auc_ - 0.5),
        "distribution": model.ks_,
        "mean": abs(model.mean_difference_) / Y.std(),
    }
    for name in [constraint] if isinstance(constraint, str) else constraint:
        assert left[name] <= epsilon + 1e-9
    assert error(model) < error(fitted(constraint, epsilon, calibrate=False))


@pytest.mark.parametrize("constraint", CONSTRAINTS)
def test_maps_stay_monotone_between_and_beyond_rows(constraint):
    model = fitted(constraint, 0.05)
    for g in (0.0, 1.0):
        line = np.column_stack((np.linspace(-40, 40, 999), np.zeros(999)))
        values = np.column_stack((line, np.full(999, g)))
        order = np.argsort(model.estimator_.predict(values), kind="stable")
        assert (np.diff(model.predict(values)[order]) >= -1e-9).all()


def test_whole_weights_are_repeated_rows():
    weights = rng.integers(1, 4, N)
    weighted = fitted("distribution", 0.05, sample_weight=weights)
    often = np.repeat(np.arange(N), weights)
    repeated = RankFairPostprocessor(
        LinearRegression(), 0.05, constraints="distribution", sensitive_features=2,
        calibrate=True,
    ).fit(X[often], Y[often])  # fmt: skip
    assert weighted.predict(X) == pytest.approx(repeated.predict(X), abs=1e-8)


class Backwards(LinearRegression):
    """Falls where y rises in one group, and is the same everywhere in the other."""

    def predict(self, X):
        return np.where(X[:, 2] == 1, -X[:, 0], 1.0)


def test_what_does_not_rise_with_y_is_left_alone():
    model = RankFairPostprocessor(
        Backwards(), 0.5, sensitive_features=2, calibrate=True
    ).fit(X, Y)
    plain = rounded(Backwards().predict(X), model.resolution_)
    assert np.array_equal(model.predict(X), plain)


def test_lines_need_a_target():
    free = LinearRegression().fit(X, Y)
    model = RankFairPostprocessor(
        free, prefit=True, calibrate=True, sensitive_features=2
    )
    with pytest.raises(ValueError, match=r"y is missing: calibrate=True fits lines"):
        model.fit(X)
    with pytest.raises(ValueError, match="calibrate must be True or False; got 1"):
        model.set_params(calibrate=1).fit(X, Y)


@pytest.mark.parametrize("seed", range(6))
def test_predictions_that_vary_by_rounding_get_no_line(seed):
    rng = np.random.default_rng(seed)
    x = np.concatenate((np.repeat([0.1 + 0.2, 0.3], 50), rng.normal(size=100)))
    z, y = np.repeat(["F", "M"], 100), rng.normal(size=200)
    model = RankFairPostprocessor(
        LinearRegression(), 0.02, calibrate=True, constraints="shift"
    )
    model.fit(x[:, None], y, sensitive_features=z)
    m = model.predict([[0.31]], sensitive_features=["F"])
    assert abs(m[0]) < 10 * np.abs(y).max()
