"""Bands in every task, alone or together with the band over all rows."""

from collections import Counter
from functools import partial

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from oracles import brute_twice_u
from problems import posed
from rankfair.constraints import Distribution, Mean, Rank, Residual
from rankfair.core.blocks import linear_predict
from rankfair.core.by_task import Segments
from rankfair.penalties import Feature, Pool, Ridge, Shared, Task
from rankfair.solvers.base import Fitter, Status
from rankfair.solvers.by_task import TaskStatus, solve_tasks

solve_both = partial(solve_tasks, overall=True)

PENALTIES = [
    Ridge(1.0),
    Pool(10.0, 1.0, 1.0),
    Pool(1e5, 10.0, 1.0),
    Task(1.0),
    Feature(1.0),
    Shared(1.0),
]
NAMES = ["ridge", "pool", "pooled hard", "task", "feature", "shared"]
every_penalty = pytest.mark.parametrize("penalty", PENALTIES, ids=NAMES)
either = pytest.mark.parametrize("solve", [solve_tasks, solve_both])


def rows_of(k=12, most=30, seed=0, levels=None, n=3):
    """Tasks of uneven size and make-up: X, y, codes and groups."""
    rng = np.random.default_rng(seed)
    codes = np.repeat(np.arange(k), rng.integers(1, most, k))
    codes = rng.permutation(codes)
    in_a = rng.random(len(codes)) < rng.uniform(0.2, 0.8, k)[codes]
    X = rng.normal(size=(len(codes), n)) + np.outer(in_a, np.linspace(0.8, 0.0, n))
    X = X if levels is None else np.round(X * levels) / levels
    y = X @ np.linspace(1.0, -0.2, n) + 0.6 * in_a + rng.normal(size=k)[codes]
    return X, y + 0.5 * rng.normal(size=len(codes)), codes, in_a


def uneven(*args, **kwargs):
    return posed(*rows_of(*args, **kwargs))


def predicted(problem, solution):
    """What the user's own rows are predicted, in standard deviations of the target."""
    linear = solution.coef, solution.intercept, solution.resolution
    return linear_predict(problem.X, problem.codes, *linear) / problem.y_unit


def target(problem):
    """The target of the user's rows, in the same units as `predicted`."""
    y = np.empty(len(problem.y))
    y[problem.order] = problem.y + problem.y_centre
    return y


def misses(problem, solution, constraint):
    """How far each task is outside its band, and all rows are: the last.

    Counted from their own rows.
    """
    m, y, groups = predicted(problem, solution), target(problem), problem.user_groups
    found = []
    for j in range(problem.n_tasks + 1):
        rows = np.arange(len(y))
        if j < problem.n_tasks:
            rows = np.flatnonzero(problem.codes == j)
        own = groups.take(rows)
        if not own.both:
            assert solution.task_status[j] is TaskStatus.ONE_GROUP_ONLY
            assert np.isnan(solution.task_values[j])
            found.append(0.0)
            continue
        if j < problem.n_tasks:
            count = brute_twice_u(m[rows], own.in_a, own.weights)
            assert solution.task_aucs[j] == pytest.approx(Rank().show(count, own))
        posed_there = constraint.on(y[rows], own)
        miss = abs(posed_there.band(own).miss(posed_there.value(m[rows], own)))
        # Sums of real numbers are what they are but for rounding.
        exact = isinstance(constraint, Rank) and isinstance(own.pair, int)
        scale = own.total_a * own.total_b if isinstance(constraint, Rank) else 2e3
        found.append(miss if exact else max(miss - 1e-9 * scale, 0.0))
    return found


def errors(problem, m):
    """The squared error of each task, and that of its mean."""
    y, s = target(problem), problem.user_groups.weights
    s = np.ones(len(y)) if s is None else s
    sums = [np.bincount(problem.codes, s * v, problem.n_tasks) for v in (1.0, y)]
    mean = sums[1] / np.maximum(sums[0], 1e-300)
    return (
        np.bincount(problem.codes, s * (m - y) ** 2, problem.n_tasks),
        np.bincount(problem.codes, s * (mean[problem.codes] - y) ** 2, problem.n_tasks),
    )


