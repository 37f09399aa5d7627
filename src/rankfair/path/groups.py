"""The groups that a path compares, read as the model reads them."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rankfair._frames import Codes, Floats, column_numbers, shown
from rankfair._groups import Groups, Protected, label_table
from rankfair._validation import label_source_of

__all__ = ["compared_groups"]


def compared_groups(
    owner: Any, X: Any, given: Any, weights: Floats | None
) -> tuple[Codes, tuple[str, ...], NDArray[Any]]:
    """Return the group of each row, −1 if not known, names, and labels to hand on.

    Groups that the model reads, or would, are cut and combined as it does.
    """
    named = getattr(owner, "sensitive_features", None)
    own = given is None or named is None
    source = label_source_of("sensitive_features", given, owner, X)
    if source is None:
        raise ValueError(
            "sensitive_features is missing: give the group of each row, or name its "
            "column in the model."
        )
    bins = getattr(owner, "bins", None) if own else None
    intersect = own and bool(getattr(owner, "intersect", False))
    found = Protected.of(source, weights, bins, intersect).attributes
    if len(found) > 1:
        raise ValueError(
            f"sensitive_features has {len(found)} columns: a path compares the groups "
            "of one attribute. Name one of them, or compare their combinations with a "
            "model that has intersect=True."
        )
    _check_sizes(found[0], weights)
    names = tuple(map(str, found[0].labels.tolist()))
    codes, known = found[0].codes, found[0].known
    if len(source.columns) > 1:
        # Each fit cuts and combines these itself, as it would outside of a path.
        return codes, names, label_table(source.columns)
    if found[0].edges is not None:
        return codes, names, column_numbers(source.columns[0], source.name)
    labels = codes if known is None else np.where(known, codes, math.nan)
    return codes, names, labels


def _check_sizes(groups: Groups, weights: Floats | None) -> None:
    """Refuse groups with too few rows to hold some out."""
    labels = groups.labels.tolist()
    rows = groups.sizes(None if weights is None else np.sign(weights))
    for label, count in zip(labels, rows.astype(int).tolist(), strict=True):
        if count < 2:
            raise ValueError(
                f"sensitive_features: group {shown(label)} has {count} row that "
                "counts: a path needs one to learn from and one to hold out. Join "
                "groups, or leave these rows out."
            )
