"""Slow and plain answers that the tests compare with."""

from functools import cache

import numpy as np


def brute_twice_u(m, in_a, weights=None):
    """2U of A over B pair by pair: a win counts 2, a tie 1."""
    weights = [1] * len(m) if weights is None else np.asarray(weights).tolist()
    total = 0
    for i, value in enumerate(m):
        for j, other in enumerate(m):
            if in_a[i] and not in_a[j]:
                points = 2 * (value > other) + (value == other)
                total += weights[i] * weights[j] * points
    return total


def gaps(m, labels):
    """|AUC − 1/2| of each group over the rest, pair by pair, and what a pair is.

    Rows whose label is None take no part.
    """
    labels = np.asarray(labels, dtype=object)
    known = np.array([label is not None for label in labels])
    m, labels = m[known], labels[known]
    for label in sorted(set(labels.tolist())):
        in_a = labels == label
        wins = np.sign(np.subtract.outer(m[in_a], m[~in_a]))
        yield abs(wins.sum()) / (2 * wins.size), 1 / wins.size


def closest_in_band(m, in_a, band):
    """Least distance from ``m`` to predictions with 2U in the band (its closure).

    Keeping the order within each group is best, so only the ways to merge the two
    sorted groups matter.  Each fixes 2U; the nearest predictions in that weak order are
    an isotonic regression.
    """
    a, b = np.sort(m[in_a]), np.sort(m[~in_a])
    distances = [
        _distance(order, a, b)
        for order, count in weak_orders(len(a), len(b))
        if band[0] <= count <= band[1]
    ]
    return float(np.sqrt(min(distances)))


@cache
def weak_orders(n_a, n_b):
    """All merges of two sorted groups, ascending, each with its 2U.

    A merge is a tuple of blocks (rows of A, rows of B): single rows, or a tie of at
    least one row of each.
    """
    if n_a == n_b == 0:
        return [((), 0)]
    blocks = [(1, 0), (0, 1)]
    blocks += [(i, j) for i in range(1, n_a + 1) for j in range(1, n_b + 1)]
    return [
        ((*order, (i, j)), count + 2 * i * (n_b - j) + i * j)
        for i, j in blocks
        if i <= n_a and j <= n_b
        for order, count in weak_orders(n_a - i, n_b - j)
    ]


def _distance(order, a, b):
    """The squared distance of the isotonic regression along a merge."""
    next_a = next_b = 0
    pools = []
    for i, j in order:
        pools.append([*a[next_a : next_a + i], *b[next_b : next_b + j]])
        next_a, next_b = next_a + i, next_b + j
        while len(pools) > 1 and _mean(pools[-2]) >= _mean(pools[-1]):
            pools[-2:] = [pools[-2] + pools[-1]]
    return sum((x - _mean(pool)) ** 2 for pool in pools for x in pool)


def _mean(values):
    return sum(values) / len(values)
