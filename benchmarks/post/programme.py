"""The best randomised map between bins (Xian et al. 2024), as a linear programme."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.optimize import linprog
from scipy.sparse import coo_array, vstack

from .cases import Case

BINS = 200


@dataclass(frozen=True)
class Programme:
    """The bins of a case, which also span the new rows, and what is solved on them."""

    case: Case
    edges: np.ndarray

    @classmethod
    def of(cls, case: Case, bins: int = BINS) -> Programme:
        every = np.concatenate((case.m, case.m_new))
        return cls(case, np.linspace(every.min(), every.max(), bins + 1))

    @property
    def centres(self) -> np.ndarray:
        return (self.edges[1:] + self.edges[:-1]) / 2

    def plans(self, slack: float) -> list[np.ndarray]:
        """The shares of each bin that go to each bin, for both groups, KS ≤ slack."""
        case = self.case
        counts = [
            np.histogram(case.m[case.z == g], self.edges)[0] for g in (False, True)
        ]
        return bin_plans(counts, self.centres, slack)

    def drawn(self, plans: list[np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
        """Calibration rows and new rows, each sent to a bin at random."""
        rng, case = np.random.default_rng(0), self.case
        old, new = (
            draw_bins(m, z, self.edges, self.centres, plans, rng)
            for m, z in ((case.m, case.z), (case.m_new, case.z_new))
        )
        return old, new


def plan_gap(plans: list[np.ndarray]) -> float:
    """How far the AUC of what arrives is from 1/2, in the mean of all draws."""
    b, a = (plan.sum(axis=0) / plan.sum() for plan in plans)
    return abs(float(a @ (np.cumsum(b) - b / 2)) - 0.5)


def bin_plans(
    counts: list[np.ndarray], centres: np.ndarray, slack: float
) -> list[np.ndarray]:
    """Solve for the shares of each bin that go to each bin, for both groups.

    Unknowns are the plans of both groups and their distribution functions.
    """
    bins = len(centres)
    size = bins * bins
    i, j = np.divmod(np.arange(size), bins)
    cost = (centres[i] - centres[j]) ** 2
    total = sum(c.sum() for c in counts)
    k = np.arange(bins)
    apart = coo_array(
        (
            np.concatenate((np.ones(bins), -np.ones(bins))),
            (np.concatenate((k, k)), 2 * size + np.concatenate((k, bins + k))),
        ),
        shape=(bins, 2 * size + 2 * bins),
    ).tocsr()
    solved = linprog(
        np.concatenate((*(c.sum() / total * cost for c in counts), np.zeros(2 * bins))),
        A_ub=vstack((apart, -apart)),
        b_ub=np.full(2 * bins, slack),
        A_eq=_flows(bins),
        b_eq=np.concatenate([part for c in counts for part in (c / c.sum(), 0 * c)]),
        method="highs-ipm",
    )
    plans = np.maximum(solved.x[: 2 * size], 0).reshape(2, bins, bins)
    return list(plans)


def _flows(bins: int) -> coo_array:
    """What leaves a bin is what it held; what arrives is a step of F."""
    size = bins * bins
    i, j = np.divmod(np.arange(size), bins)
    entries: list[tuple[np.ndarray, np.ndarray, np.ndarray]] = []
    for g in (0, 1):
        plan, F = g * size + np.arange(size), 2 * size + g * bins + np.arange(bins)
        leave, arrive = 2 * g * bins + i, (2 * g + 1) * bins + j
        entries.append((leave, plan, np.ones(size)))
        entries.append((arrive, plan, np.ones(size)))
        step = (2 * g + 1) * bins + np.arange(bins)
        entries.append((step, F, -np.ones(bins)))
        entries.append((step[1:], F[:-1], np.ones(bins - 1)))
    rows, columns, values = (
        np.concatenate(part) for part in zip(*entries, strict=True)
    )
    shape = (4 * bins, 2 * size + 2 * bins)
    return coo_array((values, (rows, columns)), shape=shape).tocsr()


def draw_bins(
    m: np.ndarray,
    z: np.ndarray,
    edges: np.ndarray,
    centres: np.ndarray,
    plans: list[np.ndarray],
    rng: np.random.Generator,
) -> np.ndarray:
    """Send each prediction to a bin at random, as the plan of its group says.

    A bin that no row was learnt in moves by as many bins as the nearest that has some.
    """
    bins = len(centres)
    cell = np.clip(np.searchsorted(edges, m, "right") - 1, 0, bins - 1)
    out = np.empty(len(m))
    for g, plan in enumerate(plans):
        rows, mass = np.flatnonzero(z == g), plan.sum(axis=1)
        held = np.flatnonzero(mass > 1e-9)
        nearest = held[np.abs(np.arange(bins)[:, None] - held).argmin(axis=1)]
        cumulative = np.cumsum(plan[nearest], axis=1) / mass[nearest, None]
        draws = rng.random(len(rows))[:, None]
        target = (cumulative[cell[rows]] < draws).sum(axis=1)
        step = target - nearest[cell[rows]]
        out[rows] = centres[np.clip(cell[rows] + step, 0, bins - 1)]
    return out
