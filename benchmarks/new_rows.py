"""What the defaults come to on new rows: drift, error, and what fairness costs.

    python benchmarks/new_rows.py                 all designs, 50 seeds, into docs
    python benchmarks/new_rows.py --seeds 5 --only wine

Synthetic designs draw training rows and 200 new rows a task for every seed; Student and
Wine are split at random, four fifths to learn from; Crime and Income are split in time,
and their standard errors come from a bootstrap of tasks.  ε = 0 throughout.  "shift"
is ten lines of NumPy: the pooled fit with the group as a predictor, each group moved by
a constant so that left-out predictions have AUC 1/2.
"""

from __future__ import annotations

import argparse
import sys
import time
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np
from marks import table
from scipy.optimize import brentq
from scipy.stats import ks_2samp, norm, rankdata

from rankfair import MultiTaskRegressor, RankFairRegressor
from rankfair.datasets.crime import load_crime
from rankfair.datasets.income import load_income
from rankfair.datasets.student import load_student
from rankfair.datasets.wine import load_wine

PAGE = Path(__file__).parent.parent / "docs" / "new-rows.md"
NEW = 200  # held-out rows a task
BOOTSTRAPS = 200  # of the tasks, where there is one split in time
METHODS = ("unpooled", "pooled", "shift", "fair", "fair, group")


class Rows(NamedTuple):
    X: np.ndarray
    y: np.ndarray
    tasks: np.ndarray
    in_a: np.ndarray


class Split(NamedTuple):
    train: Rows
    new: Rows


class Figures(NamedTuple):
    rmse: float  # in standard deviations of y
    auc: float  # signed, less 1/2
    md: float
    ks: float


@dataclass(frozen=True)
class Design:
    name: str
    make: Callable[[int], Iterator[Split]]
    rows_a_task: float
    judged: bool = True  # whether its means over seeds are judged
    synthetic: bool = True
    proxy: int | None = None  # the column that is one
    steps: bool = False  # ranks move in steps: few distinct rows
    why: str = ""  # why fairness without the group costs much here


def biased(alpha: float, n_tasks: int, size: int) -> Callable[[int], Split]:
    """The paper's design: Gaussian, two columns of signal and two noisy copies of z."""

    def make(seed: int) -> Split:
        rng = np.random.default_rng(seed)
        theta = np.pi / 6 + 0.2 * rng.standard_normal(n_tasks)
        gap = np.sqrt(2) * norm.ppf(alpha)

        def draw(each: int) -> Rows:
            t = np.repeat(np.arange(n_tasks), each)
            a = rng.random(len(t)) < 0.5
            X = rng.standard_normal((len(t), 4))
            seen = X[:, 0] * np.cos(theta[t]) + X[:, 1] * np.sin(theta[t])
            X[:, 2:] += np.outer(np.where(a, 1.0, -1.0), (1.0, 0.5))
            u = np.sqrt(0.67) * seen + np.sqrt(0.33) * rng.standard_normal(len(t))
            return Rows(X, u + gap * (a - 0.5), t, a)

        return Split(draw(size), draw(NEW))

    return make


def skewed(n_tasks: int, size: int) -> Callable[[int], Split]:
    """Gamma targets and features, levels of tasks, and noisy copies of the group."""

    def make(seed: int) -> Split:
        rng = np.random.default_rng(seed)
        level = 0.5 * rng.standard_normal(n_tasks)

        def draw(each: int) -> Rows:
            t = np.repeat(np.arange(n_tasks), each)
            a = rng.random(len(t)) < 0.35
            X = rng.gamma(2.0, 0.7, (len(t), 4))
            X[:, 2:] += np.outer(a, (0.8, 0.4))
            y = X @ [0.8, 0.4, 0.1, 0.0] + level[t]
            y += rng.gamma(np.where(a, 2.0, 1.0), 0.5)
            return Rows(X, y, t, a)

        return Split(draw(size), draw(NEW))

    return make


