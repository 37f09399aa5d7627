"""Any frame or array as columns, and columns as numbers."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from os import PathLike
from typing import Any, TypeAlias

import narwhals as nw
import numpy as np
from narwhals.exceptions import DuplicateError
from numpy.typing import NDArray
from scipy.sparse import issparse
from sklearn.utils import check_array

from rankfair.input.arrays import Column, Floats
from rankfair.input.errors import shown

EXACT = 2.0**53  # below it floats tell whole numbers apart

_PLAIN = {"String": "text", "Categorical": "categories", "Enum": "categories"}
_CURE = (
    "drop it, turn it into numbers (one-hot encoding), "
    "or name it in tasks= or sensitive_features="
)


def _cure(argument: str) -> str:
    """What to do with a column of X, or with y, weights and the like."""
    is_column = argument.startswith("column ")
    return _CURE if is_column else f"turn {argument} into numbers"


def refuse_complex(values: NDArray[Any], argument: str) -> None:
    """Raise if an array is complex."""
    if values.dtype.kind == "c":
        raise ValueError(
            f"Complex data not supported: {argument} has dtype {values.dtype}, "
            "real numbers are expected."
        )


def unmasked(values: NDArray[Any]) -> NDArray[Any]:
    """Return an array in which what a mask hides is missing: NaN or None.

    Examples
    --------
    >>> import numpy as np
    >>> unmasked(np.ma.array([7, 8], mask=[False, True])).tolist()
    [7, None]
    """
    if not isinstance(values, np.ma.MaskedArray):
        return values
    hidden, plain = np.ma.getmaskarray(values), np.asarray(values)
    if not hidden.any():
        return plain
    nan = plain.dtype.kind in "fc"
    filled = plain.copy() if nan else plain.astype(object)
    filled[hidden] = math.nan if nan else None
    return filled


def column_numbers(column: Column, argument: str) -> Floats:
    """Return a column as floats, missing values as NaN; text is refused.

    Examples
    --------
    >>> import numpy as np
    >>> column_numbers(np.array([1, 2]), "y").tolist()
    [1.0, 2.0]
    """
    if isinstance(column, nw.Series):
        if column.dtype in (nw.Categorical, nw.Enum, nw.String):
            _refuse_text(column.to_list(), argument, str(column.dtype))
        column = column.to_numpy()
    refuse_complex(column, argument)
    if column.dtype.kind in "biuf":
        return np.asarray(column, dtype=np.float64)
    if column.dtype.kind not in "OUS":
        raise ValueError(
            f"{argument} has dtype {column.dtype}: numbers are expected; "
            f"{_cure(argument)}."
        )
    return _object_numbers(column, argument)


def exact_order(column: Column, values: Floats) -> Floats:
    """Return numbers of the exact order and ties of a column without gaps.

    They are its ``values`` as floats, unless these tie whole numbers that differ: then
    they are ranks.

    Examples
    --------
    >>> import numpy as np
    >>> large = np.array([2**53 + 1, 2**53])
    >>> exact_order(large, large.astype(float)).tolist()
    [1.0, 0.0]
    """
    if values.min() > -EXACT and values.max() < EXACT:
        return values
    exact = column.to_numpy() if isinstance(column, nw.Series) else column
    if exact.dtype.kind not in "iuO":
        return values
    return np.unique(exact, return_inverse=True)[1].astype(np.float64)


def _object_numbers(column: NDArray[Any], argument: str) -> Floats:
    values = column.tolist()
    _refuse_text(values, argument, "text")
    filled = [math.nan if is_missing(value) else value for value in values]
    return np.asarray(filled, dtype=object).astype(np.float64)


def _refuse_text(values: list[Any], argument: str, kind: str) -> None:
    text = [value for value in values if isinstance(value, str | bytes)]
    if text or kind != "text":
        example = f", for example {shown((text or values)[0])}" if values else ""
        raise ValueError(
            f"{argument} holds {_PLAIN.get(kind, kind)} where numbers are expected "
            f"({len(text) or len(values)} of {len(values)} values{example}): "
            f"{_cure(argument)}."
        )


def is_missing(value: Any) -> bool:
    """Tell whether a value stands for "not known": None, NaN, NA or NaT.

    Examples
    --------
    >>> is_missing(None), is_missing(float("nan")), is_missing("NA")
    (True, True, False)
    """
    if value is None or type(value).__name__ in ("NAType", "NaTType"):
        return True
    return isinstance(value, float | np.floating | Decimal) and value != value


@dataclass(frozen=True)
class ArrayTable:
    """A two-dimensional array; its columns have positions only."""

    values: NDArray[Any]

    names = None

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns."""
        return self.values.shape[0], self.values.shape[1]

    def column(self, j: int) -> Column:
        """Return column ``j`` as a view."""
        return self.values[:, j]

    def numbers(self, columns: Sequence[int]) -> Floats:
        """Return these columns as floats, C-ordered; a copy only where needed."""
        whole = len(columns) == self.shape[1]
        values = self.values if whole else self.values[:, list(columns)]
        if values.dtype.kind in "biuf":
            return np.ascontiguousarray(values, dtype=np.float64)
        return _stack(self.shape[0], columns, lambda j: column_numbers(*self._named(j)))

    def _named(self, j: int) -> tuple[Column, str]:
        return self.column(j), f"column {j} of X"


