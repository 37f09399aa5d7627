"""What is claimed of the records, each sentence with the figures that decide it."""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable, Sequence
from typing import NamedTuple

from paper.cells import HELD_OUT
from paper.methods import METHODS
from paper.printed import printed
from paper.settings import title_of
from paper.summary import Stat, Summary

LEVEL, NEAR, MEANS = 0.005, 0.01, 0.005
RATIO = (0.98, 1.02)
Z = 1.96  # 95 % of a normal distribution
OFTEN = 80  # in a hundred
ROUNDING = 1e-9
RIVALS = [name for name in METHODS if name != "Data"]


class Claim(NamedTuple):
    """A sentence, in how many datasets it holds, and the figures of each."""

    sentence: str
    held: int
    of: int
    needed: int
    figures: tuple[str, ...]

    @property
    def holds(self) -> bool:
        """Whether it was looked at, and holds in as many datasets as it says."""
        return self.of > 0 and self.held >= self.needed


def evaluate(summary: Summary, data: Sequence[str]) -> list[Claim]:
    """Return every claim about some datasets, decided on the records alone."""
    # One in eight may miss it; of fewer than eight none.
    most = len(data) - len(data) // 8
    return [
        _claim(
            f"Rank has |AUC − 0.5| ≤ {LEVEL} and IRR in [0.98, 1.02] on training rows, "
            "in every repeat.",
            summary, data, ("Rank",), _is_level,
        ),
        _claim(
            f"Rank has the least training RMSE of all with |AUC − 0.5| ≤ {NEAR}.",
            summary, data, RIVALS, _is_least,
        ),
        _claim(
            f"Rank + Mean has |AUC − 0.5| ≤ {LEVEL}, IRR in [0.98, 1.02] and |MD| ≤ "
            f"{MEANS} on training rows, in every repeat.",
            summary, data, ("Rank + Mean",), _is_level_twice,
        ),
        _claim(
            "The |MD| of Rank + Mean is below the one the paper prints for its method.",
            summary, data, ("Rank + Mean",), _is_below_printed,
        ),
        _claim(
            "The AUC of Rank on held-out rows, on average over repeats, is inside the "
            "95 % sampling interval of one repeat around 0.5.",
            summary, data, ("Rank",), _is_inside, most,
        ),
        _claim(
            "On held-out rows single repeats of Rank are inside their own 95 % "
            f"interval in at least {OFTEN} % of cases.",
            summary, data, ("Rank",), _is_often_inside,
        ),
    ]  # fmt: skip


Decide = Callable[[Summary, str], tuple[bool, str]]


def _claim(
    sentence: str,
    summary: Summary,
    data: Sequence[str],
    methods: Sequence[str],
    decide: Decide,
    needed: int | None = None,
) -> Claim:
    """Ask `decide` in each dataset; where a method failed the answer is no."""
    found = []
    for name in data:
        held, said = decide(summary, name)
        failed = _failures(summary, name, methods)
        found.append((title_of(name), held and not failed, "; ".join([*failed, said])))
    return Claim(
        sentence,
        sum(held for _, held, _ in found),
        len(data),
        len(data) if needed is None else needed,
        tuple(
            f"{name}: {'' if held else '**no** – '}{said}" for name, held, said in found
        ),
    )


def _failures(summary: Summary, data: str, methods: Sequence[str]) -> list[str]:
    return [
        f"{method}: {count} of {summary.repeats(data, method)} repeats failed"
        for method in methods
        if (count := len(summary.failed(data, method)))
    ]


def _is_level(summary: Summary, data: str, method: str = "Rank") -> tuple[bool, str]:
    gap = summary.most(data, method, "gap")
    ratio = summary.stat(data, method, "irr")
    if ratio is None:
        return False, "not run"
    low, high = min(ratio.values), max(ratio.values)
    held = gap <= LEVEL + ROUNDING and RATIO[0] <= low <= high <= RATIO[1]
    return held, f"largest |AUC − 0.5| {gap:.4f}, IRR {low:.4f} to {high:.4f}"


def _is_level_twice(summary: Summary, data: str) -> tuple[bool, str]:
    held, said = _is_level(summary, data, "Rank + Mean")
    apart = summary.most(data, "Rank + Mean", "md")
    if math.isnan(apart):
        return False, said
    return held and apart <= MEANS + ROUNDING, f"{said}, largest |MD| {apart:.4f}"


def _is_least(summary: Summary, data: str) -> tuple[bool, str]:
    order = summary.level(data, RIVALS, NEAR)
    if "Rank" not in order:
        return False, "Rank is not among them"
    said = []
    for name in dict.fromkeys([*order[:2], "Rank"]):
        stat = summary.stat(data, name, "rmse")
        assert stat is not None
        said.append(f"{name} {stat.mean:.4f}")
    return order[0] == "Rank", f"{', '.join(said)} ({len(order)} such methods)"


def _is_below_printed(summary: Summary, data: str) -> tuple[bool, str]:
    apart, theirs = summary.most(data, "Rank + Mean", "md"), printed(data, "Rank", "md")
    assert theirs is not None
    if math.isnan(apart):
        return False, "not run"
    return apart < abs(theirs[0]), f"{apart:.4f} against {abs(theirs[0]):.3f}"


class _HeldOut(NamedTuple):
    """AUC of Rank on held-out rows, a repeat each, with their standard errors."""

    auc: Stat
    errors: tuple[float, ...]

    @property
    def inside(self) -> int:
        """In how many repeats 0.5 is in the interval of that repeat."""
        pairs = zip(self.auc.values, self.errors, strict=True)
        return sum(abs(value - 0.5) <= Z * error for value, error in pairs)


def _held_out(summary: Summary, data: str) -> _HeldOut | None:
    rows = summary.rows(data, "Rank", HELD_OUT)
    pairs = [(row["auc"], row["auc_se"]) for row in rows if "auc_se" in row]
    if not pairs:
        return None
    return _HeldOut(Stat.of(auc for auc, _ in pairs), tuple(se for _, se in pairs))


def _is_inside(summary: Summary, data: str) -> tuple[bool, str]:
    found = _held_out(summary, data)
    if found is None:
        return False, "not run"
    auc, reach = found.auc, Z * statistics.fmean(found.errors)
    drift = f"{auc.mean - 0.5:+.4f}"
    if auc.sd is not None:
        drift += f" ± {auc.sd / math.sqrt(len(auc.values)):.4f} (standard error)"
    said = f"AUC {auc.mean:.4f}, interval 0.5 ± {reach:.4f}, drift {drift}"
    return abs(auc.mean - 0.5) <= reach, said


def _is_often_inside(summary: Summary, data: str) -> tuple[bool, str]:
    found = _held_out(summary, data)
    if found is None:
        return False, "not run"
    inside, of = found.inside, len(found.errors)
    return 100 * inside >= OFTEN * of, f"inside in {inside} of {of} repeats"
