import numpy as np
import pytest

from problems import make_penalty
from rankfair.penalties import Pool

NAMES = ["ridge", "task", "feature", "shared"]


def grams(rng, k, n, rows, kind="plain"):
    """Gram matrices (k, n, n) and moments (k, n) of random tasks."""
    G, B = np.zeros((k, n, n)), np.zeros((k, n))
    for j in range(k):
        X = rng.normal(size=(rows, n)) @ rng.normal(size=(n, n))
        if kind == "duplicate" and n > 1:
            X[:, -1] = X[:, 0]
        y = X @ rng.normal(size=n) + rng.normal(size=rows)
        if kind == "zero" and j % 2:
            X, y = 0 * X, 0 * y
        G[j], B[j] = X.T @ X, X.T @ y
    return G, B


def objective(penalty, G, B, W):
    w = W[: len(B)]
    quadratic = 0.5 * np.einsum("kf,kfg,kg->", w, G, w)
    return float(quadratic - np.vdot(B, w) + penalty.value(W))


def worst_violation(name, beta, G, B, W):
    """How far 0 is from the subdifferential, over the size of the moments."""
    tasks = W[: len(B)]
    slope = np.einsum("kfg,kg->kf", G, tasks) - B
    if name == "ridge":
        left = slope + beta * tasks
    elif name == "task":
        left = _from_norms(slope, tasks, beta)
    elif name == "feature":
        left = _from_norms(slope.T, tasks.T, beta)
    else:
        own = _from_norms(slope, tasks - W[-1], beta)
        left = np.vstack((own, slope.sum(axis=0)))
    return float(np.abs(left).max() / max(np.abs(B).max(), beta))


def _from_norms(slope, parts, beta):
    """What is left of the slope after the best subgradient of Σ β||part||."""
    left = np.empty_like(slope)
    for i, (g, part) in enumerate(zip(slope, parts, strict=True)):
        size = np.linalg.norm(part)
        if size > 1e-10 * max(np.abs(parts).max(), 1e-300):
            left[i] = g + beta * part / size
        else:
            left[i] = g * max(1 - beta / max(np.linalg.norm(g), 1e-300), 0.0)
    return left


def solve(name, beta, G, B, start=None):
    return make_penalty(name, beta).factorise(G).solve(B, start)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("kind", ["plain", "duplicate", "zero"])
@pytest.mark.parametrize("rows", [2, 30])
@pytest.mark.parametrize("share", [1e-9, 1e-6, 0.02, 0.5, 0.9])
@pytest.mark.parametrize(("k", "n"), [(5, 4), (1, 6), (4, 1)])
def test_optimality_conditions(name, kind, rows, share, k, n):
    """The fit is the optimum of a convex function: 0 is among its subgradients."""
    G, B = grams(np.random.default_rng(7), k, n, rows, kind)
    beta = share * float(np.linalg.norm(B, axis=1).max())
    W = solve(name, beta, G, B)
    assert worst_violation(name, beta, G, B, W) <= 1e-5


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("kind", ["plain", "duplicate", "zero"])
@pytest.mark.parametrize("rows", [2, 30])
def test_no_penalty_is_least_squares(name, kind, rows):
    G, B = grams(np.random.default_rng(9), 4, 3, rows, kind)
    W = solve(name, 0.0, G, B)[: len(B)]
    assert np.einsum("kfg,kg->kf", G, W) == pytest.approx(B, abs=1e-7 * np.abs(B).max())
    if name != "shared":
        smallest = np.einsum("kfg,kg->kf", np.linalg.pinv(G, rcond=1e-10), B)
        assert pytest.approx(smallest, rel=1e-5, abs=1e-7) == W


@pytest.mark.parametrize("name", NAMES)
def test_without_a_penalty_blocks_are_inverse_gram_matrices(name):
    G, B = grams(np.random.default_rng(11), 4, 3, 20)
    factor = make_penalty(name, 0.0).factorise(G)
    for W in (factor.solve(B), 0 * factor.solve(B)):
        np.testing.assert_allclose(factor.inverse_blocks(W), np.linalg.inv(G), 1e-6)


@pytest.mark.parametrize("name", [*NAMES, "pool"])
def test_values_are_those_of_the_formulas(name):
    W = np.random.default_rng(12).normal(size=(4, 3))
    own, common = W[:-1] - W[-1], W[-1]
    penalty = Pool(2.0, 5.0, 7.0, (1,)) if name == "pool" else make_penalty(name, 2.0)
    wanted = {
        "ridge": 2.0 * (W**2).sum() / 2,
        "task": 2.0 * sum(map(np.linalg.norm, W)),
        "feature": 2.0 * sum(map(np.linalg.norm, W.T)),
        "shared": 2.0 * sum(map(np.linalg.norm, own)),
        "pool": (own**2 @ [2.0, 2.0, 5.0]).sum() / 2 + 7.0 * common[0] ** 2 / 2,
    }[name]
    assert penalty.value(W) == pytest.approx(wanted)
    assert penalty.scaled(3.0).value(W) == pytest.approx(3.0 * wanted)


@pytest.mark.parametrize("name", ["task", "feature"])
def test_a_large_beta_gives_zero(name):
    G, B = grams(np.random.default_rng(10), 4, 3, 20)
    axis = 1 if name == "task" else 0
    edge = float(np.linalg.norm(B, axis=axis).max())
    assert not solve(name, 1.0001 * edge, G, B).any()
    sizes = np.linalg.norm(solve(name, 0.99 * edge, G, B), axis=axis)
    assert 0 < np.count_nonzero(sizes) < len(sizes)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("share", [1e-3, 0.1, 0.6])
def test_a_warm_start_ends_where_a_cold_one_does(name, share):
    rng = np.random.default_rng(15)
    G, B = grams(rng, 5, 4, 20)
    beta = share * float(np.linalg.norm(B, axis=1).max())
    penalty = make_penalty(name, beta)
    factor = penalty.factorise(G)
    cold = factor.solve(B)
    near = factor.solve(B + 0.05 * np.abs(B).max() * rng.normal(size=B.shape))
    for start in (cold, near, 0 * cold, 100 * rng.normal(size=cold.shape)):
        warm = objective(penalty, G, B, factor.solve(B, start))
        least = objective(penalty, G, B, cold)
        assert warm == pytest.approx(least, rel=1e-6)
