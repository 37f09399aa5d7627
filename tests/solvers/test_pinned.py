from itertools import product

import numpy as np
import pytest

from problems import PENALTIES, biased, free_fit, order_of, posed, predictions, target
from programmes import least_by_cvxpy
from rankfair.constraints import CONSTRAINTS, Mean, Residual, Within
from rankfair.penalties import Ridge, make_penalty
from rankfair.solvers import Status, solve_linear
from rankfair.solvers.base import Fitter
from rankfair.solvers.pinned import Pinned, repeated, to_bands


def gaps(problem, m, kinds, rows=None):
    """The difference of each kind's means, in standard deviations of the target."""
    w = problem.user_groups.weights
    w = np.ones(len(m)) if w is None else w
    rows = np.ones(len(m), bool) if rows is None else rows
    y, in_a = target(problem), problem.user_groups.in_a
    spread = np.sqrt(np.average((y - np.average(y, weights=w)) ** 2, weights=w))
    found = []
    for kind in kinds:
        shown = m if kind == "mean" else y - m
        a, b = in_a & rows, ~in_a & rows
        found.append(
            np.average(shown[a], weights=w[a]) - np.average(shown[b], weights=w[b])
        )
    return np.array(found) / spread


# Bands alone


def random_bands(seed, spare):
    """``K = A Aᵀ``, values and bands that some push can keep; singular if not spare."""
    rng = np.random.default_rng(seed)
    r = int(rng.integers(1, 5))
    A = rng.normal(size=(r, r + 1 if spare else int(rng.integers(1, r + 1))))
    if not spare and r > 1:
        A[0] = A[-1] * rng.choice([-1.0, 1.0, 2.0])
    h, inside = (A @ rng.normal(size=A.shape[1]) for _ in range(2))
    width = rng.random((2, r)) * rng.integers(0, 2, r)
    return A @ A.T, 2 * h, inside - width[0], inside + width[1]


def active_sets(K, h, low, high):
    """All values that some active set gives and that meet the optimum's conditions."""
    found = []
    for at in product((-1, 0, 1), repeat=len(h)):
        at = np.array(at)
        held, edge = at != 0, np.where(at > 0, high, low)
        x = np.zeros(len(h))
        x[held] = np.linalg.pinv(K[np.ix_(held, held)]) @ (h - edge)[held]
        v = h - K @ x
        inside = ((v >= low - 1e-8) & (v <= high + 1e-8)).all()
        outward = ((x * at >= -1e-8) | (low == high)).all()
        if inside and outward and np.abs((v - edge)[held]).max(initial=0) < 1e-8:
            found.append(v)
    return found


@pytest.mark.parametrize("spare", [True, False], ids=["regular", "singular"])
@pytest.mark.parametrize("seed", range(60))
def test_bands_by_brute_force_over_active_sets(seed, spare):
    K, h, low, high = random_bands(seed, spare)
    x = to_bands(K, h, low, high)
    v = h - K @ x
    assert (v >= low - 1e-9).all() and (v <= high + 1e-9).all()
    for s in range(len(h)):
        edge = high[s] if x[s] > 0 else low[s]
        assert x[s] == 0 or v[s] == pytest.approx(edge, abs=1e-9)
    for other in active_sets(K, h, low, high):
        np.testing.assert_allclose(v, other, atol=1e-6)


def test_bands_kept_already_need_no_push():
    K, h = np.eye(3), np.array([0.3, -0.2, 0.0])
    assert not to_bands(K, h, np.full(3, -0.3), np.full(3, 0.3)).any()


def test_demands_that_exclude_each_other_share_the_miss():
    K = np.array([[1.0, -1.0], [-1.0, 1.0]])
    x = to_bands(K, np.array([1.0, 0.0]), np.full(2, -0.1), np.full(2, 0.1))
    v = np.array([1.0, 0.0]) - K @ x
    np.testing.assert_allclose(v, [0.5, 0.5])
    equal = to_bands(K, np.array([1.0, 0.0]), np.zeros(2), np.zeros(2))
    np.testing.assert_allclose(np.array([1.0, 0.0]) - K @ equal, [0.5, 0.5])


def test_directions_that_follow_from_others_are_found():
    rng = np.random.default_rng(0)
    basis = rng.normal(size=(3, 2, 4))
    A = np.concatenate((basis[:2], [basis[0] - 3 * basis[1]], basis[2:], 0 * basis[:1]))
    assert repeated(A).tolist() == [False, False, True, False, True]
    noise = 1e-17 * rng.normal(size=(2, 2, 4))
    assert repeated(noise).all()


