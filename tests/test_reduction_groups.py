"""TiltedRegressor with three or more groups, rows of unknown group and bins."""

import pickle
import re

import numpy as np
import pytest
from sklearn.base import BaseEstimator, RegressorMixin, clone
from sklearn.dummy import DummyRegressor
from sklearn.ensemble import HistGradientBoostingRegressor
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LinearRegression, Ridge
from sklearn.model_selection import GridSearchCV
from sklearn.utils.estimator_checks import parametrize_with_checks

from oracles import gaps
from rankfair import RankFairRegressor, TiltedRegressor
from rankfair._groups import Groups
from rankfair.balances import Mean, Rank, Residual
from rankfair.datasets import load_student
from rankfair.metrics import pairwise_rank_auc, rank_auc_by_group, rmse, scorer
from rankfair.problem import Groups as Pair
from rankfair.reduction.demand import Demand
from rankfair.reduction.joint import Hull, solve_jointly
from rankfair.reduction.maps import with_maps
from rankfair.reduction.refits import Refits, levelled
from rankfair.reduction.several import Demands
from rankfair.reduction.steer import steered
from three_groups import (
    KNOWN,
    NAMES,
    NUMBERS,
    RIDGE,
    SMALL,
    SOME,
    TREES,
    N,
    X,
    Y,
    Z,
    assert_level,
    fair,
    make,
)

# What a fit promises


@pytest.mark.parametrize("n_groups", [3, 4, 7])
@pytest.mark.parametrize("epsilon", [0.0, 0.02])
@pytest.mark.parametrize("estimator", [RIDGE, TREES], ids=["ridge", "trees"])
def test_every_group_is_level_with_the_rest(estimator, epsilon, n_groups):
    numbers, y, z = make(n_groups)
    rows = np.column_stack((numbers, z))
    plain = clone(estimator).fit(rows, y).predict(rows)
    assert max(gap for gap, _ in gaps(plain, z)) > 0.1
    model = fair(estimator, epsilon).fit(rows, y)
    m = model.predict(rows)
    assert model.status_ == "satisfied"
    assert_level(m, z, epsilon)
    aucs = rank_auc_by_group(None, m, sensitive_features=z)
    assert model.group_auc_ == pytest.approx(aucs, abs=1e-12)
    pairs = pairwise_rank_auc(None, m, sensitive_features=z)
    assert model.pairwise_auc_.keys() == pairs.keys()
    for label, over in pairs.items():
        assert model.pairwise_auc_[label] == pytest.approx(over, abs=1e-12)
    worst = max(aucs.values(), key=lambda auc: abs(auc - 0.5))
    assert abs(model.rank_auc_ - 0.5) == pytest.approx(abs(worst - 0.5))
    assert model.balance_ == pytest.approx({"rank": model.rank_auc_})
    assert model.groups_.tolist() == list(range(n_groups))
    assert model.shift_.shape == (n_groups,) and model.n_refits_ <= 20
    assert model.n_unknown_ == 0 and model.bin_edges_ == {}


@pytest.mark.parametrize("cv", [None, 3])
def test_maps_of_three_groups(cv):
    model = fair(cv=cv, finish="map", max_refits=4).fit(X, Y)
    assert model.status_ == "satisfied"
    assert all(abs(auc - 0.5) <= 0.02 + 0.001 for auc in model.group_auc_.values())
    raw, m = model.estimator_.predict(X), model.predict(X)
    np.testing.assert_array_equal(m, model.maps_(raw, Z))
    for g in range(3):
        order = np.argsort(raw[g == Z])
        assert (np.diff(m[g == Z][order]) >= -1e-12).all()
    if cv is None:
        assert_level(m, Z, 0.02)


@pytest.mark.parametrize("seed", range(3))
def test_ridge_agrees_with_the_linear_solver(seed):
    numbers, y, z = make(3, 400, seed)
    rows = np.column_stack((numbers, np.eye(3)[z]))
    ours = TiltedRegressor(Ridge(3.0), 0.01).fit(rows, y, sensitive_features=z)
    reference = RankFairRegressor(0.01, penalty="ridge", beta=3.0, standardize=False)
    reference.fit(rows, y, sensitive_features=z)

    def objective(model, w):
        return ((y - model.predict(rows)) ** 2).sum() / 2 + 1.5 * (w @ w)

    theirs = objective(reference, reference.coef_[0])
    assert ours.status_ == "satisfied"
    assert objective(ours, ours.estimator_.coef_) <= 1.02 * theirs
    assert_level(ours.predict(rows), z, 0.01)


