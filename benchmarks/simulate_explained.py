"""Do the confidence intervals of an explained gap hold?  A table in docs/explained.md.

Each cell draws data sets in which the groups differ in their controls and by a fixed
unexplained amount, splits the gap as `audit(…, controls=…)` does, and counts how often
the 95 % confidence intervals of the whole gap, its explained and its unexplained part
hold the true values.  Errors are independent, or share a part within tasks (intraclass
correlation 0.2), may have a spread that depends on group and controls, or be skewed.

    python benchmarks/simulate_explained.py            4,000 data sets a cell or more
    python benchmarks/simulate_explained.py --quick    200 a cell, nothing written
"""

from __future__ import annotations

import argparse
import os
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np
from cells import parts_of, simulated
from marks import table

from rankfair.stats.estimate import TwoGroups
from rankfair.stats.explained import GapRegression, explained_gap

DOCS = Path(__file__).parents[1] / "docs" / "explained.md"
CONFIDENCE, LOWEST, HIGHEST = 0.95, 0.935, 0.965
SETS, PARTS, SEED = 4_000, 8, 20
SLOPES = np.array([1.0, 0.5, 0.3, 0.3, 0.3])  # years, a flag, three of four grades
YEARS, FLAG, UNEXPLAINED = -0.7, 0.2, -0.4
EXPLAINED = SLOPES[0] * YEARS + SLOPES[1] * FLAG
NAMES = ("years", "flag", "grade", "grade", "grade")
ICC = 0.2
FEW = 20  # tasks: fewer are reported, not judged


