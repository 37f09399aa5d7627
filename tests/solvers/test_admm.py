import numpy as np
import pytest

from problems import (
    PENALTIES,
    asked,
    biased,
    free_fit,
    posed,
    predictions,
    solved,
    target,
)
from rankfair import projections
from rankfair.constraints import Mean, Rank
from rankfair.solvers import NCADMM, Tilt
from rankfair.solvers.base import Status

PAPER = ["paper", "greedy"]


def miss(problem, solution, epsilon=0.0):
    constraint = Rank(epsilon)
    value = constraint.value(predictions(problem, solution), problem.user_groups)
    shown = constraint.show(value, problem.user_groups)
    assert (shown,) == pytest.approx(solution.values)
    return constraint.band(problem.user_groups).miss(value)


def with_weights(problem, weights):
    rows = problem.X, target(problem), problem.codes, problem.user_groups.in_a
    return posed(*rows, weights)


@pytest.mark.parametrize("penalty", PENALTIES)
@pytest.mark.parametrize(("rho", "epsilon"), [(0.5, 0.02), (1.0, 0.0)])
def test_the_shift_settles_in_the_band(penalty, epsilon, rho):
    problem = biased(auc=0.9)
    solution = solved(problem, NCADMM(rho, max_iter=100), penalty, epsilon)
    assert solution.status is Status.SATISFIED
    assert miss(problem, solution, epsilon) == 0
    assert min(step.residual for step in solution.trace[:50]) < 1e-6
    # The least mean squares and penalty are found along the groups' means, too.
    tilted = solved(problem, Tilt("train"), penalty, epsilon)
    assert solution.objective == pytest.approx(tilted.objective, rel=0.02)


@pytest.mark.parametrize("projection", ["shift", *PAPER])
def test_a_band_already_met_is_the_unconstrained_fit(projection):
    problem = biased()
    solution = solved(problem, NCADMM(projection=projection), epsilon=0.5)
    free = free_fit(problem)
    assert solution.status is Status.INACTIVE
    assert np.array_equal(solution.coef, free.coef)


@pytest.mark.parametrize("weights", ["whole", "real"])
@pytest.mark.parametrize("penalty", PENALTIES)
def test_weights(penalty, weights):
    problem = biased(auc=0.9)
    w = np.random.default_rng(0).integers(1, 4, len(problem.y)).astype(float)
    w = w if weights == "whole" else w / 3
    weighted = with_weights(problem, w)
    solution = solved(weighted, NCADMM(), penalty, 0.01)
    assert solution.status is Status.SATISFIED
    assert miss(weighted, solution, 0.01) == 0


def test_other_constraints_need_tilt():
    for solver in (NCADMM(), NCADMM(projection="paper")):
        with pytest.raises(ValueError, match=r'"rank".*got Mean.*solver="tilt"'):
            asked(solver, biased(), Mean())


@pytest.mark.parametrize("projection", PAPER)
@pytest.mark.parametrize("seed", [0])
def test_the_best_iterate_is_kept(projection, seed):
    problem, steps = biased(auc=0.8, seed=seed), []
    solver = NCADMM(projection=projection, max_iter=12)
    solution = solved(problem, solver, epsilon=0.01, on_step=steps.append)
    assert tuple(steps) == solution.trace
    assert solution.n_iter == 12
    pairs = 2 * problem.user_groups.total_a * problem.user_groups.total_b
    misses = [
        abs(Rank(0.01).band(problem.user_groups).miss(s.auc * pairs)) for s in steps
    ]
    assert abs(miss(problem, solution, 0.01)) == pytest.approx(min(misses), abs=1e-6)
    reached = min(misses) < 1e-6
    assert solution.status is (Status.MAX_ITER if reached else Status.INFEASIBLE)
    as_close = [
        step.objective
        for step, away in zip(steps, misses, strict=True)
        if away <= min(misses) + 1e-6
    ]
    assert solution.objective == pytest.approx(min(as_close), rel=1e-9)


@pytest.mark.parametrize("projection", ["shift", *PAPER])
def test_the_steps_are_those_of_the_formulas(projection):
    problem = biased(k=3, per_task=12, auc=0.9)
    in_a = problem.user_groups.in_a
    band = Rank(0.01).band(problem.user_groups)
    project = {
        "shift": lambda m: projections.shift(m, in_a, band),
        "paper": lambda m: projections.paper(m, in_a, band),
        "greedy": lambda m: projections.paper(m, in_a, band, search="ratio"),
    }[projection]
    rho, beta = 0.5, 2.0
    y = (target(problem) - problem.y_centre * problem.y_unit) / problem.y_unit
    fit = fitted_by_normal_equations(problem)
    S, V = fit(y, beta), np.zeros(len(y))
    residuals = []
    for _ in range(6):
        M = fit((y + rho * (S - V)) / (1 + rho), beta / (1 + rho))
        S = project(M + V)
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
