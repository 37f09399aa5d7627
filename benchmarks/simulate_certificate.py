"""Does the certificate hold?  Coverage in a simulation, as a table in docs/.

Predictions of both groups are normal with variance 1; the distance of their means
makes the population's AUC what it is to be.  The attribute varies by row, or is
constant within tasks whose rows share a part of their variance (intraclass correlation
0.3).  Each cell draws data sets anew, asks `certify_predictions` for its bound at 95 %
confidence, and counts how often the population's |AUC − 1/2| is within.  Beside it
stands the usual bound, |AUC − 1/2| + 1.645 standard errors of independent rows.

    python benchmarks/simulate_certificate.py            10,000 data sets a cell
    python benchmarks/simulate_certificate.py --quick    500 a cell, nothing written
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np
from cells import added, parts_of, simulated, tasks_of
from marks import row
from scipy.stats import norm

from rankfair.stats.auc import auc_spread
from rankfair.stats.certificate import certify_predictions

DOCS = Path(__file__).parents[1] / "docs" / "certificate.md"
AUCS = (0.5, 0.52, 0.6, 0.8, 0.95)
CONFIDENCE, FLOOR = 0.95, 0.945
ICC = 0.3
PARTS = 10  # of a cell, each with a seed of its own


@dataclass(frozen=True)
class Design:
    """Rows of either group, and how many tasks they are spread over, if any.

    Tasks hold one group each; with ``mixed`` they are the same for both groups.  With
    ``first`` one task (of group A, or mixed) has that share of its group's rows.
    """

    rows: tuple[int, int]
    tasks: tuple[int, int] | None = None
    uneven: bool = False
    mixed: bool = False
    first: float = 0.0

    @property
    def name(self) -> str:
        text = f"{self.rows[0]:,} v {self.rows[1]:,} rows"
        if self.tasks is None:
            return text
        one = f", one with {100 * self.first:.0f} %" if self.first else ""
        if self.mixed:
            return f"{text} in {self.tasks[0]:,} tasks that mix them{one}"
        kind = "uneven tasks" if self.uneven else "tasks"
        of_a = " of the first" if one else ""
        return f"{text} in {self.tasks[0]:,} v {self.tasks[1]:,} {kind}{one}{of_a}"

    def draw(
        self, auc: float, rng: np.random.Generator
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray | None]:
        """Predictions, which of them are of group A, and their tasks."""
        n_a, n_b = self.rows
        in_a = np.arange(n_a + n_b) < n_a
        m = rng.standard_normal(n_a + n_b)
        codes = self.codes(rng)
        if codes is not None:
            effects = rng.standard_normal(codes.max() + 1)
            m = np.sqrt(1 - ICC) * m + np.sqrt(ICC) * effects[codes]
        return m + np.sqrt(2) * norm.ppf(auc) * in_a, in_a, codes

    def codes(self, rng: np.random.Generator) -> np.ndarray | None:
        if self.tasks is None:
            return None
        shares = self.first, self.first * self.mixed
        of_a, of_b = (
            self._spread(n_rows, n_tasks, share, rng)
            for n_rows, n_tasks, share in zip(
                self.rows, self.tasks, shares, strict=True
            )
        )
        return np.concatenate((of_a, of_b if self.mixed else of_b + self.tasks[0]))

    def _spread(
        self, n_rows: int, n_tasks: int, first: float, rng: np.random.Generator
    ) -> np.ndarray:
        """Tasks of given sizes, or of shares like gaps between random points."""
        if not self.uneven:
            return tasks_of(n_rows, n_tasks, first)
        shares = rng.dirichlet(np.ones(n_tasks))
        more = rng.choice(n_tasks, n_rows - n_tasks, p=shares)
        return np.concatenate((np.arange(n_tasks), more))


DESIGNS = (
    Design((10, 10)),
    Design((10, 1_000)),
    Design((100, 100)),
    Design((10, 10_000)),
    Design((10_000, 10_000)),
    Design((1_000, 1_000), (40, 40), uneven=True, mixed=True),
    Design((10, 10), (5, 5)),
    Design((10, 1_000), (5, 100)),
    Design((100, 100), (10, 10)),
    Design((1_000, 1_000), (50, 50), uneven=True),
    Design((10_000, 10_000), (40, 40)),
    Design((10_000, 10_000), (1_000, 1_000)),
    Design((1_000, 1_000), (50, 50), first=0.3),
    Design((1_000, 1_000), (40, 40), mixed=True, first=0.3),
    Design((3_000, 3_000), (200, 200), mixed=True, first=0.02),
    Design((3_000, 3_000), (200, 200), mixed=True, first=0.05),
    Design((3_000, 3_000), (200, 200), mixed=True, first=0.1),
)


class Tally(NamedTuple):
    """Counts over data sets: bounds and intervals that hold, and sums of bounds."""

    sets: int = 0
    held: int = 0
    inside: int = 0
    naive_held: int = 0
    bound: float = 0.0
    naive_bound: float = 0.0


def simulate(design: Design, auc: float, sets: int, seed: tuple[int, ...]) -> Tally:
    """Draw data sets of one cell and count."""
    rng = np.random.default_rng(seed)
    gap = abs(auc - 0.5) - 1e-12
    tallies, z = [Tally()], norm.ppf(CONFIDENCE)
    for _ in range(sets):
        m, in_a, codes = design.draw(auc, rng)
        found = certify_predictions(m, in_a, codes, CONFIDENCE)
        naive = abs(found.auc - 0.5) + z * auc_spread(m, in_a).se
        low, high = found.interval
        held = found.bound >= gap, low <= auc <= high, naive >= gap
        tallies.append(Tally(1, *held, found.bound, naive))
    return added(tallies)


HEAD = (
    "groups",
    "AUC",
    "bound holds",
    "interval holds",
    "mean bound",
    "naive bound holds",
    "naive mean bound",
)


def table(cells: dict[tuple[Design, float], Tally]) -> list[str]:
    lines = [row(HEAD), "|---" * len(HEAD) + "|"]
    for (design, auc), t in cells.items():
        held, inside, naive = (
            f"{100 * n / t.sets:.1f} %" for n in (t.held, t.inside, t.naive_held)
        )
        mean, naive_mean = (f"{x / t.sets:.3f}" for x in (t.bound, t.naive_bound))
        figures = held, inside, mean, naive, naive_mean
        lines.append(row((design.name, f"{auc:g}", *figures)))
    return lines


HOW = """\
## How it is made

