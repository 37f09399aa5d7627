"""Problems that several tests solve, and what they look at afterwards."""

import numpy as np

from rankfair import penalties
from rankfair.constraints import CONSTRAINTS
from rankfair.core.blocks import linear_predict, sorted_by_task
from rankfair.core.problem import Groups, Problem
from rankfair.datasets.synthetic import make_biased_tasks
from rankfair.solvers.base import Request
from rankfair.solvers.counted import Demand
from rankfair.solvers.tilt import unconstrained

PENALTIES = ["ridge", "task", "feature", "shared"]


def make_penalty(penalty, beta=1.0):
    """The penalty of that name; an object is returned as it is."""
    if isinstance(penalty, penalties.Penalty):
        return penalty
    return penalties.PENALTIES[penalty](beta)


def posed(X, y, tasks, in_a, weights=None, **settings):
    """The problem of these rows."""
    labels, codes = np.unique(tasks, return_inverse=True)
    X, y = np.asarray(X, float), np.asarray(y, float)
    return Problem.from_rows(
        X, y, codes, len(labels), in_a=in_a, weights=weights, **settings
    )


def of_dataset(data, weights=None, blind=False):
    """The problem of a dataset, its sensitive feature among the features."""
    in_a = data.sensitive == data.group_a
    X = data.X if blind else np.column_stack((data.X, in_a))
    return posed(X, data.target, data.tasks, in_a, weights)


def biased(k=10, per_task=20, auc=0.8, seed=0, **settings):
    """The paper's synthetic design, small."""
    return of_dataset(
        make_biased_tasks(k, per_task, auc, random_state=seed), **settings
    )


def solved(problem, solver, penalty="ridge", epsilon=0.0, beta=1.0, **settings):
    """Solve for equal ranks."""
    constraint = CONSTRAINTS["rank"](epsilon)
    return asked(solver, problem, constraint, penalty, beta, **settings)


def asked(solver, problem, constraint, penalty="ridge", beta=1.0, **settings):
    """Solve for a constraint of the problem's two groups, at a given β."""
    request = Request(make_penalty(penalty, beta), fixed=True)
    demands = [Demand(constraint.on(problem.y, problem.groups), problem.groups)]
    return solver.solve(problem, request, demands, **settings)


def free_fit(problem, penalty="ridge", beta=1.0):
    """The fit with nothing asked of it, at a given β."""
    return unconstrained(problem, Request(make_penalty(penalty, beta), fixed=True))


def predictions(problem, solution):
    """Predictions of the user's rows as an estimator makes them."""
    linear = solution.coef, solution.intercept, solution.resolution
    return linear_predict(problem.X, problem.codes, *linear)


def order_of(problem):
    """The user's row behind each row of the problem."""
    return sorted_by_task(problem.codes, problem.n_tasks)[0]


def target(problem):
    """The target in the user's order and units."""
    y = np.empty(len(problem.y))
    y[order_of(problem)] = (problem.y + problem.y_centre) * problem.y_unit
    return y


def rmse(problem, m):
    """The root mean square error of predictions of the user's rows."""
    return float(np.sqrt(np.mean((m - target(problem)) ** 2)))


def tied(n=60, seed=0, weights=None):
    """Predictions of two groups that overlap, with ties."""
    rng = np.random.default_rng(seed)
    in_a = np.arange(n) < n // 3
    m = (rng.normal(size=n) + in_a).round(1)
    if weights == "whole":
        return m, Groups(in_a, rng.integers(0, 4, n))
    if weights == "real":
        return m, Groups(in_a, rng.random(n))
    return m, Groups(in_a)
