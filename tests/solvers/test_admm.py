"""Alternating directions: NC-ADMM, the paper's algorithm and ADM."""

from functools import partial

import numpy as np
import pytest

from four_tasks import NUMBERS, SEX, Y
from problems import (
    PENALTIES,
    asked,
    biased,
    free_fit,
    make_penalty,
    posed,
    predictions,
    solved,
    target,
)
from rankfair import RankFairRegressor, projections
from rankfair.constraints import Mean, Rank, Residual
from rankfair.solvers import NCADMM, Paper, Tilt
from rankfair.solvers.admm import ADM
from rankfair.solvers.base import Status
from rankfair.solvers.counted import Demand
from rankfair.solvers.tilt import solve_linear

SHORT = {"max_iter": 4, "inner": 5, "window": 1000}
PROJECT = {
    "shift": projections.shift,
    "paper": projections.paper,
    "greedy": partial(projections.paper, search="ratio"),
}


def miss(problem, solution, epsilon=0.0):
    """How far outside the band the user's own rows are, which is what is said."""
    constraint, groups = Rank(epsilon), problem.user_groups
    value = constraint.value(predictions(problem, solution), groups)
    assert (constraint.show(value, groups),) == pytest.approx(solution.values)
    return constraint.band(groups).miss(value)


def with_weights(problem, weights):
    rows = problem.X, target(problem), problem.codes, problem.user_groups.in_a
    return posed(*rows, weights)


@pytest.mark.parametrize("penalty", PENALTIES)
@pytest.mark.parametrize(
    ("rho", "epsilon", "weights"),
    [(0.5, 0.02, None), (1.0, 0.0, None), (1.0, 0.01, 1.0), (1.0, 0.01, 1 / 3)],
)
def test_the_shift_settles_in_the_band(penalty, rho, epsilon, weights):
    problem = biased(auc=0.9)
    if weights is not None:
        whole = np.random.default_rng(0).integers(1, 4, len(problem.y))
        problem = with_weights(problem, whole * weights)
    solution = solved(problem, NCADMM(rho, max_iter=100), penalty, epsilon)
    assert solution.status is Status.SATISFIED
    assert miss(problem, solution, epsilon) == 0
    assert min(step.residual for step in solution.trace[:50]) < 1e-6
    # The least mean squares and penalty are found along the groups' means, too.
    tilted = solved(problem, Tilt("train"), penalty, epsilon)
    assert solution.objective == pytest.approx(tilted.objective, rel=0.02)


@pytest.mark.parametrize("projection", PROJECT)
def test_a_band_already_met_is_the_unconstrained_fit(projection):
    problem = biased()
    solution = solved(problem, NCADMM(projection=projection), epsilon=0.5)
    assert solution.status is Status.INACTIVE
    assert np.array_equal(solution.coef, free_fit(problem).coef)


@pytest.mark.parametrize(
    ("solver", "penalty"),
    [
        (NCADMM(projection="paper", max_iter=12), "ridge"),
        (NCADMM(projection="greedy", max_iter=12), "ridge"),
        (Paper(random_state=0, **SHORT), "task"),
    ],
    ids=str,
)
def test_the_best_iterate_is_kept_and_counted_exactly(solver, penalty):
    problem, steps = biased(auc=0.8), []
    solution = solved(problem, solver, penalty, 0.01, on_step=steps.append)
    assert tuple(steps) == solution.trace
    assert solution.n_iter == solver.max_iter
    groups = problem.user_groups
    pairs, band = groups.total_a * groups.total_b, Rank(0.01).band(groups)
    misses = np.abs([band.miss(2 * pairs * step.auc) for step in steps])
    least = misses.min()
    assert abs(miss(problem, solution, 0.01)) == pytest.approx(least, abs=1e-6)
    assert solution.status is (Status.INFEASIBLE if least > 1e-6 else Status.MAX_ITER)
    close = [steps[i].objective for i in np.flatnonzero(misses <= least + 1e-6)]
    assert solution.objective == pytest.approx(min(close), rel=1e-9)


