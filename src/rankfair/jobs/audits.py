"""`rankfair audit`: the predictions of a file, or of a model, or the target itself."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from rankfair.audit import Audit, audit
from rankfair.files.table import Table
from rankfair.input.groups import SensitiveGroups
from rankfair.jobs.columns import (
    Reading,
    Roles,
    column_or_none,
    load,
    refuse_gaps,
    refuse_taken,
)
from rankfair.jobs.design import Design
from rankfair.jobs.groups import as_labels, cut_groups, groups_of, with_counted_groups

if TYPE_CHECKING:
    from rankfair.jobs.rows import OnStep

__all__ = ["PREDICTION", "audit_files", "audit_table", "predicted"]

PREDICTION = "prediction"
OTHER_NAME = "Name it in --prediction instead of a model, or rename it."


def audit_files(
    files: Sequence[str],
    roles: Roles,
    reading: Reading,
    *,
    model: str | None = None,
    bins: int | None = None,
    on_step: OnStep = None,
    **settings: Any,
) -> tuple[Audit, Table]:
    """Audit the rows of some files.

    Parameters
    ----------
    files : sequence of str
        CSV or Parquet files.
    roles : Roles
        The target, the protected columns, tasks, predictions and weights.  Without
        predictions and model the target itself is audited.
    reading : Reading
        How the files are written.
    model : str, optional
        A model file, whose predictions are audited.
    bins : int, optional
        Cut protected numbers into so many groups of equal size.
    on_step : callable, optional
        Told of each step: its name, its number and how many there are.
    **settings
        Of `rankfair.audit`.

    Returns
    -------
    audit : Audit
        What was measured.
    table : Table
        The rows, with the predictions of the model if one was given.
    """
    if not (roles.target or roles.predictions or model):
        raise ValueError("name what to audit: --prediction, --model, or --target.")
    roles.check()
    # No column is a predictor here: what they lack is of no account.
    roles = replace(roles, features=())
    if on_step is not None:
        on_step("reading", 1, 2)  # how many comparisons follow is not known yet
    if model is None:
        table = load(files, roles, reading)
    else:
        table = predicted(files, roles, reading, model)
        roles = replace(roles, predictions=(*roles.predictions, PREDICTION))
    table = with_counted_groups(table, roles)
    return audit_table(table, roles, bins=bins, on_step=on_step, **settings), table


def audit_table(
    table: Table,
    roles: Roles,
    *,
    bins: int | None = None,
    models: Mapping[str, Any] | None = None,
    rows: NDArray[Any] | None = None,
    **settings: Any,
) -> Audit:
    """Audit a table whose predictions are columns, or given by ``models``.

    Of some ``rows`` if these are given; numbers are cut as they are in the whole table.
    """
    for name in roles.numbers:
        refuse_gaps(table, name)
    groups: dict[str, Any] = (
        groups_of(table, roles) if bins is None else cut_groups(table, roles, bins)
    )
    if rows is not None:
        table = table.take(rows)
        groups = {
            name: of.take(rows) if isinstance(of, SensitiveGroups) else of[rows]
            for name, of in groups.items()
        }
    target = column_or_none(table, roles.target)
    named = models or {name: table[name] for name in roles.predictions}
    judged = named or {str(roles.target): target}
    return audit(
        target if named else None,
        judged,
        sensitive_features=groups,
        tasks=_tasks(table, roles),
        sample_weight=column_or_none(table, roles.weight),
        **settings,
    )


def predicted(
    files: Sequence[str], roles: Roles, reading: Reading, model: str
) -> Table:
    """Return the rows of some files with a column of a model's predictions."""
    design, estimator = Design.of_file(model)
    own, reading = design.reading(reading)
    numbers = set(own.features or ()) - set(design.encoding.categories)
    labels = (*roles.sensitive, *roles.tasks)
    wanted = Roles(
        target=roles.target,
        sensitive=tuple(dict.fromkeys((*roles.sensitive, *own.sensitive))),
        tasks=tuple(dict.fromkeys((*roles.tasks, *own.tasks))),
        weight=roles.weight,
        predictions=roles.predictions,
        features=own.features,
        # What the model takes as a number cannot be read as text.
        cut=(*roles.cut, *own.cut, *(name for name in labels if name in numbers)),
    )
    table = load(files, wanted, reading)
    refuse_taken(PREDICTION, table.names, table.source, OTHER_NAME)
    values, message = design.predict(estimator, table, model)
    said = (*table.notes, message) if message else table.notes
    return replace(table.with_column(PREDICTION, values), notes=said)


def _tasks(table: Table, roles: Roles) -> Any:
    if not roles.tasks:
        return None
    columns = [as_labels(table[name]) for name in roles.tasks]
    for name in roles.tasks:
        refuse_gaps(table, name)
    if len(columns) == 1:
        return columns[0]
    joined = np.empty(table.n_rows, object)
    joined[:] = [" · ".join(row) for row in zip(*columns, strict=True)]
    return joined
