"""Protected columns of a table as labels, and rows dealt out into folds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rankfair.files.table import Table
from rankfair.input.errors import counted, listed, shown
from rankfair.input.folds import Folds, make_folds
from rankfair.input.groups import (
    MOST_GROUPS,
    SensitiveGroups,
    Source,
    crossed,
    read_attributes,
    spelt,
)
from rankfair.input.labels import find_known
from rankfair.input.training import read_weights
from rankfair.jobs.columns import NotEstimableError, Roles, column_or_none

__all__ = [
    "Folds",
    "as_labels",
    "combined",
    "compared_labels",
    "cut_groups",
    "folds_of",
    "groups_of",
    "small_groups",
    "with_counted_groups",
]

MANY = 12  # groups that a reader can still compare


def with_counted_groups(table: Table, roles: Roles) -> Table:
    """Return a table with a note on each protected column that may be a number.

    Raises
    ------
    ValueError
        If a column has more groups than can be balanced or compared.

    Examples
    --------
    >>> ages = np.array([str(age) for age in range(20, 60)], object)
    >>> with_counted_groups(Table({"age": ages}), Roles(sensitive=("age",))).notes
    ('"age" has 40 groups; if it is a number, --bins 4 makes four of it.',)
    """
    notes = []
    for name in (each for each in roles.sensitive if each not in roles.cut):
        labels = {*as_labels(table[name]).tolist()} - {None}
        if len(labels) > MOST_GROUPS:
            raise ValueError(
                f"column {shown(name)} has {len(labels)} groups "
                f"({listed(sorted(labels))}): "
                f"at most {MOST_GROUPS} are expected. If it is a number, --bins 4 "
                "makes four of it; otherwise join small groups, or name another column "
                "in --sensitive."
            )
        notes.append(_may_be_number(name, len(labels)).strip())
    return replace(table, notes=(*table.notes, *filter(None, notes)))


def _may_be_number(name: str, n_groups: int) -> str:
    """What helps if the groups are so many because the column is a number."""
    if n_groups <= MANY:
        return ""
    return (
        f" {shown(name)} has {n_groups} groups; if it is a number, --bins 4 makes four "
        "of it."
    )


def groups_of(table: Table, roles: Roles, bins: int | None = None) -> dict[str, Any]:
    """Return the group of each row by attribute; None where a cell is empty.

    Numbers are cut as a model cuts them, into groups of equal weight.

    Examples
    --------
    >>> table = Table({"age": np.array([20.0, 30.0, 40.0, 50.0])})
    >>> groups_of(table, Roles(sensitive=("age",), cut=("age",)), bins=2)
    {'age': array(['[20, 40)', '[20, 40)', '[40, 50]', '[40, 50]'], dtype=object)}
    """
    if bins is None:
        return {name: as_labels(table[name]) for name in roles.sensitive}
    return {name: spelt(it) for name, it in cut_groups(table, roles, bins).items()}


def cut_groups(table: Table, roles: Roles, bins: int) -> dict[str, SensitiveGroups]:
    """Return the groups of each attribute, those of numbers in the order of the bins.

    As text ``[10, 20)`` would come before ``[2, 10)``, and the model has it after.
    """
    columns: list[Any] = [table[name] for name in roles.sensitive]
    source = Source("--sensitive", columns, (), roles.sensitive)
    weights = read_weights(column_or_none(table, roles.weight), table.n_rows)
    return {it.name: it for it in read_attributes(source, weights, bins)}


def combined(found: Mapping[str, NDArray[Any]]) -> NDArray[Any]:
    """Return the combination of groups of each row; None where one is not known.

    Examples
    --------
    >>> sex, old = (np.array(each, object) for each in (["f", "m"], ["no", None]))
    >>> combined({"sex": sex, "old": old}).tolist()
    ['f × no', None]
    """
    if len(found) == 1:
        return next(iter(found.values()))
    return spelt(
        crossed(
            [SensitiveGroups(*find_known(of, name), name) for name, of in found.items()]
        )
    )


def small_groups(labels: Sequence[str], least: int) -> list[str]:
    """Return a note on groups of too few rows, if there are any.

    Examples
    --------
    >>> small_groups(["x"], 5), small_groups([], 5)
    (['Groups of fewer than 5 rows are not judged: "x".'], [])
    """
    found = f"Groups of fewer than {least} rows are not judged: {listed(labels)}."
    return [found] if labels else []


def as_labels(column: NDArray[Any]) -> NDArray[Any]:
    """Return a column as text, whole numbers without a point.

    Examples
    --------
    >>> as_labels(np.array([1.0, 2.5, np.nan])).tolist()
    ['1', '2.5', None]
    """
    if column.dtype.kind == "O":
        return column
    found = np.empty(len(column), object)
    found[:] = [None if v != v else f"{v:.17g}" for v in column.tolist()]
    return found


def folds_of(
    table: Table,
    roles: Roles,
    folds: int,
    *,
    bins: int | None = None,
    seed: int = 0,
    weights: NDArray[np.float64] | None = None,
) -> Folds:
    """Return rows to fit and rows to measure, dealt out within tasks and groups.

    Raises
    ------
    NotEstimableError
        If no rows can be held out, or a fold would be fitted without one of the groups.
    """
    groups = groups_of(table, roles, bins)
    codes = _codes([table[name] for name in roles.tasks], table.n_rows)
    if table.n_rows < folds:
        rows = counted(table.n_rows, "row is", "rows are")
        raise NotEstimableError(f"{rows} too few for --folds {folds}.")
    if (np.bincount(codes)[codes] < 2).all():
        raise NotEstimableError(
            "no row can be held out, because each task has one row only: name other "
            "columns in --task."
        )
    # All attributes together: folds share out their combinations evenly.
    cells = _codes(list(groups.values()), table.n_rows)
    rng = np.random.default_rng(seed)
    parts = make_folds(folds, codes, cells, rng, weights=weights)
    for name, labels in groups.items():
        _check_groups(name, labels, [train for train, _ in parts])
    return parts


def compared_labels(name: str, labels: NDArray[Any]) -> set[Any]:
    """Return the groups of a column, two or more.

    Examples
    --------
    >>> sorted(compared_labels("sex", np.array(["f", "m", None], object)))
    ['f', 'm']
    """
    whole = {*labels.tolist()} - {None}
    if len(whole) < 2:
        only = "".join(f" ({shown(label)})" for label in whole)
        raise ValueError(
            f"column {shown(name)} has {len(whole) or 'no'} group{'s' * (not whole)}"
            f"{only}: there is nothing to compare."
        )
    return whole


def _check_groups(name: str, labels: NDArray[Any], parts: list[NDArray[Any]]) -> None:
    whole = compared_labels(name, labels)
    for rows in parts:
        for label in sorted(whole - {*labels[rows].tolist()}, key=str):
            count = int((labels == label).sum())
            raise NotEstimableError(
                f"group {shown(label)} of {shown(name)} has {counted(count, 'row')}: "
                "too few to hold some of them out. Join it with another group, or "
                f"leave such cells empty.{_may_be_number(name, len(whole))}"
            )


def _codes(columns: list[NDArray[Any]], n_rows: int) -> NDArray[np.intp]:
    """Return a number for each row, the same for rows that are alike in all columns."""
    if not columns:
        return np.zeros(n_rows, np.intp)
    rows = list(zip(*(column.tolist() for column in columns), strict=True))
    index = {row: code for code, row in enumerate(dict.fromkeys(rows))}
    return np.fromiter((index[row] for row in rows), np.intp, n_rows)
