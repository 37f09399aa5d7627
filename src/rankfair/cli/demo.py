"""`rankfair demo`: methods of `rankfair compare` on synthetic rows.

To add one, enter it in `DEMO_METHODS`.
"""

from __future__ import annotations

import itertools
import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.stats import ks_2samp

from rankfair.cli.errors import echo
from rankfair.cli.methods import METHODS, Method, changed
from rankfair.cli.options import DemoCommand
from rankfair.cli.screen import OnStep, column_of, say, show_table
from rankfair.datasets.synthetic import make_biased_tasks
from rankfair.estimators.linear import RankFairRegressor
from rankfair.files.table import Table
from rankfair.files.write import write_table
from rankfair.input.arrays import Floats
from rankfair.input.disk import write_whole
from rankfair.input.folds import take_rows
from rankfair.metrics import mean_difference, rank_auc, rmse
from rankfair.report.pictures import as_bytes, draw_methods

N_TASKS, N_TRAIN, N_HELD_OUT = 40, 25, 200  # rows of each task
PARTS = ("train", "held-out")
MEASURES = ("rmse", "auc", "md", "ks")
LEGEND = (
    "Held-out rows, and on the right training rows. group: whether new rows must come "
    "with their group.",
    "RMSE: error, in standard deviations of the target. AUC: how often a row of group "
    "A is predicted above one of B; 0.5 is balanced. MD: mean prediction of A less "
    "that of B. KS: greatest distance between the distributions of the groups.",
    "The true fair score is the target of this design without the gap and without "
    "noise. No fit knows it: it is the best that is possible.",
)
ASKED = RankFairRegressor(0.0, tasks="task", sensitive_features="z")


# β is what cross-validation chooses for this solver: docs/reproduction.md.
PAPER = {"solver": "paper", "penalty": "task", "beta": 0.01, "random_state": 0}
DEFAULT, FAIR_SCORE = "tilt (default)", "true fair score"
# Methods of `rankfair compare`, and whether new rows must come with their group.
DEMO_METHODS: dict[str, tuple[Method | None, str]] = {
    "unconstrained": (METHODS["unconstrained"], "yes"),
    "unconstrained, blind": (METHODS["unconstrained"], "no"),
    "paper's solver": (lambda model: changed(model, **PAPER), "yes"),
    "constant shift": (METHODS["constant shift"], "yes"),
    "post-processor": (METHODS["map of ranks"], "yes"),
    "tilt, with group": (METHODS["tilt"], "yes"),
    DEFAULT: (METHODS["tilt"], "no"),
    FAIR_SCORE: (None, "-"),  # nobody can compute it
}
FILES = ("frontier.png", "frontier.svg", "records.csv")


class MeanOfDraws(NamedTuple):
    """A mean over draws of the data, with its standard error; NaN for one draw."""

    value: float
    error: float


class MethodMeans(NamedTuple):
    """The measures of one method on one set of rows, over all draws."""

    method: str
    needs_group: str
    rows: str
    rmse: MeanOfDraws
    auc: MeanOfDraws
    md: MeanOfDraws
    ks: MeanOfDraws


@dataclass(frozen=True)
class Draw:
    """Rows of one draw of the data; the first of each task are to learn from."""

    seed: int
    data: Any
    is_train: NDArray[np.bool_]

    @classmethod
    def of(cls, seed: int) -> Draw:
        """Draw the rows, task by task."""
        data = make_biased_tasks(N_TASKS, N_TRAIN + N_HELD_OUT, random_state=seed)
        places = np.arange(len(data.target)) % (N_TRAIN + N_HELD_OUT)
        return cls(seed, data, places < N_TRAIN)

    def fitted(self, model: Any) -> Any:
        """Fit a model to the training rows."""
        rows = np.flatnonzero(self.is_train)
        return model.fit(take_rows(self.data.frame, rows), self.data.target[rows])

    def records(self, name: str) -> Iterator[dict[str, Any]]:
        """Run a method; give a record of the training rows and one of the others."""
        method, needs_group = DEMO_METHODS[name]
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            m = self.data.fair_score
            if method is not None:
                model = method(changed(ASKED, blind=needs_group == "no"))
                m = self.fitted(model).predict(self.data.frame)
        note = " ".join(str(warning.message) for warning in caught)
        in_a = self.data.sensitive == self.data.group_a
        for kind, rows in zip(PARTS, (self.is_train, ~self.is_train), strict=True):
            yield {
                "seed": self.seed,
                "method": name,
                "needs_group": needs_group,
                "rows": kind,
                **_measures(self.data.target[rows], m[rows], in_a[rows]),
                "note": note,
            }


