"""Refusals: one group only, too many groups, numbers that are no labels."""

from __future__ import annotations

import numpy as np

from rankfair._frames import Floats, counted, listed, shown
from rankfair._groups.records import Groups

__all__ = ["check_groups", "holds_numbers", "refuse_quantity"]

MOST_GROUPS = 60  # each is a demand of its own; states and territories are 56
MOST_NUMBERS = 20  # more distinct numbers than that are a quantity, and no labels
MOST_FRACTIONS = 10  # the same where some are fractions
CUT = "Set bins=4 to balance four quantiles, or turn labels that are numbers into text."
CUT_FIRST = (
    "Cut it into a few classes first, or turn labels that are numbers into text."
)
TWO = "Compare one with the rest, or two of them."


def holds_numbers(groups: Groups) -> bool:
    """Tell whether the labels are numbers, or bins of one."""
    return groups.labels.dtype.kind in "iuf" or groups.edges is not None


def _is_quantity(groups: Groups) -> bool:
    """Tell whether these are too many numbers for labels."""
    most = MOST_FRACTIONS if groups.labels.dtype.kind == "f" else MOST_NUMBERS
    return holds_numbers(groups) and len(groups.labels) > most


def refuse_quantity(groups: Groups, argument: str, cure: str) -> None:
    """Refuse too many numbers to be labels.

    Examples
    --------
    >>> refuse_quantity(Groups(np.array([0, 1]), np.array([3, 4])), "z", CUT)
    """
    if _is_quantity(groups):
        labels = groups.labels.tolist()
        raise ValueError(
            f"{argument} holds {len(labels)} distinct numbers ({listed(labels)}): "
            f"groups are expected. {cure}"
        )


def check_groups(
    groups: Groups,
    argument: str,
    weights: Floats | None,
    several: bool,
    cure: str = TWO,
) -> Groups:
    """Refuse one group only, too many groups, and groups without any weight.

    Examples
    --------
    >>> groups = Groups(np.array([0, 1]), np.array(["F", "M"]))
    >>> check_groups(groups, "sensitive_features", None, False) is groups
    True
    """
    labels = groups.labels.tolist()
    if len(labels) == 1:
        rows = counted(len(groups.codes) - groups.n_unknown, "row")
        raise ValueError(
            f"{argument} has one group only ({shown(labels[0])}, {rows}): there is "
            "nothing to balance"
        )
    if len(labels) > 2 and not several:
        raise ValueError(
            f"{argument} has {len(labels)} groups ({listed(labels)}): two are "
            f"expected. {cure}"
        )
    if len(labels) > MOST_GROUPS:
        raise ValueError(
            f"{argument} has {len(labels)} groups ({listed(labels)}): at most "
            f"{MOST_GROUPS} are expected. Join small groups, or cut a number into bins."
        )
    if weights is not None:
        _refuse_weightless(groups, argument, weights)
    return groups


def _refuse_weightless(groups: Groups, argument: str, weights: Floats) -> None:
    for g in np.flatnonzero(groups.sizes(weights) == 0).tolist():
        raise ValueError(
            f"sample_weight is zero for all {int((groups.codes == g).sum())} rows of "
            f"group {shown(groups.labels.tolist()[g])} in {argument}: there is nothing "
            "to balance. Give some of them weight, or leave these rows out."
        )
