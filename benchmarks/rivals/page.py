"""docs/rivals.md from points, costs and notes: text only, nothing is fitted here."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from ..marks import table
from . import words
from .points import (
    AHEAD,
    ALONE,
    DOMINATED,
    FAIRNESS,
    LEVEL,
    MEASURES,
    OURS,
    TIED,
    Point,
    Verdict,
    as_fair,
    difference,
    judge,
)

NAMES = {"rmse": "RMSE", "gap": "rank gap", "md": "MD", "ks": "KS"}
SIGNS = {DOMINATED: "✓", TIED: "=", LEVEL: "≈", AHEAD: "✗", ALONE: "–"}
# Memory of a process says little where the data is smaller than its own noise.
LARGE = 50_000


@dataclass(frozen=True)
class Cell:
    """A method on a dataset: points, cost as ratios, and a note where it went wrong.

    ``group`` says that new rows need their group.
    """

    case: str
    library: str
    method: str
    points: tuple[Point, ...]
    cost: Mapping[str, float] | None = None
    note: str = ""
    group: bool = False


@dataclass(frozen=True)
class Run:
    """Everything the page is made of."""

    titles: Mapping[str, str]
    rows: Mapping[str, int]
    bases: Mapping[str, str]
    skipped: Mapping[str, str]
    versions: Mapping[str, str]
    cells: Sequence[Cell]
    minutes: float | None
    quick: bool = False

    def points(self, case: str, ours: bool) -> list[Point]:
        return [
            point
            for cell in self.cells
            if cell.case == case and (cell.library == OURS) == ours
            for point in cell.points
        ]

    @cached_property
    def verdicts(self) -> dict[str, list[Verdict]]:
        """Of each dataset, every point of a rival with what is said of it."""
        return {
            case: [
                judge(point, self.points(case, ours=True))
                for point in self.points(case, ours=False)
            ]
            for case in self.titles
        }


def shown(mean: float, error: float) -> str:
    """A mean with its standard error, if there is one."""
    return f"{mean:.4f}" if math.isnan(error) else f"{mean:.4f} ± {error:.4f}"


def ratio(value: float) -> str:
    """Three digits, thousands apart."""
    if value >= 100:
        return f"{float(f'{value:.2g}'):,.0f}"
    return f"{value:.2g}" if value < 10 else f"{value:.0f}"


def figures(point: Point) -> list[str]:
    return [shown(point.mean(m), point.error(m)) for m in MEASURES]


def against(verdict: Verdict) -> str:
    """The word of the last column of a dataset's table."""
    if verdict.mine is None:
        return "–"
    return f"{SIGNS[verdict.kind]} {verdict.mine.label}"


def dataset_table(run: Run, case: str) -> str:
    """Rivals with all settings; ours with the first one and those that dominate."""
    verdicts = run.verdicts[case]
    named = {id(v.mine) for v in verdicts}
    rows = []
    for cell in (c for c in run.cells if c.case == case):
        mine = cell.library == OURS
        for i, point in enumerate(cell.points):
            if mine and i and id(point) not in named:
                continue
            word = "" if mine else against(_of(verdicts, point))
            needs = "yes" if cell.group else ""
            rows.append([cell.library, point.label, needs, *figures(point), word])
        if cell.note:
            rows.append([cell.library, cell.method, "", cell.note, *[""] * 4])
    head = ["package", "method", "group", *(NAMES[m] for m in MEASURES), "against ours"]
    return table(head, rows, left=3)


def _of(verdicts: Sequence[Verdict], point: Point) -> Verdict:
    return next(v for v in verdicts if v.theirs is point)


