"""What each constraint costs and brings, on the paper's datasets

Every constraint is fitted twice, counted on the training rows and with the group among
the predictors: to all rows, for the figures of training rows, and to part of them, for
those of the rows held out.

    python -m benchmarks.compare_constraints         all, into docs
    python -m benchmarks.compare_constraints wine    some of them, printed only
"""

import sys
import time
import warnings
from pathlib import Path
from typing import NamedTuple

from sklearn.exceptions import ConvergenceWarning

from paper.cases import Rows, fetch, make_case
from paper.cells import measure
from paper.settings import DATASETS, Settings, title_of
from rankfair import MultiTaskRegressor, RankFairRegressor

PAGE = Path(__file__).parents[1] / "docs" / "constraints.md"
CLOSE = 0.001  # of AUC, and of a standard deviation of the target
KS = 0.05
# Name, constraint, epsilon.
ASKED = (
    ("nothing", None, None),
    ("rank", "rank", 0.0),
    ("mean", "mean", 0.0),
    ("rank and mean", ["rank", "mean"], 0.0),
    ("distribution", "distribution", KS),
)


class Row(NamedTuple):
    """A constraint on a dataset: figures of training and of held-out rows."""

    name: str
    status: str
    train: dict[str, float]
    held_out: dict[str, float]
    seconds: float


def compare(data: str, settings: Settings | None = None) -> list[Row]:
    """Return a row for each constraint; targets have mean 0 and variance 1."""
    case = make_case(data, 0, settings or Settings())
    rows = []
    for name, constraint, epsilon in ASKED:
        begin = time.perf_counter()
        model = _fitted(constraint, epsilon, case.full)
        seconds = time.perf_counter() - begin
        status = getattr(model, "status_", "inactive")
        train = _measured(model, case.full)
        part = _fitted(constraint, epsilon, case.train)
        rows.append(Row(name, status, train, _measured(part, case.held_out), seconds))
    return rows


def _fitted(constraint, epsilon, rows: Rows):
    model = MultiTaskRegressor()
    if constraint is not None:
        model = RankFairRegressor(
            epsilon,
            constraints=constraint,
            sensitive_features=rows.group_column,
            blind=False,
            count="train",
        )
    with warnings.catch_warnings():
        # What was not reached is a word of the table.
        warnings.simplefilter("ignore", ConvergenceWarning)
        return model.fit(rows.X, rows.y, tasks=rows.tasks)


def _measured(model, rows: Rows) -> dict[str, float]:
    return measure(rows, model.predict(rows.X, tasks=rows.tasks))


def table(found: dict[str, list[Row]]) -> str:
    """Return the table of all datasets."""
    lines = [
        "| data | balanced | RMSE | gap | MD | KS "
        "| held-out RMSE | gap | MD | KS | seconds |",
        "|---|---|" + "---:|" * 9,
    ]
    for data, rows in found.items():
        for i, row in enumerate(rows):
            missed = " (not reached)" if row.status == "infeasible" else ""
            cells = [title_of(data) if i == 0 else "", row.name + missed]
            for m in (row.train, row.held_out):
                cells.append(f"{m['rmse']:.3f}")
                cells += [f"{m['gap']:.4f}", f"{m['md']:+.4f}", f"{m['ks']:.3f}"]
            lines.append(f"| {' | '.join(cells)} | {row.seconds:.1f} |")
    return "\n".join(lines)


def prices(found: dict[str, list[Row]]) -> str:
    """Return what each constraint adds to the error on training rows, in per cent."""
    lines = [
        "| data | rank, over nothing | mean as well, over rank "
        "| distribution, over rank |",
        "|---|---:|---:|---:|",
    ]
    for data, rows in found.items():
        error = {row.name: row.train["rmse"] for row in rows}
        parts = (
            error["rank"] / error["nothing"],
            error["rank and mean"] / error["rank"],
            error["distribution"] / error["rank"],
        )
        cells = " | ".join(f"{100 * (part - 1):+.1f} %" for part in parts)
        lines.append(f"| {title_of(data)} | {cells} |")
    return "\n".join(lines)


def worst(found: dict[str, list[Row]], name: str, key: str) -> float:
    """Return the largest absolute figure of a constraint on training rows."""
    rows = (row for each in found.values() for row in each if row.name == name)
    return max(abs(row.train[key]) for row in rows)


FOR_WHOM = """\
- **`"rank"`**: for lists that are worked off from the top (interviews, inspections): a
  row of one group stands above a row of the other as often as below.  It asks least of
  those that look at order, and leaves the shapes alone: the two distributions still
  differ by a KS of up to {left} here.
- **`"mean"`**: for sums of money (pay, premiums, budgets), where what a group gets in
  all is what counts.  It says nothing about who stands where.
- **`["rank", "mean"]`**: for scores that are ranked and also added up.  With two
  constraints a fit has less room to balance ranks by bending distributions.
- **`"distribution"`**: where anybody may put a threshold anywhere (credit scores,
  grades): the same share of both groups passes it, within ε.  Ranks follow within the
  same ε.  A model without the group among its predictors, or with few tasks, may not
  reach it: `status_` says so, and the warning how near it came.  Where the group may
  be used to predict, `RankFairPostprocessor(constraints="distribution")` does it for
  any model.
- **`"residual"`** asks that neither group be predicted too high on average.  Together
  with `"mean"` it contradicts itself where the targets of the groups differ: the fit is
  `infeasible`, and the warning names the gap of each."""


def page(found: dict[str, list[Row]]) -> str:
    """Return docs/constraints.md."""
    gap, md = (worst(found, "rank and mean", key) for key in ("gap", "md"))
    left = f"{worst(found, 'rank', 'ks'):.2f}"
    return f"""# Which constraint?

Made by `make constraints`: the paper's eight datasets, `RankFairRegressor` with
`count="train"` and the group among the predictors (`blind=False`), ε = 0 for ranks and
means and KS ≤ {KS} for distributions.  Errors and MD are in standard deviations of the
target.

{FOR_WHOM.format(left=left)}

With ranks and means asked for together the gap |AUC − 1/2| is at most {gap:.1g} and
|MD| at most {md:.1g} on the rows of training of all {len(found)} datasets.

## What each constraint costs

The error added on the rows of training:

{prices(found)}

A second constraint can save error: it brings a direction and penalties of its own.
Where means are balanced at less error than ranks, so are both together.

## All figures

Gap is |AUC − 1/2|, MD the mean prediction of group A less that of B, KS the greatest
distance between their distributions; the held-out figures are of a second fit to part
of the rows.  Few rows a task, and all of them drift on new ones: that is what
[certificates](certificate.md) are for.

{table(found)}
"""


def main(names: list[str]) -> int:
    """Compare on these datasets and print, or on all and write the page."""
    found = {}
    for data in names or DATASETS:
        fetch(data)
        found[data] = compare(data)
        print(table({data: found[data]}), flush=True)
    if not names:
        PAGE.write_text(page(found), encoding="utf-8")
    apart = max(worst(found, "rank and mean", key) for key in ("gap", "md"))
    return int(apart > CLOSE)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
