"""Tables and sentences of docs/maps.md: text only, nothing is measured here."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ..marks import table
from .points import LINE, OURS, Against, Point, Results

MEASURED = ("RMSE", "KS", "AUC gap", "MD", "Wasserstein")
HEAD = ("at", "method", *MEASURED, "learnt KS", "learnt AUC gap")
MOST = 10  # sorts


def figures(results: Sequence[Results]) -> str:
    """A table for each dataset."""
    parts = []
    for each in results:
        rows = [
            [point.demand, named(point), *(f"{v:.4f}" for v in each.mean(point))]
            for point in sorted(each.figures, key=_order)
            if point.demand != "path"
        ]
        parts.append(f"### {each.title} ({each.splits} splits)\n\n")
        parts[-1] += table(HEAD, rows, left=2)
    return "\n\n".join(parts)


def named(point: Point) -> str:
    mine = (*OURS.values(), LINE)
    name = f"**{point.method}**" if point.method in mine else point.method
    return f"{name}, as fair as {point.rival}" if point.rival else name


def _order(point: Point) -> tuple[int, bool]:
    """By demand, ours first; the rest in the order of the run."""
    return (
        ("none", "KS", "AUC", "path").index(point.demand),
        point.method not in (*OURS.values(), LINE),
    )


def against(results: Sequence[Results]) -> str:
    """Ours less each rival's, at the same limit and at the rival's own point."""
    head = ("data", "at", "rival", "RMSE", "KS", "own point: RMSE", "KS")
    rows = []
    for each in results:
        for found in each.against():
            own = found.own or {}
            rows.append(
                [
                    found.title,
                    found.demand,
                    found.rival,
                    *(str(found.same[m]) for m in ("rmse", "ks")),
                    *(str(own[m]) if m in own else "" for m in ("rmse", "ks")),
                ]
            )
    return table(head, rows, left=3)


def choices(results: Sequence[Results]) -> str:
    """The line less the least movement, at the same constraint and otherwise."""
    rows = []
    for each in results:
        for least in (point for point in each.figures if point.method == "least"):
            steps = each.less(Point(least.demand, LINE), least)
            shown = (str(step) for step in steps.values())
            rows.append([each.title, least.demand, *shown])
    return table(("data", "both at", *MEASURED), rows, left=2)


def choice_summary(results: Sequence[Results]) -> str:
    """In how many comparisons the line is lower and higher, kind by kind."""
    lines = []
    kinds = list(dict.fromkeys(p.demand for each in results for p in each.figures))
    for kind in kinds:
        steps = [each.less(Point(kind, LINE), Point(kind, "least")) for each in results]
        parts = []
        for measure, name in zip(steps[0], MEASURED, strict=True):
            lower = sum(step[measure].mean < -2 * step[measure].error for step in steps)
            higher = sum(step[measure].mean > 2 * step[measure].error for step in steps)
            parts.append(f"{name} {lower} and {higher}")
        lines.append(
            f"- Both at {kind}: of {len(steps)} datasets the line is lower and higher "
            f"by more than two standard errors in {', '.join(parts)}."
        )
    return "\n".join(lines)


def summary(results: Sequence[Results]) -> str:
    """How many comparisons stand how, and which ones a rival wins."""
    every = [found for each in results for found in each.against()]
    rivals = [found for found in every if found.own is not None]
    shifts = [found for found in every if found.own is None]
    cheaper = sum(found.same["rmse"].kind == "higher" for found in shifts)
    nearer = sum(found.same["ks"].kind == "lower" for found in shifts)
    return "\n".join(
        (
            standing("At the same limit", "same", rivals),
            standing("At the rival's own point", "own", rivals),
            f"- The constant shift has a lower RMSE than **rank** on {cheaper} of "
            f"{len(shifts)} datasets, and a larger KS on {nearer}.",
        )
    )


def standing(where: str, point: str, rivals: Sequence[Against]) -> str:
    """A line for each measure: no higher, higher within noise, higher."""
    lines = [f"- {where}, of {len(rivals)} comparisons:"]
    for measure, name in (("rmse", "RMSE"), ("ks", "KS")):
        found = [(each, getattr(each, point)[measure]) for each in rivals]
        kinds = [step.kind for _, step in found]
        line = f"  - {name} of ours is no higher in {kinds.count('lower')}"
        for kind, words in (
            ("level", "higher by less than a standard error in"),
            ("higher", "higher by more in"),
        ):
            which = [
                f"{each.title}, {each.rival} at {each.demand}: {step}"
                for each, step in found
                if step.kind == kind
            ]
            line += f"; {words} {len(which)}"
            line += f" ({'; '.join(which)})" if which else ""
        lines.append(f"{line}.")
    return "\n".join(lines)


def costs(ratios: Mapping[str, float]) -> str:
    head = ("learning the maps of 10⁶ rows", f"sorts of the predictions (< {MOST})")
    rows = [(name, f"{value:.1f}") for name, value in ratios.items()]
    return table(head, rows, left=1)
