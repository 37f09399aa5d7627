"""Bands in every task and one over all rows, kept together."""

import numpy as np
import pytest

from bands import (
    SETTINGS,
    alike,
    all_in_band,
    in_bands,
    no_worse_than_one_value,
    uneven,
)
from oracles import brute_twice_u
from problems import PENALTIES, biased, posed, predictions
from rankfair.balances import Rank
from rankfair.penalties import Ridge, make_penalty
from rankfair.solvers import (
    Status,
    TaskStatus,
    Tilt,
    solve_both,
    solve_tasks,
    unconstrained,
)
from rankfair.solvers.landing import Landing
from rankfair.solvers.shifts import FEW_TASKS, MOST_ROWS


@pytest.mark.parametrize("penalty", PENALTIES)
@pytest.mark.parametrize("epsilon", [0.0, 0.03])
def test_both_kinds_of_band_are_kept_at_once(epsilon, penalty):
    problem, balance = uneven(20, seed=10), Rank(epsilon)
    solution = solve_both(problem, make_penalty(penalty), balance, SETTINGS)
    all_in_band(problem, solution, balance)
    m, groups = predictions(problem, solution), problem.user_groups
    assert solution.value == brute_twice_u(m, groups.in_a)
    assert balance.band(groups).miss(solution.value) == 0
    task = solve_tasks(problem, make_penalty(penalty), balance, SETTINGS)
    assert balance.band(groups).miss(task.value) != 0
    assert solution.objective >= task.objective * 0.98


def test_tasks_alike_are_narrowed_for_all_rows():
    """One task: its band is the band over all rows."""
    problem = biased(1, 200)
    one = solve_both(problem, Ridge(), Rank(0.02), SETTINGS)
    two = solve_tasks(problem, Ridge(), Rank(0.02), SETTINGS)
    assert one.status is Status.SATISFIED
    assert one.objective == pytest.approx(two.objective)


@pytest.mark.parametrize("penalty", PENALTIES)
@pytest.mark.parametrize("k", [1, 2, 3, 5])
@pytest.mark.parametrize("solve", [solve_tasks, solve_both])
def test_no_fit_is_worse_than_one_value_for_all_rows(solve, k, penalty):
    penalty = make_penalty(penalty)
    unequal = np.linspace(0.25, 0.75, k)
    for seed, (shares, levels) in enumerate(
        [(None, None), (unequal, None), (None, 1), (unequal, 1)]
    ):
        problem = alike(k, 40 + 30 * seed, 10 * k + seed, shares, levels)
        for epsilon in (0.0, 0.02):
            found = solve(problem, penalty, Rank(epsilon), SETTINGS)
            no_worse_than_one_value(problem, found)
            assert all(in_bands(problem, found, Rank(epsilon)).values())
            if found.status is Status.INACTIVE:
                free = unconstrained(problem, penalty)
                np.testing.assert_allclose(found.coef, free.coef, atol=1e-5)


@pytest.mark.parametrize("penalty", PENALTIES)
@pytest.mark.parametrize("seed", [1, 3])
def test_tasks_of_equal_shares_are_not_moved_without_end(seed, penalty):
    problem, balance = alike(2, 400, seed), Rank(0.0)
    both = solve_both(problem, make_penalty(penalty), balance, SETTINGS)
    task = solve_tasks(problem, make_penalty(penalty), balance, SETTINGS)
    all_in_band(problem, both, balance)
    assert balance.band(problem.user_groups).miss(both.value) == 0
    assert both.objective <= 1.25 * task.objective


@pytest.mark.parametrize("seed", [0, 1, 3])
def test_one_task_shares_with_itself(seed):
    """``w⁰ = w¹`` costs nothing: the fit is that of all rows without a penalty."""
    problem = alike(1, 300, seed)
    free = Tilt().solve(problem, Ridge(1e-9), Rank(0.0))
    for solve in (solve_tasks, solve_both):
        found = solve(problem, make_penalty("shared"), Rank(0.0), SETTINGS)
        assert found.objective <= 1.05 * free.objective
        no_worse_than_one_value(problem, found)


def test_tasks_of_one_group_each_move_for_all_rows():
    rng = np.random.default_rng(0)
    tasks, X = np.repeat(np.arange(10), 8), rng.normal(size=(80, 2))
    in_a = tasks % 2 == 0
    problem = posed(X, X[:, 0] + in_a, tasks, in_a)
    alone = solve_tasks(problem, Ridge(), Rank(0.0), SETTINGS)
    assert alone.status is Status.INACTIVE
    assert set(alone.task_status) == {TaskStatus.ONE_GROUP_ONLY}
    both = solve_both(problem, Ridge(), Rank(0.0), SETTINGS)
    assert both.status is Status.SATISFIED
    assert both.auc == 0.5


