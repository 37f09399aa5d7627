"""Numbers cut into bins, which are groups."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from rankfair._frames import Codes, Floats
from rankfair._groups.records import Groups

__all__ = ["bin_labels", "cut", "cut_at", "quantile_places"]


def cut(groups: Groups, bins: int, weights: Floats | None) -> Groups:
    """Return quantiles of a number as groups; equal numbers stay together."""
    total = groups.sizes(weights)
    values = groups.labels.astype(np.float64)[total > 0]
    total = total[total > 0]
    place = quantile_places(total, bins)
    starts = np.unique(values[np.flatnonzero(np.diff(place, prepend=-1))])
    return cut_at(groups, np.append(starts, values[-1]))


def quantile_places(weights: NDArray[Any], n: int) -> Codes:
    """Return the quantile, 0 to n − 1, of each of some values in order, by weight.

    It is that of the middle of a value's weight.

    Examples
    --------
    >>> quantile_places(np.array([1, 1, 1, 5]), 2).tolist()
    [0, 0, 0, 1]
    """
    upto = np.cumsum(weights)
    middle = (upto - weights / 2) / upto[-1]
    places: Codes = np.minimum((middle * n).astype(np.intp), n - 1)
    return places


def cut_at(groups: Groups, edges: Floats) -> Groups:
    """Return the bin of each row; numbers beyond the edges are in the outer bins.

    Examples
    --------
    >>> ages = Groups(np.array([0, 1, -1, 2]), np.array([5, 30, 99]), "age")
    >>> cut_at(ages, np.array([18.0, 40.0, 65.0])).codes.tolist()
    [0, 0, -1, 1]
    """
    values = groups.labels.astype(np.float64)
    place = np.searchsorted(edges[1:-1], values, "right").astype(np.intp)
    codes = np.where(groups.codes < 0, -1, place[groups.codes])
    return Groups(codes, bin_labels(edges), groups.name, edges)


def bin_labels(edges: Floats) -> NDArray[Any]:
    """Return bins as text, with as many digits as tell the edges apart.

    Examples
    --------
    >>> bin_labels(np.array([18.0, 35.0, 90.0])).tolist()
    ['[18, 35)', '[35, 90]']
    """
    starts = len(edges) - 1
    for digits in (4, 6, 9, 17):
        shown_edges = [f"{edge:.{digits}g}" for edge in edges]
        if len(set(shown_edges[:starts])) == starts:
            break
    ends = [")"] * (starts - 1) + ["]"]
    return np.array(
        [
            f"[{low}, {high}{end}"
            for low, high, end in zip(shown_edges, shown_edges[1:], ends, strict=False)
        ]
    )
