"""The pictures and tables of docs/line.md: why a line, left-out counts, the mean.

python benchmarks/line_page.py                 all, into docs
python benchmarks/line_page.py --seeds 3 --out /tmp/page
"""

from __future__ import annotations

import argparse
import shutil
import warnings
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import NamedTuple

import numpy as np
from marks import put, table
from matplotlib import rc_context
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from new_rows import Figures, Split, auc_of, biased, figures, in_time, one_proxy

from rankfair import RankFairRegressor
from rankfair.datasets.crime import load_crime
from rankfair.datasets.income import load_income
from rankfair.report.pictures import BLUE, INK, PALE, RUST, STYLE, as_bytes, plain_axes

DOCS = Path(__file__).parent.parent / "docs"
SIZES = (5, 10, 25, 50, 100)
TASKS = 100
BOOTSTRAPS = 200
SHOWN = 24  # rows of each group that the first picture follows
# How tasks lean on each other, and what is counted.
MODELS = {
    "every task on its own": {"penalty": "ridge", "beta": 1.0},
    "pooled (default)": {},
}
COUNTS = {"training rows": "train", "left-out rows (default)": "loo"}
DIRECTIONS = {"mean (default)": "mean", "density (the paper's problem)": "density"}
REAL = {"Crime": (load_crime, 0.2), "Income": (load_income, 0.1)}
LOOKS = (("s", RUST), ("o", BLUE))


def fitted(split: Split, epsilon: float = 0.0, **settings: object) -> RankFairRegressor:
    """A fit to the training rows of a split; the group is no predictor."""
    rows = split.train
    with warnings.catch_warnings():
        # Rounds that run out, and groups that are constant within tasks.
        warnings.simplefilter("ignore")
        return RankFairRegressor(epsilon, **settings).fit(
            rows.X, rows.y, tasks=rows.tasks, sensitive_features=rows.in_a
        )


def predicted(split: Split, model: RankFairRegressor) -> np.ndarray:
    return model.predict(split.new.X, tasks=split.new.tasks)


class Drift(NamedTuple):
    """AUC less 1/2 on new rows, a number for each seed."""

    model: str
    count: str
    size: int
    found: tuple[float, ...]

    @property
    def mean(self) -> float:
        return float(np.mean(self.found))

    @property
    def error(self) -> float:
        return float(np.std(self.found, ddof=1) / np.sqrt(len(self.found)))


def drifts(sizes: Iterable[int], seeds: int) -> list[Drift]:
    """Tasks of unlike level with one proxy, by model, count and rows a task."""
    drawn = {size: [one_proxy(TASKS, size)(i) for i in range(seeds)] for size in sizes}

    def one(split: Split, **settings: object) -> float:
        return auc_of(predicted(split, fitted(split, **settings)), split.new.in_a) - 0.5

    return [
        Drift(
            name, count, size, tuple(one(it, count=key, **model) for it in drawn[size])
        )
        for name, model in MODELS.items()
        for count, key in COUNTS.items()
        for size in drawn
    ]


class Optimum(NamedTuple):
    """One direction on one dataset: predictions of new rows, figures, their errors."""

    data: str
    direction: str
    m: np.ndarray
    split: Split
    of: Figures
    errors: Figures


def optimum(
    data: str, make: Callable[[int], Split], bootstraps: int
) -> Iterable[Optimum]:
    split = make(0)
    for name, direction in DIRECTIONS.items():
        m = predicted(split, fitted(split, direction=direction))
        drawn = [
            figures(m, split.new, np.random.default_rng(i)) for i in range(bootstraps)
        ]
        errors = Figures(*np.std(drawn, axis=0, ddof=1).tolist())
        yield Optimum(data, name, m, split, figures(m, split.new, None), errors)


