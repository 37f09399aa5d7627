"""Points of the comparison, and which of them another one dominates.  Pure."""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

OURS = "rankfair"
MEASURES = ("rmse", "gap", "md", "ks")
FAIRNESS = MEASURES[1:]
# How many standard errors of a paired difference are called noise.
NOISE = 2.0
# Below this two figures are the same number, summed in another order.
SAME = 1e-6
# The most noise that is let pass where a point is called level with another.
LEVEL_NOISE = 0.02


@dataclass(frozen=True)
class Point:
    """A method with a setting on a dataset: each measure by seed."""

    case: str
    library: str
    method: str
    setting: str
    values: Mapping[str, Mapping[int, float]] = field(repr=False)

    @property
    def label(self) -> str:
        return f"{self.method}, {self.setting}" if self.setting else self.method

    @property
    def seeds(self) -> set[int]:
        return set(self.values["rmse"])

    def mean(self, measure: str) -> float:
        return statistics.fmean(self.values[measure].values())

    def error(self, measure: str) -> float:
        """Standard error of the mean over seeds; not a number for one seed."""
        return standard_error(list(self.values[measure].values()))


@dataclass(frozen=True)
class Difference:
    """The mean over common seeds of one point's measure less another's, and its SE."""

    mean: float
    error: float

    @property
    def noise(self) -> float:
        return SAME if math.isnan(self.error) else SAME + NOISE * self.error

    @property
    def no_worse(self) -> bool:
        return self.mean <= self.noise

    @property
    def lower(self) -> bool:
        return self.mean < -SAME

    def beyond(self, most: float) -> float:
        """How far beyond noise, of which `most` is let pass, it is worse."""
        return max(self.mean - min(self.noise, most), 0.0)


def standard_error(values: list[float]) -> float:
    """Standard error of a mean; not a number for one value."""
    n = len(values)
    if n < 2:
        return math.nan
    centre = math.fsum(values) / n
    return math.sqrt(math.fsum((v - centre) ** 2 for v in values) / (n - 1) / n)


def difference(mine: Point, theirs: Point, measure: str) -> Difference:
    """Paired by seed; one seed alone has no noise, so it is given none."""
    seeds = sorted(mine.seeds & theirs.seeds)
    if not seeds:
        raise ValueError(f"{mine.label} and {theirs.label} have no seed in common")
    parts = [mine.values[measure][s] - theirs.values[measure][s] for s in seeds]
    return Difference(statistics.fmean(parts), standard_error(parts))


def as_fair(mine: Point, theirs: Point) -> bool:
    """No worse in rank gap, mean difference and KS, beyond noise."""
    return all(difference(mine, theirs, m).no_worse for m in FAIRNESS)


def dominates(mine: Point, theirs: Point) -> bool:
    """Lower mean error, and no worse in the other three beyond noise."""
    return difference(mine, theirs, "rmse").lower and as_fair(mine, theirs)


def same(mine: Point, theirs: Point) -> bool:
    """All four measures are the same numbers."""
    return all(abs(difference(mine, theirs, m).mean) <= SAME for m in MEASURES)


@dataclass(frozen=True)
class Verdict:
    """What is said of a rival's point: one of ours beside it, and how they stand."""

    theirs: Point
    kind: str
    mine: Point | None


DOMINATED, TIED, LEVEL, AHEAD, ALONE = "dominated", "same", "level", "ahead", "alone"


def judge(theirs: Point, ours: Iterable[Point]) -> Verdict:
    """Look for one of ours that dominates a rival's point.

    "same": none does, one has the very same figures.  "level": none does, one is no
    worse in any of the four beyond noise.  "ahead": each of ours is worse in something;
    the nearest is named.  Of several that dominate the one with the lowest error is.
    """
    field_ = [p for p in ours if p.case == theirs.case and p.seeds & theirs.seeds]
    if not field_:
        return Verdict(theirs, ALONE, None)

    def error(point: Point) -> float:
        return difference(point, theirs, "rmse").mean

    def far(point: Point) -> tuple[float, float]:
        found = [difference(point, theirs, m) for m in MEASURES]
        # A point that leaps from seed to seed is not level with anything.
        return max(each.beyond(LEVEL_NOISE) for each in found), error(point)

    above = [point for point in field_ if dominates(point, theirs)]
    if above:
        return Verdict(theirs, DOMINATED, min(above, key=error))
    twins = [point for point in field_ if same(point, theirs)]
    if twins:
        return Verdict(theirs, TIED, twins[0])
    nearest = min(field_, key=far)
    return Verdict(theirs, LEVEL if far(nearest)[0] == 0.0 else AHEAD, nearest)