def unlike(n_tasks: int, size: int) -> Callable[[int], Split]:
    """Tasks with slopes, levels, noise and shares of the groups of their own."""

    def make(seed: int) -> Split:
        rng = np.random.default_rng(seed)
        slopes = [0.7, 0.4, 0.2] + 0.3 * rng.standard_normal((n_tasks, 3))
        level, share = 0.8 * rng.standard_normal(n_tasks), rng.beta(3, 4, n_tasks)
        noise = rng.uniform(0.4, 1.2, n_tasks)

        def draw(each: int) -> Rows:
            t = np.repeat(np.arange(n_tasks), each)
            a = rng.random(len(t)) < share[t]
            X = rng.standard_normal((len(t), 3))
            X[:, 0] += 0.6 * a
            X[:, 2] -= 0.3 * a
            y = (X * slopes[t]).sum(axis=1) + level[t] + 0.4 * a
            return Rows(X, y + noise[t] * rng.standard_normal(len(t)), t, a)

        return Split(draw(size), draw(NEW))

    return make


def codes(size: int) -> Callable[[int], Split]:
    """Three 0/1 columns and no tasks: ranks move in steps."""

    def make(seed: int) -> Split:
        rng = np.random.default_rng(seed)

        def draw(n: int) -> Rows:
            a = rng.random(n) < 0.4
            X = rng.integers(0, 2, (n, 3)).astype(float)
            X[:, 0] = rng.random(n) < np.where(a, 0.65, 0.35)
            y = X @ [1, 0.5, 0.3] + 0.5 * a + rng.standard_normal(n)
            return Rows(X, y, np.zeros(n, int), a)

        return Split(draw(size), draw(20 * NEW))

    return make


def one_proxy(n_tasks: int, size: int) -> Callable[[int], Split]:
    """Tasks of unlike level, and one of three columns that carries the group."""

    def make(seed: int) -> Split:
        rng = np.random.default_rng(seed)
        level = 0.8 * rng.standard_normal(n_tasks)

        def draw(each: int) -> Rows:
            t = np.repeat(np.arange(n_tasks), each)
            a = rng.random(len(t)) < 0.4
            X = rng.standard_normal((len(t), 3))
            X[:, 0] += a
            y = X @ [0.7, 0.4, 0.2] + level[t] + 0.6 * a
            return Rows(X, y + 0.7 * rng.standard_normal(len(t)), t, a)

        return Split(draw(size), draw(NEW))

    return make


def independent(n_tasks: int, size: int) -> Callable[[int], Split]:
    """Groups that have nothing to do with anything."""

    def make(seed: int) -> Split:
        rng = np.random.default_rng(seed)
        level = rng.standard_normal(n_tasks)

        def draw(each: int) -> Rows:
            t = np.repeat(np.arange(n_tasks), each)
            X = rng.standard_normal((len(t), 4))
            y = X @ [0.7, 0.4, 0.2, 0.0] + level[t] + rng.standard_normal(len(t))
            return Rows(X, y, t, rng.random(len(t)) < 0.4)

        return Split(draw(size), draw(NEW))

    return make


def at_random(load: Callable) -> Callable[[int], Split]:
    """Four fifths of real rows to learn from, at random within tasks."""
    data = load()
    tasks = np.unique(data.tasks, return_inverse=True)[1]
    in_a = data.sensitive == data.group_a
    rows = Rows(data.X, data.target, tasks, in_a)

    def make(seed: int) -> Split:
        rng = np.random.default_rng(seed)
        order = rng.permutation(len(tasks))
        seen = np.zeros(tasks.max() + 1, int)
        new = np.zeros(len(tasks), bool)
        for i in order:  # every fifth row of a task, never its first
            seen[tasks[i]] += 1
            new[i] = seen[tasks[i]] % 5 == 0
        return Split(*(Rows(*(part[at] for part in rows)) for at in (~new, new)))

    return make


def in_time(load: Callable, share: float) -> Callable[[int], Split]:
    """The last periods are new."""
    data = load()
    tasks = np.unique(data.tasks, return_inverse=True)[1]
    new = data.period >= np.quantile(data.period, 1 - share)
    new &= np.isin(tasks, tasks[~new])
    rows = Rows(data.X, data.target, tasks, data.sensitive == data.group_a)
    split = Split(*(Rows(*(part[at] for part in rows)) for at in (~new, new)))
    return lambda seed: split