def matrix(run: Run) -> str:
    """Rivals by datasets: a sign for each setting."""
    cases = list(run.titles)
    signs = {c: {id(v.theirs): SIGNS[v.kind] for v in run.verdicts[c]} for c in cases}
    rows = []
    for library, method in _methods(run, ours=False):
        cells = [_cell(run, case, library, method) for case in cases]
        marks = [
            "" if cell is None else _marks(cell, signs[case])
            for case, cell in zip(cases, cells, strict=True)
        ]
        needs = any(cell is not None and cell.group for cell in cells)
        rows.append([f"{library} {method}", "yes" if needs else "", *marks])
    head = ["", "needs the group", *(run.titles[c] for c in cases)]
    return table(head, rows)


def _marks(cell: Cell, signs: Mapping[int, str]) -> str:
    marks = " ".join(signs[id(point)] for point in cell.points)
    return marks or "failed" if "limit" not in cell.note else marks or "too slow"


def _methods(run: Run, ours: bool) -> list[tuple[str, str]]:
    found = {(c.library, c.method): None for c in run.cells}
    return [pair for pair in found if (pair[0] == OURS) == ours]


def _cell(run: Run, case: str, library: str, method: str) -> Cell | None:
    wanted = (case, library, method)
    for cell in run.cells:
        if (cell.case, cell.library, cell.method) == wanted:
            return cell
    return None


def cost_table(run: Run, key: str, cases: Sequence[str]) -> str:
    """One cost of every method on every dataset, as ratios."""
    rows = []
    for pair in (*_methods(run, ours=True), *_methods(run, ours=False)):
        words = []
        for case in cases:
            cell = _cell(run, case, *pair)
            got = cell is not None and cell.cost is not None
            words.append(ratio(cell.cost[key]) if got else "")
        if any(words):
            rows.append([f"{pair[0]} {pair[1]}", *words])
    return table(["", *(run.titles[c] for c in cases)], rows)


def exception(run: Run, verdict: Verdict) -> str:
    """A sentence about a rival's point that none of ours dominates."""
    theirs, mine = verdict.theirs, verdict.mine
    head = f"- **{run.titles[theirs.case]}, {theirs.library} {theirs.label}**"
    if mine is None:
        return f"{head}: none of ours finished on the same seeds."
    if verdict.kind == TIED:
        return f"{head}: the same figures as ours, {mine.label}."
    steps = {m: difference(mine, theirs, m) for m in MEASURES}
    said = ", ".join(f"{NAMES[m]} {steps[m].mean:+.4f}" for m in MEASURES)
    if verdict.kind == LEVEL:
        noise = steps["rmse"].noise
        return (
            f"{head}: none of ours is as fair with a lower mean error, but "
            f"{mine.label} is within noise of it in all four ({said}; noise of RMSE "
            f"{noise:.4f})."
        )
    worse = " and ".join(NAMES[m] for m in MEASURES if not steps[m].no_worse)
    return (
        f"{head}: better. The nearest of ours, {mine.label}, is worse in {worse} "
        f"({said}). {reason(theirs, run.points(theirs.case, ours=True))}"
    )


def reason(theirs: Point, ours: Sequence[Point]) -> str:
    """Why none of ours dominates: what each measure alone, and all, would cost us."""
    error = theirs.mean("rmse")
    ours = [point for point in ours if point.seeds & theirs.seeds]
    free = min(point.mean("rmse") for point in ours)
    if free >= error:
        return (
            f"Even without any constraint ours have an error of {free:.4f} against "
            f"{error:.4f}: what it gains is fit, not fairness."
        )
    parts = []
    for measure in FAIRNESS:
        met = [p for p in ours if difference(p, theirs, measure).no_worse]
        if met:
            least = min(point.mean("rmse") for point in met)
            parts.append(f"{NAMES[measure]} {least:.4f}")
    both = [point.mean("rmse") for point in ours if as_fair(point, theirs)]
    all_three = f"; all three at once {min(both):.4f}" if both else ""
    return (
        "Ours hold one or two measures; it has a little of all. Least error of ours "
        f"that is no worse in one of them: {', '.join(parts)}{all_three}; its own "
        f"{error:.4f}."
    )


