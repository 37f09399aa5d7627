"""Folds: rows to learn from, and rows to hold out."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.parallel import Parallel, delayed
from sklearn.utils.validation import _num_samples

from rankfair.input.arrays import Codes, Floats
from rankfair.input.errors import InputError, check_count, counted, listed
from rankfair.input.frames import FrameTable, open_table

Positions: TypeAlias = NDArray[np.intp]
Folds: TypeAlias = Sequence[tuple[Positions, Positions]]

N_FOLDS = 5  # where cv is None
PAIRS = "Give pairs of train and test rows, or 5 for instance."


def check_cv(cv: Any) -> None:
    """Refuse what is neither None, a number of folds, a splitter nor pairs of rows."""
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
    return _pairs_of(_dealt(order, len(cells), k), k)


def _dealt(order: Positions, n_rows: int, k: int) -> Codes:
    """Deal rows out in turn; return their fold, −1 for those not among them."""
    fold = np.full(n_rows, -1, np.intp)
    fold[order] = np.arange(len(order)) % k
    return fold


def _pairs_of(fold: Codes, k: int) -> Folds:
    """Return train and test rows of each fold that tests any."""
    return [
        (np.flatnonzero(fold != j), np.flatnonzero(fold == j))
        for j in range(k)
        if (fold == j).any()
    ]


def _given_folds(cv: Any, X: Any, y: Any) -> Folds:
    """Return the rows that a splitter or a list of pairs tells; masks are such too."""
    try:
        given = cv.split(X, y) if hasattr(cv, "split") else cv
        pairs = [(train, test) for train, test in given]
    except (TypeError, ValueError) as error:
        raise InputError(
            "cv",
            "must split these rows",
            f"{cv!r:.60}, which does not: {str(error).rstrip('.')}",
            "Give a splitter that needs X and y only, or pairs of train and test rows: "
            "cv=list(splitter.split(X, y, groups)).",
        ) from error
    n_rows = _num_samples(X)
    return [(_places(train, n_rows), _places(test, n_rows)) for train, test in pairs]


def _places(rows: Any, n_rows: int) -> Positions:
    """Return the rows of one half of a fold as whole numbers from 0 on."""
    given = np.asarray(rows)
    if given.dtype == bool and given.shape == (n_rows,):
        return np.flatnonzero(given)
    if given.size == 0:
        return np.zeros(0, np.intp)
    whole = given.ndim == 1 and given.dtype.kind in "iu"
    wrong = given[(given < 0) | (given >= n_rows)] if whole else given.ravel()
    if len(wrong):
        raise InputError(
            "cv",
            f"must give rows as whole numbers from 0 to {n_rows - 1}, or as masks of "
            f"all {n_rows} rows",
            listed(wrong.tolist(), 3),
        )
    return given.astype(np.intp, copy=False)


def _refuse_shared(folds: Folds) -> None:
    """Refuse folds that test rows which they learn from."""
    for k, (train, test) in enumerate(folds):
        both = len(np.intersect1d(train, test))
        if both:
            raise InputError(
                "cv",
                f"holds out {counted(both, 'row')} in fold {k} that it learns from "
                "there too: a fit must not have seen the rows it is tested on",
                cure=PAIRS,
            )


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
    folds = _given_folds(cv, X, y)
    if not folds:
        raise InputError(
            "cv",
            "gives no folds: two or more pairs of train and test rows are expected, as "
            "a list where they are used more than once",
        )
    tested = np.sort(np.concatenate([test for _, test in folds]))
    n_rows = _num_samples(X)
    if not np.array_equal(tested, np.arange(n_rows)):
        raise InputError(
            "cv",
            "must test each row exactly once",
            f"{len(folds)} folds that test {len(np.unique(tested))} rows "
            f"{len(tested)} times, of {n_rows} {what}",
        )
    _refuse_shared(folds)
    return folds


def out_of_fold(
    n_rows: int,
    folds: Folds,
    predicted: Callable[[Positions, Positions], Floats],
    n_jobs: int | None = None,
) -> Floats:
    """Return predictions of each row by a fit that did not see it.

    Parameters
    ----------
    n_rows : int
        How many rows there are.
    folds : pairs of train and test rows
        Each row is tested once, or not at all.
    predicted : callable
        Predictions of the test rows by a fit to the train rows.
    n_jobs : int, optional
        How many folds are fitted at once, as joblib counts.

    Returns
    -------
    ndarray of shape (n_rows,)
        Predictions, NaN where a row is in no fold.

    Examples
    --------
    >>> import numpy as np
    >>> y, folds = np.array([1.0, 3.0, 5.0]), [([1, 2], [0]), ([0], [1])]
    >>> out_of_fold(3, folds, lambda train, test: y[train].mean()).tolist()
    [4.0, 1.0, nan]
    """
    m = np.full(n_rows, np.nan)
    found = Parallel(n_jobs=n_jobs)(delayed(predicted)(*fold) for fold in folds)
    for (_, test), own in zip(folds, found, strict=True):
        m[test] = own
    return m


def group_means(
    values: Floats, groups: Codes, weights: Floats | None, n_groups: int
) -> Floats:
    """The mean of the values in each group; the median of all where it has none.

    Means are taken around that median: of equal values they are that value to the bit,
    so that predictions that tie stay tied.  The last is that of rows of no group.

    Examples
    --------
    >>> import numpy as np
    >>> group_means(np.array([1.0, 2.0, 6.0]), np.array([0, 2, 2]), None, 3).tolist()
    [1.0, 2.0, 4.0, 2.0]
    """
    middle = float(np.median(values))
    w = np.ones(len(values)) if weights is None else weights
    places = groups % (n_groups + 1)
    sums = np.bincount(places, w * (values - middle), n_groups + 1)
    totals = np.bincount(places, w, n_groups + 1)
    means = np.divide(sums, totals, out=np.zeros(n_groups + 1), where=totals > 0)
    return middle + means


def make_folds(
    cv: Any,
    codes: Codes,
    in_a: NDArray[Any],
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
        groups = None if attributes is None else attributes[at]
        own = _task_folds(cv, codes[at], in_a[at], rng, groups)
        return [(at[train], at[test]) for train, test in own]
    pairs = _given_folds(cv, np.zeros((len(codes), 1)) if X is None else X, y)
    kept = [(train[counts[train]], test[counts[test]]) for train, test in pairs]
    if not any(len(test) for _, test in kept):
        folds = counted(len(kept), "fold")
        raise InputError("cv", f"holds out no row that counts, in {folds}", cure=PAIRS)
    if not all(len(train) for train, _ in kept):
        expected = "leaves no row to learn from in one of its folds"
        raise InputError("cv", expected, cure=PAIRS)
    _refuse_shared(kept)
    return [(train, test) for train, test in kept if len(test)]


def _task_folds(
    cv: Any,
    codes: Codes,
    in_a: NDArray[Any],
    rng: np.random.Generator,
    attributes: Codes | None,
) -> Folds:
    """Return folds that hold as much of each task and group as can be.

    The only row of a task is always learnt from, and so is one row of each group that
    a fold would hold out altogether.
    """
    k = N_FOLDS if cv is None else check_count("cv", cv, low=2)
    if len(codes) < k:
        raise InputError(
            "cv", "needs as many rows as folds", f"{k} for n_samples = {len(codes)}"
        )
    order = np.lexsort((rng.random(len(codes)), in_a, codes))
    order = order[np.bincount(codes)[codes[order]] > 1]
    fold = _dealt(order, len(codes), k)
    for groups in () if attributes is None else attributes.T:
        for g in np.unique(groups[groups >= 0]):
            rows = np.flatnonzero(groups == g)
            if fold[rows[0]] >= 0 and (fold[rows] == fold[rows[0]]).all():
                fold[rows[0]] = -1
    if (fold < 0).all():
        raise InputError(
            "cv",
            "holds out no row: each task or group has one row only",
            cure="Name other tasks, or none, or join groups.",
        )
    return _pairs_of(fold, k)


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
