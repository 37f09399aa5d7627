"""Do the intervals of an AUC hold?  Coverage in a simulation, as a table in docs/.

Predictions of both groups are normal with variance 1; the distance of their means
makes the population's AUC what it is to be.  Rows are independent, or in tasks of one
group each whose rows share a part of their variance (intraclass correlation 0.3).  Each
cell draws data sets anew, asks for intervals at 95 % as `audit` does, and counts how
often they hold the population's AUC.  Beside it stand intervals on the logit scale from
the same variance, and the naive ones, AUC ± 1.96 standard errors of independent rows.
Cells below the line have groups of other shapes: the spread of one three times the
other's, or exponential distributions, or one task that is far larger than the others.

    python benchmarks/simulate_intervals.py            2,000 to 10,000 data sets a cell
    python benchmarks/simulate_intervals.py --quick    300 a cell, nothing written
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np
from cells import added, parts_of, simulated, tasks_of
from marks import row
from scipy.special import expit, logit, ndtr
from scipy.stats import norm
from scipy.stats import t as student

from rankfair.stats.auc import (
    ROWS,
    TASKS,
    GroupSpread,
    ScoreModel,
    auc_estimate,
    over_tasks,
)
from rankfair.stats.estimate import TwoGroups

DOCS = Path(__file__).parents[1] / "docs" / "intervals.md"
AUCS = (0.5, 0.7, 0.86, 0.95)
CONFIDENCE, LOWEST, HIGHEST = 0.95, 0.935, 0.965
ICC = 0.3
PARTS = 4  # of a cell, each with a seed of its own
MOST_ROWS = 20_000_000  # drawn for a cell, within 2,000 to 10,000 data sets
BLOCK = 500_000  # rows in memory at a time


@dataclass(frozen=True)
class Design:
    """Rows of either group, how many tasks they are in, and how they are spread."""

    rows: tuple[int, int]
    tasks: tuple[int, int] | None = None
    shape: str = "normal"
    first: float = 0.0  # share of one task in the rows of either group

    @property
    def name(self) -> str:
        text = f"{self.rows[0]:,} v {self.rows[1]:,} rows"
        if self.tasks is not None:
            text += f" in {self.tasks[0]:,} v {self.tasks[1]:,} tasks"
        if self.first:
            text += f", one with {100 * self.first:.0f} % of its group"
        return text if self.shape == "normal" else f"{text}, {self.shape}"

    @property
    def sets(self) -> int:
        return int(np.clip(MOST_ROWS // sum(self.rows), 2_000, 10_000))

    def codes(self) -> np.ndarray | None:
        if self.tasks is None:
            return None
        (n_a, n_b), (k_a, k_b) = self.rows, self.tasks
        of_a, of_b = tasks_of(n_a, k_a, self.first), tasks_of(n_b, k_b, self.first)
        return np.concatenate((of_a, k_a + of_b))

    def draw(
        self, auc: float, sets: int, rng: np.random.Generator
    ) -> tuple[np.ndarray, np.ndarray]:
        """Predictions of both groups, a row of numbers for each data set."""
        both = []
        for n, k in zip(self.rows, self.tasks or (0, 0), strict=True):
            m = rng.standard_normal((sets, n))
            if k:
                effects = rng.standard_normal((sets, k))
                m *= np.sqrt(1 - ICC)
                m += np.sqrt(ICC) * effects[:, tasks_of(n, k, self.first)]
            both.append(m)
        a, b = both
        if self.shape == "exponential":
            return -np.log(ndtr(a)) * auc / (1 - auc), -np.log(ndtr(b))
        spread = 3.0 if self.shape == "spread 3 v 1" else 1.0
        return spread * a + np.sqrt(1 + spread**2) * norm.ppf(auc), b


DESIGNS = (
    Design((10, 10)),
    Design((30, 30)),
    Design((100, 100)),
    Design((1_000, 1_000)),
    Design((5_000, 5_000)),
    Design((10, 100)),
    Design((10, 1_000)),
    Design((10, 10), (5, 5)),
    Design((30, 30), (10, 10)),
    Design((100, 100), (10, 10)),
    Design((100, 100), (20, 20)),
    Design((1_000, 1_000), (50, 50)),
    Design((5_000, 5_000), (100, 100)),
    Design((10, 1_000), (5, 50)),
    Design((100, 1_000), (10, 100)),
)
OTHERS = (
    Design((10, 10), shape="spread 3 v 1"),
    Design((100, 100), shape="spread 3 v 1"),
    Design((10, 100), shape="spread 3 v 1"),
    Design((30, 30), shape="exponential"),
    Design((10, 100), shape="exponential"),
    Design((1_000, 1_000), (200, 200), first=0.02),
    Design((1_000, 1_000), (200, 200), first=0.05),
    Design((1_000, 1_000), (50, 50), first=0.1),
    Design((1_000, 1_000), (50, 50), first=0.3),
)


class Tally(NamedTuple):
    """Counts over data sets: intervals that hold, and sums of their widths."""

    sets: int = 0
    held: int = 0
    too_high: int = 0
    width: float = 0.0
    logit_held: int = 0
    naive_held: int = 0

    @property
    def share(self) -> float:
        return self.held / self.sets

    @property
    def inside(self) -> bool:
        return LOWEST <= round(self.share, 4) <= HIGHEST


def placements(a: np.ndarray, b: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Placements of all data sets at once; normal numbers do not tie."""
    n_a, n_b = a.shape[1], b.shape[1]
    order = np.argsort(np.concatenate((a, b), axis=1), axis=1)
    of_a = order < n_a
    lower_b = np.cumsum(~of_a, axis=1)
    lower_a = np.arange(1, n_a + n_b + 1) - lower_b
    placed = np.empty(order.shape)
    found = np.where(of_a, lower_b / n_b, 1 - lower_a / n_a)
    np.put_along_axis(placed, order, found, axis=1)
    return placed[:, :n_a], placed[:, n_a:]


