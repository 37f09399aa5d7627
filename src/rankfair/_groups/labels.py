"""Labels: columns that were passed, and the group of each row as it is called."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import narwhals as nw
import numpy as np
from numpy.typing import NDArray

from rankfair._frames import Column, Floats, as_columns, find_known, listed
from rankfair._groups.bins import cut_at
from rankfair._groups.cells import crossed
from rankfair._groups.checks import holds_numbers
from rankfair._groups.records import Groups, Source

__all__ = ["group_labels", "label_table", "passed_columns", "spelt"]


def group_labels(
    source: Source, edges: dict[str, Floats], intersect: bool
) -> dict[str, NDArray[Any]]:
    """Return the label of each row by attribute, cut and combined as in training.

    Labels not known are None.

    Examples
    --------
    >>> source = Source("sensitive_features", [np.array([20, 70])], (), ("age",))
    >>> group_labels(source, {"age": np.array([18.0, 40.0, 65.0])}, False)
    {'age': array(['[18, 40)', '[40, 65]'], dtype=object)}
    """
    found = {}
    for part in source.parts():
        groups = Groups(*find_known(part.columns[0], part.argument), part.name)
        if groups.name in edges:
            if not holds_numbers(groups) and len(groups.labels):
                raise ValueError(
                    f"{part.argument} was a number in training, which bins cut; now it "
                    f"holds {listed(groups.labels.tolist())}. Convert it as in "
                    "training."
                )
            groups = cut_at(groups, edges[groups.name])
        found[groups.name] = groups
    if intersect and len(found) > 1:
        cells = crossed(list(found.values()))
        found = {cells.name: cells}
    return {name: spelt(groups) for name, groups in found.items()}


def spelt(groups: Groups) -> NDArray[Any]:
    """Return the label of each row, None where it is not known."""
    labels = np.empty(len(groups.labels) + 1, dtype=object)
    labels[:-1] = groups.labels.tolist()
    return labels[groups.codes]  # the last one, None, for code −1


def label_table(columns: Sequence[Column]) -> NDArray[Any]:
    """Return labels as an array that rows can be taken from, a column each.

    Examples
    --------
    >>> label_table([np.array(["F", "M"]), np.array([20, 70])]).tolist()
    [['F', 20], ['M', 70]]
    """
    labels = np.empty((len(columns[0]), len(columns)), dtype=object)
    for j, column in enumerate(columns):
        labels[:, j] = column.to_list() if isinstance(column, nw.Series) else column
    return labels


def passed_columns(passed: Any, argument: str) -> tuple[list[Column], tuple[str, ...]]:
    """Return columns given as an array, a series, a frame or a dict, and their names.

    Columns without a name are called z0, z1 and so on.

    Examples
    --------
    >>> passed_columns({"sex": [0, 1], "age": [30, 40]}, "sensitive_features")[1]
    ('sex', 'age')
    """
    if isinstance(passed, dict):
        if not passed:
            raise ValueError(f"{argument} is an empty dict: give at least one column.")
        lists = [as_columns(passed[name], argument) for name in passed]
        for name, columns in zip(passed, lists, strict=True):
            if len(columns) > 1:
                raise ValueError(
                    f"{argument}[{name!r}] has {len(columns)} columns: one is "
                    "expected. Give each a name of its own."
                )
        return [columns[0] for columns in lists], tuple(map(str, passed))
    columns = as_columns(passed, argument)
    names = [getattr(column, "name", None) for column in columns]
    named = (f"z{j}" if n in (None, "") else str(n) for j, n in enumerate(names))
    return columns, tuple(named)
