"""Bands in every task."""

from collections import Counter

import numpy as np
import pytest

from bands import SETTINGS, all_in_band, in_bands, no_worse_than_one_value, uneven
from problems import PENALTIES, biased, order_of, posed
from rankfair.balances import Mean, Rank, Residual, Within
from rankfair.penalties import Ridge, make_penalty
from rankfair.solvers import (
    Status,
    TaskStatus,
    Tilt,
    solve_both,
    solve_linear,
    solve_tasks,
    tilt,
    unconstrained,
)
from rankfair.solvers.scope import ROUNDS_EACH
from rankfair.solvers.separate import ROUNDS, search
from rankfair.solvers.whole import Whole


@pytest.mark.parametrize("penalty", PENALTIES)
@pytest.mark.parametrize("side", ["both", "upper"])
@pytest.mark.parametrize("epsilon", [0.0, 0.05])
def test_every_task_is_in_its_band(epsilon, side, penalty):
    problem, balance = uneven(), Rank(epsilon, side)
    solution = solve_tasks(problem, make_penalty(penalty), balance, SETTINGS)
    all_in_band(problem, solution, balance)


@pytest.mark.parametrize("penalty", ["ridge", "task"])
@pytest.mark.parametrize(("rows", "epsilon"), [(40, 0.01), (200, 0.0)])
def test_each_task_is_as_good_as_one_alone(rows, epsilon, penalty, monkeypatch):
    # Alone, a small task would also be searched through; tasks together are not.
    monkeypatch.setattr(tilt, "is_small", lambda *_: False)
    problem, balance = biased(12, rows, seed=1), Rank(epsilon)
    penalty = make_penalty(penalty)
    together = solve_tasks(problem, penalty, balance, SETTINGS)
    alone = 0.0
    for place in range(problem.n_tasks):
        part, _ = problem.of_tasks(np.array([place]), order_of(problem))
        one = Tilt().solve(part, penalty, balance)
        assert one.status is Status.SATISFIED
        alone += one.objective
    assert together.objective <= 1.02 * alone


def test_tasks_share_nothing_under_ridge():
    """Other rows in one task leave the fits of the others alone, to rounding."""
    problem = uneven(seed=2)
    mine = np.flatnonzero(problem.codes != 0)
    codes = problem.codes[mine].astype(int) - 1
    y = np.empty(len(problem.y))
    y[order_of(problem)] = problem.y
    few = posed(
        problem.X[mine],
        y[mine],
        codes,
        problem.user_groups.in_a[mine],
        standardize=False,
    )
    whole = posed(
        problem.X, y, problem.codes, problem.user_groups.in_a, standardize=False
    )
    one = solve_tasks(whole, Ridge(), Rank(0.02), SETTINGS)
    rest = solve_tasks(few, Ridge(), Rank(0.02), SETTINGS)
    close = np.isclose(one.coef[1:], rest.coef, atol=1e-6).all(axis=1)
    assert close.mean() > 0.9


@pytest.mark.parametrize("solve", [solve_tasks, solve_both])
def test_whole_weights_are_repeated_rows(solve):
    rng = np.random.default_rng(0)
    problem = uneven(8, seed=3)
    w = rng.integers(1, 4, len(problem.X))
    y = np.empty(len(problem.y))
    y[order_of(problem)] = problem.y
    in_a = problem.user_groups.in_a
    weighted = posed(problem.X, y, problem.codes, in_a, weights=w.astype(float))
    again = np.repeat(np.arange(len(w)), w)
    repeated = posed(problem.X[again], y[again], problem.codes[again], in_a[again])
    one = solve(weighted, Ridge(), Rank(0.05), SETTINGS)
    two = solve(repeated, Ridge(), Rank(0.05), SETTINGS)
    all_in_band(weighted, one, Rank(0.05))
    assert one.objective == pytest.approx(two.objective, rel=0.02)
    np.testing.assert_array_equal(one.task_totals, two.task_totals)


