"""`rankfair demo`: methods of `rankfair compare` on synthetic rows.

To add one, enter it in `DEMO_METHODS`.
"""

from __future__ import annotations

import csv
import io
import itertools
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.stats import ks_2samp

from rankfair.cli.errors import echo
from rankfair.cli.methods import METHODS, changed
from rankfair.cli.screen import OnStep, say, show_table
from rankfair.datasets.synthetic import make_biased_tasks
from rankfair.estimators.linear import RankFairRegressor
from rankfair.input.disk import write_whole
from rankfair.input.folds import take_rows
from rankfair.metrics import mean_difference, rank_auc, rmse
from rankfair.report.pictures import as_bytes, draw_methods

N_TASKS, N_TRAIN, N_HELD_OUT = 40, 25, 200  # rows of each task
TRAIN, HELD_OUT = "train", "held-out"
MEASURES = ("rmse", "auc", "md", "ks")
HEAD = ("method", "group", "RMSE", "AUC", "MD", "KS", "train RMSE", "train AUC")
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


class DemoMethod(NamedTuple):
    """What predicts, and whether new rows must come with their group."""

    make: Callable[[], Any] | None  # None for what nobody can compute
    needs_group: str = "-"


def _of(name: str, blind: bool = False) -> DemoMethod:
    """Return a method of `rankfair compare`."""

    def make() -> Any:
        return METHODS[name].make(changed(ASKED, blind=blind))

    return DemoMethod(make, "no" if blind else "yes")


def _paper() -> Any:
    # β is what cross-validation chooses for this solver: docs/reproduction.md.
    paper = {"solver": "paper", "penalty": "task", "beta": 0.01, "random_state": 0}
    return changed(ASKED, blind=False, **paper)


DEFAULT, FAIR_SCORE = "tilt (default)", "true fair score"
DEMO_METHODS: dict[str, DemoMethod] = {
    "unconstrained": _of("unconstrained"),
    "unconstrained, blind": _of("unconstrained", blind=True),
    "paper's solver": DemoMethod(_paper, "yes"),
    "constant shift": _of("constant shift"),
    "post-processor": _of("map of ranks"),
    "tilt, with group": _of("tilt"),
    DEFAULT: _of("tilt", blind=True),
    FAIR_SCORE: DemoMethod(None),
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
        trained = {row.method: row for row in self.means if row.rows == TRAIN}
        rows = []
        for row in (it for it in self.means if it.rows == HELD_OUT):
            own = trained[row.method]
            measures = (row.rmse, row.auc, row.md, row.ks, own.rmse, own.auc)
            shown = (f"{it.value:z.3f}" for it in measures)
            rows.append((row.method, row.needs_group, *shown))
        show_table(HEAD, rows, [i for i, row in enumerate(rows) if row[0] == DEFAULT])
        for paragraph in (_errors(self), *LEGEND, *_warned(self.records)):
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
        parts = _draw(each)
        for name in DEMO_METHODS:
            on_step(name, next(number), steps)
            records += _records(name, parts, each)
        on_step("path of all ε", next(number), steps)
        path = changed(ASKED).fit(parts[TRAIN].frame, parts[TRAIN].y).path()
        paths += [{"seed": each, **row._asdict()} for row in path.rows]
    means = _means(records)
    picture = draw_methods(means, paths)
    contents: dict[str, str | bytes] = {
        "frontier.png": as_bytes(picture, "png"),
        "frontier.svg": as_bytes(picture, "svg"),
        "paths.csv": _as_csv(paths),
        "records.csv": _as_csv(records),
    }
    written = [write_whole(out / name, it) for name, it in contents.items()]
    return Demo(records, paths, means, written)


class DemoRows(NamedTuple):
    """Rows of the synthetic design: tasks and groups are columns of the frame."""

    frame: Any
    y: NDArray[np.float64]
    in_a: NDArray[np.bool_]
    fair: NDArray[np.float64]


def _draw(seed: int) -> dict[str, DemoRows]:
    """Return rows to learn from, and rows of the same tasks that are held out."""
    each = N_TRAIN + N_HELD_OUT
    data = make_biased_tasks(N_TASKS, each, auc=0.9, random_state=seed)
    assert data.fair_score is not None
    in_a = data.sensitive == data.group_a
    first = np.arange(len(in_a)) % each < N_TRAIN  # rows come task by task
    found = {}
    for name, rows in ((TRAIN, first), (HELD_OUT, ~first)):
        frame = take_rows(data.frame, np.flatnonzero(rows))
        found[name] = DemoRows(
            frame, data.target[rows], in_a[rows], data.fair_score[rows]
        )
    return found


def _records(
    name: str, parts: Mapping[str, DemoRows], seed: int
) -> list[dict[str, Any]]:
    """Run a method; return a record of the training rows and one of the others."""
    make, needs_group = DEMO_METHODS[name]
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        if make is None:
            predicted = {kind: rows.fair for kind, rows in parts.items()}
        else:
            model = make().fit(parts[TRAIN].frame, parts[TRAIN].y)
            predicted = {kind: model.predict(it.frame) for kind, it in parts.items()}
    note = " ".join(str(warning.message) for warning in caught)
    return [
        {
            "seed": seed,
            "method": name,
            "needs_group": needs_group,
            "rows": kind,
            **_measures(rows, predicted[kind]),
            "note": note,
        }
        for kind, rows in parts.items()
    ]


def _measures(rows: DemoRows, m: NDArray[np.float64]) -> dict[str, float]:
    in_a = rows.in_a
    return {
        "rmse": rmse(rows.y, m),
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


def _errors(done: Demo) -> str:
    """Return the sentence on draws and standard errors."""
    draws = len({row["seed"] for row in done.records})
    if draws < 2:
        return "One draw of the data."
    rows = [row for row in done.means if row.rows == HELD_OUT]
    most = ", ".join(
        f"{max(getattr(row, name).error for row in rows):.4f} ({name.upper()})"
        for name in MEASURES
    )
    return (
        f"Means of {draws} draws of the data. Standard errors on held-out rows are at "
        f"most {most}."
    )


def _warned(records: Sequence[Mapping[str, Any]]) -> list[str]:
    """Return what each method warned of first, and in how many draws."""
    draws = len({row["seed"] for row in records})
    said: dict[str, dict[int, str]] = {}
    for row in records:
        if row["note"]:
            said.setdefault(row["method"], {})[row["seed"]] = row["note"]
    return [
        f"{method}, in {len(by)} of {draws} draws: {next(iter(by.values()))}"
        for method, by in said.items()
    ]


def _as_csv(records: Sequence[Mapping[str, Any]]) -> str:
    text = io.StringIO()
    writer = csv.DictWriter(text, [*records[0]], lineterminator="\n")
    writer.writeheader()
    writer.writerows(records)
    return text.getvalue()
