"""Work of `rankfair demo`: the methods on synthetic rows, training and held out.

To add a method, write a function of training rows and held-out rows that returns
predictions of both, and enter it in `DEMO_METHODS`.
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
from rankfair.cli.methods import FREE
from rankfair.cli.screen import OnStep, say, show_table
from rankfair.constraints import Rank
from rankfair.core.problem import Groups
from rankfair.datasets.synthetic import make_biased_tasks
from rankfair.estimators.linear import RankFairRegressor
from rankfair.estimators.postprocess import RankFairPostprocessor
from rankfair.input.disk import write_whole
from rankfair.input.folds import take_rows
from rankfair.metrics import mean_difference, rank_auc, rmse
from rankfair.projections import shift
from rankfair.report.pictures import as_bytes, draw_methods

HELD_OUT = "held-out"
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

Both = tuple[NDArray[np.float64], NDArray[np.float64]]  # of training and held-out rows


@dataclass(frozen=True)
class DemoRows:
    """Rows of the synthetic design: tasks and groups are columns of the frame."""

    frame: Any
    y: NDArray[np.float64]
    in_a: NDArray[np.bool_]
    fair: NDArray[np.float64]

    def take(self, rows: NDArray[np.bool_]) -> DemoRows:
        """Some rows."""
        frame = take_rows(self.frame, np.flatnonzero(rows))
        return DemoRows(frame, self.y[rows], self.in_a[rows], self.fair[rows])


class DemoMethod(NamedTuple):
    """What predicts, and whether new rows must come with their group."""

    predict: Callable[[DemoRows, DemoRows], Both]
    needs_group: str  # "yes" or "no"; "-" for what nobody can compute


class MeanOfDraws(NamedTuple):
    """A mean over draws of the data, with its standard error; NaN for one draw."""

    value: float
    error: float

    @classmethod
    def of(cls, values: Sequence[float]) -> MeanOfDraws:
        """The mean of some values, at least one."""
        n = len(values)
        error = np.std(values, ddof=1) / np.sqrt(n) if n > 1 else np.nan
        return cls(float(np.mean(values)), float(error))


class MethodMeans(NamedTuple):
    """The measures of one method on one set of rows, over all draws."""

    method: str
    needs_group: str
    rows: str
    rmse: MeanOfDraws
    auc: MeanOfDraws
    md: MeanOfDraws
    ks: MeanOfDraws


class Demo(NamedTuple):
    """Records of all draws, paths of the default, means of records, files written."""

    records: list[dict[str, Any]]
    paths: list[dict[str, Any]]
    means: list[MethodMeans]
    files: list[Path]


def _linear(epsilon: float = 0.0, **settings: Any) -> RankFairRegressor:
    return RankFairRegressor(epsilon, tasks="task", sensitive_features="z", **settings)


def _fit(make: Callable[[], Any]) -> Callable[[DemoRows, DemoRows], Both]:
    """The method that fits an estimator and predicts."""

    def method(train: DemoRows, held_out: DemoRows) -> Both:
        model = make().fit(train.frame, train.y)
        return model.predict(train.frame), model.predict(held_out.frame)

    return method


def _constant_shift(train: DemoRows, held_out: DemoRows) -> Both:
    """The unconstrained fit; one number is added to the predictions of each group.

    The numbers put left-out predictions into the band.
    """
    model = _linear(FREE, blind=False).fit(train.frame, train.y)
    left_out = model.loo_predictions_
    moved = shift(left_out, train.in_a, Rank(0.0).band(Groups(train.in_a)))
    step = moved - left_out
    # All rows of a group move by the same step but for rounding.
    up, down = np.median(step[train.in_a]), np.median(step[~train.in_a])
    return (
        model.predict(train.frame) + np.where(train.in_a, up, down),
        model.predict(held_out.frame) + np.where(held_out.in_a, up, down),
    )


def _post_processor() -> RankFairPostprocessor:
    free = _linear(FREE, blind=False)
    return RankFairPostprocessor(free, 0.0, sensitive_features="z")


def _paper() -> RankFairRegressor:
    # β is what cross-validation chooses for this solver: docs/reproduction.md.
    return _linear(
        blind=False, solver="paper", penalty="task", beta=0.01, random_state=0
    )


DEFAULT = "tilt (default)"
DEMO_METHODS: dict[str, DemoMethod] = {
    "unconstrained": DemoMethod(_fit(lambda: _linear(FREE, blind=False)), "yes"),
    "unconstrained, blind": DemoMethod(_fit(lambda: _linear(FREE)), "no"),
    "paper's solver": DemoMethod(_fit(_paper), "yes"),
    "constant shift": DemoMethod(_constant_shift, "yes"),
    "post-processor": DemoMethod(_fit(_post_processor), "yes"),
    "tilt, with group": DemoMethod(_fit(lambda: _linear(blind=False)), "yes"),
    DEFAULT: DemoMethod(_fit(_linear), "no"),
    "true fair score": DemoMethod(lambda train, new: (train.fair, new.fair), "-"),
}


def run_demo(
    out: Path,
    seed: int = 0,
    *,
    draws: int = 20,
    n_tasks: int = 40,
    n_per_task: int = 25,
    n_held_out: int = 200,
    on_step: OnStep | None = None,
) -> Demo:
    """Compare all methods at ε = 0 on each draw, and write records and pictures."""
    number, steps = itertools.count(1), draws * (len(DEMO_METHODS) + 1)

    def tell(name: str) -> None:
        if on_step is not None:
            on_step(name, next(number), steps)

    records: list[dict[str, Any]] = []
    paths: list[dict[str, Any]] = []
    for each in range(seed, seed + draws):
        train, held_out = _draw(each, n_tasks, n_per_task, n_held_out)
        for name, method in DEMO_METHODS.items():
            tell(name)
            records += _records(name, method, train, held_out, each)
        tell("path of all ε")
        path = _linear().fit(train.frame, train.y).path()
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


def show_demo(done: Demo) -> None:
    """Print the table, what the methods warned of, and where the files are."""
    trained = {row.method: row for row in done.means if row.rows != HELD_OUT}
    rows = []
    for row in (it for it in done.means if it.rows == HELD_OUT):
        own = trained[row.method]
        measures = (row.rmse, row.auc, row.md, row.ks, own.rmse, own.auc)
        shown = (f"{it.value:z.3f}" for it in measures)
        rows.append((row.method, row.needs_group, *shown))
    show_table(HEAD, rows, [i for i, row in enumerate(rows) if row[0] == DEFAULT])
    for paragraph in (_errors(done), *LEGEND, *_warned(done.records)):
        say("", paragraph)
    say("")
    for path in done.files:
        echo(f"wrote {path}")


def _draw(
    seed: int, n_tasks: int, n_per_task: int, n_held_out: int
) -> tuple[DemoRows, DemoRows]:
    """Rows to learn from, and rows of the same tasks that are held out."""
    each = n_per_task + n_held_out
    data = make_biased_tasks(n_tasks, each, auc=0.9, random_state=seed)
    assert data.fair_score is not None
    in_a = data.sensitive == data.group_a
    rows = DemoRows(data.frame, data.target, in_a, data.fair_score)
    # Rows come task by task.
    first = np.arange(len(rows.y)) % each < n_per_task
    return rows.take(first), rows.take(~first)


def _records(
    name: str, method: DemoMethod, train: DemoRows, held_out: DemoRows, seed: int
) -> list[dict[str, Any]]:
    """Run a method; return a record of the training rows and one of the others."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        predicted = method.predict(train, held_out)
    note = " ".join(str(warning.message) for warning in caught)
    return [
        {
            "seed": seed,
            "method": name,
            "needs_group": method.needs_group,
            "rows": kind,
            **_measures(rows.y, m, rows.in_a),
            "note": note,
        }
        for kind, rows, m in zip(
            ("train", HELD_OUT), (train, held_out), predicted, strict=True
        )
    ]


