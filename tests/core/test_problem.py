import numpy as np
import pytest
from scipy.sparse import csr_array
from sklearn.linear_model import Ridge

from problems import make_penalty, order_of
from rankfair.constraints import Rank
from rankfair.core.blocks import linear_predict
from rankfair.core.problem import Groups, Problem
from rankfair.penalties import Pool
from rankfair.solvers import Demand, Tilt
from rankfair.solvers.base import Request
from rankfair.solvers.tilt import unconstrained

PENALTIES = ["ridge", "task", "feature", "shared"]
SIZES = [5, 1, 8, 3, 12, 8]


def rows(sizes=SIZES, n=3, seed=0):
    """X, y, codes and groups; each task has its own level and slope."""
    rng = np.random.default_rng(seed)
    codes = rng.permutation(np.repeat(np.arange(len(sizes)), sizes))
    X = rng.normal(size=(len(codes), n)) * [1.0, 5.0, 0.2][:n] + 2.0
    W = rng.normal(size=(len(sizes), n))
    y = (X * W[codes]).sum(axis=1) + codes + 0.3 * rng.normal(size=len(codes))
    return X, y, codes, rng.random(len(codes)) < 0.4


def made(X, y, codes, in_a=None, **settings):
    return Problem.from_rows(X, y, codes, codes.max() + 1, in_a=in_a, **settings)


def predictions(problem, solution):
    return linear_predict(problem.X, problem.codes, solution.coef, solution.intercept)


def fitted(penalty, beta, X, y, codes, **settings):
    problem = made(X, y, codes, **settings)
    solution = unconstrained(problem, Request(make_penalty(penalty, beta), fixed=True))
    return solution, predictions(problem, solution)


# Standard units


@pytest.mark.parametrize("far", [0.0, 1e15])
@pytest.mark.parametrize("weights", [None, "real"])
def test_the_target_is_standardised(far, weights):
    X, y, codes, in_a = rows()
    y = np.round(64 * y) + far
    w = np.ones(len(y)) if weights is None else np.random.default_rng(1).random(len(y))
    problem = made(X, y, codes, in_a, weights=None if weights is None else w)
    w = w[order_of(problem)]
    assert w @ problem.y / w.sum() == pytest.approx(0, abs=1e-12)
    assert w @ problem.y**2 / w.sum() == pytest.approx(1)
    back = (problem.y + problem.y_centre) * problem.y_unit
    assert back == pytest.approx(y[order_of(problem)], rel=1e-15)
    assert problem.y_squares == pytest.approx(w.sum())


def test_gram_and_moments_are_those_of_standardised_features():
    X, y, codes, in_a = rows()
    weights = np.random.default_rng(1).random(len(y))
    problem = made(X, y, codes, in_a, weights=weights)
    centre = weights @ X / weights.sum()
    deviation = np.sqrt(weights @ (X - centre) ** 2 / weights.sum())
    target = np.random.default_rng(2).normal(size=len(y))
    B = problem.moments(target)
    for place, task in enumerate(problem.blocks.tasks):
        users = order_of(problem)[codes[order_of(problem)] == task]
        mine = codes[order_of(problem)] == task
        w = weights[users]
        Z = (X[users] - w @ X[users] / w.sum()) / deviation
        wanted = Z.T @ (w[:, None] * Z)
        assert problem.gram[place] == pytest.approx(wanted, abs=1e-10)
        t = w * target[mine]
        assert B[place] == pytest.approx([*(Z.T @ t), t.sum()], abs=1e-10)


@pytest.mark.parametrize("standardize", [True, False])
@pytest.mark.parametrize("shared", [False, True])
def test_predictions_in_both_units_are_the_same(standardize, shared):
    X, y, codes, in_a = rows()
    problem = made(X, y, codes, in_a, standardize=standardize)
    W = np.random.default_rng(3).normal(size=(len(SIZES) + shared, 4))
    m = (problem.predict(W) + problem.y_centre) * problem.y_unit
    order = order_of(problem)
    assert problem.user_predict(W)[order] == pytest.approx(m, rel=1e-9)
    coef, intercept = problem.user_coef(W)
    wanted = (X * coef[codes]).sum(axis=1) + intercept[codes]
    assert problem.user_predict(W) == pytest.approx(wanted)