def test_fractional_weights():
    rng = np.random.default_rng(1)
    problem = uneven(seed=4)
    y, in_a = rng.normal(size=len(problem.X)), problem.user_groups.in_a
    weights = rng.random(len(y)) + 0.1
    own = posed(problem.X, y + in_a, problem.codes, in_a, weights=weights)
    for side in ("both", "upper"):
        balance = Rank(0.02, side)
        solution = solve_tasks(own, make_penalty("task"), balance, SETTINGS)
        all_in_band(own, solution, balance)


def test_the_order_of_rows_and_the_names_of_groups_do_not_matter():
    problem, balance = uneven(seed=5), Rank(0.02)
    y = np.empty(len(problem.y))
    y[order_of(problem)] = problem.y
    one = solve_tasks(problem, make_penalty("task"), balance, SETTINGS)
    shuffled = np.random.default_rng(0).permutation(len(y))
    in_a = problem.user_groups.in_a
    other = posed(
        problem.X[shuffled], y[shuffled], problem.codes[shuffled], in_a[shuffled]
    )
    two = solve_tasks(other, make_penalty("task"), balance, SETTINGS)
    assert one.objective == pytest.approx(
        two.objective * problem.beta_unit**2, rel=0.01
    )
    swapped = posed(problem.X, y, problem.codes, ~in_a)
    three = solve_tasks(swapped, make_penalty("task"), balance, SETTINGS)
    assert three.objective == pytest.approx(two.objective, rel=0.03)
    both = ~np.isnan(one.task_values)
    off = one.task_values[both] + three.task_values[both] - 1
    assert np.abs(off).max() < 0.1


@pytest.mark.parametrize("levels", [1, 2])
def test_ties_are_landed_on_or_end_in_a_constant(levels):
    problem, balance = uneven(30, 12, seed=6, levels=levels), Rank(0.0)
    solution = solve_tasks(problem, Ridge(), balance, SETTINGS)
    all_in_band(problem, solution, balance)
    flat = [s is TaskStatus.CONSTANT for s in solution.task_status]
    assert not solution.coef[flat].any()
    assert sum(flat) < len(flat) / 2


def test_rows_of_one_group_that_cannot_be_parted_end_in_a_constant():
    """Equal rows of A stand together above or below, or tie with all of B."""
    X = [[0.0], [0.0], [1.0]]
    problem = posed(X, [2.0, 2.5, 1.0], [0, 0, 0], np.array([True, True, False]))
    solution = solve_tasks(problem, Ridge(), Rank(0.0), SETTINGS)
    assert solution.task_status == (TaskStatus.CONSTANT,)
    assert solution.auc == solution.task_values[0] == 0.5


def test_one_row_of_each_group_is_in_the_band_of_one_pair():
    problem = posed([[0.0], [1.0]], [0.0, 1.0], [0, 0], np.array([True, False]))
    solution = solve_tasks(problem, Ridge(0.1), Rank(0.0), SETTINGS)
    assert solution.status is Status.INACTIVE
    assert solution.task_values.tolist() == [0.0]


def test_nothing_to_do_is_the_unconstrained_fit():
    problem = uneven(seed=7)
    for penalty in PENALTIES:
        for solve in (solve_tasks, solve_both):
            found = solve(problem, make_penalty(penalty), Rank(0.5), SETTINGS)
            free = unconstrained(problem, make_penalty(penalty))
            assert found.status is Status.INACTIVE
            np.testing.assert_allclose(found.coef, free.coef, atol=1e-6)
            assert set(found.task_status) <= {
                TaskStatus.INACTIVE,
                TaskStatus.ONE_GROUP_ONLY,
            }


def test_a_wider_band_costs_no_more():
    problem = biased(20, 40, seed=2)
    for solve in (solve_tasks, solve_both):
        costs = [
            solve(problem, Ridge(), Rank(epsilon), SETTINGS).objective
            for epsilon in (0.0, 0.05, 0.15, 0.5)
        ]
        assert costs == sorted(costs, reverse=True)