def exceptions(run: Run) -> str:
    verdicts = [v for case in run.titles for v in run.verdicts[case]]
    order = (AHEAD, LEVEL, TIED, ALONE)
    left = sorted(
        (v for v in verdicts if v.kind != DOMINATED), key=lambda v: order.index(v.kind)
    )
    return "\n".join(exception(run, v) for v in left) or "There is none."


def summary(run: Run) -> str:
    """How many points of rivals stand how."""
    kinds = [v.kind for case in run.titles for v in run.verdicts[case]]
    count = {kind: kinds.count(kind) for kind in SIGNS}
    return (
        f"Of {len(kinds)} points of rivals {count[DOMINATED]} are dominated by one of "
        f"ours, {count[TIED]} have the same figures as one of ours, {count[LEVEL]} are "
        f"level with one within noise, and {count[AHEAD]} are better than each of ours "
        "in something."
    )


def troubles(run: Run) -> str:
    """Cells that failed or ran out of time, and data that is not there."""
    lines = [
        f"- {run.titles[c.case]}, {c.library} {c.method}: {c.note}"
        for c in run.cells
        if c.note
    ]
    lines += [f"- {name}: left out. {why}" for name, why in run.skipped.items()]
    return "\n".join(lines) or "None."


def page(run: Run) -> str:
    """Return docs/rivals.md."""
    sections = (
        opening(run),
        verdicts(run),
        rules(run),
        costs(run),
        f"## All figures\n\n{words.FIGURES}\n\n{tables(run)}\n",
    )
    return "\n\n".join(sections)


def opening(run: Run) -> str:
    """How the page was made, the picture, and the count."""
    options = " OPTIONS=--quick" if run.quick else ""
    versions = ", ".join(f"{name} {number}" for name, number in run.versions.items())
    made = f"Made by `make bench-rivals{options}`{spent(run)}, with {versions}."
    return "\n\n".join(
        (
            "# Against other packages",
            made + absent(run),
            "![Error against rank gap, KS and mean difference](images/rivals.png)",
            summary(run),
            words.RULE,
            matrix(run),
            words.MARKS,
        )
    )


def spent(run: Run) -> str:
    """How long it took, or that it was done in parts."""
    if run.minutes is not None:
        return f" in {run.minutes:.0f} minutes"
    return (
        " in several parts, some by earlier versions of the benchmark (costs are rough)"
    )


def absent(run: Run) -> str:
    if not run.skipped:
        return ""
    return (
        f"  {len(run.titles)} datasets; {len(run.skipped)} are left out, see "
        "[what did not run](#what-did-not-run)."
    )


def verdicts(run: Run) -> str:
    return "\n\n".join(
        (
            "## Where a rival is not dominated",
            exceptions(run),
            words.PARTIAL,
            "## What did not run",
            words.LIMITS,
            troubles(run),
        )
    )


def rules(run: Run) -> str:
    """What everybody gets."""
    bases = "\n".join(
        f"- {run.titles[c]}: {run.rows[c]:,} training rows, {base}"
        for c, base in run.bases.items()
    )
    return "\n\n".join(
        ("## What everybody gets", words.SAME_FOR_ALL, bases, words.DEALT)
    )


def costs(run: Run) -> str:
    """Three tables of ratios."""
    large = [case for case in run.titles if run.rows[case] >= LARGE]
    memory = cost_table(run, "memory", large) if large else words.NONE_LARGE
    parts = (
        "## Cost",
        words.FIT,
        cost_table(run, "fit", list(run.titles)),
        words.PREDICT,
        cost_table(run, "predict", list(run.titles)),
        words.MEMORY,
        memory,
    )
    return "\n\n".join(parts)


def tables(run: Run) -> str:
    return "\n\n".join(
        f"### {run.titles[c]}\n\n{dataset_table(run, c)}" for c in run.titles
    )
