"""The picture: error against each kind of unfairness, a row of panels a dataset."""

from __future__ import annotations

from pathlib import Path

import matplotlib

matplotlib.use("Agg")
from matplotlib import pyplot as plt
from matplotlib.axes import Axes

from . import ours as our_methods
from .page import Run
from .points import FAIRNESS, Point

# A curve goes through a method's own settings, not those that follow the rivals.
OWN = {m.name: {m.shown(s) for s in m.settings} for m in our_methods.METHODS}

TITLES = {"gap": "rank gap |AUC − ½|", "ks": "KS", "md": "mean difference |MD|"}
CURVES = {
    "constant shift": ("0.55", "--"),
    "tilt": ("#0b5fa5", "-"),
    "NC-ADMM": ("#6baed6", "-"),
    "TiltedRegressor": ("#2ca25f", "-"),
    "map, rank": ("#7a3f9d", "-"),
    "map, distribution": ("#c51b8a", "-"),
}
# Two demands at once lie on no curve: they follow the rivals.
TWICE = tuple(m.name for m in our_methods.METHODS if len(m.matches) > 1)
MARKS = {
    "fairlearn": ("#d95f02", "o"),
    "holisticai": ("#e6a800", "s"),
    "equipy": ("#a63603", "^"),
    "scikit-lego": ("#66a61e", "D"),
    "fairret": ("#111111", "X"),
}


def picture(run: Run, path: Path) -> None:
    """Draw a row of panels for each dataset and save it."""
    cases = list(run.titles)
    figure, axes = plt.subplots(
        len(cases), 3, figsize=(10.5, 1.9 * len(cases) + 1.0), squeeze=False
    )
    for row, case in zip(axes, cases, strict=True):
        for axis, measure in zip(row, FAIRNESS, strict=True):
            _panel(axis, run, case, measure)
        row[0].set_ylabel(f"{_folded(run.titles[case])}\nRMSE", fontsize=8.5)
    for axis, measure in zip(axes[0], FAIRNESS, strict=True):
        axis.set_title(TITLES[measure], fontsize=10)
    handles: dict[str, object] = {}
    for axis in axes.flat:
        for handle, label in zip(*axis.get_legend_handles_labels(), strict=True):
            handles.setdefault(label, handle)
    top = 1 - 0.75 / figure.get_figheight()
    figure.legend(
        handles.values(), handles.keys(), loc="upper center", ncols=5, fontsize=8.5,
        frameon=False,
    )  # fmt: skip
    figure.tight_layout(rect=(0, 0, 1, top))
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=110)
    plt.close(figure)


def _panel(axis: Axes, run: Run, case: str, measure: str) -> None:
    """Ours as curves over ε, rivals as marks; what is far off stands at the edge."""
    ours, theirs = run.points(case, ours=True), run.points(case, ours=False)
    for name, (colour, style) in CURVES.items():
        line = sorted(
            (p for p in ours if p.method == name and p.setting in OWN[name]),
            key=lambda p: p.mean(measure),
        )
        if line:
            x, y = _places(line, measure)
            axis.plot(
                x, y, style, color=colour, lw=1.3, marker=".", ms=4, label=f"{name}"
            )
    twice = [p for p in ours if p.method in TWICE]
    axis.plot(
        *_places(twice, measure), ".", color="#08306b", ms=3.5, alpha=0.6,
        label="two demands at once",
    )  # fmt: skip
    free = [p for p in ours if p.method == "unconstrained"]
    axis.plot(*_places(free, measure), "*", color="0.2", ms=9, label="unconstrained")
    worst = max(p.mean("rmse") for p in ours)
    best = min(p.mean("rmse") for p in ours)
    top = worst + 0.25 * (worst - best)
    right = 1.12 * max(p.mean(measure) for p in ours)
    for library, (colour, mark) in MARKS.items():
        points = [p for p in theirs if p.library == library]
        if not points:
            continue
        x, y = _places(points, measure)
        seen, x = [min(value, top) for value in y], [min(value, right) for value in x]
        axis.plot(
            x, seen, mark, color=colour, ms=5.5, mec="white", mew=0.6, ls="",
            label=library, alpha=0.9, clip_on=False,
        )  # fmt: skip
    axis.set_ylim(best - 0.08 * (worst - best), top)
    axis.set_xlim(0, right)
    axis.grid(alpha=0.25, lw=0.5)
    axis.locator_params(nbins=5)
    axis.tick_params(labelsize=7.5)


def _folded(title: str) -> str:
    return title.replace(", ", ",\n")


def _places(points: list[Point], measure: str) -> tuple[list[float], list[float]]:
    return [p.mean(measure) for p in points], [p.mean("rmse") for p in points]