def designs() -> Iterator[Design]:
    for alpha in (0.6, 0.7, 0.8, 0.9):
        for size in (10, 25, 100):
            yield Design(
                f"Gaussian {alpha}, 40 × {size}", biased(alpha, 40, size), size
            )
    yield Design("skewed, 40 × 25", skewed(40, 25), 25)
    yield Design(
        "unlike tasks, 40 × 50",
        unlike(40, 50),
        50,
        why="Two of three columns carry the group and the target, each task with "
        "slopes of its own. A model without the group has to give up what they say.",
    )
    yield Design(
        "0/1 columns, 1,500 rows",
        codes(1500),
        1500,
        steps=True,
        why="There are eight distinct rows, and the column that says most about the "
        "target says most about the group. Ranks move in steps.",
    )
    yield Design("one proxy, 100 × 10", one_proxy(100, 10), 10, proxy=0)
    yield Design("one proxy, 40 × 25", one_proxy(40, 25), 25, proxy=0)
    yield Design(
        "independent, 40 × 25",
        independent(40, 25),
        25,
        why="There is nothing to correct: the gap of 1,000 rows is chance, and so is "
        "the direction in which it is closed. A warning says so at the fit; a larger ε "
        "costs nothing.",
    )
    for name, load in (("Student", load_student), ("Wine", load_wine)):
        make = at_random(load)
        train = make(0).train
        size = len(train.y) / len(np.unique(train.tasks))
        yield Design(name, make, size, synthetic=False)
    for name, load, share in (("Crime", load_crime, 0.2), ("Income", load_income, 0.1)):
        make = in_time(load, share)
        train = make(0).train
        size = len(train.y) / len(np.unique(train.tasks))
        yield Design(name, make, size, judged=False, synthetic=False)


def auc_of(m: np.ndarray, in_a: np.ndarray) -> float:
    n = int(in_a.sum())
    u = rankdata(m)[in_a].sum() - n * (n + 1) / 2
    return float(u / (n * (len(m) - n)))


def constant(left_out: np.ndarray, in_a: np.ndarray) -> float:
    """What has to come off group A so that left-out predictions have AUC 1/2."""
    ok = ~np.isnan(left_out)
    m, a = left_out[ok], in_a[ok]
    reach = np.ptp(m)
    return brentq(lambda x: auc_of(m - x * a, a) - 0.5, -reach, reach, xtol=1e-10)


def predictions(split: Split, proxy: int | None) -> dict[str, np.ndarray]:
    """What every method predicts of new rows."""
    train, new = split

    def fitted(model: object, X: np.ndarray, Z: np.ndarray, **groups: object):
        model.fit(X, train.y, tasks=train.tasks, **groups)
        return model, model.predict(Z, tasks=new.tasks)

    known = {"sensitive_features": train.in_a}
    with_a = [np.column_stack((rows.X, rows.in_a)) for rows in (train, new)]
    last = train.X.shape[1]
    out = {}
    unpooled = MultiTaskRegressor(penalty="task", beta=1.0)
    out["unpooled"] = fitted(unpooled, train.X, new.X)[1]
    out["pooled"] = fitted(MultiTaskRegressor(), train.X, new.X)[1]
    group = {"sensitive_features": last, "blind": False}
    free, m = fitted(RankFairRegressor(0.5, **group), *with_a)
    apart = constant(free.loo_predictions_, train.in_a)
    out["shift"] = m - apart * (new.in_a - train.in_a.mean())
    out["fair"] = fitted(RankFairRegressor(0.0), train.X, new.X, **known)[1]
    out["fair, group"] = fitted(RankFairRegressor(0.0, **group), *with_a)[1]
    if proxy is not None:
        rest = [f for f in range(last) if f != proxy]
        model = MultiTaskRegressor()
        out["no proxy"] = fitted(model, train.X[:, rest], new.X[:, rest])[1]
    return out


