"""The part of a mean gap that controls explain, the part they do not, and its price.

Oaxaca and Blinder's twofold decomposition with the coefficients of the pooled
regression that has the group as a predictor, y = a + δ·[group] + x·b:

    gap = mean_A(y) − mean_B(y) = (x̄_A − x̄_B)·b + δ = explained + unexplained

With ``x̃`` the controls centred within each group and ``M = Σ s x̃ x̃ᵀ`` both parts are
linear in y.  So each of them is, to first order, a difference of two means of
pseudo-values, and has the interval of such a difference: over rows or over tasks.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from rankfair.input.arrays import Bools, Floats
from rankfair.stats.estimate import Estimate, TwoGroups, differences
from rankfair.stats.means import NOT_ABOVE_0, average, mean_gap

COLLINEAR = 1e-9  # of a column's variance: less is left of it beside those before


@dataclass(frozen=True)
class GapRegression:
    """The pooled regression of values on controls and the group.

    Attributes
    ----------
    values : ndarray of shape (N,)
        What is explained: pay, for instance, or its logarithm.
    in_group : boolean ndarray of shape (N,)
        Rows of the group; all others are those of the reference group.
    weights : ndarray of shape (N,)
        Weights of the rows.
    names : tuple of str
        The control of each column that is kept.
    dropped : tuple of str
        Controls of which a column says nothing that columns before it do not.
    """

    values: Floats
    in_group: Bools
    weights: Floats
    names: tuple[str, ...]
    dropped: tuple[str, ...]
    X: Floats  # (N, p), the columns that are kept
    centred: Floats  # (N, p), within each group
    inverse: Floats  # (p, p), of Σ s x̃ x̃ᵀ

    @classmethod
    def of(
        cls,
        values: Floats,
        in_group: Bools,
        weights: Floats,
        X: Floats,
        names: tuple[str, ...],
    ) -> GapRegression:
        """Fit the regression of ``values`` on the controls X and the group.

        ``names`` are the controls that columns belong to: those of one in categories
        share its name.
        """
        centred = _centred(X, in_group, weights)
        gram = (weights[:, None] * centred).T @ centred
        size = weights @ X**2
        kept = _independent(gram, size)
        of = np.array(names, dtype=object)
        return cls(
            values,
            in_group,
            weights,
            tuple(of[kept]),
            tuple(dict.fromkeys(of[~kept])),
            X[:, kept],
            centred[:, kept],
            np.asarray(np.linalg.inv(gram[np.ix_(kept, kept)]), np.float64),
        )

    @cached_property
    def coefficients(self) -> Floats:
        """The coefficient of each control's column: (p,)."""
        found: Floats = self.inverse @ (self.centred.T @ (self.weights * self.values))
        return found

    @cached_property
    def difference(self) -> Floats:
        """Means of the controls in the group less those in the reference: (p,)."""
        own, other = self.in_group, ~self.in_group
        a = np.average(self.X[own], axis=0, weights=self.weights[own])
        b = np.average(self.X[other], axis=0, weights=self.weights[other])
        return np.asarray(a - b)

    @cached_property
    def share(self) -> Floats:
        """What each row is of the weight of its group, the reference's negative."""
        mass = np.where(
            self.in_group,
            self.weights[self.in_group].sum(),
            -self.weights[~self.in_group].sum(),
        )
        return np.asarray(self.weights / mass)

    @cached_property
    def mean_against(self) -> float:
        """Mean of the reference."""
        return average(self.values[~self.in_group], self.weights[~self.in_group])

    @property
    def parts(self) -> Floats:
        """What each column explains of the gap: (p,)."""
        return self.difference * self.coefficients

    @property
    def gap(self) -> float:
        """Mean of the group less that of the reference."""
        return float(self.share @ self.values)

    @property
    def unexplained(self) -> float:
        """The coefficient of the group, δ."""
        return self.gap - float(self.parts.sum())

    @property
    def residuals(self) -> Floats:
        """Values less what the controls say: they still hold the unexplained gap."""
        return self.values - self.X @ self.coefficients

    @property
    def effects(self) -> Floats:
        """What one unit more of each value adds to the unexplained gap: (N,)."""
        pull: Floats = self.centred @ (self.inverse @ self.difference)
        return self.share - self.weights * pull

    @cached_property
    def errors(self) -> Floats:
        """Residuals as the regression without the row would leave them (HC3).

        The part of the group's mean is left to the variance of a mean.
        """
        rest = _centred(self.residuals[:, None], self.in_group, self.weights)[:, 0]
        lever = np.einsum("ij,ij->i", self.centred @ self.inverse, self.centred)
        own = 1.0 - np.abs(self.share)
        left = own - self.weights * lever
        return np.asarray(rest * own / np.where(left > 1e-9, left, own))

    @property
    def pseudo_residuals(self) -> Floats:
        """Return numbers whose means differ as δ varies: (N,).

        What is left of a value is its residual; the controls' own spread cancels.
        """
        return self.errors * self.effects / self.share

    def pseudo_values(self, columns: Bools) -> Floats:
        """Return numbers whose means differ by what the columns explain: (N,).

        They vary as what is explained does: by the controls of a row, and by what its
        value does to the coefficients.
        """
        b, difference = self.coefficients[columns], self.difference[columns]
        pull = self.centred @ (self.inverse[:, columns] @ difference)
        return self.X[:, columns] @ b + pull * self.errors * self.weights / self.share


