"""Combinations of several attributes, which are groups of one."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import numpy as np

from rankfair._frames import Floats, listed, shown
from rankfair._groups.checks import MOST_GROUPS, check_groups
from rankfair._groups.records import Groups

__all__ = ["cell_label", "check_cells", "crossed", "plain_labels"]

FEW_ROWS = 2  # combinations of groups with fewer rows are worth a warning


def crossed(found: Sequence[Groups], weights: Floats | None = None) -> Groups:
    """Return the combinations of several attributes that some row has, as groups.

    A row is of unknown group if one of its labels is missing.

    Examples
    --------
    >>> sex = Groups(np.array([0, 1, 1]), np.array(["F", "M"]), "sex")
    >>> old = Groups(np.array([0, 0, -1]), np.array(["no", "yes"]), "old")
    >>> both = crossed([sex, old])
    >>> both.name, both.labels.tolist(), both.codes.tolist()
    ('sex × old', ['F × no', 'M × no'], [0, 1, -1])
    """
    known = np.all([groups.codes >= 0 for groups in found], axis=0)
    shape = tuple(len(groups.labels) for groups in found)
    cells = np.ravel_multi_index(
        tuple(groups.codes[known] for groups in found), shape
    ).astype(np.intp)
    counted = cells if weights is None else cells[weights[known] > 0]
    present = np.unique(counted)
    places = np.unravel_index(present, shape)
    parts = [
        groups.labels[place].tolist()
        for groups, place in zip(found, places, strict=True)
    ]
    labels = plain_labels([*zip(*parts, strict=True)])
    codes = np.full(len(known), -1, np.intp)
    place = np.searchsorted(present, cells)
    codes[known] = np.where(np.isin(cells, present), place, -1)
    return Groups(codes, np.array(labels), cell_label([each.name for each in found]))


def plain_labels(labels: Sequence[Any]) -> list[Any]:
    """Return labels that any file takes as keys: combinations are spelt.

    Examples
    --------
    >>> plain_labels([("F", 3), ("M", 3)]), plain_labels([0, 1])
    (['F × 3', 'M × 3'], [0, 1])
    """
    if not all(isinstance(label, tuple) for label in labels):
        return list(labels)
    found = [cell_label(cell) for cell in labels]
    if len({*found}) < len(found):  # of 3 and "3"
        found = [cell_label(cell, quote=True) for cell in labels]
    return found


def cell_label(parts: Sequence[Any], quote: bool = False) -> str:
    """Return what a combination is called; no two are called the same.

    Text that holds the sign between parts, or a quote, is quoted; with ``quote`` all
    text is, for numbers that text looks like.

    Examples
    --------
    >>> cell_label(("F", 3)), cell_label(("F × M", 3)), cell_label(("F", 3.0))
    ('F × 3', '"F × M" × 3', 'F × 3')
    """
    return " × ".join(_part(label, quote) for label in parts)


def _part(label: Any, quote: bool) -> str:
    # Rows without 0.5 hold 1 where others hold 1.0: both are called the same.
    whole = isinstance(label, float) and label.is_integer()
    text = str(int(label) if whole else label)
    quoted = {*text} & {"×", '"'} or (quote and isinstance(label, str))
    return json.dumps(text, ensure_ascii=False) if quoted else text


def check_cells(cells: Groups, argument: str, weights: Floats | None) -> str | None:
    """Refuse too many combinations, or only one; return a warning of small ones."""
    if not len(cells.labels):
        raise ValueError(
            f"{argument}: no row has a known label in every one of {cells.name}, so "
            "there is no combination to balance. Leave intersect out."
        )
    if len(cells.labels) > MOST_GROUPS:
        raise ValueError(
            f"{argument} has {len(cells.labels)} combinations of {cells.name} "
            f"({listed(cells.labels.tolist(), 3)}): at most {MOST_GROUPS} are "
            "expected. Join small groups, or balance each attribute alone with "
            "intersect=False."
        )
    check_groups(cells, argument, None, several=True)
    rows = cells.sizes(None if weights is None else np.sign(weights))
    small = [
        f"{shown(cells.labels.tolist()[g])} ({int(rows[g])} row)"
        for g in np.flatnonzero(rows < FEW_ROWS).tolist()
    ]
    if not small:
        return None
    more = f" and {len(small) - 5} more" if len(small) > 5 else ""
    return (
        f"{argument}: combinations of {cells.name} with a single row: "
        f"{', '.join(small[:5])}{more}. Each is held in the middle of all predictions. "
        "Join small groups, or balance each attribute alone with intersect=False."
    )
