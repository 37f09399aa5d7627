"""Problems with a band in every task, and whether they are kept."""

import numpy as np
import pytest

from oracles import brute_twice_u
from problems import posed, predictions, rmse, target
from rankfair.balances import Rank
from rankfair.solvers import Status, TaskStatus, Tilt

SETTINGS = Tilt()


def uneven(k=12, most=30, seed=0, levels=None):
    """Tasks of uneven size and make-up, so that tasks have to move for all rows."""
    rng = np.random.default_rng(seed)
    tasks = np.repeat(np.arange(k), rng.integers(1, most, k))
    n = len(tasks)
    in_a = rng.random(n) < rng.uniform(0.1, 0.9, k)[tasks]
    X = rng.normal(size=(n, 3)) + np.outer(in_a, [0.8, 0, 0.3])
    X = X if levels is None else np.round(X * levels) / levels
    y = X @ [1.0, 0.5, -0.2] + 0.6 * in_a + rng.normal(size=k)[tasks]
    return posed(X, y + 0.5 * rng.normal(size=n), tasks, in_a)


def in_bands(problem, solution, balance):
    """Which tasks of both groups pair-by-pair counts put in the band of their rows."""
    m, groups = predictions(problem, solution), problem.user_groups
    found = {}
    for j in range(problem.n_tasks):
        rows = np.flatnonzero(problem.codes == j)
        own = groups.take(rows)
        if not (own.total_a > 0 and own.total_b > 0):
            assert solution.task_status[j] is TaskStatus.ONE_GROUP_ONLY
            assert np.isnan(solution.task_values[j])
            continue
        count = brute_twice_u(m[rows], own.in_a, own.weights)
        assert solution.task_aucs[j] == pytest.approx(Rank().show(count, own))
        value = balance.value(m[rows], own, problem.y_unit)
        found[j] = abs(balance.band(own).miss(value)) <= 1e-8
    return found


def all_in_band(problem, solution, balance):
    assert solution.status is Status.SATISFIED
    assert all(in_bands(problem, solution, balance).values())
    names = {status.name for status in solution.task_status}
    assert "INFEASIBLE" not in names


def alike(k, n, seed, shares=None, levels=None):
    """Tasks so alike that moving them against each other hardly changes any ranks."""
    rng = np.random.default_rng(seed)
    X, tasks = rng.normal(size=(n, 3)), np.arange(n) % k
    X = X if levels is None else np.round(X * levels) / levels
    in_a = rng.integers(0, 2, n) == 1
    in_a = in_a if shares is None else rng.random(n) < shares[tasks]
    y = X[:, 0] + 0.8 * in_a + 0.5 * X[:, 1] * in_a + 0.3 * rng.normal(size=n)
    return posed(X, y, tasks, in_a)


def no_worse_than_one_value(problem, solution):
    """One value for all rows is in every band of ranks: nothing may cost more."""
    assert solution.status in {Status.SATISFIED, Status.INACTIVE, Status.MAX_ITER}
    level = 0.5 * (problem.y**2).sum() * problem.beta_unit**2
    assert solution.objective <= level * (1 + 1e-6)
    spread = target(problem).std()
    assert rmse(problem, predictions(problem, solution)) <= 1.05 * spread
    if solution.shared_coef is not None:
        assert np.abs(solution.shared_coef).max() < 10
