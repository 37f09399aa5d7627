"""Sums over tasks, chunk by chunk, against sums over all rows of a task."""

from itertools import pairwise

import numpy as np
import pytest

from rankfair.engines.chunked import Chunk, RowSums

K, N, FEATURES = 6000, 18_000, 3


def made(weighted, seed=0):
    """Rows of uneven tasks far from zero, some without a row, some with one."""
    rng = np.random.default_rng(seed)
    codes = (K * rng.random(N) ** 2).astype(np.int32)
    X = 1e4 * (codes[:, None] % 300) + rng.standard_normal((N, FEATURES))
    weights = rng.uniform(0.5, 2.0, N) if weighted else None
    y = X.sum(axis=1) + rng.standard_normal(N)
    return Chunk(tuple(X.T.copy()), y, codes, rng.random(N) < 0.4, weights)


def parts(chunk):
    """Some chunks of uneven sizes, one of them empty."""
    for i, j in pairwise((0, 1, 40, 40, 9000, N)):
        columns = tuple(column[i:j] for column in chunk.columns)
        weights = None if chunk.weights is None else chunk.weights[i:j]
        yield Chunk(columns, chunk.y[i:j], chunk.codes[i:j], chunk.in_a[i:j], weights)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("shares", [1, 2])
def test_sums_are_those_of_all_rows_of_a_task(weighted, shares):
    chunk = made(weighted)
    each = list(parts(chunk))
    total = RowSums.of(K, FEATURES, N, each[::shares])
    if shares == 2:
        total.add(RowSums.of(K, FEATURES, N, each[1::2]))
    w = chunk.weights if weighted else np.ones(N)

    def summed(values):
        """By task: (k, …)."""
        found = np.zeros((K, *values.shape[1:]))
        np.add.at(found, chunk.codes, values)
        return found

    Z, own = chunk.rows(chunk.y), total.by_task
    weight = summed(w)
    mean = summed(w[:, None] * Z) / np.maximum(weight, 1e-300)[:, None]
    off = Z - mean[chunk.codes]
    P = summed(w[:, None, None] * off[:, :, None] * off[:, None, :])
    apart = summed((w * chunk.in_a)[:, None] * off)
    # As exact as numbers of this size in doubles can be.
    near = {"rtol": 1e-7, "atol": 1e-6}
    for found, known in (
        (total.rows, np.bincount(chunk.codes, minlength=K)),
        (total.times, summed(np.maximum(w, 1.0))),
        (own.weight, weight),
        (own.centre, mean),
        (own.products, P),
        (own.weight_a, summed(w * chunk.in_a)),
        (own.cross_a, apart),
        (total.edge, [chunk.y.min(), chunk.y.max()]),
    ):
        np.testing.assert_allclose(found, known, **near)
    for i, group in enumerate((chunk.in_a, ~chunk.in_a)):
        s, y = w[group], chunk.y[group]
        assert total.groups[:, i] == pytest.approx([s.sum(), s @ s, s @ y])
    assert total.whole == (not weighted)


@pytest.mark.parametrize("codes", [[], [0, 1, 2, 1], [5, 3, 5], [900, 3, 900, 70]])
def test_rows_by_task(codes):
    codes = np.array(codes, np.int32)
    none = np.zeros(len(codes))
    tasks, sizes, rows = Chunk((none,), none, codes, none > 0, None).by_task()
    assert sorted(tasks) == sorted(set(codes.tolist()))
    assert (np.diff(sizes) >= 0).all()
    np.testing.assert_array_equal(codes[rows.order], np.repeat(tasks, sizes))
