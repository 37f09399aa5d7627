"""Distances between the predictions of two groups."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from rankfair.inference.ordered import Ordered

__all__ = ["cdf_gap", "ks_distance", "wasserstein"]

Floats = NDArray[np.float64]


def cdf_gap(ordered: Ordered, mass_a: Floats, mass_b: Floats) -> tuple[Floats, Floats]:
    """Return ``F_A − F_B`` at each distinct prediction, and the predictions.

    Masses are in the order of the predictions and 0 for rows of neither group.
    """
    gap = np.cumsum(mass_a / mass_a.sum() - mass_b / mass_b.sum())
    ends = ordered.ends()
    if ends is None:
        return gap, ordered.values
    return gap[ends], ordered.values[ends]


def ks_distance(gap: Floats) -> float:
    """The largest difference of the distribution functions."""
    return float(np.abs(gap).max())


def wasserstein(gap: Floats, values: Floats) -> float:
    """The area between the distribution functions: how far predictions must move."""
    return float(np.abs(gap[:-1]) @ np.diff(values))
