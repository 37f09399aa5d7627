"""Bands in tasks of few rows: fits inside them are searched through."""

import numpy as np
import pytest

from bands import SETTINGS, all_in_band
from oracles import brute_twice_u
from problems import PENALTIES, posed, predictions
from rankfair.balances import Rank
from rankfair.penalties import Ridge, make_penalty
from rankfair.solvers import TaskStatus, Tilt, few, solve_tasks


def few_rows(k, n, seed):
    """So few rows and coefficients that fits inside the bands are searched through."""
    rng = np.random.default_rng(seed)
    tasks, in_a = np.arange(n) % k, rng.random(n) < 0.4
    X = rng.normal(size=(n, 2)) + np.outer(in_a, [1.0, 0.0])
    y = X @ rng.normal(size=2) + in_a + rng.normal(size=n)
    return posed(X, y, tasks, in_a)


@pytest.mark.parametrize("penalty", PENALTIES)
def test_one_task_is_as_good_as_all_rows(penalty):
    ratios = []
    for seed in range(6):
        problem, fit = few_rows(1, 30, seed), make_penalty(penalty)
        every = Tilt().solve(problem, fit, Rank(0.02))
        ratios.append(
            solve_tasks(problem, fit, Rank(0.02), SETTINGS).objective / every.objective
        )
    assert max(ratios) <= 1.01


@pytest.mark.parametrize("penalty", PENALTIES)
def test_few_rows_are_searched_for_less_error(penalty, monkeypatch):
    ratios = []
    for seed in range(4):
        problem, fit = few_rows(4, 60, seed), make_penalty(penalty)
        searched = solve_tasks(problem, fit, Rank(0.02), SETTINGS)
        all_in_band(problem, searched, Rank(0.02))
        with monkeypatch.context() as patch:
            patch.setattr(few, "is_small", lambda *_: False)
            plain = solve_tasks(problem, fit, Rank(0.02), SETTINGS)
        ratios.append(searched.objective / plain.objective)
        # Tasks that share nothing, and are free of their bands, stay as they are.
        apart = penalty in ("ridge", "task")
        free = [state is TaskStatus.INACTIVE for state in plain.task_status]
        assert not apart or np.array_equal(searched.coef[free], plain.coef[free])
        if apart:
            assert [it is TaskStatus.INACTIVE for it in searched.task_status] == free
    assert max(ratios) <= 1 and np.mean(ratios) < 0.995


def best_by_turning(X, y, in_a, band, beta):
    """The least ridge objective of one task with two features, over all directions.

    Ranks depend on the direction of w alone; its length and the intercept are then one
    least squares fit.
    """
    X, y = X - X.mean(axis=0), y - y.mean()
    least = 0.5 * y @ y
    for angle in np.linspace(0, 2 * np.pi, 3000, endpoint=False):
        w = np.array([np.cos(angle), np.sin(angle)])
        m = X @ w
        if band.miss(brute_twice_u(m, in_a)) == 0:
            length = max(m @ y, 0) / (m @ m + beta)
            loss = 0.5 * ((length * m - y) ** 2).sum() + 0.5 * beta * length**2
            least = min(least, loss)
    return least


def test_tiny_tasks_against_all_directions():
    rng = np.random.default_rng(5)
    k, size, beta = 12, 6, 0.5
    tasks, in_a = np.repeat(np.arange(k), size), np.tile(np.arange(size) % 2 == 0, k)
    X = rng.normal(size=(k * size, 2)) + np.outer(in_a, [1.0, 0.3])
    y = X @ [1.0, 0.5] + in_a + 0.3 * rng.normal(size=k * size)
    problem = posed(X, y, tasks, in_a, standardize=False)
    solution = solve_tasks(problem, Ridge(beta), Rank(0.0), SETTINGS)
    all_in_band(problem, solution, Rank(0.0))
    m, least, ours = predictions(problem, solution), [], []
    for j in range(k):
        rows = tasks == j
        band = Rank(0.0).band(problem.user_groups.take(np.flatnonzero(rows)))
        least.append(best_by_turning(X[rows], y[rows], in_a[rows], band, beta))
        loss = 0.5 * ((m[rows] - y[rows]) ** 2).sum()
        ours.append(loss + 0.5 * beta * (solution.coef[j] ** 2).sum())
    assert (np.array(ours) >= np.array(least) * (1 - 1e-3)).all()
    assert np.median(np.array(ours) / least) <= 1.2
    assert sum(ours) == pytest.approx(solution.objective)
