"""Protected columns of a table as labels, and strata to split rows by."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from rankfair._groups import Source, read_attributes, spelt
from rankfair.jobs.columns import Roles
from rankfair.tables import Table

__all__ = ["groups_of", "strata_of"]


def groups_of(table: Table, roles: Roles, bins: int | None = None) -> dict[str, Any]:
    """Return the group of each row by attribute; None where a cell is empty.

    Examples
    --------
    >>> table = Table({"age": np.array([20.0, 30.0, 40.0, 50.0])})
    >>> groups_of(table, Roles(sensitive=("age",), binned=True), bins=2)
    {'age': array(['[20, 40)', '[20, 40)', '[40, 50]', '[40, 50]'], dtype=object)}
    """
    if bins is None:
        return {name: table[name] for name in roles.sensitive}
    columns: list[Any] = [table[name] for name in roles.sensitive]
    source = Source("--sensitive", columns, (), roles.sensitive)
    return {it.name: spelt(it) for it in read_attributes(source, bins=bins)}


def strata_of(table: Table, roles: Roles) -> tuple[NDArray[np.intp], NDArray[np.bool_]]:
    """Return task codes, and the first group of the first attribute or not."""
    codes = _codes([table[name] for name in roles.tasks], table.n_rows)
    groups = _codes([table[name] for name in roles.sensitive[:1]], table.n_rows)
    return codes, groups == groups.max()


def _codes(columns: list[NDArray[Any]], n_rows: int) -> NDArray[np.intp]:
    if not columns:
        return np.zeros(n_rows, np.intp)
    rows = list(zip(*(column.tolist() for column in columns), strict=True))
    index = {row: code for code, row in enumerate(dict.fromkeys(rows))}
    return np.fromiter((index[row] for row in rows), np.intp, n_rows)