def figures(m: np.ndarray, rows: Rows, rng: np.random.Generator | None) -> Figures:
    """Those of new rows, or of a bootstrap of their tasks."""
    at = np.arange(len(m))
    if rng is not None:
        own = np.split(np.argsort(rows.tasks), np.cumsum(np.bincount(rows.tasks))[:-1])
        own = [each for each in own if len(each)]
        at = np.concatenate([own[i] for i in rng.integers(len(own), size=len(own))])
    m, y, a = m[at], rows.y[at], rows.in_a[at]
    sd = rows.y.std()
    return Figures(
        float(np.sqrt(np.mean((m - y) ** 2))) / sd,
        auc_of(m, a) - 0.5,
        float(m[a].mean() - m[~a].mean()) / sd,
        float(ks_2samp(m[a], m[~a]).statistic),
    )


@dataclass(frozen=True, eq=False)
class Measured:
    """All seeds of a design: (seeds, figures) by method, and left-out AUCs.

    A design that is one split in time has one row, and as many bootstraps of its tasks.
    """

    design: Design
    of: dict[str, np.ndarray]
    drawn: dict[str, np.ndarray]  # bootstraps; the seeds themselves where judged
    left_out: np.ndarray
    uneven: float  # how unevenly "fair, group" moves the rows of one group, in sd of y
    seconds: float

    def mean(self, method: str, figure: str) -> float:
        return float(self.column(method, figure).mean())

    def error(self, values: np.ndarray) -> float:
        """The standard error of a mean over seeds."""
        return float(values.std(ddof=1) / np.sqrt(len(values)))

    def error_of(self, method: str, figure: str) -> float:
        """The same of a figure, over seeds or by bootstrap."""
        values = self.drawn[method][:, Figures._fields.index(figure)]
        return self.error(values) if self.design.judged else float(values.std(ddof=1))

    def column(self, method: str, figure: str) -> np.ndarray:
        return self.of[method][:, Figures._fields.index(figure)]


def measured(design: Design, seeds: int) -> Measured:
    start = time.process_time()
    found: dict[str, list[Figures]] = {}
    left_out, uneven = [], 0.0
    for seed in range(seeds if design.judged else 1):
        split = design.make(seed)
        made = predictions(split, design.proxy)
        model = RankFairRegressor(0.0)
        rows = split.train
        model.fit(rows.X, rows.y, tasks=rows.tasks, sensitive_features=rows.in_a)
        left_out.append(model.loo_auc_ - 0.5)
        moved = (made["fair, group"] - made["shift"]) / rows.y.std()
        uneven = max(uneven, *(np.ptp(moved[split.new.in_a == g]) for g in (0, 1)))
        for method, m in made.items():
            found.setdefault(method, []).append(figures(m, split.new, None))
    of = drawn = {method: np.array(rows) for method, rows in found.items()}
    if not design.judged:
        drawn = {
            method: np.array(
                [
                    figures(m, split.new, np.random.default_rng(i))
                    for i in range(BOOTSTRAPS)
                ]
            )
            for method, m in made.items()
        }
    seconds = time.process_time() - start
    return Measured(design, of, drawn, np.array(left_out), float(uneven), seconds)