def new_figure(panels: int, **how: object) -> tuple[Figure, list[Axes]]:
    figure = Figure(figsize=(3.3 * panels, 3.1), dpi=150, layout="constrained")
    axes = list(figure.subplots(1, panels, squeeze=False, **how)[0])
    for each in axes:
        plain_axes(each)
    return figure, axes


def title(axes: Axes, text: str) -> None:
    axes.set_title(text, loc="left", fontsize=10.5, fontweight="bold")


def line_picture(split: Split) -> Figure:
    """Predictions along the line, and what is counted there."""
    model = fitted(split)
    last = model.multiplier_
    free, fair = (predicted(split, model.at(epsilon)) for epsilon in (0.5, 0.0))
    figure, (rows, counts, errors) = new_figure(3)
    title(rows, "Predictions of new rows")
    for colour, chosen in ((RUST, split.new.in_a), (BLUE, ~split.new.in_a)):
        some = np.flatnonzero(chosen)[:: chosen.sum() // SHOWN][:SHOWN]
        rows.plot([0, 1], [free[some], fair[some]], color=colour, lw=0.8, alpha=0.5)
        means = [m[chosen].mean() for m in (free, fair)]
        rows.plot([0, 1], means, "-o", color=colour, linewidth=3, markersize=4)
    rows.set_ylabel("prediction")
    for text, colour, high in (("group A", RUST, 0.93), ("group B", BLUE, 0.02)):
        rows.text(0.03, high, text, color=colour, transform=rows.transAxes)
    epsilons = np.linspace(0.0, abs(model.at(0.5).loo_auc_ - 0.5), 25)
    models = [model.at(epsilon) for epsilon in epsilons]
    share = [it.multiplier_ / last for it in models]
    title(counts, "AUC of left-out rows")
    counts.set_xlim(right=1.3)
    counts.plot(share, [it.loo_auc_ for it in models], color=INK, linewidth=2)
    title(errors, "Error of left-out rows")
    errors.plot(
        share, [row.rmse for row in model.path(epsilons).rows], color=INK, linewidth=2
    )
    errors.set_ylabel("RMSE")
    for epsilon in (0.2, 0.1, 0.0):
        at = model.at(epsilon)
        x, (error,) = (
            at.multiplier_ / last,
            (it.rmse for it in model.path([epsilon]).rows),
        )
        for axes, y in ((counts, at.loo_auc_), (errors, error)):
            axes.plot(x, y, "o", color=BLUE)
            way = -1 if axes is errors else 1
            axes.annotate(
                f"ε = {epsilon:g}", (x, y), textcoords="offset points",
                xytext=(8 * way, 3), color=BLUE, ha="right" if way < 0 else "left",
            )  # fmt: skip
    for axes in (rows, counts, errors):
        axes.set_xlabel("λ, as a share of λ(0)")
        axes.margins(x=0.12, y=0.12)
    return figure


def drift_picture(found: list[Drift]) -> Figure:
    figure, panels = new_figure(2, sharey=True)
    for axes, name in zip(panels, MODELS, strict=True):
        title(axes, name[0].upper() + name[1:])
        axes.axhline(0.0, color=PALE, linewidth=1)
        for (marker, colour), count in zip(LOOKS, COUNTS, strict=True):
            own = [it for it in found if (it.model, it.count) == (name, count)]
            axes.errorbar(
                [it.size for it in own],
                [it.mean for it in own],
                yerr=[1.96 * it.error for it in own],
                fmt=f"-{marker}",
                color=colour,
                label=f"counted on {count}",
            )
        axes.set_xscale("log")
        sizes = sorted({it.size for it in found})
        axes.set_xticks(sizes, [str(size) for size in sizes])
        axes.minorticks_off()
        axes.set_xlabel("rows a task")
    panels[0].set_ylabel("AUC − 1/2 on new rows")
    figure.legend(
        *panels[0].get_legend_handles_labels(),
        loc="outside lower center", ncols=2, frameon=False,
    )  # fmt: skip
    return figure


def optimum_picture(found: list[Optimum]) -> Figure:
    """How the predictions of Crime are spread, and the figures of both datasets."""
    figure, panels = new_figure(4)
    for axes, it in zip(panels[:2], found[:2], strict=True):
        title(axes, f"{it.data}: {it.direction.split(' (')[0]}")
        new = it.split.new
        edges = np.quantile(it.m, (0.005, 0.995))
        for colour, rows, name in ((RUST, new.in_a, "A"), (BLUE, ~new.in_a, "B")):
            axes.plot(
                np.sort(it.m[rows]), np.linspace(0, 1, rows.sum()), color=colour,
                linewidth=1.8, label=f"group {name}",
            )  # fmt: skip
            axes.axvline(it.m[rows].mean(), color=colour, linewidth=1, linestyle="--")
        axes.set_xlim(*edges)
        axes.set_xlabel("prediction (dashed: mean)")
    panels[0].set_ylabel("share of rows below")
    panels[0].legend(frameon=False, loc="lower right")
    for axes, name, words in (
        (panels[2], "md", "MD of new rows"),
        (panels[3], "ks", "KS of new rows"),
    ):
        title(axes, words)
        axes.axvline(0.0, color=PALE, linewidth=1)
        for i, it in enumerate(found):
            marker, colour = LOOKS[0 if "density" in it.direction else 1]
            axes.errorbar(
                getattr(it.of, name), i, xerr=1.96 * getattr(it.errors, name),
                fmt=marker, color=colour,
            )  # fmt: skip
        names = [f"{it.data},\n{it.direction.split(' (')[0]}" for it in found]
        axes.set_yticks(range(len(found)), names)
        axes.set_ylim(len(found) - 0.5, -0.5)
    return figure


def drift_table(found: list[Drift]) -> str:
    sizes = sorted({it.size for it in found})
    rows = [
        (
            name,
            count,
            *(
                f"{it.mean:+.3f} ± {it.error:.3f}"
                for it in found
                if (it.model, it.count) == (name, count)
            ),
        )
        for name in MODELS
        for count in COUNTS
    ]
    return table(("model", "counted on", *(f"{n} rows a task" for n in sizes)), rows, 2)


def optimum_table(found: list[Optimum]) -> str:
    rows = [
        (
            it.data,
            it.direction,
            *(
                f"{value:{sign}.3f} ± {error:.3f}"
                for value, error, sign in zip(
                    it.of, it.errors, ("", "+", "+", ""), strict=True
                )
            ),
        )
        for it in found
    ]
    return table(("data", "direction", "RMSE", "AUC − 1/2", "MD", "KS"), rows, 2)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=30)
    parser.add_argument("--sizes", type=int, nargs="+", default=SIZES)
    parser.add_argument("--bootstraps", type=int, default=BOOTSTRAPS)
    parser.add_argument("--out", type=Path, default=DOCS)
    write(parser.parse_args())


def write(given: argparse.Namespace) -> None:
    """Measure, and put pictures and tables into a copy of the page."""
    page = given.out / "line.md"
    (given.out / "images").mkdir(parents=True, exist_ok=True)
    if given.out != DOCS:
        shutil.copy(DOCS / page.name, page)
    drift = drifts(given.sizes, given.seeds)
    best = [
        it
        for data, (load, share) in REAL.items()
        for it in optimum(data, in_time(load, share), given.bootstraps)
    ]
    with rc_context(STYLE):
        pictures = {
            "line": line_picture(biased(0.9, 40, 25)(0)),
            "line-drift": drift_picture(drift),
            "line-optimum": optimum_picture(best),
        }
    for name, picture in pictures.items():
        (given.out / "images" / f"{name}.svg").write_bytes(as_bytes(picture, "svg"))
    put(page, "drift", f"{drift_table(drift)}\n\n{given.seeds} draws a cell.")
    put(page, "optimum", optimum_table(best))


if __name__ == "__main__":
    main()