@dataclass(frozen=True)
class Design:
    """Rows of the groups, and how their errors come about."""

    rows: tuple[int, int]
    tasks: int = 0
    mixed: bool = False  # tasks hold both groups
    shape: str = "normal"
    weighted: bool = False

    @property
    def name(self) -> str:
        text = f"{self.rows[0]:,} v {self.rows[1]:,} rows"
        if self.tasks:
            kind = "mixed tasks" if self.mixed else "tasks of one group"
            text += f" in {self.tasks} {kind}"
        text += "" if self.shape == "normal" else f", {self.shape}"
        return text + (", weights" if self.weighted else "")

    def codes(self, rng: np.random.Generator) -> np.ndarray:
        (n_a, n_b), k = self.rows, self.tasks
        if self.mixed:
            return rng.integers(0, k, n_a + n_b)
        k_a = max(2, round(k * n_a / (n_a + n_b)))
        of_b = k_a + np.arange(n_b) * (k - k_a) // n_b
        return np.concatenate((np.arange(n_a) * k_a // n_a, of_b))


DESIGNS = (
    Design((30, 30)),
    Design((20, 200)),
    Design((100, 100)),
    Design((1_000, 1_000)),
    Design((100, 300), shape="spread by group and years"),
    Design((50, 150), shape="exponential"),
    Design((100, 200), weighted=True),
    Design((400, 400), 40),
    Design((500, 1_000), 100),
    Design((400, 400), 40, mixed=True),
    Design((300, 700), 100, mixed=True),
    Design((300, 600), 60, shape="spread by group and years"),
    Design((60, 60), 10),
)


class Tally(NamedTuple):
    """Counts over data sets: intervals that hold the true value."""

    sets: int
    gap: int
    explained: int
    unexplained: int


def draw(design: Design, rng: np.random.Generator) -> tuple[np.ndarray, ...]:
    """Values, group, controls, tasks and weights of one data set."""
    n = sum(design.rows)
    in_group = np.arange(n) < design.rows[0]
    years = rng.normal(size=n) + YEARS * in_group
    flag = rng.random(n) < 0.4 + FLAG * in_group
    grade = rng.choice(4, n, p=(0.4, 0.3, 0.2, 0.1))
    error, tasks = rng.normal(size=n), None
    if design.shape == "exponential":
        error = rng.exponential(size=n) - 1.0
    if design.tasks:
        tasks = design.codes(rng)
        shared = rng.normal(size=(2, design.tasks))
        error = np.sqrt(1 - ICC) * error + np.sqrt(ICC) * shared[0, tasks]
        years += 0.5 * shared[1, tasks]
    if design.shape.startswith("spread"):
        error *= (1 + 0.5 * np.abs(years)) * np.where(in_group, 1.5, 1.0)
    X = np.column_stack((years, flag, *(grade == g for g in (1, 2, 3)))).astype(float)
    y = X @ SLOPES + UNEXPLAINED * in_group + error
    weights = rng.uniform(0.5, 2.0, n) if design.weighted else None
    return y, in_group, X, tasks, weights


def simulate(design: Design, sets: int, seed: tuple[int, ...]) -> Tally:
    """Draw data sets of one cell and count."""
    rng = np.random.default_rng(seed)
    held = np.zeros(3, int)
    for _ in range(sets):
        y, in_group, X, tasks, weights = draw(design, rng)
        groups = TwoGroups.of(in_group, tasks, weights)
        weights = np.ones(len(y)) if weights is None else weights
        fit = GapRegression.of(y, in_group, weights, X, NAMES)
        found = explained_gap(fit, groups, CONFIDENCE)
        held += (
            found.gap.covers(EXPLAINED + UNEXPLAINED),
            found.explained.covers(EXPLAINED),
            found.unexplained.covers(UNEXPLAINED),
        )
    return Tally(sets, *held.tolist())


def lines(cells: dict[Design, Tally]) -> list[str]:
    """The rows of the table; shares out of 93.5 to 96.5 % are bold."""
    head = ("groups", "gap", "explained", "unexplained", "data sets")
    rows = []
    for design, t in cells.items():
        shares = [held / t.sets for held in (t.gap, t.explained, t.unexplained)]
        shown = [
            f"{share:.1%}" if LOWEST <= share <= HIGHEST else f"**{share:.1%}**"
            for share in shares
        ]
        rows.append([design.name, *shown, f"{t.sets:,}"])
    return table(head, rows).splitlines()


def page(cells: dict[Design, Tally]) -> str:
    """What was found, and how the intervals are made."""
    judged = {d: t for d, t in cells.items() if not 0 < d.tasks < FEW}
    few = {d: t for d, t in cells.items() if d not in judged}
    outside = [
        d.name
        for d, t in judged.items()
        if not all(
            LOWEST <= n / t.sets <= HIGHEST for n in (t.gap, t.explained, t.unexplained)
        )
    ]
    said = f"Outside: {'; '.join(outside)}." if outside else "No cell is outside."
    return "\n".join(
        (
            "# Do the confidence intervals of an explained gap hold?",
            "",
            "Written by `make simulate-explained`.  Each cell counts how often a 95 %",
            "confidence interval holds the true value; 93.5 to 96.5 % are asked for.",
            said,
            "",
            *lines(judged),
            "",
            f"With fewer than {FEW} tasks as independent units the share is reported,",
            "not judged:",
            "",
            *lines(few),
            "",
            "## How they are made",
            "",
            "- The parts are those of Oaxaca and Blinder with the coefficients of the",
            "  pooled regression that has the group as a predictor.  The unexplained",
            "  part is then the coefficient of the group.",
            "- Both parts are linear in small changes of the sample: each row has a",
            "  pseudo-value, whose means in the two groups differ by the part.  The",
            "  interval is that of a difference of two means, over rows (Welch) or",
            "  over tasks, as everywhere in an audit.",
            "- Residuals are made larger by 1/(1 − leverage) (HC3), because the",
            "  regression is closer to its own rows than to new ones.",
            "",
        )
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true")
    quick = parser.parse_args().quick
    wanted = {
        design: [
            (design, sets, (SEED, place, part))
            for part, sets in enumerate(parts_of(200 if quick else SETS, PARTS))
        ]
        for place, design in enumerate(DESIGNS)
    }
    cells = simulated(simulate, wanted, lines)
    if not quick:
        DOCS.write_text(page(cells), encoding="utf-8")


if __name__ == "__main__":
    main()