def test_groups_count_in_integers_where_weights_are_whole():
    in_a = np.array([True, False, True])
    plain = Groups(in_a)
    assert (plain.total_a, plain.total_b) == (2, 1)
    assert isinstance(plain.total_a, int)
    X, y, codes = np.arange(3.0)[:, None], np.arange(3.0), np.zeros(3, int)
    for weights, kind in (([1.0, 2.0, 0.0], int), ([1.0, 2.5, 0.0], float)):
        groups = made(X, y, codes, in_a, weights=np.array(weights)).user_groups
        assert isinstance(groups.total_a, kind)
        assert (groups.total_a, groups.total_b) == (1, weights[1])
    heavy = made(X, y, codes, in_a, weights=np.full(3, 1e12)).user_groups
    assert isinstance(heavy.total_a, float)


@pytest.mark.parametrize("weight", [0.25, 3.5])
def test_both_groups_weigh_something_and_a_pair_is_one_of_typical_rows(weight):
    in_a = np.arange(6) < 2
    plain, even = Groups(in_a), Groups(in_a, np.full(6, weight))
    assert (plain.both, plain.pair) == (even.both, 1) == (True, 1)
    assert even.pair == pytest.approx(weight**2)
    # Rows that weigh next to nothing are no typical ones.
    light = Groups(np.repeat(in_a, 2), np.tile([weight, 1e-9], 6))
    assert light.pair == pytest.approx(weight**2)
    for one in (in_a, ~in_a, np.zeros(6, bool)):
        groups = Groups(in_a, one.astype(int))
        assert not groups.both and np.array_equal(groups.known, one)
    assert not Groups(np.ones(6, bool)).both and not Groups(np.zeros(6, bool)).both


