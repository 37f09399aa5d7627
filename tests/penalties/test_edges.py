"""Fits where a penalty is about to let go: just above the threshold, warm and cold."""

import numpy as np
import pytest

from problems import make_penalty


def just_above(k, n, excess, beta=10.0, seed=0):
    """Gram matrices and moments whose first feature passes β by a share."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(k, 20, n))
    G, B = np.einsum("kri,krj->kij", X, X), rng.normal(size=(k, n))
    B[:, 1:] *= 0.1
    B *= beta * (1 + excess) / np.linalg.norm(B[:, 0])
    return G, B


def value(penalty, G, B, W):
    quadratic = 0.5 * np.einsum("kf,kfg,kg->", W, G, W)
    return float(quadratic - np.vdot(B, W)) + penalty.value(W)


@pytest.mark.parametrize("excess", [1e-1, 1e-3, 1e-6, 1e-9, 1e-12, 1e-14])
@pytest.mark.parametrize(("k", "n"), [(2, 1), (4, 1), (5, 3)])
def test_a_feature_just_kept(k, n, excess):
    G, B = just_above(k, n, excess)
    penalty = make_penalty("feature", 10.0)
    factor = penalty.factorise(G)
    cold = factor.solve(B)
    size = np.linalg.norm(cold[:, 0])
    # To first order in the excess, w = η u with u the direction of the moments.
    u = B[:, 0] / np.linalg.norm(B[:, 0])
    expected = 10.0 * excess / float(u**2 @ G[:, 0, 0])
    assert size == pytest.approx(expected, rel=0.05 + 1e-14 / excess)
    assert not cold[:, 1:].any()
    for start in (1.5 * cold + 1e-3, 0.5 * cold, 0 * cold):
        warm = factor.solve(B, start)
        slack = 1e-15 * np.linalg.norm(B)  # the rounding of the objective
        assert value(penalty, G, B, warm) <= value(penalty, G, B, cold) + slack


@pytest.mark.parametrize("scale", [1e-8, 1.0, 1e8])
def test_shared_tasks_that_nearly_agree(scale):
    rng = np.random.default_rng(1)
    X = rng.normal(size=(6, 12, 3))
    G = np.einsum("kri,krj->kij", X, X)
    w = rng.normal(size=3)
    B = scale * (np.matmul(G, w) + 1e-9 * rng.normal(size=(6, 3)))
    penalty = make_penalty("shared", 1e-3 * scale)
    W = penalty.factorise(G).solve(B)
    assert pytest.approx(np.tile(scale * w, (7, 1)), rel=1e-6) == W


@pytest.mark.parametrize("beta", [1e-8, 1e-6, 1e-4])
def test_nearly_equal_columns_do_not_ruin_the_feature_fit(beta):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(5, 200, 3))
    X = np.concatenate((X, X[:, :, :2] + 1e-6 * rng.normal(size=(5, 200, 2))), axis=2)
    G = np.matmul(X.transpose(0, 2, 1), X)
    B = np.einsum("khf,kh->kf", X, X.sum(axis=2) + rng.normal(size=(5, 200)))

    def objective(W):
        quadratic = 0.5 * np.einsum("kf,kfg,kg->", W, G, W) - (B * W).sum()
        return quadratic + beta * np.linalg.norm(W, axis=0).sum()

    found = make_penalty("feature", beta).factorise(G).solve(B)
    ridge = make_penalty("ridge", 1e-3).factorise(G).solve(B)
    assert objective(found) <= objective(ridge) + 1e-6 * abs(objective(ridge))


@pytest.mark.parametrize("excess", [1e-3, 1e-6, 1e-9, 1e-12, 1e-15])
def test_tasks_about_to_let_go(excess):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(3000, 25, 4)) * rng.lognormal(size=(3000, 1, 1))
    X[::3, :, -1] = 0.0
    G, B = X.transpose(0, 2, 1) @ X, X.sum(axis=1)
    u = B / np.linalg.norm(B, axis=1)[:, None]
    factor = make_penalty("task", 1.0).factorise(G)
    assert not factor.solve((1 - excess) * u).any()
    # To first order in the excess, w = r u with r = excess / uᵀGu.
    bend = np.einsum("kf,kfg,kg->k", u, G, u)
    for start in (None, u):
        r = np.linalg.norm(factor.solve((1 + excess) * u, start), axis=1)
        # ‖Qᵀb‖ is known to nine units in its last place.
        bound = 1e3 * excess + 2e-15 / excess
        assert r * bend == pytest.approx(excess, rel=bound, abs=2e-15)


@pytest.mark.parametrize("name", ["ridge", "task"])
def test_pieces_do_not_change_the_answer(name):
    """Very many tasks are handled some at a time."""
    G, B = just_above(100, 8, 0.5)
    factor = make_penalty(name, 1.0).factorise(np.tile(G, (200, 1, 1)))
    known = make_penalty(name, 1.0).factorise(G)
    W, wanted = factor.solve(np.tile(B, (200, 1))), known.solve(B)
    np.testing.assert_allclose(W, np.tile(wanted, (200, 1)))
    K, wanted = factor.inverse_blocks(W), known.inverse_blocks(wanted)
    np.testing.assert_allclose(K, np.tile(wanted, (200, 1, 1)), atol=1e-12)
