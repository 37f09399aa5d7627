"""Rows that tie: what they do not say of rows that would not."""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rankfair.inference.parts import Part, welch_degrees

__all__ = ["Footing", "footing", "tied_share"]

Floats = NDArray[np.float64]
Codes = NDArray[np.intp]


class Footing(NamedTuple):
    """An AUC, its standard error and degrees of freedom: where a limit starts."""

    auc: float
    se: float
    df: float


def tied_share(
    values: Floats, units: Codes | None = None, weights: Floats | None = None
) -> float:
    """Return the chance that two rows of different units have the same value.

    With shares p of the weight it is ``(Σ_v p_v² − Σ_vu p_vu²) / (1 − Σ_u p_u²)``, over
    values v and units u; without units each row is one.

    Examples
    --------
    >>> import numpy as np
    >>> tied_share(np.arange(4.0)), tied_share(np.zeros(4))
    (0.0, 1.0)
    >>> tied_share(np.array([1.0, 1.0, 2.0, 2.0]), np.array([0, 0, 1, 1]))
    0.0
    """
    levels, codes = np.unique(values, return_inverse=True)
    if len(levels) == len(values):
        return 0.0
    p = np.ones(len(values)) if weights is None else weights
    p = p / p.sum()
    of_rows = np.arange(len(values)) if units is None else units
    both = np.unique(codes * (of_rows.max() + 1) + of_rows, return_inverse=True)[1]
    by_level, by_unit, by_both = (
        float(np.square(np.bincount(each, p)).sum()) for each in (codes, of_rows, both)
    )
    return max(by_level - by_both, 0.0) / (1.0 - by_unit) if by_unit < 1.0 else 0.0


def footing(
    auc: float,
    parts: tuple[Part, Part],
    ties: tuple[float, float],
    mixed: float,
    end: float,
) -> Footing:
    """Return where a limit starts that allows for what rows that tie do not show.

    Of rows that all tie no variance says how many are elsewhere: twenty are, with 95 %
    confidence, 14 % of the population at most.  So either group gets one unit more, by
    far above or below all others (``end`` is its placement, 1 or 0), of a weight of
    ``ties``, the share of pairs that tie: 1 if all do, and 0 if none does, where
    nothing changes.

    Examples
    --------
    >>> import numpy as np
    >>> level = Part.of_rows(np.full(20, 0.5))
    >>> many = Part.of_rows(np.full(10_000, 0.5))
    >>> start = footing(0.5, (level, many), (1.0, 0.0), 0.0, 1.0)
    >>> round(start.auc + 1.725 * start.se, 2), round(0.5 + 0.14 / 2, 2)
    (0.56, 0.57)
    """
    shares = [k / (part.units + k) for part, k in zip(parts, ties, strict=True)]
    a, b = (
        _with_one_more(part, k, share * (1.0 - share) * (end - auc) ** 2)
        for part, k, share in zip(parts, ties, shares, strict=True)
    )
    variance = max(a.variance + b.variance + mixed, 0.0)
    moved = auc + sum(shares) * (end - auc)
    return Footing(moved, variance**0.5, welch_degrees(a, b))


def _with_one_more(part: Part, k: float, between: float) -> Part:
    """A group with k units more; ``between`` is the variance between old and new."""
    n, more = part.units, part.units + k
    variance = part.variance * (n * (n - 1.0) / (more * (more - 1.0)))
    return replace(part, variance=variance + between / (more - 1.0), df=part.df + k)