def over_rows(excess: np.ndarray) -> GroupSpread:
    n = excess.shape[1]
    return GroupSpread((excess**2).sum(axis=1) / (n - 1) / n, n - 1.0, n)


def of_tasks(excess: np.ndarray, k: int, first: float) -> GroupSpread:
    """What `MeanVariance.of_clusters` is for one data set, for all of them at once."""
    n = excess.shape[1]
    starts = np.searchsorted(tasks_of(n, k, first), np.arange(k))
    share = np.diff(starts, append=n) / n
    sums = np.add.reduceat(excess, starts, axis=1) / n
    squares = np.add.reduceat(excess**2, starts, axis=1) / (n * (n - 1))
    spread = (excess**2).sum(axis=1) / (n - 1)
    alone, alike = share / n, share**2
    seen = ((sums**2 / (1 - share) - squares) / share).sum(axis=1)
    most = spread * ((alike - alone) / share).sum()
    rho = np.where(most > 0, seen / np.where(most > 0, most, 1), 1.0)
    clipped = np.clip(rho, 0, 1)[:, None]
    v = (1 - clipped) * alone + clipped * alike
    pulls = sums / (1 - share)
    return GroupSpread(
        (pulls**2).sum(axis=1) * (k - 1) / k,
        np.maximum(v.sum(axis=1) ** 2 / (v**2).sum(axis=1) - 1.0, 1.0),
        1.0 / alike.sum(),
        rho,
        k,
    )


def logit_intervals(auc, a, b) -> tuple[np.ndarray, np.ndarray]:
    """The same variance with Student's t on the logit scale; all if it is zero."""
    total = a.variance + b.variance
    flat = (total == 0) | (auc == 0) | (auc == 1)
    with np.errstate(all="ignore"):
        df = total**2 / (a.variance**2 / a.df + b.variance**2 / b.df)
        half = student.isf((1 - CONFIDENCE) / 2, df) * np.sqrt(total)
        half /= auc * (1 - auc)
        low, high = expit(logit(auc) - half), expit(logit(auc) + half)
    return np.where(flat, 0.0, low), np.where(flat, 1.0, high)


