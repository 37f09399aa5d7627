"""Columns of X by name or position, and labels from them or from arrays."""

from __future__ import annotations

from numbers import Integral
from typing import Any

from rankfair._frames import (
    Floats,
    FrameTable,
    Table,
    counted,
    listed,
    open_table,
    shown,
)
from rankfair._groups import Bools, Source, passed_columns, read_attributes, read_groups
from rankfair._validation.checks import as_given, check_lengths, nearest

__all__ = [
    "column_name",
    "group_mask",
    "is_reference",
    "label_source",
    "label_source_of",
    "label_source_of_rows",
    "refuse_same_columns",
    "resolve_columns",
]


def resolve_columns(argument: str, wanted: Any, table: Table) -> tuple[int, ...]:
    """Return positions of the columns that ``wanted`` names: one or several.

    Text is a name, an integer is a position (negative ones count from the end).

    Examples
    --------
    >>> from rankfair._frames import open_table
    >>> resolve_columns("tasks", [0, -1], open_table([[1.0, 2.0, 3.0]]))
    (0, 2)
    """
    several = isinstance(wanted, list | tuple)
    refs = list(wanted) if several else [wanted]
    if not refs or not all(map(is_reference, refs)):
        raise ValueError(
            f"{argument} in the constructor names columns of X (a name, a position, or "
            f"a list of them); got {as_given(wanted)}. "
            f"Labels of the rows go to fit(X, y, {argument}=...)."
        )
    found = tuple(_position(argument, ref, table) for ref in refs)
    if len(set(found)) < len(found):
        raise ValueError(
            f"{argument} names a column twice: {listed(refs)}. Name each once."
        )
    return found


def is_reference(ref: Any) -> bool:
    """Tell whether this can name a column: text or a position."""
    return isinstance(ref, str | Integral) and not isinstance(ref, bool)


def _position(argument: str, ref: Any, table: Table) -> int:
    n_columns = table.shape[1]
    if isinstance(ref, str):
        return _position_of_name(argument, ref, table)
    if not -n_columns <= int(ref) < n_columns:
        raise ValueError(
            f"{argument}={ref} is no column of X, which has "
            f"{counted(n_columns, 'column')} (0 to {n_columns - 1})."
        )
    return int(ref) % n_columns


def _position_of_name(argument: str, name: str, table: Table) -> int:
    if not isinstance(table, FrameTable):
        raise ValueError(
            f"{argument}={shown(name)} names a column, but X is an array without "
            "column names: give a position, or pass a data frame."
        )
    count = table.names.count(name)
    if count == 1:
        return table.names.index(name)
    if count:
        raise ValueError(
            f"{argument}={shown(name)} names {count} columns of X: give a position, or "
            "rename them."
        )
    hint = nearest(name, table.names) or f" It has {listed(table.names)}."
    raise ValueError(f"{argument}={shown(name)} is no column of X.{hint}")


def column_name(table: Table, j: int) -> str:
    """Return the name of column ``j`` as text; ``x3`` where X has no names."""
    return f"x{j}" if table.names is None else str(table.names[j])


def refuse_same_columns(tasks: Source | None, groups: Source | None) -> None:
    """Raise if the tasks are the groups: no task would have two of them."""
    if tasks is None or groups is None or not tasks.at:
        return
    if set(tasks.at) <= set(groups.at):
        names = listed(tasks.names)
        raise ValueError(
            f"tasks and sensitive_features both name column {names} of X: each group "
            "would be a task of its own. Name other tasks, or leave them out."
        )


def label_source(argument: str, named: Any, passed: Any, table: Table) -> Source | None:
    """Return where labels come from: columns of X, or an array; None for neither."""
    if named is None and passed is None:
        return None
    if named is None:
        return label_source_of_rows(passed, table.shape[0], argument)
    at = resolve_columns(argument, named, table)
    names = tuple(column_name(table, j) for j in at)
    if passed is not None:
        raise ValueError(
            f"{argument} was given twice: in the constructor (column {listed(names)} "
            "of X) and as an array to the method. Give one of them."
        )
    columns = [table.column(j) for j in at]
    return Source(f"{argument} (column {listed(names)} of X)", columns, at, names)


def group_mask(
    sensitive_features: Any, n_rows: int, weights: Floats | None
) -> tuple[Bools, Bools | None]:
    """Return which rows are in group A, and which have a group (None if all do).

    Examples
    --------
    >>> in_a, known = group_mask([0, 1, None], 3, None)
    >>> in_a.tolist(), known.tolist()
    ([False, True, False], [True, True, False])
    """
    source = label_source_of_rows(sensitive_features, n_rows)
    if len(source.columns) > 1:
        read_groups(source)  # says that one attribute is expected
    (groups,) = read_attributes(source, weights, several=False)
    return groups.in_a, groups.known


def label_source_of_rows(
    labels: Any, n_rows: int, argument: str = "sensitive_features"
) -> Source:
    """Return labels given as an array, one column for each attribute."""
    columns, names = passed_columns(labels, argument)
    for column in columns:
        check_lengths(n_rows, **{argument: column})
    return Source(argument, columns, (), names)


def label_source_of(argument: str, given: Any, model: Any, X: Any) -> Source | None:
    """Return labels given as an array, or as a column of X; else those of the model.

    Its attribute of the name of the argument says which columns of X are meant if none
    were given.  None where neither says anything.

    Examples
    --------
    >>> source = label_source_of("tasks", 1, None, [[0.5, 7.0], [0.1, 8.0]])
    >>> source.columns[0].tolist()
    [7.0, 8.0]
    """
    named = given if is_reference(given) else None
    if given is None:
        named = getattr(model, argument, None)
    passed = given if named is None else None
    return label_source(argument, named, passed, open_table(X))
