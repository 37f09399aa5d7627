"""Sums over tasks, chunk by chunk, against sums over all rows of a task."""

from itertools import pairwise

import numpy as np
import pytest
from rankfair.engines.summary import Summary

from rankfair.engines import summary as sums
from rankfair.engines.chunk import Chunk, own_codes

K, N, FEATURES = 300, 900, 3


def made(weighted, seed=0):
    """Rows of uneven tasks far from zero, some without a row, some with one."""
    rng = np.random.default_rng(seed)
    codes = (K * rng.random(N) ** 2).astype(np.int32)
    X = 1e4 * codes[:, None] + rng.standard_normal((N, FEATURES))
    weights = rng.uniform(0.5, 2.0, N) if weighted else None
    y = X.sum(axis=1) + rng.standard_normal(N)
    return Chunk(tuple(X.T.copy()), y, codes, rng.random(N) < 0.4, weights)


def parts(chunk, edges=(0, 1, 40, 40, 500, N)):
    """Some chunks of uneven sizes, one of them empty."""
    return [taken(chunk, slice(i, j)) for i, j in pairwise(edges)]


def taken(chunk, rows):
    """Some rows of a chunk."""
    weights = None if chunk.weights is None else chunk.weights[rows]
    columns = tuple(column[rows] for column in chunk.columns)
    return Chunk(columns, chunk.y[rows], chunk.codes[rows], chunk.in_a[rows], weights)


def summed(chunk_list):
    total = Summary.empty(K, FEATURES, N)
    for each in chunk_list:
        total.take(each)
    return total


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("piece", [1, 100, 1 << 15])
@pytest.mark.parametrize("shares", [1, 2])
def test_sums_are_those_of_all_rows_of_a_task(monkeypatch, weighted, piece, shares):
    monkeypatch.setattr(sums, "PIECE", piece)
    chunk = made(weighted)
    each = parts(chunk)
    total = summed(each[::shares])
    if shares == 2:
        total.add(summed(each[1::2]))
    rows, w = chunk.rows(chunk.y), np.ones(N) if not weighted else chunk.weights
    assert total.rows.tolist() == np.bincount(chunk.codes, minlength=K).tolist()
    for task in range(K):
        own = chunk.codes == task
        s, Z = w[own], rows[own]
        assert total.weight[task] == pytest.approx(s.sum())
        if own.any():
            mean = s @ Z / s.sum()
            assert [*total.centre[task], total.mean_y[task]] == pytest.approx(mean)
            P = (Z - mean).T @ (s[:, None] * (Z - mean))
            # As exact as numbers of this size in doubles can be.
            near = {"rel": 1e-7, "abs": 1e-7}
            assert total.gram[task] == pytest.approx(P[:-1, :-1], **near)
            assert total.cross[task] == pytest.approx(P[:-1, -1], **near)
            assert total.yy[task] == pytest.approx(P[-1, -1], **near)
    a = chunk.in_a
    halves = [w[a].sum(), w[~a].sum(), (w[a] ** 2).sum(), (w[~a] ** 2).sum()]
    assert total.group == pytest.approx(halves)
    sides = [w[a] @ chunk.y[a], w[~a] @ chunk.y[~a]]
    assert total.target == pytest.approx(sides)
    assert total.edge.tolist() == [chunk.y.min(), chunk.y.max()]
    assert total.whole == (not weighted)


@pytest.mark.parametrize("codes", [[], [0, 1, 2, 1], [5, 3, 5], [900, 3, 900, 70]])
def test_own_codes(codes):
    codes = np.array(codes, np.int32)
    tasks, own = own_codes(codes)
    assert tasks.tolist() == sorted(set(codes.tolist()))
    assert tasks[own].tolist() == codes.tolist()
