"""Pooled tasks, blocks of inverse Hessians, and the β that is chosen."""

from dataclasses import replace

import cvxpy as cp
import numpy as np
import pytest

from problems import posed
from rankfair.penalties import Feature, Pool, Ridge, Shared, Task
from rankfair.solvers.base import Fitter, Request
from rankfair.solvers.tilt import unconstrained

POOL = Pool(3.0, 0.5, 0.2)


def gram(seed=0, k=4, n=3, rows=9):
    """Gram matrices (k, n, n) and right-hand sides (k, n)."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(k, rows, n))
    y = np.einsum("kin,kn->ki", X, 1 + 0.3 * rng.normal(size=(k, n)))
    y += rng.normal(size=(k, rows))
    return np.einsum("kif,kig->kfg", X, X), np.einsum("kif,ki->kf", X, y)


def cost(penalty, G, B, W):
    own = W[: len(B)]
    squares = 0.5 * np.einsum("kf,kfg,kg->", own, G, own) - (own * B).sum()
    return squares + penalty.value(W)


@pytest.mark.parametrize("exempt", [(), (1,)])
def test_a_pooled_fit_is_the_least_by_cvxpy(exempt):
    G, B = gram()
    penalty = Pool(3.0, 0.5, 0.2, exempt)
    W = penalty.factorise(G).solve(B)
    V = cp.Variable(W.shape)
    squares = sum(
        0.5 * cp.sum_squares(np.linalg.cholesky(g).T @ V[j]) - B[j] @ V[j]
        for j, g in enumerate(G)
    )
    # The value of the penalty is a quadratic form: its matrix from unit vectors.
    size = W.size
    unit = np.eye(size).reshape(size, *W.shape)
    alone = np.array([penalty.value(u) for u in unit])
    H = np.array([[penalty.value(a + b) for b in unit] for a in unit])
    H -= alone[:, None] + alone
    form = cp.quad_form(cp.vec(V, order="C"), cp.psd_wrap(H / 2))
    least = cp.Problem(cp.Minimize(squares + form)).solve()
    assert cost(penalty, G, B, W) == pytest.approx(least, rel=1e-6)
    np.testing.assert_allclose(W, V.value, atol=1e-3)


@pytest.mark.parametrize("beta", [1.0, 12.0])
@pytest.mark.parametrize("kind", [Ridge, Pool, Task, Feature, Shared])
def test_inverse_blocks_say_how_a_fit_answers(kind, beta):
    """``K_j`` is how task j's coefficients move with its own right-hand side."""
    penalty = POOL if kind is Pool else kind(beta)
    G, B = gram(rows=30)
    B[0] /= 1e3 if kind is Task else 1  # so little that the task falls to 0
    factor = penalty.factorise(G)
    W = factor.solve(B)
    K = factor.inverse_blocks(W)
    step = 1e-4
    for j in range(len(B)):
        for f in range(B.shape[1]):
            more, less = B.copy(), B.copy()
            more[j, f] += step
            less[j, f] -= step
            moved = (factor.solve(more) - factor.solve(less))[j] / (2 * step)
            np.testing.assert_allclose(K[j, :, f], moved, rtol=0.02, atol=2e-4)


def rows_of(k=1, n_rows=40, seed=0):
    rng = np.random.default_rng(seed)
    X, codes = rng.normal(size=(n_rows, 3)), np.arange(n_rows) % k
    y = X @ [1.0, 0.5, 0.0] + codes + rng.normal(size=n_rows)
    return X, y, codes, np.arange(n_rows) % 2 == 0


def gcv(problem, penalty):
    """``RSS / (1 − df/n)²`` from the rows; one unit of a weight is left out."""
    fitter, leverages = Fitter.of(problem, penalty), []
    W = fitter.solve(problem.target_moments)
    K = fitter.blocks_at(W)
    problem.each_along([], [K], lambda *found: leverages.append(found[2][0]))
    s = np.ones(len(problem.y)) if problem.weights is None else problem.weights
    times = np.maximum(s, 1.0)  # a heavy row is repeated
    left = s @ np.square(problem.y - problem.predict(W))
    return left / (1 - np.concatenate(leverages) @ times / times.sum()) ** 2


@pytest.mark.parametrize("weights", [None, (0.1, 0.9), (1.0, 9.0)])
@pytest.mark.parametrize(
    ("penalty", "k"),
    [*((it(1.0), 5) for it in (Ridge, Task, Feature, Shared)), (Ridge(7.0), 1)]
    + [(Pool(exempt=it), k) for k in (1, 2, 5) for it in ((), (1,))],
    ids=str,
)
def test_no_neighbour_of_the_chosen_numbers_has_less_cross_validation(
    penalty, k, weights
):
    """The grid has two places a power of ten."""
    X, y, codes, in_a = rows_of(k, 60)
    y = y + 0.5 * X[:, 2] * codes
    w = None if weights is None else np.random.default_rng(1).uniform(*weights, len(y))
    problem = posed(X, y, codes, in_a, w)
    chosen = unconstrained(problem, Request(penalty)).penalty
    unit = 1.0 if w is None else w.sum() / np.maximum(w, 1.0).sum()
    least, names, near = gcv(problem, chosen), ["beta"], range(-14, 15)
    if isinstance(penalty, Pool):
        names, near = ["beta", "beta_intercept", "beta_common"], (-1, 1)
    for name in names[-1:] if k == 1 else names:
        own, low = getattr(chosen, name), -1.0 if name == "beta" else -3.0
        place = 2 * np.log10(own / unit)
        assert place == pytest.approx(round(place))
        for step in near:
            if 2 * low <= round(place) + step <= 12:
                other = replace(chosen, **{name: own * 10 ** (step / 2)})
                assert least <= gcv(problem, other) * (1 + 2e-6)


def test_one_task_alone_is_ridge_regression_with_the_common_beta():
    problem = posed(*rows_of())
    pooled = unconstrained(problem, Request(Pool(1e9, 1e9, 2.0), fixed=True))
    ridge = unconstrained(problem, Request(Ridge(2.0), fixed=True))
    np.testing.assert_allclose(pooled.coef, ridge.coef, rtol=1e-6)
    np.testing.assert_allclose(pooled.intercept, ridge.intercept, rtol=1e-6)


def test_the_common_slope_of_an_exempt_column_is_free():
    X, y, codes, in_a = rows_of(k=4, n_rows=200)
    problem = posed(X, y, codes, in_a)
    request = Request(Pool(1e9, 1e-9, 1e9, exempt=(0,)), fixed=True)
    solution = unconstrained(problem, request)
    assert np.abs(solution.shared_coef[1:]).max() <= 1e-5
    own = np.eye(4)[codes]
    free = np.linalg.lstsq(np.column_stack((X[:, 0], own)), y, rcond=None)[0][0]
    assert solution.shared_coef[0] == pytest.approx(free, rel=1e-4)
