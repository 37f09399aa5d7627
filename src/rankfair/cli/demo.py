"""`rankfair demo`: methods of `rankfair compare` on synthetic rows.

To add one, enter it in `DEMO_METHODS`.
"""

from __future__ import annotations

import itertools
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.stats import ks_2samp

from rankfair.cli.errors import echo
from rankfair.cli.methods import METHODS, Method, changed
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
    "paper's solver": (Method(lambda model: changed(model, **PAPER)), "yes"),
    "constant shift": (METHODS["constant shift"], "yes"),
    "post-processor": (METHODS["map of ranks"], "yes"),
    "tilt, with group": (METHODS["tilt"], "yes"),
    DEFAULT: (METHODS["tilt"], "no"),
    FAIR_SCORE: (None, "-"),  # nobody can compute it
}


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
class Demo:
    """Records of all draws, paths of the default, means of records, files written."""

    records: list[dict[str, Any]]
    paths: list[dict[str, Any]]
    means: list[MethodMeans]
    files: list[Path]

    def show(self) -> None:
        """Print the table, what the methods warned of, and where the files are."""
        train, rows = ([it for it in self.means if it.rows == kind] for kind in PARTS)
        show_table(
            ("method", [it.method for it in rows]),
            ("group", [it.needs_group for it in rows]),
            ("RMSE", [f"{it.rmse.value:z.3f}" for it in rows]),
            ("AUC", [f"{it.auc.value:z.3f}" for it in rows]),
            ("MD", [f"{it.md.value:z.3f}" for it in rows]),
            ("KS", [f"{it.ks.value:z.3f}" for it in rows]),
            ("train RMSE", [f"{it.rmse.value:z.3f}" for it in train]),
            ("train AUC", [f"{it.auc.value:z.3f}" for it in train]),
            strong=[i for i, it in enumerate(rows) if it.method == DEFAULT],
        )
        draws = len({row["seed"] for row in self.records})
        for paragraph in (_errors(rows, draws), *LEGEND, *_warned(self.records, draws)):
            say("", paragraph)
        say("")
        for path in self.files:
            echo(f"wrote {path}")


def run_demo(out: Path, seed: int, *, draws: int, on_step: OnStep) -> Demo:
    """Compare all methods at ε = 0 on each draw, and write records and pictures."""
    number, steps = itertools.count(1), draws * (len(DEMO_METHODS) + 1)
    records: list[dict[str, Any]] = []
    paths: list[dict[str, Any]] = []
    for each in range(seed, seed + draws):
        data = make_biased_tasks(N_TASKS, N_TRAIN + N_HELD_OUT, random_state=each)
        for name in DEMO_METHODS:
            on_step(name, next(number), steps)
            records += _records(name, data, each)
        on_step("path of all ε", next(number), steps)
        path = _fitted(ASKED, data).path()
        paths += [{"seed": each, **row._asdict()} for row in path.rows]
    means = _means(records)
    picture = draw_methods(means, paths)
    written = [
        write_whole(out / f"frontier.{kind}", as_bytes(picture, kind))
        for kind in ("png", "svg")
    ]
    for rows, name in ((paths, "paths.csv"), (records, "records.csv")):
        write_table(_table(rows), out / name)
        written.append(out / name)
    return Demo(records, paths, means, written)


def _is_train(data: Any) -> NDArray[np.bool_]:
    """Rows to learn from, the first of each task; the others are held out."""
    place: NDArray[np.intp] = np.arange(len(data.target)) % (N_TRAIN + N_HELD_OUT)
    return place < N_TRAIN  # rows come task by task


def _fitted(model: Any, data: Any) -> Any:
    rows = np.flatnonzero(_is_train(data))
    return model.fit(take_rows(data.frame, rows), data.target[rows])


def _records(name: str, data: Any, seed: int) -> list[dict[str, Any]]:
    """Run a method; return a record of the training rows and one of the others."""
    method, needs_group = DEMO_METHODS[name]
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        m = data.fair_score
        if method is not None:
            model = method.make(changed(ASKED, blind=needs_group == "no"))
            m = _fitted(model, data).predict(data.frame)
    note = " ".join(str(warning.message) for warning in caught)
    train, in_a = _is_train(data), data.sensitive == data.group_a
    return [
        {
            "seed": seed,
            "method": name,
            "needs_group": needs_group,
            "rows": kind,
            **_measures(data.target[rows], m[rows], in_a[rows]),
            "note": note,
        }
        for kind, rows in zip(PARTS, (train, ~train), strict=True)
    ]


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


def _errors(rows: Sequence[MethodMeans], draws: int) -> str:
    """Return the sentence on draws and standard errors."""
    if draws < 2:
        return "One draw of the data."
    most = ", ".join(
        f"{max(getattr(row, name).error for row in rows):.4f} ({name.upper()})"
        for name in MEASURES
    )
    means = f"Means of {draws} draws of the data."
    return f"{means} Standard errors on held-out rows are at most {most}."


def _warned(records: Sequence[Mapping[str, Any]], draws: int) -> list[str]:
    """Return what each method warned of first, and in how many draws."""
    said: dict[str, dict[int, str]] = {}
    for row in records:
        if row["note"]:
            said.setdefault(row["method"], {})[row["seed"]] = row["note"]
    return [
        f"{method}, in {len(by)} of {draws} draws: {next(iter(by.values()))}"
        for method, by in said.items()
    ]


def _table(records: Sequence[Mapping[str, Any]]) -> Table:
    names = [*records[0]]
    return Table({name: column_of([row[name] for row in records]) for name in names})
