"""New rows: tasks and groups as training knew them, or a sentence says why not."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rankfair._frames import Codes, Table, counted, encode, find_known, listed, recode
from rankfair._groups import Source, group_labels
from rankfair._validation import (
    SORTED_ROWS,
    as_in_training,
    check_same_source,
    has_names,
    label_source,
    refuse_retyped,
)
from rankfair.reduction.reading import Layout

__all__ = ["group_codes", "task_codes"]


def task_codes(table: Table, tasks: Any, layout: Layout) -> Codes:
    """The task of each new row; refuse one that training did not have."""
    source = label_source("tasks", layout.task_columns or None, tasks, table)
    check_same_source(source, layout.task_columns)
    if source is None:
        return np.zeros(table.shape[0], np.intp)
    codes, others = encode(source.columns, layout.tasks, source.argument)
    _refuse_others(others, int((codes < 0).sum()), layout.tasks, source)
    return codes


def group_codes(table: Table, passed: Any, layout: Layout) -> Codes | None:
    """The group of each new row, −1 where it is not known; None if nothing tells."""
    if passed is not None and layout.group_columns is None:
        raise ValueError(
            "sensitive_features was passed, but the model was fitted without groups. "
            "Fit with sensitive_features, or leave them out."
        )
    named = layout.group_columns or None
    source = label_source("sensitive_features", named, passed, table)
    if source is None or layout.groups is None:
        return None
    if layout.by_name and has_names(passed):
        source = as_in_training(source, layout.names)
    if len(source.columns) != len(layout.names):
        raise ValueError(
            f"{source.argument} has {len(source.columns)} columns; training had "
            f"{len(layout.names)} ({listed(layout.names)}). Give those of training."
        )
    # An array has no names, and a series may have another: columns are in order here.
    source = replace(source, names=layout.names)
    column = source.columns[0]
    if layout.edges or layout.intersect:
        # Spelt as in training; labels that are not known are None.
        (column,) = group_labels(source, layout.edges, layout.intersect).values()
    here, labels = find_known(column, source.argument)
    codes, others = recode(here, labels, layout.groups)
    _refuse_others(others, int((codes[here >= 0] < 0).sum()), layout.groups, source)
    return codes


def _refuse_others(
    others: list[Any], n_rows: int, labels: NDArray[Any], source: Source
) -> None:
    argument = source.argument
    refuse_retyped(argument, others, labels)
    if others:
        raise ValueError(
            f"{argument} has labels not seen in training: {listed(others)} "
            f"({counted(n_rows, 'row')}); training had {listed(labels.tolist())}. "
            f"Use the labels of training, or fit with rows of these too. {SORTED_ROWS}"
        )