def test_no_directions_are_no_directions():
    assert repeated(np.zeros((0, 2, 3))).tolist() == []
    assert repeated(np.array([])).tolist() == []


# Fits under demands


DEMANDS = [
    {"mean": 0.0},
    {"mean": 0.1},
    {"residual": 0.0},
    {"residual": 0.3},
    {"mean": 0.3, "residual": 1.4},
    {"mean": 3.0, "residual": 0.2},
]


@pytest.mark.parametrize("penalty", PENALTIES)
@pytest.mark.parametrize("asked", DEMANDS, ids=str)
@pytest.mark.parametrize("beta", [2.0, 30.0])
def test_the_fit_is_the_convex_optimum(penalty, asked, beta):
    problem = biased(k=4, per_task=15, auc=0.9, seed=2)
    demands = tuple(CONSTRAINTS[kind](epsilon) for kind, epsilon in asked.items())
    solution = solve_linear(problem, make_penalty(penalty, beta), demands)
    found = gaps(problem, predictions(problem, solution), asked)
    assert (np.abs(found) <= np.array([*asked.values()]) + 1e-9).all()
    np.testing.assert_allclose(solution.values, found, atol=1e-9)
    rows = np.ones(len(problem.y), bool)
    least = least_by_cvxpy(
        problem, penalty, beta, [(kind, width, rows) for kind, width in asked.items()]
    )
    assert solution.objective == pytest.approx(least, rel=1e-6)


@pytest.mark.parametrize("penalty", PENALTIES)
@pytest.mark.parametrize("whole", [True, False], ids=["whole", "fractional"])
def test_weights_and_uneven_tasks(penalty, whole):
    rng = np.random.default_rng(5)
    codes = np.repeat(np.arange(5), (2, 5, 9, 20, 40))
    in_a = rng.random(76) < 0.4
    X = rng.normal(size=(76, 3)) + in_a[:, None]
    y = X @ [1.0, 0.5, -1.0] + in_a + rng.normal(size=76)
    weights = rng.integers(1, 4, 76) * 1.0 if whole else rng.uniform(0.2, 2, 76)
    problem = posed(X, y, codes, in_a, weights)
    solution = solve_linear(problem, make_penalty(penalty, 1.0), (Mean(0.05),))
    gap = gaps(problem, predictions(problem, solution), ["mean"])[0]
    assert abs(gap) == pytest.approx(0.05, abs=1e-9)
    least = least_by_cvxpy(problem, penalty, 1.0, [("mean", 0.05, np.ones(76, bool))])
    assert solution.objective == pytest.approx(least, rel=1e-6)


@pytest.mark.parametrize("penalty", ["task", "feature"])
@pytest.mark.parametrize("beta", [100.0, 1e4])
@pytest.mark.parametrize("epsilon", [0.0, 0.2])
def test_a_penalty_that_holds_the_fit_at_zero_is_overcome(penalty, beta, epsilon):
    rng = np.random.default_rng(0)
    in_a = np.arange(80) % 2 == 0
    X = rng.normal(size=(80, 2)) + in_a[:, None]
    y = X.sum(axis=1) + rng.normal(size=80)
    problem = posed(X, y, np.zeros(80), in_a)
    assert not free_fit(problem, penalty, beta).coef.any()
    solution = solve_linear(problem, make_penalty(penalty, beta), (Residual(epsilon),))
    assert solution.status is Status.SATISFIED
    gap = gaps(problem, predictions(problem, solution), ["residual"])[0]
    assert abs(gap) == pytest.approx(epsilon, abs=1e-8)
    least = least_by_cvxpy(
        problem, penalty, beta, [("residual", epsilon, np.ones(80, bool))]
    )
    assert solution.objective == pytest.approx(least, rel=1e-6)


@pytest.mark.parametrize("penalty", PENALTIES)
def test_strata_are_demands_of_their_own(penalty):
    problem = biased(k=3, per_task=30, auc=0.8)
    strata = np.arange(90) % 3
    order = order_of(problem)
    demands = tuple(Within(0.0, rows=strata[order] == s) for s in range(3))
    solution = solve_linear(problem, make_penalty(penalty, 1.0), demands)
    m = predictions(problem, solution)
    for s in range(3):
        assert abs(gaps(problem, m, ["mean"], strata == s)[0]) < 1e-9
    least = least_by_cvxpy(
        problem, penalty, 1.0, [("mean", 0.0, strata == s) for s in range(3)]
    )
    assert solution.objective == pytest.approx(least, rel=1e-6)