def simulate(design: Design, auc: float, sets: int, seed: tuple[int, ...]) -> Tally:
    """Draw data sets of one cell and count."""
    rng = np.random.default_rng(seed)
    tallies = [Tally()]
    block = max(1, min(sets, BLOCK // sum(design.rows)))
    for start in range(0, sets, block):
        size = min(block, sets - start)
        above, below = placements(*design.draw(auc, size, rng))
        tallies.append(count(design, auc, above, below, check=start == 0))
    return added(tallies)


def count(design: Design, auc: float, above, below, check: bool) -> Tally:
    """Make the intervals of all data sets and count those that hold."""
    seen = above.mean(axis=1)
    excess = above - seen[:, None], below - seen[:, None]
    rows = a, b = over_rows(excess[0]), over_rows(excess[1])
    naive = norm.isf((1 - CONFIDENCE) / 2) * np.sqrt(a.variance + b.variance)
    prior = ROWS
    if design.tasks is not None:
        sizes = zip(excess, design.tasks, strict=True)
        parts = (of_tasks(x, k, design.first) for x, k in sizes)
        a, b = over_tasks(rows, (next(parts), next(parts)))
        prior = TASKS
    low, high = ScoreModel(seen, a, b, prior).interval(CONFIDENCE)
    if check:
        agree(design, above, below, low, high)
    logit_low, logit_high = logit_intervals(seen, a, b)
    return Tally(
        len(seen),
        int(((low <= auc) & (auc <= high)).sum()),
        int((low > auc).sum()),
        float((high - low).sum()),
        int(((logit_low <= auc) & (auc <= logit_high)).sum()),
        int((np.abs(seen - auc) <= naive).sum()),
    )


def agree(design: Design, above, below, low, high) -> None:
    """Check on a few data sets that these are the intervals that `audit` gives."""
    n_a, n_b = design.rows
    in_a = np.arange(n_a + n_b) < n_a
    groups = TwoGroups.of(in_a, design.codes())
    for i in range(min(3, len(low))):
        found = auc_estimate(above[i], 1 - below[i], groups, CONFIDENCE)
        ends = found.ci_low, found.ci_high
        np.testing.assert_allclose(ends, (low[i], high[i]), 1e-9)


HEAD = ("groups", "AUC", "they hold", "too high", "width", "logit", "naive", "sets")


def table(cells: dict[tuple[Design, float], Tally]) -> list[str]:
    lines = [row(HEAD), "|---" * len(HEAD) + "|"]
    for (design, auc), t in cells.items():
        held = f"{100 * t.share:.1f} %"
        if not t.inside:
            held = f"**{held}**"
        others = (f"{100 * n / t.sets:.1f} %" for n in (t.logit_held, t.naive_held))
        high = f"{100 * t.too_high / t.sets:.1f} %"
        width = f"{t.width / t.sets:.3f}"
        figures = held, high, width, *others, f"{t.sets:,}"
        lines.append(row((design.name, f"{auc:g}", *figures)))
    return lines


SHAPES = """\
## Groups of other shapes

Here the spread of group A is three times that of B, or both are exponential, or one
task of each group is far larger than the others.  No interval from ten rows is right
for all shapes: ten rows against many, at an AUC near 1, do not show how often the
eleventh would lie far out.  Beside a large task they are safe rather than exact."""
HOW = f"""\
## How the intervals are made

- They are those values θ that the count does not contradict: |AUC − θ| is at most
  Student's quantile times the standard error *at θ*.  Near 0 and 1 that held better
  than an interval symmetric on the logit scale.
- The size of the variance comes from the placements of the rows, each group on its own
  (DeLong; over tasks Obuchowski, with the jackknife's factor for large tasks); how it
  changes with θ from two normal distributions of equal spread.
- A variance seen on few rows, or few pairs won or lost, is averaged with that of the
  normal model.  The model counts like {ROWS.variance:g} / (n θ (1 − θ)) rows, n in the
  smaller group ({TASKS.variance:g} over tasks): much for ten rows at AUC 0.95, nothing
  for a thousand.
- Degrees of freedom are Satterthwaite's, with those of the model,
  {ROWS.df:g} / (n θ (1 − θ)).
- These numbers, and what is added for few tasks to how alike their rows are, were
  chosen for coverage among some round ones, in simulations like the first table with
  other seeds; so were score intervals themselves, over the logit scale and Newcombe's
  variance.  Data of the second table's shapes served to keep the model's weight low.
- Over tasks, how alike their rows are is found from all tasks of both groups together,
  large ones counting by their rows and not by the square of them, and the groups are
  worth fewer rows by that.
- Tasks are clusters where most rows are in tasks of one group only.  Where tasks mix
  the groups, rows and (from ten tasks on) tasks are both tried and the wider interval
  counts.
- Groups that do not overlap get an interval that holds for all distributions, those of
  Clopper and Pearson for the smaller group.
- One row (or task) in a group, or placements that are all equal: "not estimable".
"""


def page(cells: dict[tuple[Design, float], Tally]) -> str:
    judged = {cell: t for cell, t in cells.items() if cell[0] in DESIGNS}
    others = {cell: t for cell, t in cells.items() if cell[0] in OTHERS}
    parts = opening(judged), *table(judged), "", SHAPES, "", *table(others), "", HOW
    return "\n".join(parts)


def opening(judged: dict[tuple[Design, float], Tally]) -> str:
    """What was found, and what was drawn."""
    outside = [
        f"{design.name} at AUC {auc:g} ({100 * t.share:.1f} %)"
        for (design, auc), t in judged.items()
        if not t.inside
    ]
    said = f"Outside: {'; '.join(outside)}." if outside else "No cell is outside."
    held = between(t.share for t in judged.values())
    logits = between(t.logit_held / t.sets for t in judged.values())
    naive = between(t.naive_held / t.sets for t in judged.values())
    return f"""# Do the intervals of an AUC hold?

Made by `make simulate-intervals`.  Intervals at {100 * CONFIDENCE:.0f} %, as `audit`
gives them, should hold the population's AUC in {between((LOWEST, HIGHEST))} % of
data sets.  {said}

Over the {len(judged)} cells of the first table they held in {held} %.  From the same
variance on the logit scale, with Student's t: {logits} %.  Naive intervals, AUC ± 1.96
standard errors of rows taken as independent: {naive} %.

Predictions of both groups are normal; where there are tasks, each has rows of one
group, with an intraclass correlation of {ICC}.  With 10,000 data sets a share is known
to ±0.4 points, with 2,000 to ±1.  "Too high" is how often the lower end was above the
population's AUC: with groups as small as ten AUC is coarse, and the doubt cannot be
halved evenly.
"""


def between(shares: Iterable[float]) -> str:
    """The least and the largest, in per cent."""
    found = [100 * share for share in shares]
    return f"{min(found):.1f} to {max(found):.1f}"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "--quick", action="store_true", help="300 data sets a cell, and no file"
    )
    parser.add_argument("--out", type=Path, default=DOCS, help="the page to write")
    given = parser.parse_args()
    begin = time.perf_counter()
    wanted = {}
    for i, design in enumerate((*DESIGNS, *OTHERS)):
        sets = 300 if given.quick else design.sets
        sets = min(sets, 4_000) if design in OTHERS else sets
        for j, auc in enumerate(AUCS):
            wanted[design, auc] = [
                (design, auc, n, (6, i, j, part))
                for part, n in enumerate(parts_of(sets, PARTS))
            ]
    cells = simulated(simulate, wanted, table)
    if not given.quick:
        given.out.write_text(page(cells), encoding="utf-8")
    print(f"{time.perf_counter() - begin:.0f} s")
    return int(not all(t.inside for (d, _), t in cells.items() if d in DESIGNS))


if __name__ == "__main__":
    sys.exit(main())