@pytest.mark.parametrize("projection", PROJECT)
def test_the_steps_are_those_of_the_formulas(projection):
    """Of groups that overlap: there projections differ."""
    rng, in_a = np.random.default_rng(2), np.arange(60) % 3 == 0
    X = rng.normal(size=(60, 2)) + 0.3 * in_a[:, None]
    y = X.sum(axis=1) + rng.normal(size=60)
    problem = posed(X, y, np.arange(60) // 20, in_a)
    groups = problem.user_groups
    band = Rank(0.01).band(groups)
    rho, beta = 0.5, 2.0
    y = (target(problem) - problem.y_centre * problem.y_unit) / problem.y_unit
    fit = fitted_by_normal_equations(problem)
    S, V = fit(y, beta), np.zeros(len(y))
    residuals = []
    for _ in range(6):
        M = fit((y + rho * (S - V)) / (1 + rho), beta / (1 + rho))
        S = PROJECT[projection](M + V, groups.in_a, band)
        V = V + M - S
        residuals.append(np.linalg.norm(M - S) / np.linalg.norm(M))
    solver = NCADMM(rho, projection, max_iter=6)
    trace = solved(problem, solver, epsilon=0.01, beta=beta).trace
    assert [step.residual for step in trace] == pytest.approx(residuals, rel=1e-6)


def fitted_by_normal_equations(problem):
    """Ridge on each task, intercept free, features in standard deviations."""
    scale = problem.X.std(axis=0)

    def fit(y, beta):
        m = np.empty(len(y))
        for j in range(problem.n_tasks):
            mine = problem.codes == j
            Z = (problem.X[mine] - problem.X[mine].mean(axis=0)) / scale
            G = Z.T @ Z + beta * np.eye(Z.shape[1])
            m[mine] = y[mine].mean() + Z @ np.linalg.solve(G, Z.T @ y[mine])
        return m

    return fit


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        (
            {"projection": "shfit"},
            'projection must be one of "shift", "paper", "greedy"',
        ),
        ({"rho": 0.0}, "rho must be a number above 0; got 0.0"),
    ],
)
def test_settings_no_step_could_use(settings, words):
    with pytest.raises(ValueError, match=words):
        NCADMM(**settings)


@pytest.mark.parametrize("solver", [NCADMM(), NCADMM(projection="paper"), Paper()])
def test_what_projections_do_not_know_is_refused(solver):
    problem = biased()
    with pytest.raises(ValueError, match=r'"rank".*got Mean.*solver="tilt"'):
        asked(solver, problem, Mean(), "task")
    if solver != NCADMM():
        weighted = with_weights(problem, np.full(len(problem.y), 2.0))
        with pytest.raises(ValueError, match="every row once"):
            solved(weighted, solver, "task")
    for penalty in ("ridge", "feature", "shared") if isinstance(solver, Paper) else ():
        with pytest.raises(ValueError, match='closed form for penalty="task" only'):
            solved(problem, solver, penalty)


# The paper's algorithm


def by_the_formulas(problem, beta, epsilon, solver):
    """Algorithm 4 with its inner ADM, task by task: ``XW`` and ``M − S`` a step."""
    y = (target(problem) - target(problem).mean()) / target(problem).std()
    X = (problem.X - problem.X.mean(axis=0)) / problem.X.std(axis=0)
    in_a = problem.user_groups.in_a
    band = Rank(epsilon).band(problem.user_groups)
    tasks = [problem.codes == j for j in range(problem.n_tasks)]
    rng = np.random.default_rng(solver.random_state)
    M, S, V, _ = rng.random((4, len(y)))
    multiplier = np.zeros(len(y))
    gamma, rho = solver.gamma, solver.rho
    steps = []
    for _ in range(solver.max_iter):
        for _ in range(solver.inner):
            XW = np.empty(len(y))
            for mine in tasks:
                t = (y + gamma * M + multiplier)[mine] / (1 + gamma)
                c = np.linalg.pinv(X[mine]) @ t
                size = np.linalg.norm(c)
                w = max(size - beta / (1 + gamma), 0) * c / size if size else c
                XW[mine] = X[mine] @ w
            M = (rho * (S - V) + gamma * XW - multiplier) / (rho + gamma)
            multiplier = multiplier - solver.theta * (XW - M)
        S = projections.paper(M + V, in_a, band, window=solver.window)
        V = V + M - S
        steps.append((XW, np.linalg.norm(M - S) / np.linalg.norm(M)))
    return steps


