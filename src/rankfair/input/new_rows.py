"""New rows: tasks and groups as training knew them, or a sentence says which not."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rankfair.input.arrays import Codes, Floats
from rankfair.input.columns import GroupEncoder, Layout, label_source
from rankfair.input.errors import counted, listed, shown
from rankfair.input.frames import Table
from rankfair.input.groups import Source
from rankfair.input.labels import encode, find_known, recode
from rankfair.input.training import read_predictors

# The cure where labels are unseen in cross-validation.
SORTED_ROWS = (
    "Folds of sorted rows leave out whole tasks and groups: shuffle them, "
    "cv=KFold(5, shuffle=True)."
)


class UnseenError(ValueError):
    """Labels of new rows that training did not have; what it is about is kept apart.

    Attributes
    ----------
    labels, known : sequence
        Those labels, and for groups the ones of training.
    column : str or None
        The protected column; None where the labels are of tasks.
    n_rows : int
        How many rows are of such tasks.
    """

    labels: Sequence[Any] = ()
    known: Sequence[Any] = ()
    column: str | None = None
    n_rows: int = 0

    @classmethod
    def of(cls, sentence: str, **facts: Any) -> UnseenError:
        """The error with its facts; only the sentence is an argument of its own."""
        error = cls(sentence)
        vars(error).update(facts)
        return error


def read_new(
    table: Table, tasks: Any, layout: Layout
) -> tuple[Floats, Codes, list[Any]]:
    """Return predictors and task codes of new rows, and tasks not seen in training.

    Rows of tasks not seen have code -1.  The caller has checked that the table has the
    columns of training.

    Examples
    --------
    >>> from rankfair.input.frames import open_table
    >>> from rankfair.input.columns import Columns
    >>> from rankfair.input.training import read_training
    >>> rows = read_training([[1.0, 7], [2.0, 8]], [3.0, 5.0], Columns(tasks=1))
    >>> X, codes, others = read_new(open_table([[4.0, 8], [5.0, 9]]), None, rows.layout)
    >>> codes.tolist(), others
    ([1, -1], [9])
    """
    source = label_source("tasks", layout.task_columns or None, tasks, table)
    check_same_source(source, layout.task_columns)
    others: list[Any] = []
    if source is None:
        codes = np.zeros(table.shape[0], np.intp)
    else:
        codes, others = encode(source.columns, layout.tasks, source.argument)
        refuse_retyped(source.argument, others, layout.tasks)
    of_columns = {
        each.column: _known_groups(table, each)
        for each in layout.protected
        if each.labels is not None
    }
    return read_predictors(table, layout, of_columns), codes, others


def check_same_source(
    source: Source | None, task_columns: tuple[int, ...] | None
) -> None:
    """Refuse tasks that training did not have, and their lack where it had some."""
    if source is None and task_columns is not None:
        raise ValueError(
            "tasks is missing: the model was fitted with tasks as an array, so each "
            "new row needs its task as well, predict(X, tasks=...)."
        )
    if source is not None and task_columns is None:
        raise ValueError(
            "tasks was passed, but the model was fitted without tasks. "
            "Fit with tasks, or leave them out."
        )


def has_names(passed: Any) -> bool:
    """Tell whether labels came by name, as a dict or a frame.

    Examples
    --------
    >>> has_names({"sex": ["F", "M"]}), has_names(["F", "M"])
    (True, False)
    """
    return isinstance(passed, dict) or hasattr(passed, "columns")


def as_in_training(source: Source, names: tuple[str, ...]) -> Source:
    """Return columns in the order of training; refuse those of other names.

    Examples
    --------
    >>> new = Source("sensitive_features", [np.ones(2), np.zeros(2)], (), ("b", "a"))
    >>> as_in_training(new, ("a", "b")).columns[0].tolist()
    [0.0, 0.0]
    """
    if {*source.names} != {*names}:
        raise ValueError(
            f"{source.argument} has columns named {listed(source.names)}; training "
            f"had {listed(names)}. Give those of training, in any order."
        )
    by_name = dict(zip(source.names, source.columns, strict=True))
    return replace(source, columns=[by_name[name] for name in names], names=names)


def _known_groups(table: Table, each: GroupEncoder) -> Codes:
    """Return the group of each new row, −1 if it is not known; refuse others."""
    assert each.labels is not None
    argument = f"sensitive_features (column {shown(each.name)} of X)"
    found = find_known(table.column(each.column), argument)
    codes, others = recode(*found, each.labels)
    refuse_retyped(argument, others, each.labels)
    if others:
        known = each.labels.tolist()
        raise UnseenError.of(
            f"{argument} has groups not seen in training: {listed(others)}; "
            f"training had {listed(known)}. Use the labels of training, None where "
            f"the group is not known, or fit with rows of these groups. {SORTED_ROWS}",
            labels=others,
            known=known,
            column=each.name,
        )
    return codes


def refuse_unseen(others: Sequence[Any], codes: Codes) -> None:
    """Raise if some rows are of a task not seen in training."""
    if others:
        n_rows = int((codes < 0).sum())
        raise UnseenError.of(
            f"tasks has labels not seen in training: {listed(others)} "
            f"({counted(n_rows, 'row')}). Fit with rows of these tasks, or set "
            f'penalty="pool", unseen="shared". {SORTED_ROWS}',
            labels=others,
            n_rows=n_rows,
        )


def refuse_retyped(argument: str, others: Sequence[Any], known: NDArray[Any]) -> None:
    """Raise if unknown labels are known ones of another type: 101 is not "101"."""
    if not others:
        return
    texts = {str(label): label for label in known.tolist()}
    twins = [label for label in others if str(label) in texts]
    if twins:
        here, there = twins[0], texts[str(twins[0])]
        raise ValueError(
            f"{argument} has labels of another type than in training: {shown(here)} "
            f"({type(here).__name__}) here, {shown(there)} ({type(there).__name__}) "
            f"there; {counted(len(twins), 'label differs', 'labels differ')} so. "
            "Convert labels as in training, for example with "
            f".astype({type(there).__name__})."
        )
