"""Folds: rows to learn from, and rows to hold out."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from rankfair.input.arrays import Codes, Floats
from rankfair.input.errors import InputError, check_count, counted
from rankfair.input.frames import open_table

Folds: TypeAlias = Sequence[tuple[Codes, Codes]]

N_FOLDS = 5  # where cv is None
PAIRS = "Give pairs of train and test rows, or 5 for instance."


def check_cv(cv: Any) -> None:
    """Refuse what is neither None, a number of folds, a splitter nor pairs of rows."""
    if cv is not None and not _gives_folds(cv):
        check_count("cv", cv, low=2)


def _gives_folds(cv: Any) -> bool:
    """Whether it is a splitter, or pairs of train and test rows."""
    if isinstance(cv, str | bytes | Mapping | type):
        return False
    return hasattr(cv, "split") or isinstance(cv, Iterable)


def make_folds(
    cv: Any,
    codes: Codes,
    groups: Codes,
    rng: np.random.Generator,
    *,
    weights: Floats | None = None,
    X: Any = None,
    y: Any = None,
    every_row: bool = False,
) -> Folds:
    """Return pairs of rows to learn from and rows to hold out, none of weight zero.

    A number makes folds that share the rows of each task and group as evenly as can be.
    The only row of a task is always learnt from.  Where a fold would hold out all rows
    of a group, one of them is learnt from.

    Parameters
    ----------
    cv : int, splitter or iterable of (train, test)
        A number makes folds; anything else is scikit-learn's.  None means 5 folds.
    codes : integer ndarray of shape (N,)
        The task of each row.
    groups : integer or boolean ndarray of shape (N,) or (N, q)
        The group of each row by feature, −1 where it is not known.
    rng : Generator
        Shuffles the rows.
    weights : ndarray of shape (N,), optional
        Weights of the rows.
    X, y : arrays, optional
        For a splitter that looks at them.
    every_row : bool, default=False
        Whether each row must be held out exactly once, whatever is learnt then.

    Returns
    -------
    list of (train, test)
        Positions of rows.

    Examples
    --------
    >>> codes, groups = np.array([0, 0, 1, 1]), np.zeros(4, int)
    >>> folds = make_folds(2, codes, groups, np.random.default_rng(0))
    >>> [codes[test].tolist() for _, test in folds]
    [[0, 1], [0, 1]]
    """
    counts = np.ones(len(codes), bool) if weights is None else weights > 0
    if _gives_folds(cv):
        X = np.zeros((len(codes), 1)) if X is None else X
        folds = _given_folds(cv, X, y, counts)
        tested = np.concatenate([test for _, test in folds])
        n_rows, n_tested = int(counts.sum()), len(np.unique(tested))
        if every_row and not len(tested) == n_tested == n_rows:
            raise InputError(
                "cv",
                "must test each row exactly once",
                f"{len(folds)} folds that test {n_tested} of {n_rows} rows, "
                f"{len(tested)} times in all",
            )
        return folds
    k = N_FOLDS if cv is None else check_count("cv", cv, low=2)
    at = np.flatnonzero(counts)
    if len(at) < k:
        n_samples = f"{k} for n_samples = {len(at)}"
        raise InputError("cv", "must be at most the number of rows", n_samples)
    codes, features = codes[at], groups.reshape(len(groups), -1)[at].T
    mixed = rng.permutation(len(at))
    order = mixed[np.lexsort((*features[::-1][:, mixed], codes[mixed]))]
    fold = np.full(len(at), -1, np.intp)
    if not every_row:
        order = order[np.bincount(codes)[codes[order]] > 1]
    fold[order] = np.arange(len(order)) % k
    for own in () if every_row else features:
        for g in np.unique(own[own >= 0]):
            rows = np.flatnonzero(own == g)
            if fold[rows[0]] >= 0 and (fold[rows] == fold[rows[0]]).all():
                fold[rows[0]] = -1
    if (fold < 0).all():
        raise InputError(
            "cv",
            "holds out no row: each task or group has one row only",
            cure="Name other tasks, or none, or join groups.",
        )
    return [(at[fold != j], at[fold == j]) for j in range(k) if (fold == j).any()]


def _given_folds(cv: Any, X: Any, y: Any, counts: NDArray[np.bool_]) -> Folds:
    """Return the rows that count of a splitter or a list of pairs; masks are such too.

    Refused are folds that test rows which they learn from.
    """
    every = np.arange(len(counts))

    def places(rows: Any) -> Codes:
        found: Codes = every[np.asarray(rows) if len(rows) else every[:0]]
        return found[counts[found]]

    try:
        given = cv.split(X, y) if hasattr(cv, "split") else cv
        kept = [(places(train), places(test)) for train, test in given]
    except (IndexError, TypeError, ValueError) as error:
        raise InputError(
            "cv",
            "must split these rows",
            f"{cv!r:.60}, which does not: {str(error).rstrip('.')}",
            "Give a splitter that needs X and y only, or pairs of train and test rows: "
            "cv=list(splitter.split(X, y, groups)).",
        ) from error
    if not any(len(test) for _, test in kept):
        folds = counted(len(kept), "fold")
        raise InputError("cv", f"holds out no row that counts, in {folds}", cure=PAIRS)
    for k, (train, test) in enumerate(kept):
        both = len(np.intersect1d(train, test))
        if both:
            rows = f"{counted(both, 'row')} in fold {k} that it learns from there too"
            seen = "a fit must not have seen the rows it is tested on"
            raise InputError("cv", f"holds out {rows}: {seen}", cure=PAIRS)
        if not len(train):
            nothing = "leaves no row to learn from in one of its folds"
            raise InputError("cv", nothing, cure=PAIRS)
    return [(train, test) for train, test in kept if len(test)]


def out_of_fold(
    n_rows: int,
    folds: Folds,
    predicted: Callable[[Codes, Codes], Floats],
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
    >>> y, folds = np.array([1.0, 3.0, 5.0]), [([1, 2], [0]), ([0], [1])]
    >>> out_of_fold(3, folds, lambda train, test: y[train].mean()).tolist()
    [4.0, 1.0, nan]
    """
    from sklearn.utils.parallel import Parallel, delayed  # a second to import

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


def take_rows(X: Any, at: Codes) -> Any:
    """Return some rows of a table, of the type it came as.

    Examples
    --------
    >>> take_rows([[1.0, 2.0], [3.0, 4.0]], np.array([1])).tolist()
    [[3.0, 4.0]]
    """
    table = open_table(X)
    if table.names is None:
        return table.rows[at]
    return table.rows[at.tolist()].to_native()
