"""Several constraints at once: one direction and one ``λ`` each, ``m(λ) = m₀ − Dλ``.

With ``λ = T u`` the square of ``u`` is the mean squared distance from the free fit, in
variances of y, so the fair fit is the shortest ``u`` whose values are in their bands.
Values of linear constraints are linear in ``u``: one least-distance programme solves
them.  Counted ones are made linear where the search stands, and the same programme
gives the next step:

    repeat: u' = the shortest with  low ≤ v(u) + J (u' − u) ≤ high,    J = −(∇v)ᵀ E T
            u ← u + x (u' − u),    x halved until  |u|² + price · gap  falls

It starts where means are level, which lies near.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import islice
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import nnls

from rankfair.constraints.base import ROUNDING
from rankfair.constraints.rank import NEAR
from rankfair.core.blocks import Floats
from rankfair.core.problem import Groups
from rankfair.solvers.counted import CLOSEST, Counted, Curve, Demand, Place

SAME = 1e-6  # of the cost: a direction this near to others follows from them
NOTHING = 1e-16  # of the variance of y: the square of a direction that moves nothing


def solve_joint(curve: Curve, counted: Counted, most: int = 22, last: int = 8) -> Place:
    """The cheapest ``λ`` found whose values are in all bands.

    There are at most ``most`` exact counts, and ``last`` more where bands are not met.

    Counts may end outside their band by 0.0005 or one pair, the larger, linear values
    by 1e-6.  Where no such place is found among fits that err no more than one
    constant, the cheapest one is kept whose worst gap is within 0.001 of the least.
    """
    joint = JointSearch.of(curve, counted)
    seen = [joint.free]
    if joint.gap(joint.free) > 0 and joint.T.size:
        seen.append(joint.at(joint.start()))
        seen.extend(islice(joint.walk(seen[-1]), most - len(seen)))
        if not joint.met(seen):
            closest = min(seen, key=joint.gap)
            wider = joint.gap(closest) + CLOSEST
            seen.extend(islice(joint.walk(closest, wider), most + last - len(seen)))
    return joint.best(seen)


def level(curve: Curve, counted: Counted) -> Place:
    """The least tilt with all values at 0, which are linear, or as near as can be.

    It is one linear solve, whatever the fit errs.
    """
    demands, E = counted.demands, counted.E
    g = [it.weighted(it.constraint.direction(it.groups)) for it in demands]
    v = [it.constraint.value(counted.q, it.groups) for it in demands]
    answers = np.array(g) @ E.T * ((E * E).mean(axis=1) > NOTHING)
    return counted.place(np.linalg.lstsq(answers, np.array(v), rcond=1e-8)[0])


def shared(demands: Sequence[Demand]) -> NDArray[np.bool_]:
    """Which demands are counted between the groups of a linear or an earlier one."""
    taken = [each.groups for each in demands if each.constraint.linear]
    found = np.zeros(len(demands), bool)
    for i, each in enumerate(demands):
        if not each.constraint.linear:
            found[i] = any(_same(each.groups, other) for other in taken)
            taken.append(each.groups)
    return found


def _same(one: Groups, other: Groups) -> bool:
    """Whether two pairs of groups hold the same rows."""
    if (one.total_a, one.total_b) != (other.total_a, other.total_b):
        return False
    a, b = (it.of_known(np.where(it.in_a, 1.0, -1.0)) for it in (one, other))
    return np.array_equal(a, b)


class Tried(NamedTuple):
    """A place of the search."""

    u: Floats
    values: list[float]
    shown: Floats  # the values as people read them

    @property
    def cost(self) -> float:
        """The mean squared distance from the free fit."""
        return float(self.u @ self.u)


class Shortest(NamedTuple):
    """Where a programme leads."""

    u: Floats
    price: float  # what a gap less costs at most
    wide: float = 0.0  # how much wider bands had to be


@dataclass(frozen=True)
class JointSearch:
    """What all places have in common; bands are as people read them."""

    curve: Curve
    counted: Counted
    T: Floats  # (r, independent directions), λ = T u
    linear: NDArray[np.bool_]  # which demands are
    band: Floats  # (2, demands), the lowest and highest values allowed
    fine: Floats  # how wide bands have to be to be aimed at

    @classmethod
    def of(cls, curve: Curve, counted: Counted) -> JointSearch:
        """Read bands and slacks in the unit of each constraint."""
        demands = counted.demands
        linear = np.array([it.constraint.linear for it in demands])
        ends = np.array([[it.show(end) for end in it.band] for it in demands]).T
        fine = np.where(linear, ROUNDING, [it.slack for it in demands])
        T = _independent(curve)
        return cls(curve, counted, T, linear, np.sort(ends, axis=0), fine)

    def aim(self, by: float = 0.0) -> Floats:
        """The bands, wider ``by``, that are aimed at: a little inside what will do."""
        low, high = self.band
        more = np.maximum((self.fine - (high - low)) / 2, by) - self.fine / 10
        return np.array((low - more, high + more))

    @cached_property
    def free(self) -> Tried:
        """The fit without demands."""
        return self.at(np.zeros(self.T.shape[1]))

    def at(self, u: Floats) -> Tried:
        """Count."""
        values = self.counted.values(self.T @ u)
        return Tried(u, values, np.array(self.counted.shown(values)))

    def gap(self, at: Tried) -> float:
        """How far the worst value is outside its band."""
        return max(self.counted.gaps(at.values))

    def off(self, at: Tried, by: float = 0.0) -> float:
        """How far the worst value is outside what will do."""
        low, high = self.aim(by) + np.array([[-0.1], [0.1]]) * self.fine
        return float(np.maximum(low - at.shown, at.shown - high).max(initial=0.0))

    def met(self, seen: list[Tried]) -> list[Tried]:
        """The places where all is met, without any slack if there are such."""
        good = [it for it in seen if self.off(it) == 0]
        return good or [it for it in seen if self.counted.met(it.values)]

    def best(self, seen: list[Tried]) -> Place:
        """The cheapest place where all is met, or nearly as close as any."""
        met = self.met(seen)
        least = min(map(self.gap, seen))
        close = [it for it in seen if self.gap(it) <= least + CLOSEST]
        found = min(met or close, key=lambda it: it.cost)
        return Place(self.T @ found.u, found.values, bool(met))

    @cached_property
    def means(self) -> tuple[Floats, Floats]:
        """Linear values, and mean gaps for the others: at the free fit, and ``J``."""
        demands = self.counted.demands
        g = [it.weighted(it.constraint.direction(it.groups)) for it in demands]
        gaps = [each @ self.counted.q for each in g]
        return np.where(self.linear, self.free.shown, gaps), self.answers(g)

    def start(self) -> Floats:
        """Where linear values are in their bands and, if they allow it, means level."""
        values, J = self.means
        aim = np.where(self.linear, self.aim(), [[-NEAR], [NEAR]])
        both = self.within(J, values, aim)
        if both is not None:
            return both.u
        aim[:, shared(self.counted.demands)] = [[-np.inf], [np.inf]]
        return self.shortest(J, values, aim).u

    def walk(self, here: Tried, by: float = 0.0) -> Iterator[Tried]:
        """Every place that is counted, until another step would save little."""
        stalls = 0
        while stalls <= 3:
            J, off = self.slopes(here.u), self.off(here, by)
            step = self.shortest(J, here.shown - J @ here.u, self.aim(by))
            near = off - step.wide <= (self.fine.max() / 10 if step.wide else 0.0)
            if near and here.cost - step.u @ step.u <= CLOSEST * here.cost:
                return
            tried: list[Tried] = []
            for x in (1.0, 0.5, 0.25, 0.125):
                tried.append(self.at(here.u + x * (step.u - here.u)))
                yield tried[-1]
                new = tried[-1].cost + step.price * self.off(tried[-1], by)
                if new < here.cost + step.price * off:
                    break
            else:  # counts are steps: the next one may be better
                stalls += 1
                tried = tried[:1]
            here = tried[-1]

    def slopes(self, u: Floats) -> Floats:
        """``J``: the derivative of each shown value by ``u``."""
        return self.answers(self.counted.slopes(self.T @ u))

    def answers(self, directions: Iterable[Floats]) -> Floats:
        """How much each ``u`` adds to ``Σ g m`` of each direction."""
        found = [-(self.counted.E @ g) for g in directions]
        return np.array(found).reshape(-1, len(self.counted.E)) @ self.T

    def shortest(self, J: Floats, c: Floats, aim: Floats) -> Shortest:
        """The shortest ``u`` with ``c + J u`` in the bands, or in little wider ones."""
        found = self.within(J, c, aim)
        if found is not None:
            return found
        few, enough = 0.0, float(np.maximum(aim[0] - c, c - aim[1]).max())
        while enough - few > ROUNDING:
            by = (few + enough) / 2
            few, enough = (few, by) if self.within(J, c, aim, by) else (by, enough)
        by = enough + self.fine.max() / 10
        return self.within(J, c, aim, by) or Shortest(np.zeros(J.shape[1]), 0.0, by)

    def within(
        self, J: Floats, c: Floats, aim: Floats, by: float = 0.0
    ) -> Shortest | None:
        """The same with bands wider ``by``, below the cap; None if there is none.

        The cap: no fit errs more on training rows than one constant.
        """
        found = least_distance(J, aim[0] - by - c, aim[1] + by - c)
        if found is None:
            return None
        error, most = self.curve.error(self.T @ found[0]), self.curve.constant
        return Shortest(*found, by) if error <= most * (1 + ROUNDING) else None


def least_distance(J: Floats, low: Floats, high: Floats) -> tuple[Floats, float] | None:
    """The shortest ``u`` with ``low ≤ J u ≤ high``; None if there is none.

    It comes with a price: ``|u|²`` rises by no more than that for every unit that the
    bounds are tighter.  A problem of nonnegative least squares (Lawson and Hanson 1974,
    chapter 23).

    Examples
    --------
    >>> import numpy as np
    >>> J, low, high = np.eye(2), np.array([1.0, -1.0]), np.array([3.0, 1.0])
    >>> least_distance(J, low, high)[0].round(12).tolist()
    [1.0, 0.0]
    """
    G, h = np.vstack((J, -J)), np.concatenate((low, -high))
    G, h = G[np.isfinite(h)], h[np.isfinite(h)]
    far = h.max(initial=0.0)
    if far <= 0:
        return np.zeros(J.shape[1]), 0.0
    E = np.vstack((G.T, h / far))
    z = nnls(E, np.eye(len(E))[-1], maxiter=100 * len(h))[0]
    r = E @ z
    rest = 1.0 - r[-1]
    if not rest > ROUNDING**2:
        return None
    u = far * r[:-1] / rest
    if (h - G @ u).max() > ROUNDING / 10 * max(far, 1.0):
        return None
    return u, 4.0 * far * float(z.sum()) / rest


def _independent(curve: Curve) -> Floats:
    """``T`` with ``λ = T u`` and ``|u|²`` the mean square of ``Dλ``.

    Directions that follow from others add nothing: those of all groups of one feature
    add up to 0.
    """
    cost = curve.A / (curve.constant or 1.0)  # 0 for a constant target
    size = np.sqrt(np.maximum(cost.diagonal(), NOTHING))
    share, Q = np.linalg.eigh(cost / np.outer(size, size))
    live = share > SAME
    T: Floats = Q[:, live] / np.sqrt(share[live]) / size[:, None]
    return T
