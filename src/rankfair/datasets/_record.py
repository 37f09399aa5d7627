"""The record every maker and loader of data returns."""

from dataclasses import dataclass
from functools import cached_property
from importlib.util import find_spec
from typing import Any, Literal, get_args

import narwhals as nw
import numpy as np
from numpy.typing import NDArray

__all__ = ["Backend", "Dataset"]

Backend = Literal["auto", "pandas", "polars"]


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class Dataset:
    """Rows with a target, a task and a protected group.

    `frame` holds the features followed by the task and the protected column, so it can
    go to an estimator as it is:
    `RankFairRegressor(tasks=data.task_name, sensitive_features=data.sensitive_name)`.

    Attributes
    ----------
    name : str
    X : ndarray of float64, shape (n_rows, n_features)
        The explanatory features, without task and protected attribute.
    target : ndarray of float64, shape (n_rows,)
    tasks, sensitive : ndarray of str, shape (n_rows,)
        Labels are text: the county `01001` keeps its zero.
    feature_names : tuple of str
    target_name, task_name, sensitive_name : str
    group_a : str
        The label of the group that the paper calls A.
    description, licence : str
    biased : bool
        Whether a bias was put into the target.
    period : ndarray of int or None, shape (n_rows,)
        The week or year of a row, to hold out the last ones:
        `train = data.period < data.period.max()`. It is not among the features.
    period_name : str or None
    fair_score : ndarray of float64 or None, shape (n_rows,)
        The best prediction of the target that does not depend on the group, where
        whoever drew the rows knows it.
    backend : {"auto", "pandas", "polars"}
        The library of `frame`; "auto" takes pandas, then polars, whichever is there.

    Examples
    --------
    >>> from rankfair.datasets import make_biased_tasks
    >>> data = make_biased_tasks(3, [4, 2, 5], random_state=0)
    >>> data
    Dataset('synthetic': 11 rows, 3 tasks, 4 features, biased)
    >>> data.X.shape, data.group_a, data.task_name, data.sensitive_name
    ((11, 4), '1', 'task', 'z')
    >>> list(data.frame.columns)
    ['x1', 'x2', 'x3', 'x4', 'task', 'z']
    """

    name: str
    X: NDArray[np.float64]
    target: NDArray[np.float64]
    tasks: NDArray[np.str_]
    sensitive: NDArray[np.str_]
    feature_names: tuple[str, ...]
    target_name: str
    task_name: str
    sensitive_name: str
    group_a: str
    description: str
    licence: str
    biased: bool
    period: NDArray[np.int64] | None = None
    period_name: str | None = None
    fair_score: NDArray[np.float64] | None = None
    backend: Backend = "auto"

    def __post_init__(self) -> None:
        if self.backend not in get_args(Backend):
            raise ValueError(
                f'backend must be "auto", "pandas" or "polars", got {self.backend!r}'
            )

    def __repr__(self) -> str:
        n_rows, n_features = self.X.shape
        ending = ", biased" if self.biased else ""
        return (
            f"Dataset({self.name!r}: {n_rows} rows, {len(set(self.tasks))} tasks, "
            f"{n_features} features{ending})"
        )

    @cached_property
    def frame(self) -> Any:
        """Features, task and protected attribute as a pandas or polars frame."""
        columns: dict[str, Any] = dict(zip(self.feature_names, self.X.T, strict=True))
        columns[self.task_name] = self.tasks.tolist()
        columns[self.sensitive_name] = self.sensitive.tolist()
        return nw.from_dict(columns, backend=_frame_library(self.backend)).to_native()


def _frame_library(backend: Backend) -> Literal["pandas", "polars"]:
    wanted: tuple[Literal["pandas", "polars"], ...] = (
        ("pandas", "polars") if backend == "auto" else (backend,)
    )
    for library in wanted:
        if find_spec(library) is not None:
            return library
    raise ImportError(
        f"Dataset.frame needs {' or '.join(wanted)}, and none is installed: "
        f"pip install {wanted[0]}, or use Dataset.X, .tasks and .sensitive"
    )
