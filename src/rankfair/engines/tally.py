"""Which labels there are, and how many rows of each task."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from rankfair._frames import counted
from rankfair.engines.coding import (
    Coding,
    Labels,
    Roles,
    cells_of,
    label_column,
    weighing,
)

__all__ = ["Tally", "coded", "tally"]


@dataclass(frozen=True)
class Tally:
    """The tasks and the groups of some rows, each with its number of rows.

    Both are Arrow tables, with columns of labels called 0, 1, … and a column ``rows``.
    """

    tasks: Any
    groups: Any
    n_rows: int


def tally(batch: Any, roles: Roles, source: str) -> Tally:
    """Count the rows of an Arrow batch that weigh something."""
    batch = weighing(batch, roles, source)

    def column(name: str) -> Any:
        return _known(label_column(batch.column(name)), name, source)

    ones = np.ones(batch.num_rows, np.int64)
    groups = [] if roles.group is None else [column(roles.group)]
    tasks = [column(name) for name in roles.tasks]
    return Tally(_counted(tasks, ones), _counted(groups, ones), batch.num_rows)


def coded(parts: Iterable[Tally], roles: Roles) -> Coding:
    """What all rows together have."""
    found: Tally | None = None
    for part in parts:
        found = part if found is None else _joined(found, part)
    if found is None or not found.n_rows:
        more = "" if roles.weight is None else " that weigh more than nothing"
        raise ValueError(f"there are no rows{more}: there is nothing to fit.")
    groups = Labels.of(set().union(*_labels(found.groups)))
    if not roles.tasks:
        return Coding(roles, (), groups, None, np.array([found.n_rows]))
    tasks = tuple(map(Labels.of, _labels(found.tasks)))
    cells = cells_of(found.tasks, tuple(found.tasks.column_names[:-1]), tasks)
    order = np.argsort(cells)
    sizes = found.tasks.column("rows").to_numpy()[order]
    return Coding(roles, tasks, groups, cells[order] if len(tasks) > 1 else None, sizes)


def _joined(one: Tally, other: Tally) -> Tally:
    return Tally(
        _added(one.tasks, other.tasks),
        _added(one.groups, other.groups),
        one.n_rows + other.n_rows,
    )


def _added(one: Any, other: Any) -> Any:
    import pyarrow as pa

    # Whole numbers here and fractions there are fractions.
    both = pa.concat_tables([one, other], promote_options="permissive")
    return _counted(both.columns[:-1], both.column("rows"))


def _counted(labels: list[Any], rows: Any) -> Any:
    """The rows of each combination of labels."""
    import pyarrow as pa

    keys = [str(i) for i in range(len(labels))]
    table = pa.table([*labels, rows], names=[*keys, "rows"])
    if not keys:
        return table.slice(0, 0)
    found = table.group_by(keys, use_threads=False).aggregate([("rows", "sum")])
    return found.select([*keys, "rows_sum"]).rename_columns([*keys, "rows"])


def _labels(table: Any) -> list[set[Any]]:
    return [set(each.unique().to_pylist()) for each in table.columns[:-1]]


def _known(column: Any, name: str, source: str) -> Any:
    """The column, if no label of it is missing."""
    import pyarrow.compute as pc

    missing = pc.sum(column.is_null(nan_is_null=True)).as_py()
    if missing:
        raise ValueError(
            f"{source}: column {name!r} has {counted(missing, 'missing label')} in "
            f"{counted(len(column), 'row')}; tasks and groups must be known. Leave "
            "such rows out."
        )
    return column