- Intervals of AUC are made on the logit scale from placements (DeLong; over tasks
  Obuchowski, with the jackknife's factor for large tasks), with Student's t and
  Satterthwaite's degrees of freedom.
- A task counts for the degrees of freedom by the variance that its size lets expect.
  That grows with its rows where these are independent, and with their square where they
  are alike; how alike they are is found from all tasks.  So one large task of many
  costs little where its rows are not alike, and much where they are.
- The bound is the larger distance of two *one-sided* ends from 1/2, each at the full
  confidence: if the population's AUC is above 1/2 only the upper one can be wrong,
  if it is below only the lower one.
- Where no placement differs from another (groups that do not overlap, constant
  predictions) the interval is Hoeffding's for the mean of n independent matched pairs,
  n being the size of the smaller group: it holds for all distributions and any n.
- The interval's end towards 1/2 also allows for the greatest variance that an AUC can
  have (Birnbaum and Klose) where the smaller group has few rows won or lost, or where
  its tasks are worth no more.
- Where rows of a group tie, an interval allows for one more row (or task) beyond all
  others, weighted by the share of pairs that tie: rows that tie do not show how many
  of the population are elsewhere.  Without ties, as here, nothing changes.
- Where tasks mix the groups, rows and tasks are both tried and the wider bound counts.
- A group of one row, or of one task where tasks are clusters, shows no spread: the
  bound is "not estimable", never narrow.
"""


def page(cells: dict[tuple[Design, float], Tally], sets: int) -> str:
    tallies = cells.values()
    worst = 100 * min(t.held / t.sets for t in tallies)
    least = 100 * min(t.inside / t.sets for t in tallies)
    naive = 100 * min(t.naive_held / t.sets for t in tallies)
    unsure = 196 * (0.05 * 0.95 / sets) ** 0.5
    rows = "\n".join(table(cells))
    return f"""# Does the certificate hold?

Made by `make simulate-certificate`: {sets:,} data sets a cell, so that a share is known
to about ±{unsure:.1f} points.

`certify` gives a bound of |AUC − 1/2| in the population, at {100 * CONFIDENCE:.0f} %
confidence here.  Predictions of both groups are normal; where there are tasks, their
rows have an intraclass correlation of {ICC}.  In the worst cell the bound held in
**{worst:.1f} %** of the data sets, and the two-sided interval in {least:.1f} %.  The
naive bound, |AUC − 1/2| + 1.645 DeLong standard errors of rows taken as independent,
held in {naive:.1f} % in its worst cell.

Near AUC = 1/2 the bound holds more often than asked: |AUC − 1/2| of a sample is hardly
ever smaller than that of a population so near to 0.

{rows}

{HOW}"""


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "--quick", action="store_true", help="500 data sets a cell, and no file"
    )
    parser.add_argument("--sets", type=int, default=10_000, help="data sets a cell")
    parser.add_argument("--out", type=Path, default=DOCS, help="the page to write")
    given = parser.parse_args()
    sets = 500 if given.quick else given.sets
    begin = time.perf_counter()
    wanted = {
        (design, auc): [
            (design, auc, n, (i, j, part))
            for part, n in enumerate(parts_of(sets, PARTS))
        ]
        for i, design in enumerate(DESIGNS)
        for j, auc in enumerate(AUCS)
    }
    cells = simulated(simulate, wanted, table)
    if not given.quick:
        given.out.write_text(page(cells, sets), encoding="utf-8")
    print(f"{time.perf_counter() - begin:.0f} s")
    return int(any(t.held < FLOOR * t.sets for t in cells.values()))


if __name__ == "__main__":
    sys.exit(main())