@pytest.mark.parametrize("n_rows", [12, 70_000])
def test_twins_are_the_rows_alike_in_task_and_predictors(n_rows):
    rng = np.random.default_rng(0)
    X, codes = rng.normal(size=(n_rows, 2)), rng.integers(0, 3, n_rows)
    y = rng.normal(size=n_rows)
    assert made(X, y, codes).twins() is None
    X[: n_rows // 2] = np.round(X[: n_rows // 2])
    problem = made(X, y, codes)
    rows = np.column_stack((X, codes))[problem.order]
    _, ids, often = np.unique(rows, axis=0, return_inverse=True, return_counts=True)
    wanted, found = np.where(often[ids] > 1, ids, -1), problem.twins()
    assert len({*zip(found, wanted, strict=True)}) == len({*found}) == len({*wanted})
    assert np.array_equal(found < 0, wanted < 0) and (found >= 0).any()


# Columns


@pytest.mark.parametrize("far", [0.0, 1e6, 1e15])
def test_the_unit_of_a_column_is_its_deviation_over_all_rows(far):
    X, y, codes, _ = rows()
    X = np.round(64 * X)
    scale = made(X + far, y, codes).scale
    assert scale == pytest.approx(1 / X.std(axis=0), rel=1e-3 if far > 1e9 else 1e-9)


@pytest.mark.parametrize("value", [0.1, 1 / 3, -7.0, 1e6 + 0.1, 1e-9, 1e15])
@pytest.mark.parametrize("penalty", PENALTIES)
def test_a_column_constant_within_tasks_explains_nothing_there(value, penalty):
    X, y, codes, _ = rows()
    level = value * (1.0 + codes)
    level[::2] = np.nextafter(level[::2], np.inf)  # but for its last digit
    without, m = fitted(penalty, 1.0, X, y, codes)
    more = np.column_stack((X, level))
    problem = made(more, y, codes)
    assert not problem.gram[:, -1].any()
    assert not problem.moments(problem.y)[:, -2].any()
    with_level, n = fitted(penalty, 1.0, more, y, codes)
    assert n == pytest.approx(m, abs=1e-6)
    assert with_level.objective == pytest.approx(without.objective)


@pytest.mark.parametrize("offset", [1e3, 1e6, -1e9])
def test_a_large_offset_of_a_column_is_centred_away(offset):
    X, y, codes, _ = rows()
    plain, m = fitted("ridge", 1.0, X, y, codes)
    moved, n = fitted("ridge", 1.0, X + np.array([0, offset, 0]), y, codes)
    tolerance = 1e-13 * abs(offset)
    assert moved.coef == pytest.approx(plain.coef, abs=100 * tolerance)
    assert n == pytest.approx(m, abs=1000 * tolerance)


@pytest.mark.parametrize("size", [1e200, 1e-200])
def test_columns_of_extreme_size_need_to_be_standardised(size):
    X, y, codes, _ = rows()
    with pytest.raises(ValueError, match=r"in column 1 .* standardize=True"):
        made(X * [1.0, size, 1.0], y, codes, standardize=False)


def test_values_too_large_are_refused_with_the_column():
    X, y, codes, _ = rows([9000])
    X[1, 1] = 1e200
    with pytest.raises(ValueError, match=r"in column 1 that are too large"):
        made(X, y, codes)


# Units of the target and of the penalty


@pytest.mark.parametrize("unit", [1e200, 1e-200, -1e150])
@pytest.mark.parametrize("penalty", PENALTIES)
def test_a_target_in_extreme_units(unit, penalty):
    X, y, codes, _ = rows()
    plain, m = fitted(penalty, 1.0, X, y, codes)
    scaled, n = fitted(penalty, 1.0, X, y * unit, codes)
    assert n / unit == pytest.approx(m, rel=1e-6, abs=1e-6)
    assert scaled.coef / unit == pytest.approx(plain.coef, rel=1e-5, abs=1e-6)
    assert scaled.objective == pytest.approx(plain.objective)


@pytest.mark.parametrize("standardize", [True, False])
def test_ridge_is_scikit_learn_s_on_each_task(standardize):
    X, y, codes, _ = rows()
    solution, m = fitted("ridge", 3.0, X, y, codes, standardize=standardize)
    scale = X.std(axis=0) if standardize else np.ones(3)
    for j in range(len(SIZES)):
        mine = codes == j
        model = Ridge(alpha=3.0).fit(X[mine] / scale, y[mine])
        assert solution.coef[j] * scale == pytest.approx(model.coef_, abs=1e-9)
        assert m[mine] == pytest.approx(model.predict(X[mine] / scale))


@pytest.mark.parametrize("penalty", PENALTIES)
@pytest.mark.parametrize("unit", [1e-3, 1e4])
def test_units_of_the_target_rescale_beta_if_not_standardised(penalty, unit):
    X, y, codes, _ = rows()
    degree = make_penalty(penalty).degree
    plain, m = fitted(penalty, 2.0, X, y, codes, standardize=False)
    beta = 2.0 * unit ** (2 - degree)
    scaled, n = fitted(penalty, beta, X, y * unit, codes, standardize=False)
    assert n / unit == pytest.approx(m, rel=1e-6, abs=1e-6)
    assert scaled.objective / unit**2 == pytest.approx(plain.objective)


def test_the_model_for_a_new_task_is_at_the_mean_of_the_others():
    X, y, codes, _ = rows()
    alone, _ = fitted("ridge", 1.0, X, y, codes)
    assert alone.shared_coef is None
    assert alone.shared_intercept is None
    pooled, m = fitted("shared", 1e9, X, y, codes)
    assert pooled.coef == pytest.approx(np.tile(pooled.shared_coef, (len(SIZES), 1)))
    new = X @ pooled.shared_coef + pooled.shared_intercept
    assert new.mean() == pytest.approx(y.mean())
    assert m.mean() == pytest.approx(y.mean())


def test_a_sparse_x_gives_the_same_model():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 4)) * (rng.random((400, 4)) < 0.3)
    y, codes = X.sum(axis=1) + rng.normal(size=400), rng.integers(0, 9, 400)
    in_a = rng.random(400) < 0.5 + 0.2 * (X[:, 0] > 0)

    def solved(X):
        problem = Problem.from_rows(X, y, codes, 9, in_a=in_a)
        demand = Demand(Rank(0.01), problem.groups)
        return problem, Tilt().solve(problem, Request(Pool()), [demand])

    (dense, wanted), (sparse, found) = solved(X), solved(csr_array(X))
    assert np.array_equal(found.coef, wanted.coef)
    assert found.multipliers == wanted.multipliers != (0.0,)
    assert np.array_equal(dense.twins(), sparse.twins())  # there are rows of zeros
    predicted = [
        linear_predict(each, codes, found.coef, found.intercept, 2.0**-40)
        for each in (X, csr_array(X))
    ]
    assert np.array_equal(*predicted)
