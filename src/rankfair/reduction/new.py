"""New rows: tasks and groups as training knew them, or a sentence says why not."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from rankfair._frames import Codes, Table, counted, encode, listed
from rankfair._groups import Source
from rankfair._validation import (
    SORTED_ROWS,
    check_same_source,
    label_source,
    refuse_retyped,
)
from rankfair.reduction.reading import Layout

__all__ = ["task_codes"]


def task_codes(table: Table, tasks: Any, layout: Layout) -> Codes:
    """The task of each new row; refuse one that training did not have."""
    source = label_source("tasks", layout.task_columns or None, tasks, table)
    check_same_source(source, layout.task_columns)
    if source is None:
        return np.zeros(table.shape[0], np.intp)
    codes, others = encode(source.columns, layout.tasks, source.argument)
    _refuse_others(others, int((codes < 0).sum()), layout.tasks, source)
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
