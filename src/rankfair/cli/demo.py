"""`rankfair demo`: methods of `rankfair compare` on synthetic rows.

To add one, enter it in `DEMO_METHODS`.
"""

from __future__ import annotations

import itertools
import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray
from scipy.stats import ks_2samp

from rankfair.cli.errors import echo
from rankfair.cli.methods import METHODS, Method, changed
from rankfair.cli.options import DemoCommand
from rankfair.cli.screen import OnStep, say, show_table
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


@dataclass(frozen=True)
class Demo:
    """Means and standard errors of all methods over draws, by method and rows.

    Beside them what the methods warned of first, and the files written.
    """

    means: pl.DataFrame
    warned: dict[str, str]
    files: list[Path]

    def show(self) -> None:
        """Print the table, how sure it is, the warnings, and where the files are."""
        train, rows = (self.means.filter(rows=kind) for kind in PARTS)
        measured = [(name.upper(), rows[name]) for name in MEASURES]
        measured += [(f"train {name.upper()}", train[name]) for name in MEASURES[:2]]
        show_table(
            ("method", rows["method"]),
            ("group", rows["needs_group"]),
            *((name, [f"{it:z.3f}" for it in of]) for name, of in measured),
            strong=[rows["method"].to_list().index(DEFAULT)],
        )
        most: dict[str, Any] = rows.max().row(0, named=True)
        sure = [f"{most[f'{name}_error']:.4f} ({name.upper()})" for name in MEASURES]
        unsure = "Means over draws; standard errors on held-out rows: at most "
        warned = (f"{method}: {note}" for method, note in self.warned.items())
        for paragraph in (f"{unsure}{', '.join(sure)}.", *LEGEND, *warned):
            say("", paragraph)
        say("")
        for path in self.files:
            echo(f"wrote {path}")


def run_demo(asked: DemoCommand, on_step: OnStep) -> Demo:
    """Compare all methods at ε = 0 on each draw, and write records and pictures."""
    number, steps = itertools.count(1), asked.draws * (len(DEMO_METHODS) + 1)
    records: list[dict[str, Any]] = []
    paths: list[list[tuple[float, float]]] = []
    for seed in range(asked.seed, asked.seed + asked.draws):
        data = make_biased_tasks(N_TASKS, N_TRAIN + N_HELD_OUT, random_state=seed)
        # The first rows of each task are to learn from.
        is_train = np.arange(len(data.target)) % (N_TRAIN + N_HELD_OUT) < N_TRAIN
        rows = np.flatnonzero(is_train)
        seen = take_rows(data.frame, rows), data.target[rows]
        for name, (method, needs_group) in DEMO_METHODS.items():
            on_step(name, next(number), steps)
            m, note = np.asarray(data.fair_score), ""
            if method is not None:
                m, note = _predicted(method, needs_group == "no", seen, data.frame)
            of = {"seed": seed, "method": name, "needs_group": needs_group}
            for kind, at in zip(PARTS, (is_train, ~is_train), strict=True):
                figures = {"rows": kind, **_measures(data, m, at)}
                records.append({**of, **figures, "note": note})
        on_step("path of all ε", next(number), steps)
        paths.append([(at.gap, at.rmse) for at in ASKED.fit(*seen).path().rows])
    return _written(asked.out, records, paths)


def _predicted(
    method: Method, blind: bool, seen: tuple[Any, Floats], rows: Any
) -> tuple[Floats, str]:
    """Fit a method and predict rows; return beside that what it warned of."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        m = method(changed(ASKED, blind=blind)).fit(*seen).predict(rows)
    return m, " ".join(str(warning.message) for warning in caught)


def _measures(data: Any, m: Floats, at: NDArray[np.bool_]) -> dict[str, float]:
    """Return the figures of predictions of some rows."""
    y, m, in_a = data.target[at], m[at], data.sensitive[at] == data.group_a
    return {
        "rmse": rmse(y, m),
        "auc": rank_auc(None, m, sensitive_features=in_a),
        "md": mean_difference(None, m, sensitive_features=in_a),
        "ks": float(ks_2samp(m[in_a], m[~in_a], method="asymp").statistic),
    }


def _written(
    out: Path,
    found: list[dict[str, Any]],
    paths: list[list[tuple[float, float]]],
) -> Demo:
    """Take the means over draws, and write records and pictures."""
    records = pl.DataFrame(found)
    of_method = records.group_by("method", "needs_group", "rows", maintain_order=True)
    errors = pl.col(MEASURES).std() / pl.len().sqrt()  # of one draw there are none
    means = of_method.agg(
        pl.col(MEASURES).mean(), errors.fill_null(np.nan).name.suffix("_error")
    )
    picture = draw_methods(means.filter(rows="held-out").to_dicts(), paths)
    png, svg, table = (out / name for name in FILES)
    write_whole(png, as_bytes(picture, "png"))
    write_whole(svg, as_bytes(picture, "svg"))
    write_table(Table({it.name: it.to_numpy() for it in records}), table)
    warned = {row["method"]: row["note"] for row in reversed(found) if row["note"]}
    return Demo(means, warned, [png, svg, table])
