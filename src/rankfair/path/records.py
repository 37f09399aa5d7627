"""The records of a path: a row for each ε, and all of them together."""

from __future__ import annotations

import math
from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Any, NamedTuple

import narwhals as nw
import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["Path", "PathRow"]

ROUNDING = 1e-9


class PathRow(NamedTuple):
    """What one ε comes to, on held-out rows and, for ``train_…``, on those fitted.

    ``…_low`` and ``…_high`` are ends of 95 % intervals; ``gap`` is ``|AUC − 1/2|``;
    ``md`` the mean prediction of group A less that of B, ``ks`` the largest distance
    between the distributions of their predictions; ``status`` that of the fit.
    A is ``group``, of two groups the one that sorts last and B the other; of more the
    one whose AUC against all others, B, is farthest from 1/2.  Limits of AUC are that
    group's, wide enough to hold for all groups together.
    """

    epsilon: float
    rmse: float
    rmse_ci_low: float
    rmse_ci_high: float
    auc: float
    auc_ci_low: float
    auc_ci_high: float
    gap: float
    md: float
    train_rmse: float
    train_auc: float
    train_gap: float
    train_md: float
    status: str
    group: str = ""
    train_group: str = ""
    ks: float = math.nan


@dataclass(frozen=True)
class Path:
    """Error and rank gap along a path of ε.

    Attributes
    ----------
    rows : tuple of PathRow
        One for each ε, ascending.
    n_train, n_held_out : int
        Rows fitted in all, and rows that were held out once.
    n_clusters : int or None
        Tasks that intervals of AUC, of three or more groups some of them, take as
        clusters, or try as such; None if rows are independent.
    backend : {"pandas", "polars"} or None
        What `to_frame` makes; None for a dict.
    groups : tuple of str
        Labels of the groups that are compared.
    unjudged : tuple of str
        Those of them that have too few held-out rows to be judged: of three or more
        groups they are among the others, and never the one farthest from 1/2.
    left_out : bool
        Whether held-out predictions are of one fit, each row left out; else of folds.

    Examples
    --------
    >>> row = PathRow(*[0.0] * 13, "satisfied")
    >>> path = Path((row, row._replace(epsilon=0.1, rmse=-1.0)), 10, 10)
    >>> path.column("epsilon").tolist()
    [0.0, 0.1]
    """

    rows: tuple[PathRow, ...]
    n_train: int
    n_held_out: int
    n_clusters: int | None = None
    backend: str | None = None
    groups: tuple[str, ...] = ()
    unjudged: tuple[str, ...] = ()
    left_out: bool = False

    def column(self, name: str) -> NDArray[Any]:
        """Return one field of all rows."""
        return np.array([getattr(row, name) for row in self.rows])

    def to_frame(self) -> Any:
        """Return a data frame with a row for each ε, or a dict of arrays.

        Returns
        -------
        DataFrame or dict
            Of the library that X came from; else of pandas, or polars, whichever is
            installed; else a dict of arrays.

        Examples
        --------
        >>> Path((PathRow(*[0.0] * 13, "satisfied"),), 10, 10).to_frame()["status"]
        array(['satisfied'], dtype='<U9')
        """
        columns = {name: self.column(name) for name in PathRow._fields}
        if self.backend is None:
            return columns
        data = {name: column.tolist() for name, column in columns.items()}
        return nw.from_dict(data, backend=self.backend).to_native()  # type: ignore[arg-type]

    def knee(self) -> float:
        """Return the ε from which on less fairness buys little accuracy.

        With ε and held-out RMSE both scaled to [0, 1], it is the point furthest below
        the straight line from the first to the last point of the curve.  Where no point
        is below that line, no ε stands out and the smallest is returned; so it is where
        RMSE does not fall along the path: fairness is free then.  `has_knee` tells.

        Returns
        -------
        float
            One of the path's ε.

        Examples
        --------
        >>> bend = [(0.0, 1.0), (0.1, 0.4), (0.2, 0.2), (0.3, 0.1)]
        >>> rows = [PathRow(e, r, *[0.0] * 11, "") for e, r in bend]
        >>> Path(tuple(rows), 10, 10).knee()
        0.1
        """
        return self.rows[int(np.argmax(self._below()))].epsilon

    @property
    def has_knee(self) -> bool:
        """Whether less fairness buys little from `knee` on.

        False for one ε, and where the error falls along the path but never more quickly
        than on the straight line from its first point to its last: each step towards
        less fairness buys as much as the one before, or more.

        Examples
        --------
        >>> rows = [PathRow(e, 1.0 - e, *[0.0] * 11, "") for e in (0.0, 0.25, 0.5)]
        >>> Path(tuple(rows), 10, 10).has_knee
        False
        """
        error = self.column("rmse")
        if len(error) < 2 or not error[0] > error[-1]:
            return len(error) > 1
        return bool(self._below().max() > ROUNDING)

    def _below(self) -> NDArray[np.float64]:
        """How far points are below the line from the first to the last, both scaled."""
        epsilon, error = self.column("epsilon"), self.column("rmse")
        fall = error[0] - error[-1]
        if len(error) < 3 or not fall > 0:
            return np.zeros(len(error))
        x = (epsilon - epsilon[0]) / (epsilon[-1] - epsilon[0])
        below: NDArray[np.float64] = (1.0 - x) - (error - error[-1]) / fall
        return below

    def plot(self) -> Figure:
        """Draw RMSE against ``|AUC − 1/2|`` of held-out and of training rows.

        Returns
        -------
        matplotlib.figure.Figure
            Not shown and not saved.

        Examples
        --------
        >>> row = PathRow(*[0.0] * 13, "satisfied")
        >>> len(Path((row, row._replace(epsilon=0.1)), 10, 10).plot().axes)
        1
        """
        figure: Figure = import_module("rankfair.report").draw_path(self)
        return figure
