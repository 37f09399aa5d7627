"""Linear demands met exactly, whatever the penalty: the baselines."""

import numpy as np
import pytest

from problems import (
    PENALTIES,
    biased,
    free_fit,
    make_penalty,
    posed,
    predictions,
    target,
)
from programmes import least_by_cvxpy
from rankfair.constraints import Mean, Residual
from rankfair.core.problem import Groups, counted_weights
from rankfair.penalties import Pool
from rankfair.solvers.base import Status
from rankfair.solvers.counted import Demand
from rankfair.solvers.tilt import solve_linear

KINDS = {"mean": Mean(0.0), "residual": Residual(0.0)}


def demand(problem, kind, rows=None):
    """A demand between the groups, in some of the user's rows or in all."""
    weights = counted_weights(problem.user_groups.weights, rows)
    groups = Groups(problem.user_groups.in_a, weights).take(problem.order)
    return Demand(KINDS[kind], groups)


def gap(problem, m, kind, rows=None):
    """The difference of the groups' means, in standard deviations of the target."""
    w = problem.user_groups.weights
    w = np.ones(len(m)) if w is None else w
    rows = np.ones(len(m), bool) if rows is None else rows
    y, in_a = target(problem), problem.user_groups.in_a
    spread = np.sqrt(np.average((y - np.average(y, weights=w)) ** 2, weights=w))
    shown = m if kind == "mean" else y - m
    a, b = in_a & rows, ~in_a & rows
    found = np.average(shown[a], weights=w[a]) - np.average(shown[b], weights=w[b])
    return found / spread


@pytest.mark.parametrize("penalty", PENALTIES)
@pytest.mark.parametrize(
    ("kind", "beta", "strata"),
    [
        *((kind, beta, 1) for kind in KINDS for beta in (2.0, 30.0)),
        ("mean", 1.0, 3),  # one demand in each
    ],
)
def test_the_fit_is_the_convex_optimum(penalty, kind, beta, strata):
    problem = biased(k=4, per_task=15, auc=0.9, seed=2)
    parts = [np.arange(len(problem.y)) % strata == s for s in range(strata)]
    demands = [demand(problem, kind, rows) for rows in parts]
    solution = solve_linear(problem, make_penalty(penalty, beta), demands)
    m = predictions(problem, solution)
    found = [gap(problem, m, kind, rows) for rows in parts]
    assert np.abs(found).max() <= 1e-8
    assert solution.values == pytest.approx(found, abs=1e-8)
    assert solution.status in {Status.SATISFIED, Status.INACTIVE}
    asked = [(kind, 0.0, rows) for rows in parts]
    least = least_by_cvxpy(problem, penalty, beta, asked)
    assert solution.objective == pytest.approx(least, rel=1e-6)


@pytest.mark.parametrize("penalty", PENALTIES)
def test_demands_already_kept_leave_the_fit_alone(penalty):
    half = np.random.default_rng(0).normal(size=(40, 2))
    in_a, y = np.arange(80) < 40, np.tile(half @ [1.0, 2.0], 2)
    problem = posed(np.vstack((half, half)), y, np.zeros(80), in_a)
    free = free_fit(problem, penalty)
    both = [demand(problem, kind) for kind in KINDS]
    for demands in (both[:1], both[1:], both):
        solution = solve_linear(problem, make_penalty(penalty), demands)
        assert solution.status is Status.INACTIVE
        np.testing.assert_array_equal(solution.coef, free.coef)


@pytest.mark.parametrize(
    "penalty", [*map(make_penalty, PENALTIES), Pool(5.0, 1.0, 1.0)]
)
def test_demands_that_exclude_each_other_are_missed_alike(penalty):
    problem = biased(auc=0.9)
    apart = abs(gap(problem, 0 * target(problem), "residual"))
    demands = [demand(problem, kind) for kind in KINDS]
    solution = solve_linear(problem, penalty, demands)
    assert solution.status is Status.INFEASIBLE
    m = predictions(problem, solution)
    found = np.array([gap(problem, m, kind) for kind in KINDS])
    np.testing.assert_allclose(found, solution.values, atol=1e-9)
    assert np.abs(found).sum() == pytest.approx(apart)
    assert np.ptp(np.abs(found)) <= 1e-6
