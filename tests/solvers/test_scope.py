from collections import Counter

import numpy as np
import pytest

from oracles import brute_twice_u
from problems import PENALTIES, biased, order_of, posed, predictions, rmse, target
from rankfair.balances import Mean, Rank, Residual, Within
from rankfair.penalties import Ridge, make_penalty
from rankfair.solvers import (
    Status,
    TaskStatus,
    Tilt,
    few,
    solve_both,
    solve_linear,
    solve_tasks,
    tilt,
    unconstrained,
)
from rankfair.solvers.landing import Landing
from rankfair.solvers.scope import ROUNDS_EACH
from rankfair.solvers.separate import ROUNDS, search
from rankfair.solvers.shifts import FEW_TASKS, MOST_ROWS
from rankfair.solvers.whole import Whole

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


def test_nothing_given_is_changed():
    problem = uneven(seed=11)
    before = [a.copy() for a in (problem.X, problem.y, problem.blocks.Z)]
    solve_both(problem, make_penalty("shared"), Rank(0.0), SETTINGS)
    for old, new in zip(before, (problem.X, problem.y, problem.blocks.Z), strict=True):
        np.testing.assert_array_equal(old, new)


def test_words():
    assert str(TaskStatus.ONE_GROUP_ONLY) == "one group only"
    assert str(TaskStatus.SATISFIED) == "satisfied"


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
