"""Mann and Whitney's test: all permutations, random ones, or the normal law."""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np
from scipy.special import ndtr

from rankfair.input.arrays import Codes, Floats

SMALL = 30  # rows of the smaller group below which the normal law is not trusted
MOST_COUNTED = 3e8  # additions to count all permutations; beyond it some are drawn


def mann_whitney(
    twice_rank_sum: int,
    twice_ranks: Codes,
    n_a: int,
    seed: int | None = 0,
    most_counted: float = MOST_COUNTED,
    draws: int = 9_999,
) -> tuple[float, str]:
    """Return the two-sided p-value of Mann and Whitney's test, and how it was made.

    Parameters
    ----------
    twice_rank_sum : int
        Twice the sum of the mid-ranks of group A.
    twice_ranks : integer ndarray of shape (N,)
        Twice the mid-ranks of all rows.
    n_a : int
        Rows of group A.
    seed : int or None
        Seed of random permutations.
    most_counted : float
        All permutations are counted if that needs at most so many additions.
    draws : int
        Random permutations otherwise.

    Returns
    -------
    p_value : float
        The probability of a rank sum at least as far from its mean, if groups were
        assigned at random.
    method : str
        How the p-value was computed.

    Examples
    --------
    >>> import numpy as np
    >>> p, method = mann_whitney(2 * (4 + 5), np.array([2, 4, 6, 8, 10]), 2)
    >>> round(p, 3), method
    (0.2, 'all permutations counted')
    """
    n = len(twice_ranks)
    n_b = n - n_a
    few = min(n_a, n_b)
    if few >= SMALL:
        counts = np.bincount(twice_ranks).astype(np.float64)
        auc = (twice_rank_sum / 2 - n_a * (n_a + 1) / 2) / (n_a * n_b)
        ties = float(((counts**2 - 1.0) * counts).sum())
        p = float(normal_p(auc, n_a, n_b, ties))
        return p, "normal law with ties"
    # A and B are mirror images: assign the smaller group.
    total = int(twice_ranks.sum())
    observed = twice_rank_sum if n_a <= n_b else total - twice_rank_sum
    distance = abs(n * observed - few * total)  # n × the distance from the mean
    ordered = np.sort(twice_ranks)
    # How many different rank sums of the smaller group there can be.
    span = float(ordered[n - few :].sum() - ordered[:few].sum()) + 1.0
    if n * few * span <= most_counted:
        p = _counted(ordered, few, distance)
        return p, "all permutations counted"
    p = _drawn(twice_ranks, few, distance, draws, np.random.default_rng(seed))
    return p, f"{draws:,} random permutations"


def normal_p(
    auc: Floats | float, n_a: Codes | int, n_b: Codes | int, ties: Floats | float
) -> Floats:
    """The p-value of AUCs by the normal law, corrected for ties and for continuity.

    ``ties`` is ``Σ (t³ − t)`` over runs of t equal values.
    """
    n = n_a + n_b
    variance = n_a * n_b / 12.0 * (n + 1.0 - ties / (n * (n - 1.0)))
    distance = np.abs(auc - 0.5) * n_a * n_b - 0.5
    z = np.where(variance > 0, distance / np.sqrt(np.maximum(variance, 1e-300)), 0.0)
    p: Floats = np.minimum(2.0 * ndtr(-z), 1.0)
    return p


def _counted(ordered: Codes, few: int, distance: int) -> float:
    n = len(ordered)
    if (ordered[1:] != ordered[:-1]).all():
        # n times twice the distance of U from its mean is the distance given.
        u = few * (n - few) / 2 - distance / (2 * n)
        return untied_p(round(u), few, n - few)
    sums, ways = _ways(ordered, few)
    far = np.abs(n * sums - few * int(ordered.sum())) >= distance
    return float(ways[far].sum() / ways.sum())


def untied_p(u: int, n_a: int, n_b: int) -> float:
    """Return the exact two-sided p-value of a count U without ties.

    Examples
    --------
    >>> round(untied_p(6, 2, 3), 3)
    0.2
    """
    below, least = _untied(*sorted((n_a, n_b))), min(u, n_a * n_b - u)
    return float(min(2.0 * below[least], 1.0)) if 2 * least < n_a * n_b else 1.0


@lru_cache(maxsize=1024)
def _untied(few: int, many: int) -> Floats:
    """The probability of each U up to its mean, and of all below, without ties.

    The numbers of ways are the coefficients of the Gaussian binomial, the product of
    ``(1 − q^(many + i)) / (1 − q^i)`` over i up to ``few``.
    """
    ways = np.zeros(few * many // 2 + 1)
    ways[0] = 1.0
    for i in range(1, few + 1):
        if many + i < len(ways):
            ways[many + i :] -= ways[: -many - i].copy()
        rows = np.append(ways, np.zeros(-len(ways) % i)).reshape(-1, i)
        ways = np.cumsum(rows, axis=0).ravel()[: len(ways)]
    found: Floats = np.cumsum(ways) / math.comb(few + many, few)
    return found


def _ways(ordered: Codes, few: int) -> tuple[Codes, Floats]:
    """Count, row by row, the ways to choose each number of rows with each rank sum."""
    shifted = ordered - ordered[0]  # sums from 0 make a shorter table
    step = math.gcd(*map(int, shifted)) or 1
    shifted //= step
    least = [0, *np.cumsum(shifted).tolist()]  # sums of the first rows
    n, most = len(ordered), int(shifted[len(ordered) - few :].sum())
    ways = np.zeros((few + 1, most + 1))
    ways[0, 0] = 1.0
    for i, rank in enumerate(shifted.tolist()):
        # From the top down, so that no row is chosen twice.  Only sizes that earlier
        # rows can make and later rows can complete, and only sums they can have.
        for j in range(min(few, i + 1), max(0, few - n + i), -1):
            low, high = least[j - 1], least[i] - least[i - j + 1] + 1
            ways[j, rank + low : rank + high] += ways[j - 1, low:high]
    sums = np.arange(most + 1) * step + few * int(ordered[0])
    return sums, ways[few]


def _drawn(
    twice_ranks: Codes, few: int, distance: int, draws: int, rng: np.random.Generator
) -> float:
    """Assign the smaller group at random; the observed assignment is one draw."""
    n, total = len(twice_ranks), int(twice_ranks.sum())
    sums = twice_ranks[_subsets(n, few, draws, rng)].sum(axis=0)
    far = int((np.abs(n * sums - few * total) >= distance).sum())
    return (far + 1) / (draws + 1)


def _subsets(n: int, few: int, draws: int, rng: np.random.Generator) -> Codes:
    """Draw sets of ``few`` of ``n`` rows, all equally likely: (few, draws).

    Floyd's algorithm, for all sets at once: the i-th member is one of the first
    n - few + i rows, or the last of these if that one is in the set already.
    """
    sets = np.empty((few, draws), np.intp)
    for i in range(few):
        last = n - few + i
        sets[i] = rng.integers(0, last + 1, draws)
        sets[i, (sets[:i] == sets[i]).any(axis=0)] = last
    return sets