@dataclass(frozen=True)
class FrameTable:
    """A data frame of any library that narwhals knows."""

    frame: nw.DataFrame[Any]
    names: tuple[Any, ...]

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns."""
        return self.frame.shape

    def column(self, j: int) -> Column:
        """Return column ``j``."""
        return self.frame[:, j]

    def numbers(self, columns: Sequence[int]) -> Floats:
        """Return these columns as floats, C-ordered."""
        return _stack(self.shape[0], columns, lambda j: column_numbers(*self._named(j)))

    def _named(self, j: int) -> tuple[Column, str]:
        return self.column(j), f"column {shown(self.names[j])} of X"


@dataclass(frozen=True)
class PartTable:
    """A frame that lacks columns which nobody will ask for; places are as if it had."""

    frame: FrameTable
    names: tuple[Any, ...]  # of all columns, those it lacks among them

    @property
    def shape(self) -> tuple[int, int]:
        """Rows, and columns of all."""
        return self.frame.shape[0], len(self.names)

    def column(self, j: int) -> Column:
        """Return column ``j`` of all."""
        return self.frame.column(self._here(j))

    def numbers(self, columns: Sequence[int]) -> Floats:
        """Return these columns of all as floats, C-ordered."""
        return self.frame.numbers([self._here(j) for j in columns])

    def _here(self, j: int) -> int:
        return self.frame.names.index(self.names[j])


Table: TypeAlias = "ArrayTable | FrameTable | PartTable"


def _stack(
    n_rows: int, columns: Sequence[int], read: Callable[[int], Floats]
) -> Floats:
    out = np.empty((n_rows, len(columns)))
    for place, j in enumerate(columns):
        out[:, place] = read(j)
    return out


def open_table(X: Any) -> ArrayTable | FrameTable:
    """Return X as a table of columns; refuse what is no dense, real, 2-D table.

    Examples
    --------
    >>> open_table([[1.0, "a"], [2.0, "b"]]).shape
    (2, 2)
    """
    if issparse(X):
        raise TypeError(
            f"X is a sparse {type(X).__name__}: dense data is required. "
            "Convert it with X.toarray()."
        )
    if isinstance(X, str | PathLike):
        raise TypeError(
            f"X is the name of a file or folder ({str(X)!r}): rows are expected. Read "
            "it first, or for Parquet files larger than memory pass rankfair.stream(…) "
            "to RankFairRegressor."
        )
    if getattr(X, "is_stream", False) is True:
        raise TypeError(
            "X is a stream of files, which only fit and predict of RankFairRegressor "
            "read: rows in memory are expected here. Read some of the files first."
        )
    frame = _as_frame(X)
    if frame is not None:
        _refuse_empty(frame.shape)
        return frame
    values = unmasked(X) if isinstance(X, np.ndarray) else _as_array(X)
    refuse_complex(values, "X")
    return ArrayTable(check_array(values, dtype=None, ensure_all_finite=False))


def _as_frame(X: Any) -> FrameTable | None:
    try:
        frame = nw.from_native(X, pass_through=True)
        names = None
    except DuplicateError:
        # Only pandas allows equal names; positions are unique.
        names = tuple(X.columns)
        frame = nw.from_native(X.set_axis(range(len(names)), axis=1))
    if isinstance(frame, nw.LazyFrame):
        raise TypeError(
            f"X is a lazy frame ({type(X).__name__}): rows in memory are expected. "
            "Call X.collect() or X.compute() first."
        )
    if isinstance(frame, nw.DataFrame):
        return FrameTable(frame, names or tuple(frame.columns))
    return None


def _as_array(X: Any) -> NDArray[Any]:
    values = np.asarray(X)
    # NumPy turns rows that mix text and numbers into text only, and rows that mix
    # fractions and large labels into floats, which tie them.
    large = values.dtype.kind == "f" and (np.abs(values) >= EXACT).any()
    mixed = values.dtype.kind in "US" or large
    return np.asarray(X, dtype=object) if mixed else values


def _refuse_empty(shape: tuple[int, int]) -> None:
    for count, what in zip(shape, ("sample", "feature"), strict=True):
        if count == 0:
            raise ValueError(
                f"X has 0 {what}(s) (shape={shape}) while a minimum of 1 is required."
            )


def as_columns(values: Any, argument: str) -> list[Column]:
    """Return the columns of labels given as an array, a series or a frame.

    Examples
    --------
    >>> len(as_columns([["a", 1], ["b", 2]], "tasks")), len(as_columns([1, 2], "y"))
    (2, 1)
    """
    native = nw.from_native(values, allow_series=True, pass_through=True)
    if isinstance(native, nw.Series):
        return [native]
    if isinstance(native, nw.DataFrame):
        return [native[:, j] for j in range(native.shape[1])]
    is_array = isinstance(values, np.ndarray)
    array = unmasked(values) if is_array else _labels_array(values)
    if array.ndim > 2 or array.ndim == 0:
        raise ValueError(
            f"{argument} must hold one value a row, got shape {array.shape}."
        )
    return [array] if array.ndim == 1 else [array[:, j] for j in range(array.shape[1])]


def values_shape(values: Any) -> tuple[int, ...]:
    """Return the shape of anything that can be an array, a list for instance.

    Examples
    --------
    >>> values_shape([[1, 2], [3, 4]])
    (2, 2)
    """
    shape = getattr(values, "shape", None)
    return np.asarray(values).shape if shape is None else tuple(shape)


def _labels_array(values: Any) -> NDArray[Any]:
    """Return a list as an array in which NumPy neither unites types nor cuts text."""
    array = np.asarray(values, dtype=object)
    kinds = {type(value) for value in array.ravel()}
    found = array if len(kinds) > 1 or str in kinds else np.asarray(values)
    # NumPy turns whole numbers of which some are beyond 2⁶³ into floats.
    return array if kinds == {int} and found.dtype.kind == "f" else found
