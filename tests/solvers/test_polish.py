"""Few rows: the fit is next to the best there is, however the rows are written down."""

import numpy as np
import pytest

from oracles import brute_twice_u
from problems import PENALTIES, posed, predictions, solved
from rankfair.balances import Rank
from rankfair.penalties import Ridge, make_penalty
from rankfair.problem import Groups
from rankfair.solvers import Status, Tilt
from rankfair.solvers.base import Fitter
from rankfair.solvers.polish import is_small, slope_of, stirred, twice_u_of_each


def tiny(seed, n=14, gap=1.0):
    rng = np.random.default_rng(seed)
    X, in_a = rng.normal(size=(n, 2)), rng.permutation(n) < n // 2
    return X, X[:, 0] + gap * in_a + 0.3 * rng.normal(size=n), in_a


def made(seed, n=50, n_features=2, n_tasks=1):
    rng = np.random.default_rng(seed)
    X, in_a = rng.normal(size=(n, n_features)), rng.random(n) < 0.5
    y = X[:, 0] + X[:, 1] + 1.5 * in_a + 0.5 * rng.normal(size=n)
    X[:, 1] += in_a
    return X, y, np.arange(n) % n_tasks, in_a


def least_of_all_directions(X, y, in_a, epsilon, beta):
    """The least ridge objective in the band: every angle, and the best length of it."""
    Z, t = (X - X.mean(axis=0)) / X.std(axis=0), (y - y.mean()) / y.std()
    best, pairs = 0.5 * t @ t, in_a.sum() * (~in_a).sum()
    for angle in np.linspace(0, 2 * np.pi, 2001):
        u = Z @ [np.cos(angle), np.sin(angle)]
        if abs(brute_twice_u(u, in_a) / pairs - 1) <= 2 * epsilon + 1e-12:
            s = max(0.0, u @ t / (u @ u + beta))
            best = min(best, 0.5 * ((t - s * u) ** 2).sum() + 0.5 * beta * s * s)
    return best


def test_two_groups_come_next_to_the_least_of_all_directions():
    ratios = []
    for seed in range(20):
        X, y, in_a = tiny(seed)
        problem = posed(X, y, np.zeros(len(y)), in_a)
        found = solved(problem, Tilt(), epsilon=0.05, beta=0.1)
        twice = brute_twice_u(predictions(problem, found), in_a)
        assert found.value == twice
        assert abs(twice - 49) <= 2 * 0.05 * 49
        ratios.append(found.objective / least_of_all_directions(X, y, in_a, 0.05, 0.1))
    assert np.median(ratios) <= 1.005
    assert max(ratios) <= 1.05


@pytest.mark.parametrize("penalty", PENALTIES)
@pytest.mark.parametrize("n_tasks", [1, 3])
def test_what_must_not_matter(penalty, n_tasks):
    for seed in range(3):
        X, y, tasks, in_a = made(seed, n_tasks=n_tasks)
        rows = np.random.default_rng(seed).permutation(len(y))
        one = solved(posed(X, y, tasks, in_a), Tilt(), penalty, 0.02)
        assert one.status is not Status.INFEASIBLE
        for other in (
            posed(X[rows], y[rows], tasks[rows], in_a[rows]),
            posed(X, y, tasks, ~in_a),
        ):
            two = solved(other, Tilt(), penalty, 0.02)
            # Fits with kinks and several tasks have more places to end at.
            rel = 0.02 if penalty in ("ridge", "task") or n_tasks == 1 else 0.06
            assert two.objective == pytest.approx(one.objective, rel=rel)


@pytest.mark.parametrize("penalty", ["ridge", "task"])
def test_repeated_rows_and_whole_weights(penalty):
    for seed in range(3):
        rows = made(seed)
        weights = np.random.default_rng(seed).integers(1, 4, len(rows[1]))
        weighted = posed(*rows, weights.astype(float))
        repeated = posed(*(array.repeat(weights, axis=0) for array in rows))
        one, two = (solved(it, Tilt(), penalty, 0.02) for it in (weighted, repeated))
        assert two.objective == pytest.approx(one.objective, rel=0.02)


