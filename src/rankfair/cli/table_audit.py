"""An audit of a table, its groups and its tasks."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rankfair.audit import Audit, audit
from rankfair.files.columns import Roles, column_or_none
from rankfair.files.table import Table
from rankfair.input.errors import shown
from rankfair.input.frames import read_weights
from rankfair.input.groups import SensitiveGroups, Source, read_features

MANY = 12  # groups that a reader can still compare


def audit_table(
    table: Table,
    roles: Roles,
    groups: Mapping[str, SensitiveGroups],
    models: Mapping[str, Any] | None = None,
    **settings: Any,
) -> Audit:
    """Audit a table whose predictions are columns, or given by ``models``."""
    target = column_or_none(table, roles.target)
    named = models or {name: table[name] for name in roles.predictions}
    return audit(
        {str(roles.target): target} if named and target is not None else None,
        named or {str(roles.target): target},
        sensitive_features=groups,
        tasks=tasks_of(table, roles),
        sample_weight=column_or_none(table, roles.weight),
        command=shlex.join(["rankfair", *sys.argv[1:]]),
        **settings,
    )


def tasks_of(table: Table, roles: Roles) -> NDArray[Any] | None:
    """Return the task of each row; several columns are one task."""
    texts = [table.text(name) for name in roles.tasks]
    return np.column_stack(texts) if texts else None


def groups_of(
    table: Table, roles: Roles, bins: int | None = None
) -> dict[str, SensitiveGroups]:
    """Return the groups of each sensitive column, text in alphabetical order.

    Numbers are cut as a model cuts them, into groups of equal weight, and bins are in
    their order: as text ``[10, 20)`` would come before ``[2, 10)``.
    """
    read = table.text if bins is None else table.__getitem__
    columns = [read(name) for name in roles.sensitive]
    source = Source("sensitive_features", columns, (), roles.sensitive)
    weights = read_weights(column_or_none(table, roles.weight), table.n_rows)
    return {it.name: it for it in read_features(source, weights, bins)}


def many_groups(sizes: Mapping[str, int], roles: Roles | None = None) -> list[str]:
    """Return a note on each sensitive column that may be a number."""
    cut = () if roles is None else roles.cut
    return [
        f"{shown(name)} has {n} groups; if it is a number, --bins 4 makes four of it."
        for name, n in sizes.items()
        if n > MANY and name not in cut
    ]
