"""Points of the comparison, their figures on every split, and the file of them."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np

MEASURES = ("rmse", "ks", "gap", "md", "w", "learnt ks", "learnt gap")
OURS = {"KS": "distribution", "AUC": "rank"}  # the least movement
LINE = "line"  # ours as well, and compared with the least movement in `choice`


class Point(NamedTuple):
    """A method under a demand; ``rival`` is set for ours at that rival's own point."""

    demand: str
    method: str
    rival: str = ""


@dataclass(frozen=True)
class Difference:
    """Ours less a rival's, paired by split."""

    mean: float
    error: float

    @classmethod
    def of(cls, steps: np.ndarray) -> Difference:
        error = steps.std(ddof=1) / np.sqrt(len(steps)) if len(steps) > 1 else 0.0
        return cls(float(steps.mean()), float(error))

    @property
    def kind(self) -> str:
        """Whether ours is lower, higher within a standard error, or higher."""
        if self.mean <= 0:
            return "lower"
        return "level" if self.mean <= self.error else "higher"

    def __str__(self) -> str:
        return f"{self.mean:+.4f} ± {self.error:.4f}"


class Against(NamedTuple):
    """A rival under a demand, with ours at the same demand and at its own point."""

    title: str
    demand: str
    rival: str
    same: dict[str, Difference]
    own: dict[str, Difference] | None


@dataclass(frozen=True)
class Results:
    """Figures of every point on every split of one dataset."""

    name: str
    title: str
    splits: int
    figures: dict[Point, list[list[float]]]

    def mean(self, point: Point) -> np.ndarray:
        return np.mean(self.figures[point], axis=0)

    def less(self, mine: Point, other: Point) -> dict[str, Difference]:
        """What was measured on new rows at one point, less that at another."""
        steps = np.subtract(self.figures[mine], self.figures[other])
        return {m: Difference.of(steps[:, i]) for i, m in enumerate(MEASURES[:5])}

    def against(self) -> Iterator[Against]:
        """Every rival, and the constant shift, which has no point of its own."""
        for point in sorted(self.figures):
            demand, name, rival = point
            if demand not in OURS or rival or name in (*OURS.values(), LINE):
                continue
            own = Point(demand, OURS[demand], name)
            yield Against(
                self.title,
                demand,
                name,
                self.less(Point(demand, OURS[demand]), point),
                self.less(own, point) if own in self.figures else None,
            )

    def path(self, method: str) -> np.ndarray:
        """Mean figures of a method along its own setting, in its order."""
        points = [p for p in self.figures if p.demand == "path"]
        means = [self.mean(p) for p in points if p.method.split()[0] == method]
        return np.array(means).reshape(-1, len(MEASURES))


def save(path: Path, figures: dict[Point, list[list[float]]]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    rows = [[*point, values] for point, values in figures.items()]
    path.write_text(json.dumps(rows), encoding="utf-8")


def load(path: Path) -> dict[Point, list[list[float]]]:
    if not path.exists():
        return {}
    rows = json.loads(path.read_text(encoding="utf-8"))
    return {Point(*row[:3]): row[3] for row in rows}