@pytest.mark.parametrize("penalty", PENALTIES)
@pytest.mark.parametrize("kind", [Mean, Residual])
@pytest.mark.parametrize("epsilon", [0.0, 0.1])
def test_linear_balances_agree_with_pins(epsilon, kind, penalty):
    """As many multipliers as tasks, solved together by another method."""
    problem = uneven(8, seed=8)
    codes = np.repeat(np.arange(problem.n_tasks), problem.blocks.sizes)
    demands = []
    for place in range(problem.n_tasks):
        own = problem.groups.take(np.flatnonzero(codes == place))
        if own.total_a > 0 and own.total_b > 0:
            demands.append(Within(epsilon, whole=kind(epsilon), rows=codes == place))
    penalty = make_penalty(penalty, 0.3)
    wanted = solve_linear(problem, penalty, tuple(demands))
    found = solve_tasks(problem, penalty, kind(epsilon), SETTINGS)
    assert found.status is Status.SATISFIED
    assert np.nanmax(np.abs(found.task_values)) <= epsilon + 1e-6
    assert found.objective == pytest.approx(wanted.objective, rel=1e-3)
    both = solve_both(problem, penalty, kind(epsilon), SETTINGS)
    pins = solve_linear(problem, penalty, (*demands, kind(epsilon)))
    assert abs(both.auc) <= epsilon + 1e-6
    assert both.objective == pytest.approx(pins.objective, rel=0.01)


def test_a_residual_that_nothing_can_close_is_infeasible():
    """No column varies within the first task: its residuals are what they are."""
    problem = uneven(5, seed=9)
    X, in_a = problem.X.copy(), problem.user_groups.in_a
    y = np.random.default_rng(0).normal(size=len(X)) + in_a
    first = int(np.bincount(problem.codes).argmax())
    X[problem.codes == first] = 1.0
    own = posed(X, y, problem.codes, in_a)
    for solve in (solve_tasks, solve_both):
        solution = solve(own, make_penalty("task"), Residual(0.0), SETTINGS)
        assert solution.status is Status.INFEASIBLE
        assert solution.task_status[first] is TaskStatus.INFEASIBLE
        names = Counter(status.name for status in solution.task_status)
        assert names["INFEASIBLE"] == 1
        assert not solution.coef[first].any()


def test_tasks_that_cannot_land_leave_what_is_shared_alone():
    """Rows of few values: ranks jump across the band however far a task goes."""
    rng = np.random.default_rng(0)
    for _ in range(6):
        X = rng.integers(0, 2, (24, 1)).astype(float)
        in_a = (X[:, 0] > 0) ^ (rng.random(24) < 0.1)
        y = 2.0 * in_a + X[:, 0] + 0.1 * rng.normal(size=24)
        problem = posed(X, y, np.arange(24) % 3, in_a)
        found = solve_tasks(problem, make_penalty("shared"), Rank(0.0), SETTINGS)
        no_worse_than_one_value(problem, found)


def test_steps_are_told_and_counted():
    seen = []
    problem = biased(10, 30)
    solution = solve_tasks(problem, Ridge(), Rank(0.0), SETTINGS, seen.append)
    assert len(seen) == solution.n_iter == len(solution.trace) <= ROUNDS
    assert [step.iteration for step in seen] == list(range(1, len(seen) + 1))
    short = solve_tasks(problem, Ridge(), Rank(0.0), Tilt(max_iter=1))
    assert short.n_iter == 1 and short.status is Status.MAX_ITER
    assert all(in_bands(problem, short, Rank(0.0)).values())


@pytest.mark.parametrize("wanted", [ROUNDS, ROUNDS_EACH])
def test_only_rounds_that_were_wanted_are_missed(wanted):
    """A search for few rounds is not cut short by as few."""
    whole = Whole.of(uneven(), Ridge(), Rank(0.0))
    part = whole.part(whole.fitter.solve(whole.target), np.zeros_like(whole.target))
    for rounds in (1, wanted - 1, wanted, 50):
        seen = []
        found = search(part, Tilt(max_iter=rounds), seen.append, rounds=wanted)
        assert len(seen) == min(rounds, wanted)
        assert found.settled == (rounds >= wanted)


def test_words():
    assert str(TaskStatus.ONE_GROUP_ONLY) == "one group only"
    assert str(TaskStatus.SATISFIED) == "satisfied"
