"""What is convex in a fit, given to a solver of convex programmes to compare with."""

import cvxpy as cp
import numpy as np

from problems import target

TIGHT = dict.fromkeys(("tol_gap_abs", "tol_gap_rel", "tol_feas"), 1e-8)


def least_by_cvxpy(problem, penalty, beta, demands):
    """The least objective; a demand is a kind, an epsilon and rows."""
    k, n = problem.n_tasks, problem.n_features
    w = problem.user_groups.weights
    w = np.ones(len(problem.codes)) if w is None else w.astype(float)
    y, Z = standard(target(problem), w), standard(problem.X, w)
    W, a, shared = cp.Variable((k, n)), cp.Variable(k), cp.Variable((1, n))
    m = cp.sum(cp.multiply(Z, W[problem.codes]), axis=1) + a[problem.codes]
    R = {
        "ridge": lambda: 0.5 * cp.sum_squares(W),
        "task": lambda: cp.sum(cp.norm(W, 2, axis=1)),
        "feature": lambda: cp.sum(cp.norm(W, 2, axis=0)),
        "shared": lambda: cp.sum(cp.norm(W - np.ones((k, 1)) @ shared, 2, axis=1)),
    }[penalty]()
    kept = []
    for kind, epsilon, rows in demands:
        in_a, in_b = problem.user_groups.in_a & rows, ~problem.user_groups.in_a & rows
        g = w * (in_a / w[in_a].sum() - in_b / w[in_b].sum())
        value = g @ m if kind == "mean" else g @ (y - m)
        kept.append(cp.abs(value) <= epsilon if epsilon else value == 0)
    loss = 0.5 * cp.sum_squares(cp.multiply(np.sqrt(w), m - y)) + beta * R
    return cp.Problem(cp.Minimize(loss), kept).solve(solver=cp.CLARABEL, **TIGHT)


def standard(values, w):
    """Mean 0 and variance 1."""
    centred = values - np.average(values, axis=0, weights=w)
    return centred / np.sqrt(np.average(centred**2, axis=0, weights=w))