@dataclass(frozen=True)
class Demo:
    """The means of all methods, what they warned of first, and files written."""

    means: list[MethodMeans]
    warned: dict[str, str]
    files: list[Path]

    def show(self) -> None:
        """Print the table, how sure it is, the warnings, and where the files are."""
        train, rows = ([it for it in self.means if it.rows == kind] for kind in PARTS)
        show_table(
            ("method", [it.method for it in rows]),
            ("group", [it.needs_group for it in rows]),
            *((name.upper(), _column(rows, name)) for name in MEASURES),
            ("train RMSE", _column(train, "rmse")),
            ("train AUC", _column(train, "auc")),
            strong=[i for i, it in enumerate(rows) if it.method == DEFAULT],
        )
        errors = {
            name.upper(): max(getattr(it, name).error for it in rows)
            for name in MEASURES
        }
        most = ", ".join(f"{each:.4f} ({name})" for name, each in errors.items())
        unsure = f"Means over draws; standard errors on held-out rows: at most {most}."
        warned = (f"{method}: {note}" for method, note in self.warned.items())
        for paragraph in (unsure, *LEGEND, *warned):
            say("", paragraph)
        say("")
        for path in self.files:
            echo(f"wrote {path}")


def _column(rows: Sequence[MethodMeans], name: str) -> list[str]:
    return [f"{getattr(it, name).value:z.3f}" for it in rows]


def run_demo(asked: DemoCommand, on_step: OnStep) -> Demo:
    """Compare all methods at ε = 0 on each draw, and write records and pictures."""
    number, steps = itertools.count(1), asked.draws * (len(DEMO_METHODS) + 1)
    records: list[dict[str, Any]] = []
    paths: list[dict[str, Any]] = []
    for seed in range(asked.seed, asked.seed + asked.draws):
        draw = Draw.of(seed)
        for name in DEMO_METHODS:
            on_step(name, next(number), steps)
            records += draw.records(name)
        on_step("path of all ε", next(number), steps)
        path = draw.fitted(ASKED).path()
        paths += [{"seed": seed, "gap": row.gap, "rmse": row.rmse} for row in path.rows]
    means = _means(records)
    picture = draw_methods(means, paths)
    png, svg, table = (asked.out / name for name in FILES)
    write_whole(png, as_bytes(picture, "png"))
    write_whole(svg, as_bytes(picture, "svg"))
    columns = {name: column_of([row[name] for row in records]) for name in records[0]}
    write_table(Table(columns), table)
    warned = {row["method"]: row["note"] for row in reversed(records) if row["note"]}
    return Demo(means, warned, [png, svg, table])


def _measures(y: Floats, m: Floats, in_a: NDArray[np.bool_]) -> dict[str, float]:
    return {
        "rmse": rmse(y, m),
        "auc": rank_auc(None, m, sensitive_features=in_a),
        "md": mean_difference(None, m, sensitive_features=in_a),
        "ks": float(ks_2samp(m[in_a], m[~in_a], method="asymp").statistic),
    }


def _means(records: Sequence[Mapping[str, Any]]) -> list[MethodMeans]:
    """Return the means over draws, for each method and set of rows."""
    of: dict[tuple[str, str, str], list[Mapping[str, Any]]] = {}
    for row in records:
        of.setdefault((row["method"], row["needs_group"], row["rows"]), []).append(row)
    return [
        MethodMeans(*key, *(_mean([row[name] for row in rows]) for name in MEASURES))
        for key, rows in of.items()
    ]


def _mean(values: Sequence[float]) -> MeanOfDraws:
    n = len(values)
    error = np.std(values, ddof=1) / np.sqrt(n) if n > 1 else np.nan
    return MeanOfDraws(float(np.mean(values)), float(error))
