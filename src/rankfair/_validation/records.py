"""Records: what each column of X is for, and checked training rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from narwhals.exceptions import DuplicateError
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.utils.validation import validate_data

from rankfair._frames import Codes, Floats, listed
from rankfair._groups import Bools, Encoder, Groups

__all__ = ["Columns", "Layout", "Named", "Rows", "feature_record", "is_pair"]


@dataclass(frozen=True)
class Layout:
    """What each column of X is for: decided by fit, reused by predict.

    Attributes
    ----------
    predictors : tuple of int
        Columns behind ``coef_``, in order.
    names : tuple of str
        Their names.
    task_columns : tuple of int or None
        Columns that name the task; empty if tasks came as an array, None if there are
        no tasks.
    tasks : ndarray
        Sorted labels of the tasks.
    protected : tuple of Encoder
        How protected columns among the predictors are read: two groups as 0/1, three
        or more as a column for each but the first, after the others.
    groups : ndarray or None
        The labels of groups B and A, or of all groups; of the first attribute, where
        there are several.
    unused : tuple of int
        Columns of training that predictions do not need.
    """

    predictors: tuple[int, ...]
    names: tuple[str, ...]
    task_columns: tuple[int, ...] | None
    tasks: NDArray[Any]
    protected: tuple[Encoder, ...]
    groups: NDArray[Any] | None
    unused: tuple[int, ...] = ()

    @property
    def group_column(self) -> int | None:
        """The predictor that is the protected attribute, where there is one."""
        return self.protected[0].column if self.protected else None


@dataclass(frozen=True)
class Rows:
    """Checked training rows.  They may share memory with the user's arrays: read only.

    Attributes
    ----------
    X : ndarray of shape (N, n), float64, C-ordered
    y : ndarray of shape (N,), float64
    codes : ndarray of shape (N,), places in ``layout.tasks``
    in_a : ndarray of bool of shape (N,), or None if there are no groups
    weights : positive ndarray of shape (N,), or None if all weigh one
    layout : Layout
    groups : ndarray of shape (N,), places in ``layout.groups`` or −1, or None if there
        is nothing but two groups that are known for all rows
    attributes : tuple of Groups
        The groups of each protected attribute, to be balanced at once.
    notes : tuple of str
        Warnings.
    edges : tuple of (str, ndarray)
        Names of attributes that were cut into bins, and where.
    kept : ndarray of bool, or None if all rows that were given weigh something
    """

    X: Floats
    y: Floats
    codes: Codes
    in_a: Bools | None
    weights: Floats | None
    layout: Layout
    groups: Codes | None = None
    attributes: tuple[Groups, ...] = ()
    notes: tuple[str, ...] = ()
    edges: tuple[tuple[str, Floats], ...] = ()
    kept: Bools | None = None

    @property
    def group_predictors(self) -> tuple[int, ...]:
        """The columns of X here that hold the group."""
        own, names = {each.column for each in self.layout.protected}, self.layout.names
        behind = {each.column for each in self.layout.protected if each.apart}
        plain = [j for j in self.layout.predictors if j not in behind]
        return (
            *(i for i, j in enumerate(plain) if j in own),
            *range(len(plain), len(names)),
        )


@dataclass(frozen=True)
class Columns:
    """Columns of X named in the constructor of an estimator, and how groups are read.

    ``several``: there may be more than two groups, several attributes, and rows of
    unknown group.  ``bins`` and ``intersect`` are for such estimators only.
    """

    tasks: Any = None
    sensitive_features: Any = None
    blind: bool = False
    several: bool = False
    bins: int | None = None
    intersect: bool = False


def is_pair(attributes: Sequence[Groups]) -> bool:
    """Tell whether these are but two groups, known for all rows, or none at all."""
    return len(attributes) < 2 and all(
        len(each.labels) == 2 and each.known is None for each in attributes
    )


@dataclass(frozen=True)
class Named:
    """Columns of rows that are not in memory."""

    names: tuple[str, ...]


def feature_record(X: Any) -> dict[str, Any]:
    """Return scikit-learn's ``n_features_in_`` and, for frames, ``feature_names_in_``.

    Examples
    --------
    >>> feature_record([[1.0, 2.0]])
    {'n_features_in_': 2}
    """
    if isinstance(X, Named):
        names = np.array(X.names, dtype=object)
        return {"n_features_in_": len(names), "feature_names_in_": names}
    probe = BaseEstimator()
    try:
        validate_data(probe, X, skip_check_array=True)
    except DuplicateError as error:  # since scikit-learn 1.9
        every = [str(name) for name in X.columns]
        again = [name for name in dict.fromkeys(every) if every.count(name) > 1]
        raise ValueError(
            f"X has several columns called {listed(again)}: give each a name of its "
            "own, or pass X as an array."
        ) from error
    return dict(vars(probe))