def _measures(
    y: NDArray[np.float64], m: NDArray[np.float64], in_a: NDArray[np.bool_]
) -> dict[str, float]:
    return {
        "rmse": rmse(y, m),
        "auc": rank_auc(None, m, sensitive_features=in_a),
        "md": mean_difference(None, m, sensitive_features=in_a),
        "ks": float(ks_2samp(m[in_a], m[~in_a], method="asymp").statistic),
    }


def _means(records: Sequence[Mapping[str, Any]]) -> list[MethodMeans]:
    """The means over draws, for each method and set of rows."""
    of: dict[tuple[str, str, str], list[Mapping[str, Any]]] = {}
    for row in records:
        of.setdefault((row["method"], row["needs_group"], row["rows"]), []).append(row)
    names = ("rmse", "auc", "md", "ks")
    return [
        MethodMeans(*key, *(MeanOfDraws.of([r[name] for r in rows]) for name in names))
        for key, rows in of.items()
    ]


def _errors(done: Demo) -> str:
    """The sentence on draws and standard errors."""
    draws = len({row["seed"] for row in done.records})
    if draws < 2:
        return "One draw of the data."
    rows = [row for row in done.means if row.rows == HELD_OUT]
    most = ", ".join(
        f"{max(getattr(row, name).error for row in rows):.4f} ({name.upper()})"
        for name in ("rmse", "auc", "md", "ks")
    )
    return (
        f"Means of {draws} draws of the data. Standard errors on held-out rows are at "
        f"most {most}."
    )


def _warned(records: Sequence[Mapping[str, Any]]) -> list[str]:
    """What each method warned of first, and in how many draws."""
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
