"""How uncertain a count of pairs is."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import brentq
from scipy.special import expit, logit, rel_entr
from scipy.stats import norm
from scipy.stats import t as student

from rankfair.core.ranks import split
from rankfair.inference.parts import Part, placements, welch_degrees
from rankfair.inference.ties import Footing, footing, tied_share

__all__ = ["Spread", "auc_spread", "auc_standard_error", "placement_spread"]

Floats = NDArray[np.float64]
Codes = NDArray[np.intp]
Bools = NDArray[np.bool_]

# Below so many rows (or clusters) won and lost, a variance has seen too few of either.
FEW = 5


def auc_standard_error(
    predicted: Floats, in_a: Bools, clusters: NDArray[Any] | None = None
) -> float:
    """Return the standard error of AUC.

    A row's *placement* is the share of the other group that it beats (group A) or loses
    to (group B), ties half.  AUC is the mean placement of either group, and its
    variance is that of these means (DeLong).  Rows of one cluster are not independent
    of each other: their placements are summed first, and clusters with both groups add
    a covariance (Obuchowski).

    Parameters
    ----------
    predicted : ndarray of shape (N,)
        Predictions.
    in_a : boolean ndarray of shape (N,)
        The rows of group A.
    clusters : array of shape (N,), optional
        Labels of clusters; rows are independent without them.

    Returns
    -------
    float
        NaN where a group has fewer than two rows, or two clusters: the spread cannot be
        known from one.

    Examples
    --------
    >>> import numpy as np
    >>> in_a = np.array([True, True, False, False])
    >>> round(auc_standard_error(np.array([1.0, 3.0, 2.0, 0.0]), in_a), 4)
    0.3536
    >>> auc_standard_error(np.array([1.0, 3.0, 2.0, 0.0]), in_a, [7, 7, 8, 8])
    nan
    """
    a, b = split(predicted, in_a)
    if len(a) < 2 or len(b) < 2:
        return math.nan
    above = placements(a, b)
    below = 1.0 - placements(b, a)
    auc = float(above.mean())
    if clusters is None:
        return math.sqrt(above.var(ddof=1) / len(a) + below.var(ddof=1) / len(b))
    labels, codes = np.unique(np.asarray(clusters), return_inverse=True)
    code_a, code_b = split(codes, in_a)
    excess_a = np.bincount(code_a, above - auc, minlength=len(labels)) / len(a)
    excess_b = np.bincount(code_b, below - auc, minlength=len(labels)) / len(b)
    n_a, n_b = len(np.unique(code_a)), len(np.unique(code_b))
    if n_a < 2 or n_b < 2:
        return math.nan
    variance = (
        n_a / (n_a - 1) * (excess_a @ excess_a)
        + n_b / (n_b - 1) * (excess_b @ excess_b)
        + 2 * len(labels) / (len(labels) - 1) * (excess_a @ excess_b)
    )
    return math.sqrt(max(float(variance), 0.0))


@dataclass(frozen=True)
class Spread:
    """What is known about the AUC of a population from the AUC of a sample.

    Attributes
    ----------
    auc : float
        The AUC counted.
    se : float
        Its standard error; NaN where a group has fewer than two independent units.
    df : float
        Degrees of freedom of the standard error.
    units : float
        Rows of the smaller group, or one over the share of its largest cluster.
    worth : float
        How many independent rows the smaller group is worth.
    n_clusters : int or None
        How many clusters there are; None if rows are independent.
    below, above : Footing or None
        Where limits below and above start, if rows tie; None for AUC itself.

    Examples
    --------
    >>> spread = Spread(auc=0.6, se=0.1, df=20.0, units=15.0, worth=15.0)
    >>> round(spread.bound(0.95), 3)
    0.255
    >>> [round(end, 3) for end in spread.interval(0.95)]
    [0.386, 0.782]
    """

    auc: float
    se: float
    df: float
    units: float
    worth: float
    n_clusters: int | None = None
    below: Footing | None = None
    above: Footing | None = None

    @property
    def estimable(self) -> bool:
        """Whether anything can be said about the population."""
        return not math.isnan(self.se)

    @property
    def exact(self) -> bool:
        """Whether the standard error says nothing: no two placements differ."""
        return self.se == 0.0 or self.auc in (0.0, 1.0)

    @property
    def few(self) -> bool:
        """Whether too few pairs were won or lost for a variance to be trusted."""
        return self.worth * min(self.auc, 1.0 - self.auc) < FEW

    def bound(self, confidence: float) -> float:
        """Return what ``|AUC − 1/2|`` of the population stays below, that surely.

        If the population's AUC is above 1/2, the bound can only fail where the
        one-sided upper limit of AUC fails; below 1/2, where the lower one does.  So
        each limit has all of ``1 − confidence`` to fail, not half of it.

        Parameters
        ----------
        confidence : float
            Between 0 and 1.

        Returns
        -------
        float
            At most 1/2; NaN if the spread is not known.
        """
        low, high = self._limits(1.0 - confidence)
        return max(high - 0.5, 0.5 - low)

    def interval(self, confidence: float) -> tuple[float, float]:
        """Return an interval that holds AUC, half of the doubt at either end.

        Where few pairs were won or lost, the end towards 1/2 also allows for the
        greatest variance that any two distributions with that AUC can have,
        ``AUC (1 − AUC) / n`` with n rows in the smaller group (Birnbaum and Klose), or
        as many as its clusters are worth.

        Parameters
        ----------
        confidence : float
            Between 0 and 1.

        Returns
        -------
        pair of float
            Lower and upper end; NaN if the spread is not known.
        """
        alpha = (1.0 - confidence) / 2
        low, high = self._limits(alpha)
        if self.estimable and self.few and not self.exact:
            centre, half = _wilson(self.auc, self.worth, float(norm.isf(alpha)))
            if self.auc >= 0.5:
                low = min(low, centre - half)
            if self.auc <= 0.5:
                high = max(high, centre + half)
        return low, high

    def _limits(self, alpha: float) -> tuple[float, float]:
        """One-sided limits below and above, each failing with probability alpha."""
        if not self.estimable:
            return math.nan, math.nan
        if self.exact:
            high = _exact_upper(self.auc, self.units, alpha)
            return 1.0 - _exact_upper(1.0 - self.auc, self.units, alpha), high
        itself = Footing(self.auc, self.se, self.df)
        return (
            _limit(self.below or itself, alpha, -1.0),
            _limit(self.above or itself, alpha, 1.0),
        )


def auc_spread(
    predicted: Floats,
    in_a: Bools,
    clusters: NDArray[Any] | None = None,
    weights: Floats | None = None,
) -> Spread:
    """Return the AUC with what is needed for limits of the population's AUC.

    The standard error is DeLong's, over clusters Obuchowski's with a large cluster's
    pull on the mean taken out (the jackknife's factor ``1 / (1 − w)`` for a cluster
    with a share w of its group; for clusters of one size it changes nothing).  Degrees
    of freedom are Satterthwaite's; a group of n units has n − 1, clusters of uneven
    size as many as ``(Σw²)² / Σw⁴`` of equal size.  Where rows of a group tie, limits
    allow for one more that is far from all others: see `rankfair.inference.ties`.

    Parameters
    ----------
    predicted : ndarray of shape (N,)
        Predictions.
    in_a : boolean ndarray of shape (N,)
        The rows of group A, neither none nor all.
    clusters : array of shape (N,), optional
        Labels of clusters; rows are independent without them.
    weights : positive ndarray of shape (N,), optional
        How much a row stands for; a row of weight 2 is not two independent rows.

    Returns
    -------
    Spread
        With ``se`` NaN where a group has fewer than two rows or clusters.

    Examples
    --------
    >>> import numpy as np
    >>> m, in_a = np.array([1.0, 3.0, 2.0, 0.0]), np.array([True, True, False, False])
    >>> spread = auc_spread(m, in_a)
    >>> spread.auc, round(spread.se, 4), spread.df
    (0.75, 0.3536, 2.0)
    """
    a, b = split(predicted, in_a)
    w_a, w_b = (None, None) if weights is None else split(weights, in_a)
    above, below = placements(a, b, w_b), 1.0 - placements(b, a, w_a)
    if clusters is None:
        ties = tied_share(a, None, w_a), tied_share(b, None, w_b)
        return placement_spread(above, below, weights=(w_a, w_b), ties=ties)
    labels, codes = np.unique(np.asarray(clusters), return_inverse=True)
    of_a, of_b = split(codes, in_a)
    ties = tied_share(a, of_a, w_a), tied_share(b, of_b, w_b)
    return placement_spread(above, below, (of_a, of_b), len(labels), (w_a, w_b), ties)


def placement_spread(
    above: Floats,
    below: Floats,
    clusters: tuple[Codes, Codes] | None = None,
    n_clusters: int | None = None,
    weights: tuple[Floats | None, Floats | None] = (None, None),
    ties: tuple[float, float] = (0.0, 0.0),
) -> Spread:
    """Return the spread of AUC from the placements of the rows of either group.

    Parameters
    ----------
    above : ndarray of shape (n_A,)
        The share of group B below each row of A.
    below : ndarray of shape (n_B,)
        The share of group A above each row of B.
    clusters : pair of integer ndarrays, optional
        The cluster of each row, from 0.
    n_clusters : int, optional
        How many clusters there are, numbers that do not occur included.
    weights : pair of ndarrays, optional
        Weights of the rows.
    ties : pair of float, optional
        The share of pairs of rows that tie, in either group.

    Returns
    -------
    Spread
        As `auc_spread`.

    Examples
    --------
    >>> import numpy as np
    >>> placement_spread(np.array([0.5, 1.0]), np.array([0.5, 1.0])).auc
    0.75
    """
    w_a, w_b = weights
    auc = float(np.average(above, weights=w_a))
    if clusters is None:
        if w_a is None or w_b is None:
            return _spread(auc, (Part.of_rows(above), Part.of_rows(below)), ties)
        weighted = (
            Part.of_weighted(above - auc, w_a),
            Part.of_weighted(below - auc, w_b),
        )
        return _spread(auc, weighted, ties)
    (code_a, code_b), n = clusters, n_clusters or 0
    part_a = Part.of_clusters(above - auc, code_a, n, w_a)
    part_b = Part.of_clusters(below - auc, code_b, n, w_b)
    mixed = 2.0 * float(part_a.pulls @ part_b.pulls)
    present = int(np.count_nonzero((part_a.share > 0) | (part_b.share > 0)))
    return _spread(auc, (part_a, part_b), ties, mixed, present)


def _spread(
    auc: float,
    parts: tuple[Part, Part],
    ties: tuple[float, float],
    mixed: float = 0.0,
    n_clusters: int | None = None,
) -> Spread:
    a, b = parts
    total = a.variance + b.variance
    units = min(a.units, b.units)
    if math.isnan(total):
        return Spread(auc, math.nan, math.nan, units, units, n_clusters)
    # Clusters with both groups do not say twice what they say once.
    df = welch_degrees(a, b)
    se = math.sqrt(max(total + mixed, 0.0))
    worth = min(a.worth, b.worth)
    if not any(ties):
        return Spread(auc, se, df, units, worth, n_clusters)
    starts = (footing(auc, parts, ties, mixed, end) for end in (0.0, 1.0))
    return Spread(auc, se, df, units, worth, n_clusters, *starts)


def _limit(start: Footing, alpha: float, sign: float) -> float:
    """The one-sided limit below (sign −1) or above (1) that fails with that chance."""
    # On the logit scale limits stay inside (0, 1) and are nearly symmetric.
    slope = start.auc * (1.0 - start.auc)
    half = float(student.isf(alpha, start.df)) * start.se / slope
    return float(expit(logit(start.auc) + sign * half))


def _wilson(share: float, n: float, z: float) -> tuple[float, float]:
    """Centre and half width of Wilson's interval of a share."""
    shrink = 1.0 + z * z / n
    half = z * math.sqrt(share * (1.0 - share) / n + z * z / (4 * n * n)) / shrink
    return (share + z * z / (2 * n)) / shrink, half


def _exact_upper(auc: float, n: float, alpha: float) -> float:
    """The upper limit that holds for n units whatever the distributions.

    AUC is the mean, over all ways to match n units of A with n of B, of a mean of n
    independent numbers in [0, 1].  So Hoeffding's bound for such a mean holds for it:
    ``P(AUC ≤ x) ≤ exp(−n KL(x, θ))``.  With AUC 0 that is θ = 1 − α^(1/n), the limit of
    Clopper and Pearson.
    """

    def excess(theta: float) -> float:
        divergence = rel_entr(auc, theta) + rel_entr(1.0 - auc, 1.0 - theta)
        return float(n * divergence + math.log(alpha))

    nearly_one = 1.0 - 1e-15
    if auc == 1.0 or excess(nearly_one) <= 0:
        return 1.0
    return float(brentq(excess, auc, nearly_one))
