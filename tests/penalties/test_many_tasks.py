"""Very many tasks are fitted another way, which must give the same answers."""

import numpy as np
import pytest

from problems import make_penalty
from rankfair.penalties.base import eigen, tridiagonal
from rankfair.penalties.task import ManyTasksFactor, TaskFactor

FEATURES = [1, 2, 3, 10, 30]


def tasks(k, n, rows=25, seed=0):
    """Gram matrices and two right-hand sides; every third task has a dead column."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(k, rows, n)) * rng.lognormal(size=(k, 1, 1))
    X[::3, :, -1] = 0.0
    Y = X @ rng.normal(size=(n, 2)) + rng.normal(size=(k, rows, 2))
    Xt = X.transpose(0, 2, 1)
    return Xt @ X, *np.moveaxis(Xt @ Y, 2, 0)


def both(beta, G):
    return ManyTasksFactor.of(beta, G), TaskFactor(beta, *eigen(G))


def same(W, wanted, rel=1e-9):
    size = np.linalg.norm(wanted, axis=1)
    return (np.linalg.norm(W - wanted, axis=1) <= rel * size).all()


@pytest.mark.parametrize("n", FEATURES)
@pytest.mark.parametrize("rows", [1, 3, 40])
def test_tridiagonal_forms_give_the_matrices_back(n, rows):
    G = tasks(50, n, rows)[0]
    d, e, Q = tridiagonal(G)
    T = np.zeros((n, n, 50))
    T[range(n), range(n)] = d
    T[range(1, n), range(n - 1)] = T[range(n - 1), range(1, n)] = e
    back = np.einsum("iak,abk,jbk->kij", Q, T, Q)
    assert np.abs(back - G).max() <= 1e-13 * np.abs(G).max()
    square = np.einsum("iak,jak->kij", Q, Q)
    assert np.abs(square - np.eye(n)).max() <= 1e-13


@pytest.mark.parametrize("n", FEATURES)
@pytest.mark.parametrize("rows", [2, 40])
@pytest.mark.parametrize("beta", [1e-3, 1.0, 30.0])
def test_many_tasks_are_fitted_like_few(n, rows, beta):
    G, B, other = tasks(300, n, rows)
    quick, sure = both(beta, G)
    W = sure.solve(B)
    assert same(quick.solve(B), W)
    assert same(quick.solve(other, W), sure.solve(other))


@pytest.mark.parametrize("excess", [1e-3, 1e-6, 1e-9, 1e-12, 1e-15])
def test_tasks_about_to_let_go(excess):
    G, B, _ = tasks(100, 4)
    u = B / np.linalg.norm(B, axis=1)[:, None]
    quick = ManyTasksFactor.of(1.0, G)
    assert not quick.solve((1 - excess) * u).any()
    # To first order in the excess, w = r u with r = excess / uᵀGu.
    bend = np.einsum("kf,kfg,kg->k", u, G, u)
    for start in (None, u):
        r = np.linalg.norm(quick.solve((1 + excess) * u, start), axis=1)
        bound = 1e3 * excess + 1e-15 / excess
        assert r * bend == pytest.approx(excess, rel=bound, abs=1e-15)


def test_pieces_do_not_change_the_answer():
    G, B, _ = (np.tile(each.T, 250).T for each in tasks(100, 10))
    quick = make_penalty("task", 1.0).factorise(G)
    assert len(quick.pieces) > 1
    wanted = TaskFactor(1.0, *eigen(G[:100])).solve(B[:100])
    assert same(quick.solve(B), np.tile(wanted.T, 250).T)