def tilted_tasks_err_no_more_than_constants(problem, solution):
    error, constant = errors(problem, predicted(problem, solution))
    on = solution.task_multipliers != 0
    assert (error[on] <= constant[on] * (1 + 1e-8) + 1e-7).all()
    flat = [each is TaskStatus.CONSTANT for each in solution.task_status]
    assert not solution.coef[flat].any()
    np.testing.assert_allclose(error[flat], constant[flat], rtol=1e-6, atol=1e-9)


@st.composite
def problems(draw):
    """Few rows in few tasks, with ties, weights, and one task much larger."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    k, most = draw(st.sampled_from([1, 2, 5, 12])), draw(st.sampled_from([3, 8, 25]))
    codes = np.repeat(np.arange(k), rng.integers(1, most, k))
    codes = np.append(codes, np.zeros(draw(st.sampled_from([0, 60])), int))
    in_a = rng.random(len(codes)) < rng.uniform(0.1, 0.9, k)[codes]
    assume(in_a.any() and not in_a.all())
    X = rng.normal(size=(len(codes), draw(st.integers(1, 3)))) + 0.7 * in_a[:, None]
    X = draw(st.sampled_from([np.array, np.round, lambda X: (X > 0.3).astype(float)]))(
        X
    )
    y = X.sum(axis=1) + 0.6 * in_a + rng.normal(size=k)[codes]
    y = y + draw(st.sampled_from([0.0, 0.5])) * rng.normal(size=len(y))
    weights = draw(st.sampled_from([None, "whole", "real"]))
    if weights is not None:
        real = weights == "real"
        weights = rng.random(len(y)) + 0.1 if real else rng.integers(1, 4, len(y)) * 1.0
    return posed(X, y, codes, in_a, weights)


constraints = st.builds(
    lambda kind, epsilon, side: kind(epsilon, side),
    st.sampled_from([Rank, Rank, Mean]),
    st.sampled_from([0.0, 0.02, 0.2]),
    st.sampled_from(["both", "upper"]),
)


@either
@settings(max_examples=40)
@given(problem=problems(), penalty=st.sampled_from(PENALTIES), constraint=constraints)
def test_bands_hold_whatever_the_rows(solve, problem, penalty, constraint):
    solution = solve(problem, penalty, constraint)
    *of_tasks, of_all = misses(problem, solution, constraint)
    assert not any(of_tasks)
    assert TaskStatus.INFEASIBLE not in solution.task_status
    missed = solve is solve_both and of_all > 0
    assert (solution.status is Status.INFEASIBLE) == missed
    if solve is solve_tasks:
        tilted_tasks_err_no_more_than_constants(problem, solution)
    elif not solution.task_status.count(TaskStatus.CONSTANT) and penalty == Ridge(1.0):
        error, _ = errors(problem, predicted(problem, solution))
        assert error.sum() <= problem.y_squares * (1 + 1e-6)


def direction(problem):
    """``±n_j/n_group`` in tasks of both groups, 0 in others; and the segments."""
    s = Segments(problem.blocks.sizes, problem.groups)
    of_a, of_b = (s.sizes / np.maximum(each, 1) for each in (s.total_a, s.total_b))
    h = np.where(problem.groups.in_a, s.each_row(of_a), -s.each_row(of_b))
    return h * s.each_row(s.both), s


@pytest.mark.parametrize("penalty", PENALTIES[:3], ids=NAMES[:3])
def test_each_task_has_its_own_place_on_the_line_of_all(penalty):
    """``W_j`` is row j of the fit to ``y − λ_j h`` where all tasks are tilted alike."""
    problem = uneven(8, seed=1)
    solution = solve_tasks(problem, penalty, Rank(0.02))
    fitter, (h, _) = Fitter.of(problem, penalty), direction(problem)
    tilted = np.flatnonzero(solution.task_multipliers)
    assert len(tilted) > 2
    for j in tilted:
        lam = solution.task_multipliers[j]
        W = fitter.solve(problem.moments(problem.y - lam * h))
        coef, intercept = problem.user_coef(W)
        np.testing.assert_allclose(solution.coef[j], coef[j], atol=1e-9)
        assert solution.intercept[j] == pytest.approx(intercept[j], abs=1e-9)


def test_lambda_is_the_nearest_of_a_fine_grid():
    """Of either sign, no further from 0 than the first place of a grid in the band."""
    problem, epsilon = uneven(60, 14, seed=2), 0.02
    solution = solve_tasks(problem, Ridge(1.0), Rank(epsilon))
    fitter, (h, s) = Fitter.of(problem, Ridge(1.0)), direction(problem)
    m, d = (problem.predict(fitter.solve(problem.moments(v))) for v in (problem.y, h))
    mean = s.each_row(s.total(problem.y) / s.sizes)
    constant, pairs = s.total((problem.y - mean) ** 2), s.total_a * s.total_b
    first = np.full(len(pairs), np.nan)
    for x in sorted(np.linspace(-3, 3, 6001), key=abs):
        width = np.maximum(np.floor(2 * epsilon * pairs), 1)
        inside = np.abs(s.twice_u(m - x * d) - pairs) <= width
        inside &= s.total((m - x * d - problem.y) ** 2) <= constant
        first = np.where(np.isnan(first) & inside, x, first)
    lam = solution.task_multipliers[problem.blocks.tasks]
    states = np.array([str(each) for each in solution.task_status])
    landed = s.both & (states[problem.blocks.tasks] != "constant")
    assert not lam[s.both & (first == 0)].any()
    assert not np.isnan(first[landed]).any()
    far = s.both & (np.abs(first) > 0)
    assert far.sum() > 30
    near = landed & (np.abs(lam) <= 1.02 * np.abs(first) + 0.002)
    assert near[far].mean() > 0.9


def test_columns_that_say_nothing_of_the_groups_move_nothing():
    """Both groups have the same rows: there is no direction, not one of rounding."""
    half = np.random.default_rng(1).normal(size=(10, 2))
    X, in_a = np.vstack((half, half)), np.arange(20) < 10
    y = X.sum(axis=1) + 0.3 * np.random.default_rng(2).normal(size=20)
    solution = solve_tasks(posed(X, y, np.zeros(20), in_a), Ridge(), Residual(0.0))
    assert solution.task_multipliers.tolist() == [0.0]
    assert solution.status is Status.INFEASIBLE


@either
def test_a_residual_that_nothing_can_close_is_infeasible(solve):
    """No column varies within the largest task: its residuals are what they are."""
    X, y, codes, in_a = rows_of(5, 90, seed=10)
    largest = int(np.bincount(codes).argmax())
    X[codes == largest] = 1.0
    problem = posed(X, y, codes, in_a)
    solution = solve(problem, Ridge(), Residual(0.0))
    assert solution.status is Status.INFEASIBLE
    assert solution.task_status[largest] is TaskStatus.INFEASIBLE
    assert Counter(solution.task_status)[TaskStatus.INFEASIBLE] == 1
    *found, _ = misses(problem, solution, Residual(0.0))
    assert found.pop(largest) > 0 and not any(found)


@either
def test_a_constraint_without_tasks_is_refused(solve):
    with pytest.raises(
        ValueError, match=r"cannot be asked of every task.*got Distribution"
    ):
        solve(uneven(), Ridge(), Distribution(0.1))


@every_penalty
@pytest.mark.parametrize("epsilon", [0.0, 0.03])
def test_both_kinds_of_band_are_kept_at_once(epsilon, penalty):
    problem, rank = uneven(20, seed=15), Rank(epsilon)
    both, task = solve_both(problem, penalty, rank), solve_tasks(problem, penalty, rank)
    assert not any(misses(problem, both, rank))
    assert both.status is Status.SATISFIED
    assert misses(problem, task, rank)[-1] > 0
    np.testing.assert_array_equal(both.coef, task.coef)
    error, _ = errors(problem, predicted(problem, both))
    assert error.sum() <= problem.y_squares


def test_tasks_of_equal_shares_move_by_densities():
    """No task has more of a group than another: means say nothing of where to go."""
    rank, k, moved = Rank(0.0), 6, 0
    in_a, codes = np.tile([True, False], 150), np.repeat(np.arange(k), 50)
    for seed in range(6):
        rng = np.random.default_rng(seed)
        X = rng.normal(size=(300, 2)) * np.where(in_a, 1.0, 0.5)[:, None]
        y = X.sum(axis=1) + np.linspace(-2, 2, k)[codes] + 0.3 * rng.normal(size=300)
        problem = posed(X, y, codes, in_a)
        task, both = (f(problem, Ridge(), rank) for f in (solve_tasks, solve_both))
        assert not any(misses(problem, both, rank)[:-1])
        outside = misses(problem, task, rank)[-1] > 0
        moved += outside and both.status is Status.SATISFIED
    assert moved
