"""A number with its confidence interval, and its units of sampling: rows or tasks."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from rankfair.input.arrays import Codes, Floats
from rankfair.input.groups import Bools

__all__ = ["ENOUGH_TASKS", "Estimate", "GroupRows", "TwoGroups", "clusters_of"]

ENOUGH_TASKS = 10  # from so many on, tasks that mix the groups may be clusters


@dataclass(frozen=True)
class Estimate:
    """A number measured on a sample, with a confidence interval for the population.

    Attributes
    ----------
    value : float
        The number; NaN if it does not exist.
    ci_low, ci_high : float
        Ends of the confidence interval; NaN if there is none.
    p_value : float or None
        p-value of "the groups do not differ", if there is a test for it.
    method : str
        How the interval and the p-value were computed.
    note : str
        Why there is no interval, or a caution.

    Examples
    --------
    >>> print(Estimate(0.62, 0.51, 0.72, 0.03))
    0.620 (0.510 to 0.720)
    >>> print(Estimate(0.62, note="group M has one row only"))
    0.620 (not estimable)
    """

    value: float
    ci_low: float = math.nan
    ci_high: float = math.nan
    p_value: float | None = None
    method: str = ""
    note: str = ""

    @property
    def estimable(self) -> bool:
        """Whether there is a confidence interval."""
        return not (math.isnan(self.ci_low) or math.isnan(self.ci_high))

    def covers(self, value: float) -> bool:
        """Tell whether ``value`` is in the interval; False if there is none.

        Examples
        --------
        >>> Estimate(0.62, 0.51, 0.72).covers(0.5)
        False
        """
        return self.ci_low <= value <= self.ci_high

    def mapped(self, to: Callable[[float], float]) -> Estimate:
        """Return the estimate of an increasing function of the number.

        Examples
        --------
        >>> print(Estimate(4.0, 1.0, 9.0).mapped(math.sqrt))
        2.000 (1.000 to 3.000)
        """
        value, low, high = map(to, (self.value, self.ci_low, self.ci_high))
        return replace(self, value=value, ci_low=low, ci_high=high)

    def finite(self) -> Estimate:
        """Return the estimate without an interval if a number of it is infinite.

        Examples
        --------
        >>> print(Estimate(1e308, 5e307, math.inf).finite())
        1e+308 (not estimable)
        """
        if not any(map(math.isinf, (self.value, self.ci_low, self.ci_high))):
            return self
        value = math.nan if math.isinf(self.value) else self.value
        return Estimate(value, note="too large for a number of double precision")

    def __str__(self) -> str:
        value, low, high = map(_shown, (self.value, self.ci_low, self.ci_high))
        return f"{value} ({f'{low} to {high}' if self.estimable else 'not estimable'})"


def _shown(value: float) -> str:
    """Three decimals for shares and the like, four digits for other quantities."""
    plain = value == 0.0 or 1e-3 <= abs(value) < 1e6 or value != value
    return format(value, ".3f" if plain else ".4g")


def clusters_of(
    codes: Codes | None, in_a: Bools
) -> tuple[Codes | None, Codes | None, str]:
    """Decide whether tasks are clusters, the independent units of a sample.

    If most rows are in tasks with one group only, tasks must be clusters: the groups
    differ between tasks.  If tasks mix the groups and there are enough of them, they
    may be clusters: intervals are computed both ways and the wider one counts.
    Otherwise rows are independent.

    Parameters
    ----------
    codes : integer ndarray of shape (N,) or None
        The task of each row.
    in_a : boolean ndarray of shape (N,)
        The rows of group A.

    Returns
    -------
    needed, possible : codes or None
        The codes, if tasks must be clusters, or if they may be; at most one is given.
    reason : str
        A sentence.

    Examples
    --------
    >>> import numpy as np
    >>> needed, _, why = clusters_of(np.array([0, 0, 1]), np.array([True, True, False]))
    >>> needed.tolist(), why
    ([0, 0, 1], 'Most rows are in tasks of one group only: tasks are clusters.')
    """
    if codes is None:
        return None, None, "No tasks: rows are taken as independent."
    of_a, of_b = np.bincount(codes, in_a), np.bincount(codes, ~in_a)
    alone = (of_a == 0) | (of_b == 0)
    if 2 * (of_a + of_b)[alone].sum() >= len(codes):
        why = "Most rows are in tasks of one group only: tasks are clusters."
        return codes, None, why
    if min((of_a > 0).sum(), (of_b > 0).sum()) < ENOUGH_TASKS:
        return None, None, "Few tasks, which mix the groups: they are taken as given."
    return None, codes, "Tasks mix the groups: rows or tasks, whichever is less sure."


@dataclass(frozen=True)
class GroupRows:
    """The rows of one group: their places, tasks and weights."""

    rows: Codes
    tasks: Codes | None = None
    weights: Floats | None = None

    @property
    def n(self) -> int:
        """How many rows there are."""
        return len(self.rows)

    @property
    def mass(self) -> float:
        """Their total weight."""
        return float(self.n if self.weights is None else self.weights.sum())

    def kish(self, by_task: bool = False) -> float:
        """Return Kish's effective number of rows, or of tasks."""
        masses = self.weights
        if by_task and self.tasks is not None:
            masses = np.bincount(self.tasks, self.weights).astype(np.float64)
        return float(
            self.n if masses is None else masses.sum() ** 2 / (masses @ masses)
        )


@dataclass(frozen=True)
class TwoGroups:
    """The rows of group A and group B, and whether tasks are clusters.

    ``needed``: tasks must be clusters; ``possible``: they may be (see `clusters_of`).
    """

    a: GroupRows
    b: GroupRows
    n_tasks: int
    needed: bool
    possible: bool

    @classmethod
    def of(
        cls,
        a: Bools,
        b: Bools,
        tasks: Codes | None = None,
        weights: Floats | None = None,
    ) -> TwoGroups:
        """Return the groups of two masks over the same rows."""
        group_a, group_b = (
            GroupRows(
                np.flatnonzero(mask),
                None if tasks is None else tasks[mask],
                None if weights is None else weights[mask],
            )
            for mask in (a, b)
        )
        if tasks is None:
            return cls(group_a, group_b, 1, False, False)
        tasks, in_a = tasks[a | b], a[a | b]
        needed, possible, _ = clusters_of(tasks, in_a)
        n_tasks = int(tasks.max(initial=-1)) + 1
        return cls(group_a, group_b, n_tasks, needed is not None, possible is not None)

    @property
    def tasks(self) -> tuple[Codes, Codes]:
        """The tasks of both groups; there must be tasks."""
        assert self.a.tasks is not None and self.b.tasks is not None
        return self.a.tasks, self.b.tasks

    @property
    def weights(self) -> tuple[Floats | None, Floats | None]:
        """The weights of both groups."""
        return self.a.weights, self.b.weights
