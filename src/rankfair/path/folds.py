"""Folds within tasks: rows to learn from, and rows to hold out."""

from __future__ import annotations

from typing import Any

import numpy as np

from rankfair._folds import given_folds, gives_folds
from rankfair._frames import Codes, Floats, FrameTable, counted, open_table
from rankfair._groups import Bools
from rankfair._validation import check_count

__all__ = ["Folds", "make_folds", "take_rows", "task_folds"]

Folds = list[tuple[Codes, Codes]]

DEFAULT = 5


def make_folds(
    cv: Any,
    codes: Codes,
    in_a: Bools | Codes,
    rng: np.random.Generator,
    *,
    weights: Floats | None = None,
    X: Any = None,
    y: Any = None,
    attributes: Codes | None = None,
) -> Folds:
    """Return pairs of rows to learn from and rows to hold out, none of weight zero.

    Parameters
    ----------
    cv : int, splitter or iterable of (train, test)
        A number makes folds within tasks; anything else is scikit-learn's.  None is 5.
    codes : integer ndarray of shape (N,)
        The task of each row.
    in_a : boolean or integer ndarray of shape (N,)
        The rows of group A, or the group of each row.
    rng : Generator
        Shuffles the rows.
    weights : ndarray of shape (N,), optional
        Weights of the rows.
    X, y : arrays, optional
        For a splitter that looks at them.
    attributes : integer ndarray of shape (N, q), optional
        Groups of which every fold must leave a row to learn from, −1 where a row is of
        none; a splitter does as it likes.

    Returns
    -------
    list of (train, test)
        Positions of rows.

    Examples
    --------
    >>> import numpy as np
    >>> codes, in_a = np.array([0, 0, 1, 1]), np.array([True, False, True, False])
    >>> folds = make_folds(2, codes, in_a, np.random.default_rng(0))
    >>> [test.tolist() for _, test in folds]
    [[1, 3], [0, 2]]
    """
    counts = np.ones(len(codes), bool) if weights is None else weights > 0
    if not gives_folds(cv):
        at = np.flatnonzero(counts)
        kept_groups = None if attributes is None else attributes[at]
        own = _own_folds(cv, codes[at], in_a[at], rng, kept_groups)
        return [(at[train], at[test]) for train, test in own]
    features = np.zeros((len(codes), 1)) if X is None else X
    pairs = given_folds(cv, features, y)
    kept = [(train[counts[train]], test[counts[test]]) for train, test in pairs]
    if not any(len(test) for _, test in kept):
        raise ValueError(
            f"cv holds out no row that counts, in {counted(len(kept), 'fold')}. Give "
            "pairs of train and test rows, or 5 for instance."
        )
    if not all(len(train) for train, _ in kept):
        raise ValueError(
            "cv leaves no row to learn from in one of its folds. Give pairs of train "
            "and test rows, or 5 for instance."
        )
    for k, (train, test) in enumerate(kept):
        both = len(np.intersect1d(train, test))
        if both:
            raise ValueError(
                f"cv holds out {counted(both, 'row')} in fold {k} that it learns from "
                "there too: held-out rows are rows that a fit has not seen. Give pairs "
                "of train and test rows that share none."
            )
    return [(train, test) for train, test in kept if len(test)]


def _own_folds(
    cv: Any,
    codes: Codes,
    in_a: Bools | Codes,
    rng: np.random.Generator,
    attributes: Codes | None,
) -> Folds:
    n_folds = DEFAULT if cv is None else check_count("cv", cv, low=2)
    if len(codes) < n_folds:
        raise ValueError(
            f"cv={n_folds} folds need as many rows; got n_samples = {len(codes)}. Use "
            "fewer folds."
        )
    fold = task_folds(codes, in_a, n_folds, rng)
    if (fold < 0).all():
        raise ValueError(
            "cv holds out no row: each task has one row only. Name other tasks, or "
            "none."
        )
    for column in () if attributes is None else attributes.T:
        _keep_one_of_each(fold, column)
    if (fold < 0).all():
        raise ValueError(
            "cv holds out no row: each task or group has one row only. Name other "
            "tasks, or join groups."
        )
    return [
        (np.flatnonzero(fold != k), np.flatnonzero(fold == k))
        for k in range(n_folds)
        if (fold == k).any()
    ]


def task_folds(
    codes: Codes, in_a: Bools | Codes, n_folds: int, rng: np.random.Generator
) -> Codes:
    """Return the fold of each row, −1 for the only row of a task.

    Rows of a task are dealt out in turn, group by group: folds hold as much of each
    task and group as can be, and no fold holds all rows of a task.

    Parameters
    ----------
    codes : integer ndarray of shape (N,)
        The task of each row.
    in_a : boolean or integer ndarray of shape (N,)
        The rows of group A, or the group of each row.
    n_folds : int
        At least 2.
    rng : Generator
        Shuffles the rows of a task and group.

    Returns
    -------
    integer ndarray of shape (N,)
        From 0 to ``n_folds − 1``, or −1.

    Examples
    --------
    >>> import numpy as np
    >>> codes, in_a = np.array([0, 0, 0, 1]), np.array([True, False, False, True])
    >>> task_folds(codes, in_a, 3, np.random.default_rng(0)).tolist()
    [2, 1, 0, -1]
    """
    sizes = np.bincount(codes)
    order = np.lexsort((rng.random(len(codes)), in_a, codes))
    order = order[sizes[codes[order]] > 1]
    fold = np.full(len(codes), -1, dtype=np.intp)
    fold[order] = np.arange(len(order)) % n_folds
    return fold


def _keep_one_of_each(fold: Codes, groups: Codes) -> None:
    """Never hold out a row of each group that one fold would hold out altogether."""
    for g in np.unique(groups[groups >= 0]):
        rows = np.flatnonzero(groups == g)
        if fold[rows[0]] >= 0 and (fold[rows] == fold[rows[0]]).all():
            fold[rows[0]] = -1


def take_rows(X: Any, at: Codes) -> Any:
    """Return some rows of a table, of the type it came as.

    Examples
    --------
    >>> import numpy as np
    >>> take_rows([[1.0, 2.0], [3.0, 4.0]], np.array([1])).tolist()
    [[3.0, 4.0]]
    """
    table = open_table(X)
    if isinstance(table, FrameTable):
        rows = table.frame[at.tolist()].to_native()
        if table.names == tuple(table.frame.columns):
            return rows
        return rows.set_axis(table.names, axis=1)  # equal names, which pandas allows
    return table.values[at]