def verdicts(all_of: list[Measured]) -> Iterator[tuple[str, bool, str]]:
    """What must hold, whether it does, and the figures."""
    judged = [it for it in all_of if it.design.judged]
    worst, where = -np.inf, ""
    for it in judged:
        if not it.design.synthetic:
            continue
        drift = it.column("fair", "auc") - (it.left_out if it.design.steps else 0.0)
        over = abs(drift.mean()) - 0.004 - 2 * it.error(drift)
        if over > worst:
            worst, where = over, f"{it.design.name}: {drift.mean():+.4f}"
    yield "Drift at most 0.004 and two standard errors", worst <= 0, f"worst {where}"
    worst, where, saved = -np.inf, "", []
    for it in judged:
        pooled, alone = it.column("pooled", "rmse"), it.column("unpooled", "rmse")
        over = (pooled - alone).mean() - 2 * it.error(pooled - alone)
        if it.design.rows_a_task < 50:
            saved.append(1 - pooled.mean() / alone.mean())
        if over > worst:
            worst, where = over, f"{it.design.name}: {(pooled - alone).mean():+.4f}"
    yield "Pooled errs no more than unpooled", worst <= 0, f"worst {where}"
    text = f"{np.mean(saved):.1%} lower in the mean"
    yield "At least 5 % less below 50 rows a task", float(np.mean(saved)) >= 0.05, text
    plain = [it for it in all_of if it.design.proxy is None]
    ratios = [it.mean("fair", "rmse") / it.mean("shift", "rmse") for it in plain]
    most = plain[int(np.argmax(ratios))].design.name
    text = f"mean {np.mean(ratios):.3f}, largest {max(ratios):.3f} ({most})"
    yield (
        "Fair without the group at most 1.03 × the shift",
        np.mean(ratios) <= 1.03,
        text,
    )
    for figure in ("md", "ks"):
        fair, shift = (
            np.mean([abs(it.mean(method, figure)) for it in plain])
            for method in ("fair", "shift")
        )
        text = f"{fair:.4f} against {shift:.4f}"
        yield (
            f"Mean |{figure.upper()}| no larger than the shift's + 0.005",
            fair <= (shift + 0.005),
            text,
        )
    worst_of = max(all_of, key=lambda it: it.uneven)
    text = f"to {worst_of.uneven:.1e} sd of y ({worst_of.design.name})"
    name = "With the group it is the constant shift of the same fit, to 1e-8"
    yield name, worst_of.uneven <= 1e-8, text
    for it in all_of:
        if it.design.proxy is not None:
            ratio = it.mean("fair", "rmse") / it.mean("no proxy", "rmse")
            name = f"{it.design.name}: at most 1.02 × without the proxy"
            yield name, ratio <= 1.02, f"{ratio:.3f}"


def expensive(all_of: list[Measured]) -> Iterator[str]:
    """Where fairness without the group costs more than 5 % of error, and why."""
    ratios = {
        it: it.mean("fair", "rmse") / it.mean("shift", "rmse")
        for it in all_of
        if it.design.proxy is None
    }
    much = {it: ratio for it, ratio in ratios.items() if ratio > 1.05}
    if much:
        yield "## Where it costs more than 5 %"
        yield "\n".join(
            f"- {it.design.name}, {ratio:.3f} × the shift. {it.design.why}"
            for it, ratio in much.items()
        )


def page(all_of: list[Measured], seeds: int) -> str:
    """The page: what was measured, and what holds."""
    head = ("design", "method", "RMSE", "AUC − 1/2", "MD", "KS")
    rows = []
    for it in all_of:
        for method in it.of:
            cells = [
                f"{it.mean(method, figure):{sign}.3f} ± "
                f"{it.error_of(method, figure):.3f}"
                for figure, sign in zip(
                    Figures._fields, ("", "+", "+", ""), strict=True
                )
            ]
            rows.append((it.design.name, method, *cells))
    lines = [
        (name, "yes" if held else "**no**", text)
        for name, held, text in verdicts(all_of)
    ]
    return "\n\n".join(
        (
            "# On new rows",
            "Written by `make bench-new-rows`. "
            + " ".join(__doc__.split("\n\n")[2].split()),
            f"{seeds} seeds a design; figures are means with their standard errors, "
            "RMSE and MD in standard deviations of y. `fair` is "
            "`RankFairRegressor(0.0)` with its defaults: it does not see the group. "
            "`fair, group` has the group as a predictor.",
            "## What holds",
            table(("what", "holds", "measured"), lines, left=3),
            *expensive(all_of),
            "## All figures",
            table(head, rows, left=2),
        )
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=50)
    parser.add_argument("--only", default="")
    parser.add_argument("--write", action="store_true")
    given = parser.parse_args()
    warnings.simplefilter("ignore")
    all_of = []
    for design in designs():
        if given.only.lower() not in design.name.lower():
            continue
        it = measured(design, given.seeds)
        all_of.append(it)
        shown = ", ".join(
            f"{method} {it.mean(method, 'rmse'):.3f} {it.mean(method, 'auc'):+.4f}"
            for method in it.of
        )
        print(f"{design.name} ({it.seconds:.0f} s): {shown}", flush=True)
    text = page(all_of, given.seeds)
    if given.write:
        PAGE.write_text(text + "\n", encoding="utf-8")
    failed = 0
    for name, held, figures_of in verdicts(all_of):
        failed += not held
        print(f"{'yes' if held else 'NO '}  {name}: {figures_of}")
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
