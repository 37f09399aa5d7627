"""Figures of held-out rows, the judgement on them, and both as Markdown."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from scipy.stats import ks_2samp

from benchmarks.marks import table
from rankfair.metrics import mean_difference, rank_auc, rmse

from .cases import CASES, Rows
from .methods import BOOSTING, METHODS, RIDGE, Method

FIGURES = ("RMSE", "gap", "MD", "KS", "within", "CPU")
GAPS = ("gap", "MD", "KS")
HEAD = {
    "RMSE": "RMSE",
    "gap": "\\|AUC − 1/2\\|",
    "MD": "\\|MD\\|",
    "KS": "KS",
    "within": "gap within tasks",
    "CPU": "CPU s",
}
MOST_ERROR = 0.01  # by how much a rival may err less, in the mean over datasets
# Named before the run: the page says so above its tables.
DEFAULTS = (
    (RIDGE, False, "RankFairRegressor"),
    (BOOSTING, False, "TiltedRegressor"),
    (RIDGE, True, "RankFairPostprocessor"),
    (BOOSTING, True, "RankFairPostprocessor"),
)


def measure(m: np.ndarray, new: Rows, unit: float, seconds: float) -> list[float]:
    """The figures of predictions, in the order of `FIGURES`."""
    groups = {"sensitive_features": new.in_a}
    return [
        rmse(new.y, m) / unit,
        abs(rank_auc(None, m, **groups) - 0.5),
        abs(mean_difference(None, m, **groups)) / unit,
        float(ks_2samp(m[new.in_a], m[~new.in_a]).statistic),
        within_tasks(m, new),
        seconds,
    ]


def within_tasks(m: np.ndarray, new: Rows) -> float:
    """``|AUC − 1/2|`` of pairs of the same task, tasks weighted as in an audit."""
    above = weight = 0.0
    for task in np.unique(new.tasks):
        own = new.tasks == task
        n_a, n = int(new.in_a[own].sum()), int(own.sum())
        if 0 < n_a < n:
            w = n_a * (n - n_a) / (n + 1)
            auc = rank_auc(None, m[own], sensitive_features=new.in_a[own])
            above, weight = above + w * auc, weight + w
    return abs(above / weight - 0.5)


@dataclass(frozen=True)
class Results:
    """Figures (datasets, methods, splits, `FIGURES`) in the order of the names."""

    cases: tuple[str, ...]
    rows: tuple[int, ...]
    values: np.ndarray
    methods: tuple[Method, ...] = METHODS

    def of(self, method: Method, figure: str) -> np.ndarray:
        """One figure of a method, (datasets, splits)."""
        own = self.methods.index(method)
        return self.values[:, own, :, FIGURES.index(figure)]

    def mean(self, method: Method, figure: str) -> float:
        return float(self.of(method, figure).mean())


@dataclass(frozen=True)
class Compared:
    """By how much the default is above the least of a figure, and its doubt."""

    figure: str
    least: str
    above: float
    error: float

    @property
    def held(self) -> bool:
        return self.above <= 2 * self.error


def corrected_error(steps: np.ndarray) -> float:
    """The standard error of the mean over datasets of differences (datasets, splits).

    Splits share rows.  Nadeau and Bengio (2003) put 1/J + n_test/n_train in the place
    of 1/J; with halves the ratio is 1.
    """
    n_sets, n_splits = steps.shape
    variances = (1 / n_splits + 1) * steps.var(axis=1, ddof=1)
    return float(np.sqrt(variances.sum()) / n_sets)


@dataclass(frozen=True)
class Judgement:
    """The recommended default beside all that may be used where it may."""

    default: Method
    gaps: tuple[Compared, ...]
    rivals: dict[str, float]  # RMSE over that of the default, mean over datasets
    as_fair: tuple[str, ...]  # rivals whose gaps are within two errors of the least

    @property
    def held(self) -> bool:
        worst = min(self.rivals.values(), default=1.0)
        return all(each.held for each in self.gaps) and worst >= 1 - MOST_ERROR


def judge(found: Results, base: str, by_group: bool, name: str) -> Judgement:
    """Judge one default among the methods on the same base with the same needs."""
    wanted = base, by_group, True
    pool = [it for it in found.methods if (it.base, it.by_group, it.fair) == wanted]
    (default,) = (each for each in pool if each.name == name)
    least = {
        figure: min(pool, key=lambda it: found.mean(it, figure)) for figure in GAPS
    }

    def compared(method: Method) -> tuple[Compared, ...]:
        gaps = []
        for figure, best in least.items():
            steps = found.of(method, figure) - found.of(best, figure)
            error = corrected_error(steps)
            gaps.append(Compared(figure, best.name, float(steps.mean()), error))
        return tuple(gaps)

    others = [each for each in pool if each is not default]
    rivals = {each.name: over(found, each, default) for each in others}
    fair = [it.name for it in others if all(gap.held for gap in compared(it))]
    return Judgement(default, compared(default), rivals, tuple(fair))


def over(found: Results, method: Method, other: Method) -> float:
    """The RMSE of a method over that of another, mean over datasets."""
    return float(_ratios(found, method, other).mean())


def _ratios(found: Results, method: Method, other: Method) -> np.ndarray:
    one, two = (found.of(each, "RMSE").mean(axis=1) for each in (method, other))
    return one / two


def said(found: Results, judged: Judgement) -> Iterator[str]:
    """The judgement in words."""
    default, verdict = judged.default, "holds" if judged.held else "does not hold"
    verdict = verdict if judged.rivals else "stands alone"
    needs = "group needed to predict" if default.by_group else "group not needed"
    yield f"- **{default.base}, {needs}: `{default.name}` {verdict}.**"
    if not judged.rivals:
        yield "  No other method here makes this base model fair without the group."
    for each in judged.gaps if judged.rivals else ():
        if each.least == default.name:
            yield f"  {HEAD[each.figure]}: it has the least."
            continue
        yield (
            f"  {HEAD[each.figure]}: {each.above:+.4f} above the least ({each.least}), "
            f"{'within' if each.held else 'beyond'} two corrected standard errors "
            f"({2 * each.error:.4f})."
        )
    yield from _rivals(found, judged)
    free = [it for it in found.methods if (it.base, it.fair) == (default.base, False)]
    price = 100 * (over(found, default, free[0]) - 1)
    yield f"  Over the plain model it costs {price:+.1f} % of RMSE."


def _rivals(found: Results, judged: Judgement) -> Iterator[str]:
    """Who errs least of the others, where, and what of those that are as fair."""
    if not judged.rivals:
        return
    name = min(judged.rivals, key=judged.rivals.__getitem__)
    percent = 100 * (judged.rivals[name] - 1)
    yield f"  RMSE: the least of the others, {name}, is at {percent:+.1f} %."
    if judged.rivals[name] >= 1 - MOST_ERROR:
        return
    default = judged.default
    (rival,) = (
        each for each in found.methods if (each.base, each.name) == (default.base, name)
    )
    ratios, (gap, own) = (
        _ratios(found, rival, default),
        (found.of(each, "gap").mean(axis=1) for each in (rival, default)),
    )
    at = int(ratios.argmin())
    yield (
        f"  It gains most on {CASES[found.cases[at]].title} "
        f"({100 * (ratios[at] - 1):+.1f} %), where its {HEAD['gap']} is {gap[at]:.3f} "
        f"and that of {default.name} {own[at]:.3f}."
    )
    if name not in judged.as_fair:
        fair = [f"{it} {100 * (judged.rivals[it] - 1):+.1f} %" for it in judged.as_fair]
        others = ", ".join(fair) or "none"
        yield f"  Its gaps are farther than that from the least; near are: {others}."


def page(found: Results, minutes: float, versions: Sequence[str]) -> str:
    """What stands between the marks of the page."""
    judged = [judge(found, *default) for default in DEFAULTS]
    lines = [
        f"Measured in {minutes:.0f} minutes of a processor with {', '.join(versions)}.",
        "",
        "## Verdict",
        "",
        *(line for each in judged for line in said(found, each)),
        "",
        "## Means over all datasets",
        "",
        _table(found, found.values),
    ]
    for i, (name, n_rows) in enumerate(zip(found.cases, found.rows, strict=True)):
        case = CASES[name]
        lines += ["", f"## {case.title}", ""]
        lines += [
            f"{n_rows:,} rows, `{case.target}`{' (log)' if case.log else ''} by "
            f"`{case.group}`, tasks `{'`, `'.join(case.tasks)}`.",
            "",
            _table(found, found.values[i : i + 1]),
        ]
    return "\n".join(lines)


def _table(found: Results, values: np.ndarray) -> str:
    means = values.mean(axis=(0, 2))
    rows = []
    for method, own in zip(found.methods, means, strict=True):
        name = f"**{method.name}**" if is_default(method) else method.name
        needs = "yes" if method.by_group else "no"
        cells = [f"{value:.3f}" for value in own[:-1]]
        rows.append([method.base, name, needs, *cells, f"{own[-1]:.2f}"])
    return table(["base", "method", "group needed", *HEAD.values()], rows, left=3)


def is_default(method: Method) -> bool:
    return (method.base, method.by_group, method.name) in DEFAULTS