def _centred(X: Floats, in_group: Bools, weights: Floats) -> Floats:
    """Columns less their mean in each group."""
    out = X.astype(np.float64, copy=True)
    for rows in (in_group, ~in_group):
        out[rows] -= np.average(X[rows], axis=0, weights=weights[rows])
    return out


def _independent(gram: Floats, size: Floats) -> Bools:
    """Tell which columns are not combinations of those before them (Cholesky)."""
    left = gram.copy()
    scale = np.diag(gram)
    varies = scale > COLLINEAR * COLLINEAR * size
    kept = np.zeros(len(gram), bool)
    for j in np.flatnonzero(varies):
        if left[j, j] > COLLINEAR * scale[j]:
            kept[j] = True
            left -= np.outer(left[:, j], left[j]) / left[j, j]
    return kept


@dataclass(frozen=True)
class ExplainedGap:
    """A mean gap and its parts, as estimates of one unit.

    Attributes
    ----------
    gap, explained, unexplained : Estimate
        ``gap = explained + unexplained``.
    by_control : dict of str to Estimate
        What each control explains; they add up to ``explained`` (Gelbach 2016).
    explained_share, unexplained_share : Estimate
        The same as shares of the reference group's mean; NaN if that is not above 0.
    dropped : tuple of str
        Controls of which a column repeats others.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> woman, years = rng.random(2000) < 0.5, rng.normal(10, 3, 2000)
    >>> years[woman] -= 2
    >>> pay = 30 + 2 * years - 1 * woman + rng.normal(size=2000)
    >>> groups = TwoGroups.of(woman)
    >>> one = np.ones(2000)
    >>> found = GapRegression.of(pay, woman, one, years[:, None], ("years",))
    >>> print(explained_gap(found, groups, 0.95).unexplained)
    -1.012 (-1.102 to -0.922)
    """

    gap: Estimate
    explained: Estimate
    unexplained: Estimate
    by_control: dict[str, Estimate]
    explained_share: Estimate
    unexplained_share: Estimate
    dropped: tuple[str, ...]


