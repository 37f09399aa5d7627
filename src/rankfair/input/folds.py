"""Folds: rows to learn from, and rows to hold out."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import _num_samples

from rankfair.input.arrays import Codes, Floats
from rankfair.input.errors import counted, listed
from rankfair.input.frames import FrameTable, open_table
from rankfair.input.groups import Bools
from rankfair.input.settings import check_count

Positions: TypeAlias = NDArray[np.intp]
Folds: TypeAlias = Sequence[tuple[Positions, Positions]]


def check_cv(cv: Any) -> None:
    """Refuse what is neither None, a number of folds, a splitter nor pairs of rows.

    Examples
    --------
    >>> check_cv(5)
    """
    if cv is not None and not gives_folds(cv):
        check_count("cv", cv, low=2)


def gives_folds(cv: Any) -> bool:
    """Whether it is a splitter, or pairs of train and test rows.

    Examples
    --------
    >>> gives_folds([([0], [1]), ([1], [0])]), gives_folds("5"), gives_folds(5)
    (True, False, False)
    """
    if isinstance(cv, str | bytes | Mapping | type):
        return False
    return hasattr(cv, "split") or isinstance(cv, Iterable)


def deal_folds(cells: Codes, k: int, rng: np.random.Generator) -> Folds:
    """Folds of equal size that share the rows of each cell as evenly as can be.

    Examples
    --------
    >>> import numpy as np
    >>> folds = deal_folds(np.array([0, 0, 1, 1]), 2, np.random.default_rng(0))
    >>> [np.array([0, 0, 1, 1])[test].tolist() for _, test in folds]
    [[0, 1], [0, 1]]
    """
    mixed = rng.permutation(len(cells))
    order = mixed[np.argsort(cells[mixed], kind="stable")]
    fold = np.empty(len(cells), np.intp)
    fold[order] = np.arange(len(cells)) % k
    return [(np.flatnonzero(fold != j), np.flatnonzero(fold == j)) for j in range(k)]


def given_folds(cv: Any, X: Any, y: Any) -> list[tuple[Positions, Positions]]:
    """The places of rows that a splitter or a list of pairs tells; masks are such too.

    Examples
    --------
    >>> import numpy as np
    >>> ((train, test),) = given_folds([([True, False], [1])], np.eye(2), None)
    >>> train.tolist(), test.tolist()
    ([0], [1])
    """
    try:
        pairs = [(train, test) for train, test in _pairs(cv, X, y)]
    except (TypeError, ValueError) as error:
        raise ValueError(
            f"cv={cv!r:.60} does not split these rows: {str(error).rstrip('.')}. Give "
            "a splitter that needs X and y only, or pairs of train and test rows: "
            "cv=list(splitter.split(X, y, groups))."
        ) from error
    n_rows = _num_samples(X)
    return [(_places(train, n_rows), _places(test, n_rows)) for train, test in pairs]


def _pairs(cv: Any, X: Any, y: Any) -> Any:
    return cv.split(X, y) if hasattr(cv, "split") else cv


def _places(rows: Any, n_rows: int) -> Positions:
    """Rows of one half of a fold as whole numbers from 0 on."""
    given = np.asarray(rows)
    if given.dtype == bool and given.shape == (n_rows,):
        return np.flatnonzero(given)
    if given.size == 0:
        return np.zeros(0, np.intp)
    whole = given.ndim == 1 and given.dtype.kind in "iu"
    wrong = given[(given < 0) | (given >= n_rows)] if whole else given.ravel()
    if len(wrong):
        raise ValueError(
            f"cv must give rows as whole numbers from 0 to {n_rows - 1}, or as masks "
            f"of all {n_rows} rows; got {listed(wrong.tolist(), 3)}."
        )
    return given.astype(np.intp, copy=False)


def split_folds(cv: Any, X: Any, y: Floats | None, what: str = "rows") -> Folds:
    """The folds of a scikit-learn splitter or a list, which must test every row once.

    ``what`` is how a refusal calls the rows.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.model_selection import KFold
    >>> [test.tolist() for _, test in split_folds(KFold(2), np.eye(4), np.ones(4))]
    [[0, 1], [2, 3]]
    """
    folds = given_folds(cv, X, y)
    if not folds:
        raise ValueError(
            "cv gives no folds: give two or more pairs of train and test rows, as a "
            "list where it is used more than once."
        )
    tested = np.sort(np.concatenate([test for _, test in folds]))
    n_rows = _num_samples(X)
    if not np.array_equal(tested, np.arange(n_rows)):
        raise ValueError(
            "cv must test each row exactly once, by a model that did not see it; got "
            f"{len(folds)} folds that test {len(np.unique(tested))} rows "
            f"{len(tested)} times, of {n_rows} {what}."
        )
    for k, (train, test) in enumerate(folds):
        both = len(np.intersect1d(train, test))
        if both:
            raise ValueError(
                "cv must test each row exactly once, by a model that did not see it; "
                f"train and test of fold {k} share {counted(both, 'row')}."
            )
    return folds


def out_of_fold(
    whole: Floats,
    folds: Folds,
    predicted: Callable[[Positions, Positions], tuple[Floats, Floats]],
    groups: Codes,
    weights: Floats | None,
) -> Floats:
    """Predictions of each row by a fit that did not see it, as the whole fit would.

    A fit to fewer rows may shrink more, and then its groups are nearer to each other
    than those of the fit to all rows, which is the one that predicts new rows.  The
    rows that both fits learnt from tell how far it puts each group from there, and
    held-out rows of the group move by as much.

    Parameters
    ----------
    whole : ndarray of shape (N,)
        What the fit to all rows predicts for them.
    folds : pairs of train and test rows
        Each row is tested once.
    predicted : callable
        Predictions of the train and of the test rows by a fit to the train rows.
    groups : integer ndarray of shape (N,)
        The group of each row, −1 where it is not known.
    weights : ndarray of shape (N,) or None
        Weights of the rows.

    Returns
    -------
    ndarray of shape (N,)
        Predictions.

    Examples
    --------
    Half of the rows shrink the groups to half of their distance.

    >>> import numpy as np
    >>> whole, groups = np.array([1.0, 9.0, 1.0, 9.0]), np.array([0, 1, 0, 1])
    >>> folds = deal_folds(groups, 2, np.random.default_rng(0))
    >>> half = lambda train, test: (3 + 0.5 * groups[train], 3 + 0.5 * groups[test])
    >>> out_of_fold(whole, folds, half, groups, None).tolist()
    [1.0, 9.0, 1.0, 9.0]
    """
    m = np.empty(len(whole))
    for train, test in folds:
        seen, held = predicted(train, test)
        own = None if weights is None else weights[train]
        steps = _means(whole[train] - seen, groups[train], own, int(groups.max()) + 1)
        m[test] = held + steps[groups[test]]
    return m


def _means(
    values: Floats, groups: Codes, weights: Floats | None, n_groups: int
) -> Floats:
    """The mean of the values in each group; the median of all where it has none.

    Means are taken around that median: of equal values they are that value to the bit,
    so that predictions that tie stay tied.  The last is that of rows of no group.

    Examples
    --------
    >>> import numpy as np
    >>> _means(np.array([1.0, 2.0, 6.0]), np.array([0, 2, 2]), None, 3).tolist()
    [1.0, 2.0, 4.0, 2.0]
    """
    middle = float(np.median(values))
    w = np.ones(len(values)) if weights is None else weights
    places = groups % (n_groups + 1)
    sums = np.bincount(places, w * (values - middle), n_groups + 1)
    totals = np.bincount(places, w, n_groups + 1)
    means = np.divide(sums, totals, out=np.zeros(n_groups + 1), where=totals > 0)
    return middle + means


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
