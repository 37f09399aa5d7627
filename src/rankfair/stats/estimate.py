"""A number with its confidence interval, and what was sampled: rows or tasks."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from rankfair.input.errors import Codes, Floats
from rankfair.input.groups import Bools

__all__ = ["ENOUGH_TASKS", "Estimate", "GroupRows", "TwoGroups", "clusters_of"]

# Tasks that mix the groups count as a sample of tasks from so many on.
ENOUGH_TASKS = 10


@dataclass(frozen=True)
class Estimate:
    """A number counted on a sample, with a confidence interval in the population.

    Attributes
    ----------
    value : float
        What was counted; NaN if it does not exist.
    ci_low, ci_high : float
        Ends of the confidence interval; NaN where they cannot be known.
    p_value : float or None
        Of "no difference between the groups", where a matching test exists.
    method : str
        How interval and p-value were made, in plain words.
    note : str
        Why it is not estimable, or what to beware of.

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
        """Return the estimate of a rising function of what was estimated.

        Examples
        --------
        >>> print(Estimate(4.0, 1.0, 9.0).mapped(math.sqrt))
        2.000 (1.000 to 3.000)
        """
        value, low, high = map(to, (self.value, self.ci_low, self.ci_high))
        return replace(self, value=value, ci_low=low, ci_high=high)

    def finite(self) -> Estimate:
        """Return what of the estimate is a number: infinite ends are not known.

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
    """Say which tasks are clusters: what is needed, what may be, and why.

    Where most rows are in tasks of one group only, the groups differ between tasks and
    tasks are what was sampled: clusters are needed.  Where tasks mix the groups, rows
    are compared within them as well and tasks may be taken as given; if there are
    enough of them they are tried as clusters too, and the wider answer counts.

    Parameters
    ----------
    codes : integer ndarray of shape (N,) or None
        The task of each row.
    in_a : boolean ndarray of shape (N,)
        The rows of group A.

    Returns
    -------
    needed, possible : codes or None
        At most one of them is not None.
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
        """Their weight in all."""
        return float(self.n if self.weights is None else self.weights.sum())


@dataclass(frozen=True)
class TwoGroups:
    """Group A, group B, and what is independent between their rows.

    ``needed`` says that tasks are clusters, ``possible`` that they may be (see
    `clusters_of`).
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
        """The tasks of both groups; only where there are any."""
        assert self.a.tasks is not None and self.b.tasks is not None
        return self.a.tasks, self.b.tasks

    @property
    def weights(self) -> tuple[Floats | None, Floats | None]:
        """The weights of both groups."""
        return self.a.weights, self.b.weights
