"""Folds of meta-estimators: what `cv` may be, and rows dealt out evenly."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import _num_samples

from rankfair._frames import Codes, Floats, counted, listed
from rankfair._validation import check_count

__all__ = [
    "Folds",
    "Rows",
    "check_cv",
    "deal_folds",
    "given_folds",
    "gives_folds",
    "out_of_fold",
    "split_folds",
]

Rows: TypeAlias = NDArray[np.intp]
Folds: TypeAlias = Sequence[tuple[Rows, Rows]]


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


def given_folds(cv: Any, X: Any, y: Any) -> list[tuple[Rows, Rows]]:
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


def _places(rows: Any, n_rows: int) -> Rows:
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
    predicted: Callable[[Rows, Rows], tuple[Floats, Floats]],
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