@pytest.mark.parametrize("penalty", PENALTIES)
def test_demands_already_kept_leave_the_fit_alone(penalty):
    problem = biased()
    free = free_fit(problem, penalty)
    for demands in ((), (Mean(9.0),), (Mean(9.0), Residual(9.0))):
        solution = solve_linear(problem, make_penalty(penalty), demands)
        assert solution.status is Status.INACTIVE
        np.testing.assert_array_equal(solution.coef, free.coef)


@pytest.mark.parametrize("penalty", PENALTIES)
@pytest.mark.parametrize("epsilon", [0.0, 0.1])
def test_demands_that_exclude_each_other_are_missed_alike(penalty, epsilon):
    problem = biased(auc=0.9)
    apart = abs(gaps(problem, 0 * target(problem), ["residual"])[0])
    solution = solve_linear(
        problem, make_penalty(penalty), (Mean(epsilon), Residual(epsilon))
    )
    assert solution.status is Status.INFEASIBLE
    found = gaps(problem, predictions(problem, solution), ["mean", "residual"])
    np.testing.assert_allclose(found, solution.values, atol=1e-9)
    assert np.abs(found).sum() == pytest.approx(apart)
    assert np.ptp(np.abs(found)) <= 1e-6


def test_more_demands_than_coefficients_come_as_close_as_can_be():
    rng = np.random.default_rng(3)
    in_a = np.arange(40) % 2 == 0
    X, y = rng.normal(size=(40, 2)), rng.normal(size=40)
    problem = posed(X, y, np.zeros(40), in_a)
    strata, order = np.arange(40) // 4 % 5, order_of(problem)
    demands = [Within(0.0, whole=Residual(), rows=strata[order] == s) for s in range(5)]
    solution = solve_linear(problem, Ridge(0.0), tuple(demands))
    assert solution.status is Status.INFEASIBLE

    def apart(values):
        return np.array(
            [
                values[in_a & (strata == s)].mean(axis=0)
                - values[~in_a & (strata == s)].mean(axis=0)
                for s in range(5)
            ]
        )

    left = np.linalg.lstsq(apart(X), apart(y))[1][0]
    assert np.sum(np.square(solution.values)) * y.var() == pytest.approx(left)


@pytest.mark.parametrize("penalty", PENALTIES)
@pytest.mark.parametrize("demands", [(Mean(0.0),), (Mean(0.0, "upper"), Residual(2.0))])
def test_a_pinned_fit_keeps_its_demands_for_any_target(penalty, demands):
    problem = biased()
    groups, rng = problem.groups, np.random.default_rng(0)
    known = tuple(each.on(problem.y, groups) for each in demands)
    fitter = Pinned.around(Fitter.of(problem, make_penalty(penalty)), known)
    for _ in range(3):
        B = problem.moments(rng.normal(size=len(problem.y)) + groups.in_a)
        W = fitter.solve(B)
        assert fitter.miss(fitter.values(W)) <= 1e-9
        np.testing.assert_allclose(
            fitter.values(W),
            [each.value(problem.predict(W), groups) for each in known],
            atol=1e-9,
        )


def test_no_line_is_searched_for_what_is_rounding(monkeypatch):
    # Small penalties leave fits a few digits short of what their multipliers ask for.
    sought = []
    climbed = Pinned._climbed

    def watched(self, pushed, here, step):
        sought.append(here.off)
        return climbed(self, pushed, here, step)

    monkeypatch.setattr(Pinned, "_climbed", watched)
    problem = biased(5, 40, seed=3)
    given = Mean(0.01), Residual(0.01)
    demands = [each.on(problem.y, problem.groups) for each in given]
    for penalty in PENALTIES:
        factored = Fitter.of(problem, make_penalty(penalty, 1e-3))
        for demand in demands:
            fitter = Pinned.around(factored, (demand,))
            W = fitter.solve(1e4 * problem.target_moments)
            assert fitter.miss(fitter.values(W)) <= 1e-6
    assert min(sought, default=1.0) > 1e-9
