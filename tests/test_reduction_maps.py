"""Maps of the predictions of each group, after refits to tilted targets."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.kernel_ridge import KernelRidge
from sklearn.linear_model import LinearRegression, Ridge
from sklearn.tree import DecisionTreeRegressor

from far_apart import IN_A, NUMBERS, PAIR, SEX, TREES, N, Slow, X, Y, auc_of, fair
from rankfair import TiltedRegressor
from rankfair._folds import deal_folds
from rankfair.balances import Mean, Rank, Residual
from rankfair.metrics import rank_auc, rmse
from rankfair.problem import Groups
from rankfair.reduction.demand import Demand
from rankfair.reduction.maps import Maps, fit_maps, pieces
from rankfair.reduction.refits import Refits
from rankfair.reduction.stages import solve_in_stages
from refusals import sentence

MAPPED = [
    (Ridge(), None),
    (TREES, None),
    (TREES, 3),
    (DecisionTreeRegressor(min_samples_leaf=3), 4),
    (KernelRidge(kernel="rbf", gamma=0.1, alpha=0.1), 3),
]


@pytest.mark.parametrize(("base", "cv"), MAPPED)
def test_maps_keep_the_order_within_a_group(base, cv):
    model = fair(base, finish="map", cv=cv).fit(X, Y)
    assert model.status_ == "satisfied"
    assert not model.shift_.any()
    raw, m = model.estimator_.predict(X), model.predict(X)
    for group in (IN_A, ~IN_A):
        order = np.argsort(raw[group])
        assert (np.diff(m[group][order]) >= -1e-12).all()
    np.testing.assert_array_equal(m, model.maps_(raw, IN_A.astype(int)))
    if cv is None:
        assert auc_of(model) == pytest.approx(model.rank_auc_, abs=2 * PAIR)


def test_auto_maps_with_folds_and_shifts_without():
    np.testing.assert_array_equal(
        fair(TREES, cv=3).fit(X, Y).predict(X),
        fair(TREES, cv=3, finish="map").fit(X, Y).predict(X),
    )
    assert fair(TREES, finish="auto").fit(X, Y).maps_ is None
    shifted = fair(TREES, 0.0, finish="shift", cv=3, max_refits=3).fit(X, Y)
    assert shifted.maps_ is None and shifted.shift_.any()
    blind = fair(blind=True, cv=3).fit(X, Y)
    assert blind.maps_ is None and not blind.shift_.any()
    arrays = TiltedRegressor(Ridge(), 0.02, cv=3, random_state=0)
    assert arrays.fit(X, Y, sensitive_features=SEX).maps_ is None
    told = sentence(arrays.set_params(finish="map").fit, X, Y, sensitive_features=SEX)
    assert "name its column of X in sensitive_features" in told


def test_folds_that_meet_the_band_need_no_map():
    model = fair(epsilon=0.5, cv=3).fit(X, Y)
    assert model.status_ == "inactive"
    assert model.maps_ is None and model.n_refits_ == 0
    np.testing.assert_array_equal(model.predict(X), Ridge().fit(X, Y).predict(X))


def test_a_map_is_continuous_and_the_sum_of_its_pieces():
    knots = np.array([-0.5, 0.2, 0.9])
    m = np.linspace(-3, 3, 601)
    np.testing.assert_allclose(pieces(m, knots).sum(axis=1), m - knots[0])
    slopes = np.array([0.5, 0.0, 3.0, 1.0])
    maps = Maps((knots, knots), (1.0, 2.0), (slopes, np.ones(4)))
    ends = maps(np.array([-0.5, 0.2, 0.9, 1.9]), np.zeros(4, int))
    np.testing.assert_allclose(ends, [1.0, 1.0, 3.1, 4.1])
    assert np.diff(maps(m, np.zeros(601, int))).max() <= 3.0 * 0.01 + 1e-9
    np.testing.assert_allclose(maps(m, np.ones(601, int)), m + 2.5)


@pytest.mark.parametrize("balance", [Rank(0.01), Rank(0.0), Mean(0.0), Residual(0.1)])
def test_maps_meet_the_band_at_no_more_error_than_a_shift(balance):
    m = Ridge().fit(X, Y).predict(X) + np.random.default_rng(0).normal(size=N)
    demand = Demand.of(balance, Y, Groups(IN_A), shifts=True)
    maps, fit = fit_maps(m, demand)
    moved = maps(m, IN_A.astype(int))
    np.testing.assert_allclose(moved, fit.m + demand.by_group(fit.shift))
    assert demand.band.miss(demand.count(moved).value) == pytest.approx(0, abs=1e-9)
    shift, at = demand.closing_shift(m)
    assert at.inside
    assert demand.objective(moved) < demand.objective(m + demand.by_group(shift))


def test_maps_without_a_demand_are_least_squares_by_group():
    m = NUMBERS[:, 0] + NUMBERS[:, 1]
    maps, fit = fit_maps(m, Demand.of(Rank(0.5), Y, Groups(IN_A), shifts=True))
    assert not fit.tilt.any() and not any(fit.shift)
    moved = maps(m, IN_A.astype(int))
    for group, knots in ((~IN_A, maps.knots[0]), (IN_A, maps.knots[1])):
        line = LinearRegression(positive=True).fit(pieces(m[group], knots), Y[group])
        alone = line.predict(pieces(m[group], knots))
        np.testing.assert_allclose(moved[group], alone, atol=1e-6)


def test_maps_do_not_depend_on_units_or_on_the_form_of_weights():
    w = np.random.default_rng(1).integers(1, 4, N)
    m, groups = NUMBERS[:, 0], Groups(IN_A, w)
    of_group = IN_A.astype(int)
    plain = fit_maps(m, Demand.of(Rank(0.01), Y, groups, shifts=True))[0]
    far = Demand.of(Rank(0.01), 1e5 * Y + 1e6, groups, shifts=True)
    scaled = fit_maps(1e5 * m + 1e6, far)[0](1e5 * m + 1e6, of_group)
    np.testing.assert_allclose((scaled - 1e6) / 1e5, plain(m, of_group), atol=5e-3)
    rows = np.repeat(np.arange(N), w)
    copies = Demand.of(Rank(0.01), Y[rows], Groups(IN_A[rows]), shifts=True)
    # Knots are quantiles of rows, so that copies of rows move them a little.
    repeated = fit_maps(m[rows], copies)[0](m, of_group)
    assert rmse(plain(m, of_group), repeated) < 0.1 * Y.std()


def test_fresh_folds_that_no_map_can_level_do_not_count():
    # All of A on one value, B on two of unlike size: A is above, between or below.
    codes = np.zeros(N, np.intp)
    demand = Demand.of(Rank(0.02), Y, Groups(IN_A), shifts=True)

    class Steps(Slow):
        def predict(self, X):
            return np.where(X[:, -1] == 1, 1.0, 2.0 * (X[:, 0] > 0.7))

    fresh = Refits(Steps(), X, codes, 1)
    found = solve_in_stages(
        Refits(Ridge(), X, codes, 1), demand, 3, lambda step: None, fresh
    )
    assert str(found.status) == "satisfied"
    assert np.unique(found.fit.m).size > 3


def test_a_model_that_learns_by_heart_is_fair_on_new_rows():
    rng = np.random.default_rng(3)
    z = rng.random(6000) < 0.4
    Z = np.column_stack([rng.normal(size=(6000, 3)) + np.outer(z, [0.8, 0, 0.4]), z])
    y = Z @ [1.0, 0.5, -0.3, 0.7] + rng.normal(size=6000)
    train = np.arange(6000) < 1500
    tree = DecisionTreeRegressor(min_samples_leaf=2, random_state=0)
    m = fair(tree, 0.01, cv=5).fit(Z[train], y[train]).predict(Z[~train])
    auc = rank_auc(None, m, sensitive_features=z[~train])
    assert abs(auc - 0.5) < 0.04
    plain = clone(tree).fit(Z[train], y[train])
    demand = Demand.of(Rank(0.01), y[train], Groups(z[train]), shifts=True)
    groups, one = z[train].astype(np.intp), np.zeros(1500, np.intp)
    folds = deal_folds(groups, 5, np.random.default_rng(0))
    unseen = Refits(tree, Z[train], one, 1, folds=folds, groups=groups)
    shift = np.array(demand.closing_shift(unseen.fit(y[train])[1])[0])
    moved = plain.predict(Z[~train]) + shift[z[~train].astype(int)]
    assert rmse(y[~train], m) < 0.97 * rmse(y[~train], moved)
