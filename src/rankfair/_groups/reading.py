"""Groups read from labels: of one attribute or several, as they came or combined."""

from __future__ import annotations

from dataclasses import dataclass
from numbers import Real
from typing import Any

import numpy as np

from rankfair._frames import Floats, find_known, listed, shown
from rankfair._groups.bins import cut
from rankfair._groups.cells import check_cells, crossed
from rankfair._groups.checks import (
    CUT,
    TWO,
    check_groups,
    holds_numbers,
    refuse_quantity,
)
from rankfair._groups.records import Groups, Source

__all__ = ["Protected", "read_attributes", "read_groups"]


@dataclass(frozen=True)
class Protected:
    """Protected attributes: as columns that came, and as what is to be balanced."""

    columns: tuple[Groups, ...] = ()
    attributes: tuple[Groups, ...] = ()
    note: str | None = None  # a warning

    @classmethod
    def of(
        cls,
        source: Source,
        weights: Floats | None = None,
        bins: int | None = None,
        intersect: bool = False,
    ) -> Protected:
        """Read all attributes; with ``intersect`` their combinations are balanced."""
        found = tuple(read_attributes(source, weights, bins))
        if not intersect or len(found) == 1:
            return cls(found, found)
        cells = crossed(found, weights)
        return cls(found, (cells,), check_cells(cells, source.argument, weights))


def read_groups(
    source: Source,
    weights: Floats | None = None,
    several: bool = False,
    cure: str = TWO,
) -> Groups:
    """Return the groups of one attribute, all known: two unless there may be several.

    ``cure`` is what to do about more than two.

    Examples
    --------
    >>> source = Source("sensitive_features", [np.array(["M", "F", "M"])], ())
    >>> read_groups(source).in_a.tolist()
    [True, False, True]
    """
    argument = source.argument
    if len(source.columns) > 1:
        raise ValueError(
            f"{argument} has {len(source.columns)} columns: one protected attribute is "
            "expected. RankFairRegressor constraints several at once."
        )
    codes, labels = source.labels()
    groups = Groups(codes, labels, source.name)
    return check_groups(groups, argument, weights, several, cure)


def read_attributes(
    source: Source,
    weights: Floats | None = None,
    bins: int | None = None,
    several: bool = True,
    cure: str = CUT,
) -> list[Groups]:
    """Return the groups of each attribute; rows of weight zero count as absent.

    Parameters
    ----------
    source : Source
        One column for each attribute.
    weights : ndarray of shape (N,), optional
        Weights of the rows.
    bins : int, optional
        Attributes of more distinct numbers than that are cut into so many quantiles.
    several : bool, default=True
        Whether there may be more than two groups.
    cure : str
        What to do about too many numbers.

    Examples
    --------
    >>> source = Source("sensitive_features", [np.array([20.0, 31.0, 44.0, 67.0])], ())
    >>> read_attributes(source, bins=2)[0].labels.tolist()
    ['[20, 44)', '[44, 67]']
    """
    found = [_read(part, weights, bins, several, cure) for part in source.parts()]
    names = [groups.name for groups in found]
    for name in names:
        if names.count(name) > 1:
            raise ValueError(
                f"{source.argument} has {names.count(name)} attributes called "
                f"{shown(name)}: give each a name of its own."
            )
    if bins is not None and not any(map(holds_numbers, found)):
        raise ValueError(
            f"bins={bins} cuts numbers into groups, but {source.argument} holds none "
            f"({listed(found[0].labels.tolist())}). Leave it out."
        )
    return found


def _read(
    source: Source, weights: Floats | None, bins: int | None, several: bool, cure: str
) -> Groups:
    """Return the groups of one attribute."""
    argument = source.argument
    codes, labels = find_known(source.columns[0], argument)
    if labels.dtype == object and all(map(_is_number, labels.tolist())):
        numbers = labels.astype(np.float64)
        labels = numbers if (np.diff(numbers) > 0).all() else labels
    if not len(labels):
        raise ValueError(
            f"{argument} is unknown in all {len(codes)} rows: there is nothing to "
            "constraints"
        )
    groups = Groups(codes, labels, source.name)
    if bins is not None and holds_numbers(groups) and len(labels) > bins:
        groups = cut(groups, bins, weights)
    elif several:
        refuse_quantity(groups, argument, cure)
    return check_groups(groups, argument, weights, several)


def _is_number(label: Any) -> bool:
    return isinstance(label, Real) and not isinstance(label, bool | np.bool_)