def test_a_blind_model_does_not_read_the_group():
    model = fair(Ridge(), blind=True).fit(X, Y)
    assert model.status_ == "satisfied" and not model.shift_.any()
    other = X.copy()
    other[:, -1] = 77
    np.testing.assert_array_equal(model.predict(other), model.predict(X))
    assert_level(model.predict(X), Z, 0.02)


def test_groups_in_balance_stay():
    model = fair(epsilon=0.5).fit(X, Y)
    assert model.status_ == "inactive" and model.multiplier_ == 0
    np.testing.assert_array_equal(model.predict(X), clone(TREES).fit(X, Y).predict(X))


def test_one_model_a_task():
    task = np.arange(N) % 2
    model = fair(RIDGE).fit(X, Y, tasks=task)
    assert len(model.estimator_) == 2
    assert_level(model.predict(X, tasks=task), Z, 0.02)


def test_groups_given_as_an_array_are_shifted_if_predict_gets_them():
    model = TiltedRegressor(TREES, 0.002, max_refits=1)
    with pytest.warns(ConvergenceWarning, match="closes the gap") as caught:
        model.fit(NUMBERS, Y, sensitive_features=NAMES)
    assert caught[0].filename == __file__
    assert model.status_ == "max_iter"
    m = model.predict(NUMBERS, sensitive_features=NAMES)
    assert_level(m, NAMES, 0.002)
    raw = model.predict(NUMBERS)
    assert max(gap for gap, _ in gaps(raw, NAMES)) == abs(model.rank_auc_ - 0.5) > 0.01


@pytest.mark.parametrize("n_groups", [2, 3])
def test_a_shift_that_leaves_a_gap_is_not_said_to_close_it(n_groups):
    # Of the few values of a small tree no shift need be level.
    told = set()
    for seed in range(3):
        rng = np.random.default_rng(seed)
        z = rng.integers(0, n_groups, 60)
        numbers = np.round(rng.normal(size=(60, 3)) + 0.5 * z[:, None])
        y = numbers[:, 0] + z + 0.3 * rng.normal(size=60)
        model = TiltedRegressor(SMALL, 0.01, max_refits=2)
        with pytest.warns(ConvergenceWarning) as caught:
            model.fit(numbers, y, sensitive_features=z)
        text, m = str(caught[0].message), model.predict(numbers, sensitive_features=z)
        aucs = rank_auc_by_group(None, m, sensitive_features=z)
        found = re.search(r"shift_, which leaves AUC (\S+)(?: of group (\d))?\.$", text)
        if found:
            assert aucs[int(found[2] or 1)] == pytest.approx(float(found[1]), abs=6e-5)
        elif model.shift_.any():
            assert text.endswith("adds shift_, which closes the gap.")
        level = all(gap <= 0.01 + pair + 1e-12 for gap, pair in gaps(m, z))
        assert level == ("closes" in text)
        told.add("closes" if level else "leaves" if found else "")
    assert "leaves" in told


