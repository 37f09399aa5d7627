"""Users' tables and label columns as plain arrays, whatever type they came as.

A table gives its columns by position; a column is an ndarray or a narwhals Series.
`numbers` makes floats of columns, `find_labels` makes codes of them.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, TypeAlias

import narwhals as nw
import numpy as np
from narwhals.exceptions import DuplicateError
from numpy.typing import NDArray
from scipy.sparse import issparse
from sklearn.utils import check_array

Floats: TypeAlias = NDArray[np.float64]
Codes: TypeAlias = NDArray[np.intp]
Column: TypeAlias = "NDArray[Any] | nw.Series[Any]"

_PLAIN = {"String": "text", "Categorical": "categories", "Enum": "categories"}
_CURE = (
    "drop it, turn it into numbers (one-hot encoding), "
    "or name it in tasks= or sensitive_features="
)


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


Table: TypeAlias = "ArrayTable | FrameTable"


def _stack(
    n_rows: int, columns: Sequence[int], read: Callable[[int], Floats]
) -> Floats:
    out = np.empty((n_rows, len(columns)))
    for place, j in enumerate(columns):
        out[:, place] = read(j)
    return out


def shown(label: Any) -> str:
    """Return a label as it stands in a sentence: text in double quotes.

    Examples
    --------
    >>> shown("F"), shown(101)
    ('"F"', '101')
    """
    return f'"{label}"' if isinstance(label, str) else str(label)


def listed(labels: Sequence[Any], most: int = 5) -> str:
    """Return up to ``most`` labels in a row, and how many more there are.

    Examples
    --------
    >>> listed(["a", "b", "c"], most=2)
    '"a", "b" and 1 more'
    """
    head = ", ".join(shown(label) for label in labels[:most])
    rest = len(labels) - most
    return f"{head} and {rest} more" if rest > 0 else head


def open_table(X: Any) -> Table:
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
    if getattr(X, "is_stream", False) is True:
        raise TypeError(
            "X is a stream of files, which RankFairRegressor reads; this estimator "
            "needs its rows in memory."
        )
    frame = _as_frame(X)
    if frame is not None:
        _refuse_empty(frame.shape)
        return frame
    values = X if isinstance(X, np.ndarray) else _as_array(X)
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
    # NumPy turns rows that mix text and numbers into text only.
    return np.asarray(X, dtype=object) if values.dtype.kind in "US" else values


def _refuse_empty(shape: tuple[int, int]) -> None:
    for count, what in zip(shape, ("sample", "feature"), strict=True):
        if count == 0:
            raise ValueError(
                f"X has 0 {what}(s) (shape={shape}) while a minimum of 1 is required."
            )


def refuse_complex(values: NDArray[Any], argument: str) -> None:
    """Raise if an array is complex."""
    if values.dtype.kind == "c":
        raise ValueError(
            f"Complex data not supported: {argument} has dtype {values.dtype}, "
            "real numbers are expected."
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
    array = values if isinstance(values, np.ndarray) else _labels_array(values)
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
    """Return a list as an array without letting NumPy unite mixed types."""
    array = np.asarray(values, dtype=object)
    kinds = {type(value) for value in array.ravel()}
    return array if len(kinds) > 1 else np.asarray(values)


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
            f"{argument} has dtype {column.dtype}: numbers are expected; {_CURE}."
        )
    return _object_numbers(column, argument)


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
            f"({len(text) or len(values)} of {len(values)} values{example}): {_CURE}."
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


def find_labels(columns: Sequence[Column], argument: str) -> tuple[Codes, NDArray[Any]]:
    """Return the code of each row and the sorted labels that the codes stand for.

    Several columns are labelled by their combinations, which are tuples.

    Examples
    --------
    >>> import numpy as np
    >>> codes, labels = find_labels([np.array(["b", "a", "b"])], "tasks")
    >>> codes.tolist(), labels.tolist()
    ([1, 0, 1], ['a', 'b'])
    """
    found = [_code(_plain(column), argument) for column in columns]
    if len(found) == 1:
        return found[0]
    cells = found[0][0]
    for codes, labels in found[1:]:
        cells = cells * len(labels) + codes
    codes, present = _code(cells, argument)
    places = np.unravel_index(present, tuple(len(labels) for _, labels in found))
    parts = [
        labels[place].tolist() for (_, labels), place in zip(found, places, strict=True)
    ]
    return codes, label_array(list(zip(*parts, strict=True)))


def find_known(column: Column, argument: str) -> tuple[Codes, NDArray[Any]]:
    """Return codes and sorted labels as `find_labels`, −1 where the label is missing.

    Examples
    --------
    >>> codes, labels = find_known(np.array([7.0, np.nan, 5.0]), "sensitive_features")
    >>> codes.tolist(), labels.tolist()
    ([1, -1, 0], [5, 7])
    """
    values = _plain(column)
    known = _known(values)
    if known.all():
        return _code(values, argument)
    rest: NDArray[Any] | list[Any]
    if isinstance(values, list):
        rest = [value for value, there in zip(values, known, strict=True) if there]
    else:
        rest = _whole(values[known])
    codes = np.full(len(known), -1, np.intp)
    codes[known], labels = _code(rest, argument)
    return codes, labels


def _known(values: NDArray[Any] | list[Any]) -> NDArray[np.bool_]:
    """Tell which values are not missing."""
    if not isinstance(values, list):
        return (
            ~np.isnan(values)
            if values.dtype.kind == "f"
            else np.ones(len(values), bool)
        )
    # Few labels are distinct: most often that none is missing is seen by these.
    if not any(map(is_missing, _distinct(values))):
        return np.ones(len(values), bool)
    return np.array([not is_missing(value) for value in values], bool)


def _distinct(values: list[Any]) -> list[Any]:
    try:
        return list(dict.fromkeys(values))
    except TypeError:
        return values  # what is no label is refused where labels are made


def encode(
    columns: Sequence[Column], labels: NDArray[Any], argument: str
) -> tuple[Codes, list[Any]]:
    """Return codes into known ``labels``, -1 for others, and what the others are.

    Examples
    --------
    >>> import numpy as np
    >>> codes, others = encode([np.array([7, 9, 8])], np.array([7, 8]), "tasks")
    >>> codes.tolist(), others
    ([0, -1, 1], [9])
    """
    codes, here = find_labels(columns, argument)
    table, others = match(here, labels)
    return table[codes], others


def match(here: NDArray[Any], labels: NDArray[Any]) -> tuple[Codes, list[Any]]:
    """Return the place of each label in ``labels``, −1 for others, and the others.

    Examples
    --------
    >>> import numpy as np
    >>> match(np.array(["a", "x"]), np.array(["a", "b"]))
    (array([ 0, -1]), ['x'])
    """
    index = {label: code for code, label in enumerate(labels.tolist())}
    table = np.array([index.get(label, -1) for label in here.tolist()], np.intp)
    others = [label for label, c in zip(here.tolist(), table, strict=True) if c < 0]
    return table, others


def _plain(column: Column) -> NDArray[Any] | list[Any]:
    """Return numbers as an array and every other kind of label as a list."""
    if isinstance(column, nw.Series):
        if not column.dtype.is_numeric() and column.dtype != nw.Boolean:
            return column.to_list()
        if column.dtype == nw.Boolean and column.null_count():
            return column.to_list()
        column = column.to_numpy()
    if column.dtype.kind == "M":
        column = column.astype("M8[us]")
    if column.dtype.kind == "f":
        return _whole(column)
    values: NDArray[Any] | list[Any]
    values = column if column.dtype.kind in "biu" else column.tolist()
    return values


def _whole(values: NDArray[Any]) -> NDArray[Any]:
    """Return floats as integers where nothing is lost by it."""
    with np.errstate(invalid="ignore"):
        integers = values.astype(np.int64)
    return integers if np.array_equal(integers, values) else values


def _code(
    values: NDArray[Any] | list[Any], argument: str
) -> tuple[Codes, NDArray[Any]]:
    if isinstance(values, list):
        return _code_objects(values, argument)
    if values.dtype.kind == "f":
        _refuse_missing(int(np.isnan(values).sum()), len(values), argument)
        _refuse_infinite(int(np.isinf(values).sum()), len(values), argument)
    if values.dtype.kind == "b":
        codes, labels = _code(values.view(np.uint8), argument)
        return codes, labels.astype(bool)
    if values.dtype.kind in "iu" and len(values):
        low, high = int(values.min()), int(values.max())
        if high - low <= 4 * len(values) + 1000 and high <= np.iinfo(np.intp).max:
            return _code_narrow(values, low, high)
    labels, codes = np.unique(values, return_inverse=True)
    return codes.astype(np.intp, copy=False), labels


def _code_narrow(
    values: NDArray[Any], low: int, high: int
) -> tuple[Codes, NDArray[Any]]:
    """Code integers of a small range by a table: two passes and no sort."""
    place = values.astype(np.intp, copy=False)
    place = place - low if low else place
    present = np.zeros(high - low + 1, bool)
    present[place] = True
    labels = (np.flatnonzero(present) + low).astype(values.dtype)
    if len(labels) == len(present):
        return place, labels
    return (np.cumsum(present) - 1)[place], labels


def _code_objects(values: list[Any], argument: str) -> tuple[Codes, NDArray[Any]]:
    try:
        distinct = list(dict.fromkeys(values))
    except TypeError as error:
        raise TypeError(
            f"{argument} must hold plain labels (text, numbers, booleans): {error}."
        ) from None
    if any(map(is_missing, distinct)):
        _refuse_missing(sum(map(is_missing, values)), len(values), argument)
    labels = _in_order(distinct)
    index = {label: code for code, label in enumerate(labels)}
    codes = np.fromiter(map(index.__getitem__, values), np.intp, len(values))
    return codes, label_array(labels)


def _refuse_missing(count: int, n_rows: int, argument: str) -> None:
    if count:
        raise ValueError(
            f"{argument} has {count} missing labels (NaN, None, NA or NaT) in {n_rows} "
            "rows: every row needs one. Drop those rows or name them."
        )


def _refuse_infinite(count: int, n_rows: int, argument: str) -> None:
    if count:
        raise ValueError(
            f"{argument} has {count} infinite labels in {n_rows} rows: text, booleans "
            "and finite numbers are labels. Name those rows, or drop them."
        )


def _in_order(labels: list[Any]) -> list[Any]:
    try:
        return sorted(labels)
    except TypeError:
        return sorted(labels, key=str)


def label_array(labels: list[Any]) -> NDArray[Any]:
    """Return labels as an array of their own type, or of objects where they differ.

    Examples
    --------
    >>> label_array([("a", 1), ("b", 2)]).shape
    (2,)
    """
    for kind in (str, bool, int, float):
        if all(isinstance(label, kind) for label in labels):
            return np.array(labels)
    out = np.empty(len(labels), dtype=object)
    out[:] = labels
    return out