@pytest.mark.parametrize("settings", [{}, {"rho": 0.5, "gamma": 2.0, "theta": 0.1}])
@pytest.mark.parametrize("beta", [0.0, 0.2, 50.0])
def test_the_steps_of_the_paper_are_those_of_its_formulas(settings, beta):
    data = biased(k=3, per_task=8, auc=0.8)
    # Rows in the order of tasks, as the random start is drawn.
    problem = with_weights(data, None)
    solver = Paper(random_state=7, **SHORT, **settings)
    solution = solved(problem, solver, "task", 0.01, beta)
    steps = by_the_formulas(problem, beta, 0.01, solver)
    residuals = [residual for _, residual in steps]
    assert [s.residual for s in solution.trace] == pytest.approx(residuals, rel=1e-6)
    if beta == 50:
        assert not solution.coef.any()
        return
    constraint, groups = Rank(0.01), problem.user_groups
    aucs = [constraint.show(constraint.value(XW, groups), groups) for XW, _ in steps]
    assert [s.auc for s in solution.trace] == pytest.approx(aucs, abs=0.02)
    m = predictions(problem, solution)
    standard = (m - target(problem).mean()) / target(problem).std()
    assert min(np.abs(XW - standard).max() for XW, _ in steps) <= 1e-9


def test_the_seed_decides():
    problem = biased()
    seeds = 1, 1, 2, np.random.default_rng(1)
    one, two, other, drawn = (
        solved(problem, Paper(random_state=seed, **SHORT), "task") for seed in seeds
    )
    assert one.coef.tobytes() == two.coef.tobytes()
    assert one.trace == two.trace == drawn.trace != other.trace


# ADM


@pytest.mark.parametrize("penalty", PENALTIES)
@pytest.mark.parametrize("demand", [Mean(0.0), Residual(0.0)])
@pytest.mark.parametrize("rho", [0.5, 2.0])
def test_many_steps_of_adm_lead_to_the_exact_solution(penalty, demand, rho):
    problem, own = biased(k=4, per_task=20, auc=0.9), make_penalty(penalty, 1.0)
    exact = solve_linear(problem, own, [Demand(demand, problem.groups)])
    found = ADM(rho, max_iter=3000, random_state=0).solve(problem, own, demand)
    assert found.status is Status.SATISFIED
    settled = [step.residual <= 1e-9 for step in found.trace]
    assert settled.index(True) == len(settled) - 1
    assert found.objective == pytest.approx(exact.objective, rel=1e-6)
    m, known = (predictions(problem, each) for each in (found, exact))
    np.testing.assert_allclose(m, known, atol=1e-5)


def test_few_weak_steps_of_adm_leave_a_gap_and_say_so():
    problem, steps = biased(), ADM(1e-3, max_iter=5, random_state=0)
    found = steps.solve(problem, make_penalty("task"), Mean(0.0))
    assert found.status is Status.MAX_ITER
    assert found.n_iter == len(found.trace) == 5
    in_a, m = problem.user_groups.in_a, predictions(problem, found)
    gap = (m[in_a].mean() - m[~in_a].mean()) / problem.y_unit
    assert found.values[0] == pytest.approx(gap)
    assert abs(gap) > 1e-3


def test_the_tolerance_of_an_estimator_is_that_of_its_solver():
    steps = [
        RankFairRegressor(0.01, solver="ncadmm", penalty="ridge", tol=tol)
        .fit(NUMBERS, Y, sensitive_features=SEX)
        .n_iter_
        for tol in (1e-1, 1e-3)
    ]
    assert steps[0] < steps[1]
