"""What every option costs, as ratios to the default fit in the same run.

Every line runs in a process of its own, with one thread, on two designs (see
`bench_heart`); the worse counts.  Times are CPU time, medians, the option and its
reference called in turn on the same data.

    python benchmarks/bench_options.py                all lines
    python benchmarks/bench_options.py 1e5 slope      those of one size, and slopes
    python benchmarks/bench_options.py --write docs/scale.md   and put the tables there
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import warnings
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np
from bench_heart import DESIGNS, ONE_THREAD, linear_regression, seconds
from marks import put, table

ENOUGH = 3.0  # seconds of a pair of calls: after that no more repeats
REPEATS = 7


class Rows(NamedTuple):
    """Rows of a size and a design, and what is passed to ``fit`` beside them."""

    X: np.ndarray
    y: np.ndarray
    passed: dict[str, Any]


def rows_of(design: str, n_rows: int, n_tasks: int, groups: int = 2) -> Rows:
    """Rows of two groups, or of more: the second of two is cut into the others."""
    X, y, tasks, group = DESIGNS[design](n_rows, 10, n_tasks)
    if groups > 2:
        rng = np.random.default_rng(1)
        group = np.where(group, 1 + rng.integers(groups - 1, size=n_rows), 0)
        y = y + 0.1 * group
        group = np.array([f"group {g}" for g in range(groups)])[
            group
        ]  # 40 are no numbers
    return Rows(X, y, {"tasks": tasks, "sensitive_features": group})


def weighted(rows: Rows) -> Rows:
    """The same with weights that are not whole."""
    weights = np.random.default_rng(2).uniform(0.5, 1.5, len(rows.y))
    return rows._replace(passed={**rows.passed, "sample_weight": weights})


def partly_unknown(rows: Rows) -> Rows:
    """The same where every tenth row is of unknown group."""
    group = rows.passed["sensitive_features"].astype(float)
    group[::10] = np.nan
    return rows._replace(passed={**rows.passed, "sensitive_features": group})


def visible(rows: Rows) -> Rows:
    """The same with the group as a column of X."""
    passed = {"tasks": rows.passed["tasks"]}
    X = np.column_stack((rows.X, rows.passed["sensitive_features"]))
    return Rows(X, rows.y, passed)


class Option(NamedTuple):
    """An option: its settings, the rows it is for, and how much it may cost."""

    settings: Mapping[str, Any] = MappingProxyType({})
    rows: Callable[[Rows], Rows] = lambda rows: rows
    groups: int = 2
    slow: bool = False


OPTIONS = {
    'penalty="ridge"': Option({"penalty": "ridge"}),
    "weights": Option(rows=weighted),
    "rows of unknown group": Option(rows=partly_unknown),
    "several constraints": Option({"constraints": ["rank", "mean"]}),
    'scope="task"': Option({"scope": "task"}),
    'scope="both"': Option({"scope": "both"}),
    "three groups": Option(groups=3),
    "distribution": Option({"constraints": "distribution", "epsilon": 0.05}),
    "blind=False": Option({"blind": False, "sensitive_features": 10}, visible),
    'penalty="task"': Option({"penalty": "task"}, slow=True),
    'penalty="feature"': Option({"penalty": "feature"}, slow=True),
    'penalty="shared"': Option({"penalty": "shared"}, slow=True),
    'solver="ncadmm"': Option({"solver": "ncadmm"}, slow=True),
    'direction="density"': Option({"direction": "density"}, slow=True),
    "ten groups": Option(groups=10, slow=True),
}
SIZES = {"1e6": (10**6, 1000), "1e5": (10**5, 300), "1e4": (10**4, 1000)}
LIMITS = {"1e6": (4, 12), "1e5": (6, 20), "1e4": (6, 20)}


def fit(rows: Rows, **settings: Any) -> str:
    """Fit, without warnings; how it ended."""
    from rankfair import RankFairRegressor

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = RankFairRegressor(**settings).fit(rows.X, rows.y, **rows.passed)
    return str(model.status_)


def in_turn(ours: Callable[[], Any], theirs: Callable[[], Any]) -> dict[str, float]:
    """The ratio of two calls, made in turn."""
    times: list[tuple[float, float]] = []
    while len(times) < REPEATS and sum(map(sum, times)) < ENOUGH:
        reference = seconds(theirs)
        times.append((seconds(ours), reference))
    mine, other = (statistics.median(each) for each in zip(*times, strict=True))
    return {"ratio": mine / other, "seconds": mine, "reference seconds": other}


def option(name: str, size: str, design: str) -> dict[str, Any]:
    """An option over the default fit of the same rows."""
    n_rows, n_tasks = SIZES[size]
    asked, plain = OPTIONS[name], rows_of(design, n_rows, n_tasks)
    own = asked.rows(rows_of(design, n_rows, n_tasks, asked.groups))
    fit(plain)  # what is imported once does not count
    status = fit(own, **asked.settings)
    found = in_turn(lambda: fit(own, **asked.settings), lambda: fit(plain))
    return {**found, "status": status}


def over_ridge(design: str) -> dict[str, Any]:
    """The default fit of 1,000 rows × 20 tasks over ``Ridge().fit``."""
    from sklearn.linear_model import Ridge

    rows = rows_of(design, 1000, 20)
    status = fit(rows)
    return {
        **in_turn(lambda: fit(rows), lambda: Ridge().fit(rows.X, rows.y)),
        "status": status,
    }


def over_linear(n_rows: int, n_tasks: int, design: str) -> dict[str, Any]:
    """The default fit over ``LinearRegression().fit``."""
    rows = rows_of(design, n_rows, n_tasks)
    status = fit(rows)
    reference = linear_regression
    return {
        **in_turn(lambda: fit(rows), lambda: reference().fit(rows.X, rows.y)),
        "status": status,
    }


def tiny_tasks(design: str) -> dict[str, Any]:
    """10⁵ tasks of 3 to 20 rows over ``LinearRegression().fit``."""
    sizes = np.random.default_rng(3).integers(3, 21, 10**5)
    rows = rows_of(design, int(sizes.sum()), 10)
    tasks = np.random.default_rng(4).permutation(np.repeat(np.arange(10**5), sizes))
    rows.passed["tasks"] = tasks
    status = fit(rows)
    return {
        **in_turn(lambda: fit(rows), lambda: linear_regression().fit(rows.X, rows.y)),
        "status": status,
    }


DEFAULT: dict[str, tuple[float, Callable[[str], dict[str, Any]]]] = {
    "1,000 rows × 20 tasks / Ridge": (12, over_ridge),
    "10⁴ rows × 300 tasks / LinearRegression": (
        15,
        lambda design: over_linear(10**4, 300, design),
    ),
    "10⁵ rows × 300 tasks / LinearRegression": (
        4,
        lambda design: over_linear(10**5, 300, design),
    ),
    "10⁶ rows × 40,000 tasks / LinearRegression": (
        3,
        lambda design: over_linear(10**6, 40_000, design),
    ),
    "10⁵ tasks of 3 to 20 rows / LinearRegression": (6, tiny_tasks),
}


def slope(sizes: list[tuple[int, int, int]]) -> dict[str, Any]:
    """The slope of log time over log size of the default fit, by least squares."""
    times = []
    for n_rows, n_tasks, groups in sizes:
        rows = rows_of("easy", n_rows, n_tasks, groups)
        fit(rows)
        times.append(min(seconds(lambda r=rows: fit(r)) for _ in range(3)))
    first, last = np.log(np.array(sizes)[[0, -1]])
    varies = int(np.argmax(last - first))
    x = np.log([each[varies] for each in sizes])
    return {
        "ratio": float(np.polyfit(x, np.log(times), 1)[0]),
        "seconds": times[-1],
        "status": ", ".join(f"{each:.3g}" for each in times),
    }


ROWS = [10**4, 31_623, 10**5, 316_228, 10**6, 3_162_278, 10**7]
SLOPES = {
    "rows 10⁴ to 10⁷, 100 tasks": (1.1, [(n, 100, 2) for n in ROWS]),
    "tasks 10 to 10⁵, 10⁶ rows": (
        1.1,
        [(10**6, k, 2) for k in (10, 100, 1000, 10**4, 10**5)],
    ),
    "groups 2 to 40, 10⁵ rows": (
        1.4,
        [(10**5, 300, g) for g in (2, 5, 10, 20, 40)],
    ),
}


class Line(NamedTuple):
    """A line of a table, and what measures it on a design."""

    part: str
    name: str
    most: float
    measure: Callable[[str], dict[str, Any]]


def lines() -> Iterator[Line]:
    """Every line there is."""
    for name, (most, measure) in DEFAULT.items():
        yield Line("default", name, most, measure)
    for size in SIZES:
        for name, asked in OPTIONS.items():
            most = LIMITS[size][asked.slow]
            yield Line(size, name, most, lambda d, n=name, s=size: option(n, s, d))
    for name, (most, sizes) in SLOPES.items():
        yield Line("slope", name, most, lambda d, s=sizes: slope(s))


def measured(line: Line) -> dict[str, Any]:
    """The worse of both designs, each in a process of its own."""
    found = []
    for design in DESIGNS if line.part != "slope" else ["easy"]:
        out = subprocess.run(
            [sys.executable, __file__, "--line", line.part, line.name, design],
            check=True,
            capture_output=True,
            text=True,
            env={**os.environ, **ONE_THREAD, "PYTHONWARNINGS": "ignore"},
        )
        found.append(json.loads(out.stdout))
    return max(found, key=lambda it: it["ratio"])


TITLES = {
    "default": "default fit",
    "1e6": "10⁶ rows × 1,000 tasks / the default fit",
    "1e5": "10⁵ rows × 300 tasks / the default fit",
    "1e4": "10⁴ rows × 1,000 tasks / the default fit",
    "slope": "slope of log time over log size",
}


def main() -> None:
    """Measure what was asked for."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("parts", nargs="*", choices=[*TITLES, []], help="parts to run")
    parser.add_argument("--line", nargs=3, help=argparse.SUPPRESS)
    parser.add_argument("--write", type=Path, help="a Markdown file with the marks")
    given = parser.parse_args()
    if given.line:
        part, name, design = given.line
        (line,) = (it for it in lines() if (it.part, it.name) == (part, name))
        print(json.dumps(line.measure(design)))
        return
    shown: dict[str, list[tuple[str, ...]]] = {}
    for line in lines():
        if given.parts and line.part not in given.parts:
            continue
        found = measured(line)
        cells = line.name, f"{found['ratio']:.3g}", f"≤ {line.most:g}", found["status"]
        print(
            f"{line.part:8}", *cells, f"{found['seconds']:.3g} s", sep="  ", flush=True
        )
        shown.setdefault(line.part, []).append(cells)
    if given.write:
        tables = [
            table((TITLES[part], "measured", "target", "ended"), rows)
            for part, rows in shown.items()
        ]
        put(given.write, "bench-options", "\n\n".join(tables))


if __name__ == "__main__":
    main()