def explained_gap(
    found: GapRegression, groups: TwoGroups, confidence: float
) -> ExplainedGap:
    """Split a mean gap into what the controls explain and what they do not.

    Parameters
    ----------
    found : GapRegression
        The regression of the values.
    groups : TwoGroups
        The groups of its rows: whether rows or tasks are independent.
    confidence : float
        Between 0 and 1.

    Returns
    -------
    ExplainedGap
        In the units of the values.
    """
    values, in_group, s = found.values, found.in_group, found.weights
    size = float(np.abs(values).max(initial=0.0))

    def estimate(z: Floats, value: float, unit: float = 1.0) -> Estimate:
        """The interval of a difference of means of pseudo-values, about ``value``."""
        z = _centred(z[:, None], in_group, s)[:, 0]
        return mean_gap(
            z[in_group] + value, z[~in_group], groups, confidence, size / unit
        )

    mean = found.mean_against

    def share(z: Floats, value: float) -> Estimate:
        if not mean > 0.0:
            return Estimate(math.nan, note=NOT_ABOVE_0)
        # To first order the ratio varies as a difference of these means does.
        ratio = value / mean
        z = (z + np.where(in_group, 0.0, ratio * values)) / mean
        return estimate(z, ratio, mean)

    names, parts = np.array(found.names, dtype=object), found.parts
    every = np.ones(len(names), bool)
    z = found.pseudo_values(every)
    rest = found.pseudo_residuals
    return ExplainedGap(
        estimate(values, found.gap),
        estimate(z, float(parts.sum())),
        estimate(rest, found.unexplained),
        {
            name: estimate(
                found.pseudo_values(names == name), float(parts[names == name].sum())
            )
            for name in dict.fromkeys(found.names)
        },
        share(z, float(parts.sum())),
        share(rest, found.unexplained),
        found.dropped,
    )


def unexplained_variance(
    found: GapRegression, groups: TwoGroups, confidence: float
) -> float:
    """Return the variance of δ that its interval of this confidence is made from."""
    z = _centred(found.pseudo_residuals[:, None], found.in_group, found.weights)[:, 0]
    ways = differences(z[found.in_group], z[~found.in_group], groups)
    return max(ways, key=lambda way: way.half(confidence)).se ** 2


def kennedy(estimate: Estimate, variance: float) -> Estimate:
    """Return the relative difference of a difference of logarithms.

    ``exp(b − Var b / 2) − 1``: the mean of exp(b) is above exp of the mean (Kennedy
    1981).  The ends of the interval are mapped by ``exp(·) − 1``.

    Examples
    --------
    >>> print(kennedy(Estimate(-0.10, -0.14, -0.06), 0.02**2))
    -0.095 (-0.131 to -0.058)
    """
    shift = variance / 2.0 if estimate.estimable else 0.0
    return replace(estimate, value=estimate.value - shift).relative()


@dataclass(frozen=True)
class Remedy:
    """The least money that brings the unexplained gap to a value.

    Attributes
    ----------
    raises : ndarray of shape (N,)
        What is added to each value.
    unexplained : float
        The unexplained gap after the raises; larger than asked for if raising everybody
        below to what the other group is paid on average for the same controls does not
        suffice.
    """

    raises: Floats
    unexplained: float


def least_raises(found: GapRegression, target: float = 0.0) -> Remedy:
    """Return the least sum of raises after which the unexplained gap is ``target``.

    Rows of the lower-paid group are raised, each at most to what the other group is
    paid on average for the same controls.  The gap is linear in the values, so the
    least sum is a fractional knapsack: raises go first where a unit of money closes
    most of the gap.

    Parameters
    ----------
    found : GapRegression
        The regression of pay, not of its logarithm.
    target : float
        The size of the unexplained gap that is left, at least 0, in units of pay.

    Returns
    -------
    Remedy
        With no raises where the gap is small enough as it is.
    """
    gap = found.unexplained
    raises = np.zeros(len(found.values))
    over = abs(gap) - target
    if over <= 0.0:
        return Remedy(raises, gap)
    lower = found.in_group if gap < 0.0 else ~found.in_group
    other = ~lower
    level = np.average(found.residuals[other], weights=found.weights[other])
    short = np.where(lower, np.maximum(level - found.residuals, 0.0), 0.0)
    # Closed by one unit of money: a raise of a row costs its weight.
    closes = -math.copysign(1.0, gap) * found.effects
    worth = closes / found.weights
    able = np.flatnonzero((short > 0.0) & (worth > 0.0))
    able = able[np.argsort(-worth[able], kind="stable")]
    closed = np.cumsum(closes[able] * short[able])
    whole = int(np.searchsorted(closed, over, side="right"))
    raises[able[:whole]] = short[able[:whole]]
    before = float(closed[whole - 1]) if whole else 0.0
    if whole < len(able):
        raises[able[whole]] = (over - before) / closes[able[whole]]
        return Remedy(raises, math.copysign(target, gap))
    return Remedy(raises, math.copysign(abs(gap) - before, gap))
