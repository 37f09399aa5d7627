"""What is claimed of the records, each sentence with the figures that decide it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from rankfair.experiments.records import HELD_OUT
from rankfair.experiments.reproduce.methods import METHODS
from rankfair.experiments.reproduce.printed import printed
from rankfair.experiments.reproduce.summary import Summary
from rankfair.experiments.reproduce.tables import title_of

__all__ = ["Claim", "evaluate"]

LEVEL, NEAR, MEANS = 0.005, 0.01, 0.005
RATIO = (0.98, 1.02)
Z = 1.96  # 95 % of a normal distribution
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
        """Whether it holds in as many datasets as it says."""
        return self.held >= self.needed


def evaluate(summary: Summary, data: Sequence[str]) -> list[Claim]:
    """Return every claim, decided on the records alone.

    Parameters
    ----------
    summary : Summary
        Of the records.
    data : sequence of str
        The datasets whose records are there.

    Returns
    -------
    list of Claim

    Examples
    --------
    >>> [claim.of for claim in evaluate(Summary([]), [])]
    [0, 0, 0, 0, 0]
    """
    all_but_one = max(len(data) - 1, 0)
    return [
        _claim(
            f"Rank has |AUC − 0.5| ≤ {LEVEL} and IRR in [0.98, 1.02] on training rows, "
            "in every repeat.",
            summary, data, _is_level,
        ),
        _claim(
            f"Rank has the least training RMSE of all with |AUC − 0.5| ≤ {NEAR}.",
            summary, data, _is_least,
        ),
        _claim(
            f"Rank + Mean has |AUC − 0.5| ≤ {LEVEL}, IRR in [0.98, 1.02] and |MD| ≤ "
            f"{MEANS} on training rows, in every repeat.",
            summary, data, _is_level_twice,
        ),
        _claim(
            "The |MD| of Rank + Mean is below the one the paper prints for its method.",
            summary, data, _is_below_printed,
        ),
        _claim(
            "The AUC of Rank on held-out rows, on average over repeats, is inside the "
            "95 % sampling interval of one repeat around 0.5.",
            summary, data, _is_inside, all_but_one,
        ),
    ]  # fmt: skip


Decide = Callable[[Summary, str], tuple[bool, str]]


def _claim(
    sentence: str,
    summary: Summary,
    data: Sequence[str],
    decide: Decide,
    needed: int | None = None,
) -> Claim:
    found = [(title_of(name), *decide(summary, name)) for name in data]
    return Claim(
        sentence,
        sum(held for _, held, _ in found),
        len(data),
        len(data) if needed is None else needed,
        tuple(
            f"{name}: {'' if held else '**no** – '}{said}" for name, held, said in found
        ),
    )


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
    return apart < abs(theirs[0]), f"{apart:.4f} against {abs(theirs[0]):.3f}"


def _is_inside(summary: Summary, data: str) -> tuple[bool, str]:
    auc = summary.stat(data, "Rank", "auc", HELD_OUT)
    error = summary.stat(data, "Rank", "auc_se", HELD_OUT)
    if auc is None or error is None:
        return False, "not run"
    reach = Z * error.mean
    times = sum(
        abs(value - 0.5) <= Z * spread
        for value, spread in zip(auc.values, error.values, strict=True)
    )
    said = (
        f"AUC {auc.mean:.4f}, interval 0.5 ± {reach:.4f}; inside in {times} of "
        f"{len(auc.values)} repeats"
    )
    return abs(auc.mean - 0.5) <= reach, said