@pytest.mark.parametrize("penalty", PENALTIES)
def test_a_polished_fit_is_inside_and_costs_no_more(penalty, monkeypatch):
    for seed, side in ((0, "both"), (1, "upper"), (2, "both")):
        problem = posed(*made(seed, n_tasks=2))
        found = solved(problem, Tilt(), penalty, 0.02, side=side)
        again = solved(problem, Tilt(), penalty, 0.02, side=side)
        assert found.coef.tobytes() == again.coef.tobytes()
        value = brute_twice_u(predictions(problem, found), problem.user_groups.in_a)
        assert value == found.value
        assert Rank(0.02, side).band(problem.user_groups).miss(value) == 0
        with monkeypatch.context() as patch:
            patch.setattr("rankfair.solvers.polish.MOST", 0)
            plain = solved(problem, Tilt(), penalty, 0.02, side=side)
        assert found.objective <= plain.objective
        assert found.trace == plain.trace


def test_multiplier_and_stationarity_are_those_of_the_polished_fit():
    X, y, in_a = tiny(3)
    problem = posed(X, y, np.zeros(len(y)), in_a)
    found = solved(problem, Tilt(), epsilon=0.05, beta=0.1)
    Z, t = (X - X.mean(axis=0)) / X.std(axis=0), (y - y.mean()) / y.std()
    w = found.coef[0] * X.std(axis=0) / y.std()
    pull = Z.T @ (t - Z @ w) - 0.1 * w
    bend = Z.T @ Rank(0.05).gradient(Z @ w, Groups(in_a))
    multiplier = bend @ pull / (bend @ bend)
    gap = np.linalg.norm(multiplier * bend - pull) / np.linalg.norm(pull)
    assert found.multiplier == pytest.approx(multiplier, rel=1e-3)
    assert found.stationarity == pytest.approx(gap, rel=1e-3)


@pytest.mark.parametrize("weighted", [False, True])
def test_counts_of_many_predictions(weighted):
    rng = np.random.default_rng(0)
    m, in_a = rng.integers(0, 6, (8, 30)).astype(float), rng.random(30) < 0.4
    weights = rng.integers(0, 4, 30) if weighted else None
    found = twice_u_of_each(m, Groups(in_a, weights))
    wanted = [brute_twice_u(each, in_a, weights) for each in m]
    assert found.tolist() == pytest.approx(wanted)


def test_a_stirred_direction_looks_at_no_place():
    rng = np.random.default_rng(0)
    m, groups = rng.normal(size=20), Groups(rng.random(20) < 0.5)
    direction, rows = Rank().field(m, groups), rng.permutation(20)
    g = stirred(direction, 1)(m, groups)
    moved = stirred(direction, 1)(m[rows], groups.take(rows))
    np.testing.assert_allclose(moved, g[rows])
    assert not np.allclose(g, stirred(direction, 2)(m, groups))


def test_what_is_small():
    def small(n, **settings):
        return is_small(Fitter.of(posed(*made(0, n, **settings)), Ridge()))

    assert small(300) and small(100, n_features=9, n_tasks=3)
    assert not small(5000) and not small(100, n_features=9, n_tasks=4)
    weights = np.full(50, 1000.0)
    assert not is_small(Fitter.of(posed(*made(0), weights), Ridge()))
    assert is_small(Fitter.of(posed(*made(0), weights + 0.5), Ridge()))


@pytest.mark.parametrize("penalty", ["ridge", "task"])
def test_what_pulls_at_a_fit_is_what_tilted_it(penalty):
    problem = posed(*made(0, n_tasks=2))
    fitter = Fitter.of(problem, make_penalty(penalty, 0.5))
    B0, force = problem.target_moments, np.random.default_rng(0).normal(size=(2, 3))
    W = fitter.solve(B0 - force)
    np.testing.assert_allclose(slope_of(fitter, W, B0), force, atol=1e-4)


def test_features_that_carry_nothing_leave_nothing_to_search():
    rng = np.random.default_rng(0)
    X, in_a = np.ones((12, 1)), np.arange(12) < 6
    problem = posed(X, rng.normal(size=12), np.zeros(12), in_a)
    assert solved(problem, Tilt()).status is Status.INACTIVE