@pytest.mark.parametrize("groups", [2, 4])
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_what_cannot_follow_is_not_thrown_away_to_get_nearer(groups):
    # Counts of a line through one or two columns get nearer by steep lines of noise.
    missed = 0
    for seed in range(12):
        rng = np.random.default_rng(seed)
        z = np.arange(90) % groups
        x = rng.normal(size=(90, groups // 2))
        x[:, 0] += z / 2
        y = x.sum(axis=1) + z / 2 + rng.normal(size=90)
        model = TiltedRegressor(LinearRegression(), 0.0, max_refits=8)
        model.fit(x, y, sensitive_features=z)
        if model.status_ != "satisfied":
            missed += 1
            assert model.score(x, y) >= 0
    assert missed > 3


def test_what_is_not_reached_is_named():
    class Stubborn(RegressorMixin, BaseEstimator):
        def fit(self, X, y):
            self.fitted_ = True
            return self

        def predict(self, X):
            return X[:, -1]

    with pytest.warns(ConvergenceWarning, match=r"AUC [01]\.0000 of group [02], asked"):
        model = fair(Stubborn(), finish="none").fit(X, Y)
    assert model.status_ == "infeasible" and not model.shift_.any()
    with pytest.warns(ConvergenceWarning, match=r"imbalance -?\d.* of group \d, asked"):
        fair(Stubborn(), 0.0, finish="none", balance="mean").fit(X, Y)


@pytest.mark.parametrize("far", [0.0, 1e6])
@pytest.mark.parametrize("weighted", [False, True])
def test_rounding_is_no_rank(weighted, far):
    # Of one feature that tells the group only a slope of zero is level.
    rng = np.random.default_rng(2)
    sex, race = rng.integers(0, 2, (2, 200))
    one = (rng.normal(size=200) + sex)[:, None]
    y = one[:, 0] + sex + race + rng.normal(size=200)
    y += far - y.mean()
    w = rng.random(200) + 0.5 if weighted else None
    groups = {"sex": sex, "race": race}
    model = TiltedRegressor(Ridge(), 0.02, intersect=True)
    model.fit(one, y, sensitive_features=groups, sample_weight=w)
    m = model.predict(one)
    assert model.status_ == "satisfied"
    assert model.rank_auc_ == pytest.approx(0.5)
    assert np.ptp(m) == 0
    assert m[0] == pytest.approx(np.average(y, weights=w), abs=1e-3)


def test_rounding_is_taken_off_targets_and_nothing_else():
    m = np.array([1.0, 1.0 + 1e-13, 1.0])
    assert np.ptp(levelled(m, 1.0)) == 0
    assert levelled(m, 1e-3) is m
    for other in (Y, np.zeros(3), 1e9 + np.arange(3.0)):
        assert levelled(other, 1.0) is other


# Balances


@pytest.mark.parametrize("epsilon", [0.0, 0.1])
@pytest.mark.parametrize("kind", [Mean, Residual])
@pytest.mark.parametrize("cv", [None, 3])
def test_means_and_residuals(kind, epsilon, cv):
    model = fair(TREES, balance=kind(epsilon), cv=cv, max_refits=5).fit(X, Y)
    assert model.status_ in ("satisfied", "inactive")
    assert abs(model.balance_[kind.__name__.lower()]) <= epsilon + 1e-9
    if cv is None:
        m = model.predict(X) - (Y if kind is Residual else 0)
        for g in range(3):
            apart = m[g == Z].mean() - m[g != Z].mean()
            assert abs(apart) / Y.std() <= epsilon + 1e-9


def test_one_group_on_top_is_for_two():
    with pytest.raises(ValueError, match=r'of 3 groups not all .* side="both"'):
        fair(balance=Rank(0.01, side="upper")).fit(X, Y)


# The least move


def test_the_shift_is_near_the_least_of_all():
    rng = np.random.default_rng(5)
    z = np.repeat([0, 1, 2], [9, 7, 5])
    m = np.round(rng.normal(size=21) + z, 2)
    asked = Demands.of(Rank(0.06), m, Groups(z, np.arange(3)), shifts=True)
    shift, at = asked.closing_shift(m)
    assert at.inside
    sizes = np.bincount(z)
    assert sizes @ shift == pytest.approx(0, abs=1e-9)
    least = np.inf
    for a in np.linspace(-0.5, 2.5, 121):
        for b in np.linspace(-1.5, 1.5, 121):
            both = np.array([a, b, -(9 * a + 7 * b) / 5])
            length = sizes @ both**2
            if length < least and asked.count(m + both[z]).inside:
                least = length
    assert sizes @ np.square(shift) <= 1.1 * least


def nearest_of_all(asked, m, z):
    """The least miss of any shift of three groups: at all jumps, and between them."""

    def places(own, others):
        at = np.unique(np.subtract.outer(others, own))
        return np.concatenate(([at[0] - 1], at, (at[1:] + at[:-1]) / 2, [at[-1] + 1]))

    a, b, c = (np.unique(m[z == g]) for g in range(3))
    return min(
        asked.count(m + np.array([0.0, x, y])[z]).miss
        for x in places(b, a)
        for y in places(c, np.concatenate((a, b + x)))
    )


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("seed", range(6))
def test_shifts_of_predictions_that_tie_are_the_nearest_of_all(seed, weighted):
    rng = np.random.default_rng(seed)
    z = rng.integers(0, 3, 40)
    m = np.array([0.0, 0.5, 2.0, 2.25, 5.0])[rng.integers(0, 3, 40) + z]
    w = rng.integers(1, 4, 40).astype(float) if weighted else None
    for epsilon in (0.01, 0.1):
        asked = Demands.of(Rank(epsilon), m, Groups(z, np.arange(3)), True, w)
        shift, at = asked.closing_shift(m)
        assert at.miss == asked.count(m + asked.by_group(shift)).miss
        assert asked.shares @ shift == pytest.approx(0, abs=1e-9)
        assert at.miss <= nearest_of_all(asked, m, z) + 1e-12


@pytest.mark.parametrize("seed", range(4))
def test_a_small_tree_is_shifted_where_slopes_see_nothing(seed):
    rng = np.random.default_rng(seed)
    z, x = rng.integers(0, 3, 90), rng.normal(size=90)
    rows, y = np.column_stack((x, z)), x + z + 0.3 * rng.normal(size=90)
    model = fair(SMALL, 0.14).fit(rows, y)
    assert model.status_ == "satisfied"
    assert_level(model.predict(rows), z, 0.14)


@pytest.mark.parametrize("seed", range(3))
def test_maps_are_counted_as_they_predict(seed):
    # Values that tie up to rounding in the fit of the maps are told as they come out.
    rng = np.random.default_rng(seed)
    z = np.arange(30) % 3
    m = np.round(rng.normal(size=30)) + z // 2
    asked = Demands.of(Rank(0.1), m, Groups(z, np.arange(3)), shifts=True)
    fit = with_maps(asked, np.ones(30), m)
    np.testing.assert_array_equal(fit.m, fit.maps(m, z))
    np.testing.assert_array_equal(fit.shifted.off, asked.count(fit.m).off)


@pytest.mark.parametrize("far", [9.0, -1e9])
def test_rows_of_unknown_group_are_no_part_of_a_shift(far, monkeypatch):
    z = np.tile([0, 0, 1, 1, 2, -1], 8)
    m = np.tile([0.0, 1.0, 1.0, 2.0, 3.0, far], 8)
    asked = Demands.of(Rank(0.01), m, Groups(z, np.arange(3)), shifts=True)
    shift, at = asked.closing_shift(m)
    known = Demands.of(Rank(0.01), m[z >= 0], Groups(z[z >= 0], np.arange(3)), True)
    again, there = known.closing_shift(m[z >= 0])
    assert shift == pytest.approx(again) and at.miss == there.miss
    assert at.miss < known.along(m[z >= 0], np.eye(3)[z[z >= 0]]).at.miss
    # Of very many values only slopes are followed.
    monkeypatch.setattr("rankfair.projections.sweep.MANY", 1)
    assert asked.closing_shift(m)[1].miss >= at.miss


def test_moves_keep_to_the_ways_that_are_given():
    m = NUMBERS[:, 0] + Z
    asked = Demands.of(Rank(0.01), Y, Groups(Z, np.arange(3)), shifts=True)
    ways = np.column_stack((Z == 0, Z == 2, Z == 2, np.zeros(N))).astype(float)
    way = steered(asked, m, ways)
    assert way.at.inside
    np.testing.assert_allclose(way.m, m + ways @ way.x)
    # One way, and a way that leads nowhere, get as near as they can.
    nearer = steered(asked, m, ways[:, :1])
    assert not nearer.at.inside and nearer.at.miss < asked.count(m).miss
    still = steered(asked, m, ways[:, 3:])
    np.testing.assert_array_equal(still.m, m)


def test_counts_are_those_of_each_pair():
    w = np.random.default_rng(0).integers(1, 4, N)
    asked = Demands.of(Rank(0.0), Y, Groups(Z, np.arange(3)), True, w.astype(float))
    for g in range(3):
        pair = Demand.of(Rank(0.0), Y, Pair(g == Z, w), shifts=True)
        assert asked.count(Y).shown[g] == pair.shown(pair.count(Y))
    np.testing.assert_allclose(asked.shares, np.bincount(Z, w) / w.sum())


def test_slopes_are_derivatives():
    asked = Demands.of(Rank(0.0, bandwidth=0.2), Y, Groups(Z, np.arange(3)), True)
    rng = np.random.default_rng(0)
    m = rng.normal(size=N)
    ways = (Z[:, None] == np.arange(3)).astype(float)
    slopes = asked.slopes(m, ways)
    ahead = np.array([asked.count(m + 0.2 * way).shown for way in ways.T])
    behind = np.array([asked.count(m - 0.2 * way).shown for way in ways.T])
    np.testing.assert_allclose(slopes, (ahead - behind).T / 0.4, atol=0.03)
    means = Demands.of(Mean(0.0), Y, Groups(Z, np.arange(3)), True)
    exact = means.count(m + ways @ [1.0, 2.0, 3.0]).shown - means.count(m).shown
    np.testing.assert_allclose(means.slopes(m, ways) @ [1.0, 2.0, 3.0], exact)


def test_mixtures_of_refits_are_refits_of_a_line():
    asked = Demands.of(Rank(0.02), Y, Groups(Z, np.arange(3)), shifts=False)
    refits = Refits(LinearRegression(), X, np.zeros(N, np.intp), 1)

    def fit(tilt):
        return asked.judged(tilt, refits.fit(Y - tilt)[1])

    rng = np.random.default_rng(0)
    free = fit(np.zeros(N))
    hull = Hull(asked, (free,))
    for _ in range(3):
        hull = hull.joined(fit(rng.normal(size=N) + Z))
    assert len(hull.fits) == 4 and hull.joined(free).fits[0] is hull.fits[0]
    tilt, way = hull.settled(hull.fits[-1])
    np.testing.assert_allclose(fit(tilt).m, way.m, atol=1e-9)


def test_fresh_folds_may_find_nothing_to_do():
    codes = np.zeros(N, np.intp)
    asked = Demands.of(Rank(0.02), Y, Groups(Z, np.arange(3)), shifts=True)
    level = Refits(DummyRegressor(), X, codes, 1)
    plain = Refits(Ridge(), X, codes, 1)
    found = solve_jointly(plain, asked, 8, lambda step: None, level)
    assert str(found.status) == "inactive"


# Symmetries


def test_the_names_of_groups_do_not_matter():
    plain = TiltedRegressor(Ridge(), 0.01).fit(X, Y, sensitive_features=NAMES)
    turned = {"old": "c", "mid": "a", "new": "b"}
    other = [turned[name] for name in NAMES]
    again = TiltedRegressor(Ridge(), 0.01).fit(X, Y, sensitive_features=other)
    np.testing.assert_allclose(again.predict(X), plain.predict(X), atol=1e-3)
    renamed = {turned[name]: auc for name, auc in plain.group_auc_.items()}
    assert again.group_auc_ == pytest.approx(renamed, abs=1e-3)


@pytest.mark.parametrize("decimals", [0, 1, 9])
def test_the_order_of_groups_does_not_matter_to_a_shift(decimals):
    for seed in range(4):
        rng = np.random.default_rng(seed)
        z, turned = rng.integers(0, 4, 50), rng.permutation(4)
        m = np.round(rng.normal(size=50) + z / 2, decimals)
        one, other = (
            Demands.of(Rank(0.0), m, Groups(codes, np.arange(4)), shifts=True)
            for codes in (z, turned[z])
        )
        (shift, at), (again, there) = one.closing_shift(m), other.closing_shift(m)
        assert np.array(again)[turned] == pytest.approx(shift, abs=1e-9)
        assert there.miss == pytest.approx(at.miss, abs=1e-12)


def test_the_order_of_rows_does_not_matter():
    order = np.random.default_rng(0).permutation(N)
    straight, mixed = fair(RIDGE).fit(X, Y), fair(RIDGE).fit(X[order], Y[order])
    np.testing.assert_allclose(mixed.predict(X), straight.predict(X), atol=1e-5)


def test_whole_weights_are_repeated_rows():
    w = np.random.default_rng(0).integers(0, 3, N)
    rows = np.repeat(np.arange(N), w)
    weighted = TiltedRegressor(Ridge(), 0.02, max_refits=8)
    repeated = clone(weighted).fit(X[rows], Y[rows], sensitive_features=SOME[rows])
    weighted.fit(X, Y, sample_weight=w, sensitive_features=SOME)
    np.testing.assert_allclose(weighted.predict(X), repeated.predict(X), atol=1e-6)
    assert weighted.group_auc_ == pytest.approx(repeated.group_auc_)
    assert weighted.n_unknown_ == (~KNOWN & (w > 0)).sum()


# As part of scikit-learn


@pytest.mark.filterwarnings("ignore:fit got no sensitive_features:UserWarning")
@parametrize_with_checks([TiltedRegressor(Ridge(), intersect=True, bins=3)])
def test_scikit_learn_checks(estimator, check):
    check(estimator)


def test_clone_pickle_and_search():
    model = fair(cv=3, max_refits=2).fit(X, Y)
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(again.predict(X), model.predict(X))
    grid = {"epsilon": [0.01, 0.2], "estimator__max_iter": [5, 20]}
    search = GridSearchCV(fair(max_refits=2), grid, cv=3, scoring=scorer("rank_gap"))
    assert search.fit(X, Y).best_params_["epsilon"] == 0.01


def test_fits_are_deterministic_and_inputs_stay():
    rows = np.column_stack((NUMBERS, np.where(KNOWN, Z, np.nan)))
    before = rows.copy(), Y.copy()
    one, two = (fair(cv=3, max_refits=4).fit(rows, Y) for _ in range(2))
    np.testing.assert_array_equal(one.predict(rows), two.predict(rows))
    np.testing.assert_array_equal(rows, before[0])
    np.testing.assert_array_equal(Y, before[1])


# The promise on new rows, and on real ones


def test_three_groups_are_level_on_new_rows_at_less_error_than_a_shift():
    numbers, y, z = make(3, 5000, seed=1)
    rows = np.column_stack((numbers, z))
    train = np.arange(5000) < 1000
    base = HistGradientBoostingRegressor(random_state=0)
    model = fair(base, 0.005, cv=5, max_refits=4).fit(rows[train], y[train])
    m = model.predict(rows[~train])
    assert max(gap for gap, _ in gaps(m, z[~train])) < 0.05
    plain = clone(base).fit(rows[train], y[train])
    asked = Demands.of(Rank(0.005), y[train], Groups(z[train], np.arange(3)), True)
    shift, at = asked.closing_shift(plain.predict(rows[train]))
    assert at.inside
    moved = plain.predict(rows[~train]) + np.array(shift)[z[~train]]
    assert rmse(y[~train], m) < 0.99 * rmse(y[~train], moved)


@pytest.mark.parametrize("epsilon", [0.0, 0.01])
@pytest.mark.parametrize("estimator", [RIDGE, TREES], ids=["ridge", "trees"])
@pytest.mark.parametrize("name", ["Medu", "traveltime"])
def test_student(real_data, name, estimator, epsilon):
    data = load_student(real_data)
    at = data.feature_names.index(name)
    groups = np.minimum(data.X[:, at], 4).clip(1)  # two mothers never went to school
    rows = np.column_stack((np.delete(data.X, at, 1), groups))
    model = fair(estimator, epsilon).fit(rows, data.target)
    assert model.status_ == "satisfied"
    assert len(model.groups_) == 4
    assert_level(model.predict(rows), groups, epsilon)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("seed", range(6))
def test_what_is_in_the_band_is_no_worse_a_fit_than_one_value_for_all(seed):
    """Six groups of few rows: refits far from the data may be in all bands."""
    rng = np.random.default_rng(seed)
    z, t = rng.integers(0, 2, 130), rng.integers(0, 3, 130)
    rows = rng.normal(size=(130, 3))
    rows[:, 0] += 0.8 * z
    y = rows[:, 0] + z + 0.5 * rng.normal(size=130)
    for epsilon in (0.08, 0.1, 0.12):
        model = TiltedRegressor(Ridge(), epsilon, intersect=True)
        model.fit(rows, y, sensitive_features=np.column_stack((z, t)))
        if model.status_ == "satisfied":
            error = np.std(y - model.predict(rows))
            assert error <= np.std(y) * (1 + 1e-9)
            assert 2 * model.objective_ <= len(y) * (1 + 1e-9)


def test_one_value_for_all_is_no_way_out_of_a_balance_of_residuals():
    model = TiltedRegressor(Ridge(), 0.01, balance="residual")
    rng = np.random.default_rng(0)
    rows, z = rng.normal(size=(200, 2)), np.arange(200) % 2
    rows[:, 0] += 0.1 * z
    model.fit(rows, rows[:, 0] + 2.0 * z, sensitive_features=z)
    assert model.status_ == "satisfied" and 2 * model.objective_ > 200
    assert abs(model.balance_["residual"]) <= 0.01 + 1e-9