def test_nothing_given_is_changed():
    problem = uneven(seed=11)
    before = [a.copy() for a in (problem.X, problem.y, problem.blocks.Z)]
    solve_both(problem, make_penalty("shared"), Rank(0.0), SETTINGS)
    for old, new in zip(before, (problem.X, problem.y, problem.blocks.Z), strict=True):
        np.testing.assert_array_equal(old, new)


def rounded(seed, k=None):
    """Few rows of few values, so that most fits tie somewhere."""
    rng = np.random.default_rng(seed)
    k = int(rng.integers(2, 5)) if k is None else k
    n = int(rng.integers(8 * k, 20 * k))
    tasks = np.concatenate((np.arange(k), rng.integers(0, k, n - k)))
    in_a = rng.random(n) < rng.uniform(0.2, 0.8, k)[tasks]
    in_a[:2] = True, False
    levels = int(rng.integers(1, 4))
    X = np.round((rng.normal(size=(n, 2)) + 0.7 * in_a[:, None]) * levels) / levels
    y = X.sum(axis=1) + 0.6 * in_a + rng.normal(size=k)[tasks]
    problem = posed(X, y + 0.5 * rng.normal(size=n), tasks, in_a)
    return problem, make_penalty(PENALTIES[seed % 4])


def shifted(problem, task, balance, moves):
    """The least objective of a fit whose tasks are moved to meet the band of all."""
    m, n = predictions(problem, task), np.bincount(problem.codes)
    band, groups = balance.band(problem.user_groups), problem.user_groups
    least = np.inf
    for e in moves - (moves * n).sum(axis=1)[:, None] / n.sum():
        cost = 0.5 * (n * e * e).sum() / problem.y_unit**2 * problem.beta_unit**2
        moved = m + e[problem.codes]
        if task.objective + cost < least and not band.miss(
            balance.value(moved, groups)
        ):
            least = task.objective + cost
    return least


def steps_of_two(problem, task):
    """All distances at which rows of two tasks meet, and a little more or less."""
    m = predictions(problem, task)
    meet = m[problem.codes == 1][:, None] - m[problem.codes == 0]
    apart = np.unique(meet.round(9))[:, None] + [-1e-6, 1e-6]
    return np.column_stack((apart.ravel(), np.zeros(apart.size)))


@pytest.mark.parametrize("epsilon", [0.0, 0.02])
def test_both_is_no_worse_than_one_value_nor_than_tasks_that_are_shifted(epsilon):
    """On few rows of few values, where one value for all hides better fits."""
    balance, flat, better = Rank(epsilon), 0, 0
    rng = np.random.default_rng(0)
    for seed in range(24):
        problem, penalty = rounded(seed, 2 if seed % 2 else None)
        both = solve_both(problem, penalty, balance, SETTINGS)
        task = solve_tasks(problem, penalty, balance, SETTINGS)
        no_worse_than_one_value(problem, both)
        assert all(in_bands(problem, both, balance).values())
        assert balance.band(problem.user_groups).miss(both.value) == 0
        if problem.n_tasks == 2:
            least = shifted(problem, task, balance, steps_of_two(problem, task))
            assert both.objective <= least * (1 + 1e-3)
        else:
            sizes = problem.y_unit * rng.choice([0.1, 0.5, 1.0], (300, 1))
            moves = sizes * rng.normal(size=(300, problem.n_tasks))
            least = shifted(problem, task, balance, moves)
            assert both.objective <= least * (1 + 1e-2)
        level = not both.coef.any() and np.ptp(both.intercept) == 0
        flat, better = flat + level, better + (least < np.inf and not level)
    assert better > flat


def test_both_moves_tasks_one_by_one_on_more_rows_too(monkeypatch):
    """Where no landing along one direction is taken, that is the way left."""
    problem, balance = uneven(14, 40, seed=3), Rank(0.0)
    assert len(problem.y) <= MOST_ROWS and problem.n_tasks > FEW_TASKS
    monkeypatch.setattr(
        "rankfair.solvers.both.land_tasks", lambda *_: Landing(0.0, np.nan, np.nan)
    )
    found = solve_both(problem, Ridge(), balance, SETTINGS)
    no_worse_than_one_value(problem, found)
    assert found.coef.any()
    assert all(in_bands(problem, found, balance).values())
    assert balance.band(problem.user_groups).miss(found.value) == 0
