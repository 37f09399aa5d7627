"""Protected attributes of an audit: groups by name, and their intersections."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations
from typing import Any

import narwhals as nw
import numpy as np
from numpy.typing import NDArray

from rankfair._frames import (
    Codes,
    Floats,
    as_columns,
    counted,
    find_known,
    listed,
    shown,
)
from rankfair._groups import CUT_FIRST, MOST_GROUPS, Groups, crossed, refuse_quantity
from rankfair._validation import check_lengths

__all__ = [
    "Grouping",
    "intersections",
    "read_groupings",
    "refuse_namesakes",
    "refuse_weightless",
    "texts",
]


@dataclass(frozen=True)
class Grouping:
    """An attribute: the group of each row, −1 where it is missing."""

    name: str
    codes: Codes
    labels: tuple[str, ...]


def read_groupings(given: Any, n_rows: int) -> tuple[Grouping, ...]:
    """Return the groups of every attribute; refuse what cannot be compared."""
    if given is None:
        raise ValueError(
            "sensitive_features is None: the group of each row is expected."
        )
    found = []
    for name, column in _named_columns(given).items():
        argument = "sensitive_features" if name == "group" else f"attribute {name!r}"
        codes, labels = _coded(column, n_rows, argument)
        _refuse_odd(argument, labels.tolist(), codes)
        refuse_quantity(Groups(codes, labels), argument, CUT_FIRST)
        found.append(Grouping(name, codes, texts(labels.tolist())))
    return tuple(found)


def _coded(column: Any, n_rows: int, argument: str) -> tuple[Codes, NDArray[Any]]:
    """Codes and labels of a column; groups that were made before keep their order."""
    if not isinstance(column, Groups):
        check_lengths(n_rows, **{argument: column})
        return find_known(column, argument)
    check_lengths(n_rows, **{argument: column.codes})
    here = np.unique(column.codes[column.codes >= 0])
    place = np.full(len(column.labels) + 1, -1, np.intp)  # the last is that of −1
    place[here] = np.arange(len(here))
    return place[column.codes], column.labels[here]


def _named_columns(given: Any) -> dict[str, Any]:
    """Columns of labels by name: of a dict, a frame, a series or an array."""
    if isinstance(given, dict):
        refuse_namesakes("sensitive_features", list(given))
        named: dict[str, Any] = {}
        for name, values in given.items():
            if isinstance(values, Groups):
                named[str(name)] = values
                continue
            columns = as_columns(values, f"sensitive_features[{name!r}]")
            if len(columns) != 1:
                raise ValueError(
                    f"sensitive_features[{name!r}] has {len(columns)} columns: one is "
                    "expected for each name."
                )
            named[str(name)] = columns[0]
        if not named:
            raise ValueError("sensitive_features is an empty dict: no groups.")
        return named
    native = nw.from_native(given, allow_series=True, pass_through=True)
    columns = as_columns(given, "sensitive_features")
    if isinstance(native, nw.DataFrame):
        refuse_namesakes("sensitive_features", list(native.columns))
        return dict(zip(map(str, native.columns), columns, strict=True))
    if isinstance(native, nw.Series):
        return {str(native.name or "group"): columns[0]}
    if len(columns) == 1:
        return {"group": columns[0]}
    return {f"attribute {j + 1}": column for j, column in enumerate(columns)}


def _refuse_odd(argument: str, labels: list[Any], codes: Codes) -> None:
    if len(labels) == 0:
        raise ValueError(f"{argument} is missing in all {len(codes)} rows.")
    if len(labels) == 1:
        raise ValueError(
            f"{argument} has one group only ({listed(labels)}, "
            f"{counted(int((codes >= 0).sum()), 'row')}): there is nothing to compare."
        )
    if len(labels) > MOST_GROUPS:
        raise ValueError(
            f"{argument} has {len(labels)} groups ({listed(labels)}): at most "
            f"{MOST_GROUPS} are expected. Join small groups, or cut a number into bins."
        )


def refuse_weightless(groupings: tuple[Grouping, ...], weights: Floats) -> None:
    """Refuse groups whose rows weigh nothing."""
    for grouping in groupings:
        heavy = grouping.codes[(weights > 0) & (grouping.codes >= 0)]
        gone = np.flatnonzero(np.bincount(heavy, minlength=len(grouping.labels)) == 0)
        if len(gone):
            raise ValueError(
                f"sample_weight is zero for all rows of group "
                f"{shown(grouping.labels[gone[0]])} in attribute {grouping.name!r}: "
                "there is nothing to compare."
            )


def intersections(
    groupings: tuple[Grouping, ...], weights: Floats | None
) -> tuple[Grouping, ...]:
    """Every combination of two or more attributes, with the groups that occur."""
    if len(groupings) < 2:
        raise ValueError(
            "intersect=True needs two or more attributes in sensitive_features; got "
            f"{len(groupings)}. Pass a frame, or a dict of columns."
        )
    found = []
    for size in range(2, len(groupings) + 1):
        for parts in combinations(groupings, size):
            found.append(_intersection(parts, weights))
            _refuse_odd_intersection(found[-1], groupings)
    return tuple(found)


def _refuse_odd_intersection(made: Grouping, groupings: tuple[Grouping, ...]) -> None:
    if made.name in {grouping.name for grouping in groupings}:
        raise ValueError(
            f"attribute {made.name!r} has the name of an intersection: rename it, or "
            "leave out intersect=True."
        )
    if not 2 <= len(made.labels) <= MOST_GROUPS:
        raise ValueError(
            f"intersect=True: {made.name!r} has {len(made.labels)} groups "
            f"({listed(list(made.labels))}), and 2 to {MOST_GROUPS} are expected. "
            "Unite groups, or leave out an attribute."
        )


def _intersection(parts: tuple[Grouping, ...], weights: Floats | None) -> Grouping:
    cells = crossed(
        [Groups(part.codes, np.array(part.labels), part.name) for part in parts],
        weights,
    )
    return Grouping(cells.name, cells.codes, tuple(cells.labels.tolist()))


def texts(labels: list[Any]) -> tuple[str, ...]:
    """Return labels as text; those of several columns are joined.

    Examples
    --------
    >>> texts(["a", 1, ("b", 2)])
    ('a', '1', 'b / 2')
    """
    plain = [
        " / ".join(map(str, label)) if isinstance(label, tuple) else str(label)
        for label in labels
    ]
    if len(set(plain)) < len(plain):  # 1 and "1"
        plain = [repr(label) for label in labels]
    return tuple(plain)


def refuse_namesakes(argument: str, names: list[Any]) -> None:
    """Refuse names that are the same as text: 1 and "1"."""
    seen: dict[str, Any] = {}
    for name in names:
        if str(name) in seen:
            raise ValueError(
                f"{argument} has two columns called {str(name)!r} ({seen[str(name)]!r} "
                f"and {name!r}): rename one of them."
            )
        seen[str(name)] = name
