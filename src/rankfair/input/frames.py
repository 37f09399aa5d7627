"""Any frame or array as columns, and columns as numbers: targets and weights."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from numbers import Real
from os import PathLike
from typing import Any, TypeAlias

import narwhals as nw
import numpy as np
from narwhals.exceptions import DuplicateError
from numpy.typing import NDArray
from scipy.sparse import issparse
from sklearn.utils import check_array, column_or_1d

from rankfair.input.arrays import Column, Floats, is_missing
from rankfair.input.errors import Argument, InputError, Words, counted, shown

EXACT = 2.0**53  # below it floats tell whole numbers apart

_PLAIN = {"String": "text", "Categorical": "categories", "Enum": "categories"}


# Tables


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
        return _stack(
            self.shape[0],
            columns,
            lambda j: column_numbers(self.column(j), f"X (column {j})"),
        )


@dataclass(frozen=True)
class FrameTable:
    """A data frame of any library that narwhals knows.

    It may lack columns that nobody asks for: positions are as if it had them.
    """

    frame: nw.DataFrame[Any]
    names: tuple[Any, ...]  # of all columns, those it lacks among them

    @property
    def shape(self) -> tuple[int, int]:
        """Rows, and columns of all."""
        return self.frame.shape[0], len(self.names)

    @property
    def is_part(self) -> bool:
        """Whether it lacks columns."""
        return self.frame.shape[1] < len(self.names)

    def column(self, j: int) -> Column:
        """Return column ``j`` of all."""
        own = self.frame.columns.index(self.names[j]) if self.is_part else j
        return self.frame[:, own]

    def numbers(self, columns: Sequence[int]) -> Floats:
        """Return these columns as floats, C-ordered."""

        def read(j: int) -> Floats:
            return column_numbers(self.column(j), f"X (column {shown(self.names[j])})")

        return _stack(self.shape[0], columns, read)


Table: TypeAlias = "ArrayTable | FrameTable"


def _stack(
    n_rows: int, columns: Sequence[int], read: Callable[[int], Floats]
) -> Floats:
    out = np.empty((n_rows, len(columns)))
    for place, j in enumerate(columns):
        out[:, place] = read(j)
    return out


def open_table(X: Any, sparse: bool = False) -> Table:
    """Return X as a table of columns; refuse what is no dense, real, 2-D table.

    With ``sparse`` it may be sparse: it has rows then, and no columns to be read.

    Examples
    --------
    >>> open_table([[1.0, "a"], [2.0, "b"]]).shape
    (2, 2)
    """
    if issparse(X) and sparse:
        return ArrayTable(np.broadcast_to(np.nan, X.shape))
    if issparse(X):
        n_rows, n_columns = X.shape
        raise TypeError(
            f"X is a sparse {type(X).__name__}: dense data is required. "
            f"X.toarray() makes {8e-9 * n_rows * n_columns:.2g} GB of it; linear "
            "models of every task need memory for the square of its columns. Sparse "
            "rows are for estimators that take them, inside TiltedRegressor(Ridge()) "
            "or RankFairPostprocessor(Ridge()), with tasks and groups as arrays."
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
    names = None
    try:
        frame = nw.from_native(X, pass_through=True)
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
            raise InputError(
                "X",
                f"has 0 {what}(s) (shape={shape}) while a minimum of 1 is required",
            )


def refuse_complex(values: NDArray[Any], argument: str) -> None:
    """Raise if an array is complex."""
    if values.dtype.kind == "c":
        raise InputError(
            argument,
            f"has dtype {values.dtype}: real numbers are expected",
            cure="Complex data not supported.",  # scikit-learn's words
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
    if array.ndim not in (1, 2):
        raise InputError(argument, "must hold one value a row", f"shape {array.shape}")
    return [array] if array.ndim == 1 else [array[:, j] for j in range(array.shape[1])]


def _labels_array(values: Any) -> NDArray[Any]:
    """Return a list as an array in which NumPy neither unites types nor cuts text."""
    array = np.asarray(values, dtype=object)
    kinds = {type(value) for value in array.ravel()}
    found = array if len(kinds) > 1 or str in kinds else np.asarray(values)
    # NumPy turns whole numbers of which some are beyond 2⁶³ into floats.
    return array if kinds == {int} and found.dtype.kind == "f" else found


# Numbers


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
        expected = f"has dtype {column.dtype}: numbers are expected"
        raise InputError(argument, expected, cure=_cure(argument))
    values = column.tolist()
    _refuse_text(values, argument, "text")
    filled = [math.nan if is_missing(value) else value for value in values]
    return np.asarray(filled, dtype=object).astype(np.float64)


def _refuse_text(values: list[Any], argument: str, kind: str) -> None:
    text = [value for value in values if isinstance(value, str | bytes)]
    if text or kind != "text":
        example = f", for example {shown((text or values)[0])}" if values else ""
        raise InputError(
            argument,
            f"holds {_PLAIN.get(kind, kind)} where numbers are expected "
            f"({len(text) or len(values)} of {len(values)} values{example})",
            cure=_cure(argument),
        )


def _cure(argument: str) -> Words:
    """Return what to do with a column of X, or with y, weights and the like."""
    if not argument.startswith("X "):
        return "Turn it into numbers."
    groups = Argument("sensitive_features")
    return (
        "Drop it, turn it into numbers (one-hot encoding), or name it in ",
        *(Argument("tasks"), " or ", groups, "."),
    )


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


def read_target(y: Any, argument: str = "y") -> Floats:
    """Return a target as one finite float a row.

    Examples
    --------
    >>> read_target([1, 2]).tolist()
    [1.0, 2.0]
    """
    return _read(y, argument)[0]


def read_ranked(y: Any, argument: str = "y") -> tuple[Floats, Floats]:
    """Return a target as floats, and numbers of exactly its order and ties.

    Most often the two are one.

    Examples
    --------
    >>> large, small = read_ranked([2**53, 2**53 + 1]), read_ranked([3, 1])
    >>> large[1].tolist(), small[1].tolist()
    ([0.0, 1.0], [3.0, 1.0])
    """
    values, column = _read(y, argument)
    return values, exact_order(column, values)


def _read(y: Any, argument: str) -> tuple[Floats, Column]:
    """Return a target as floats, and as it came."""
    if y is None and argument == "y":  # scikit-learn's own words
        raise ValueError(
            "This estimator requires y to be passed, but the target y is None."
        )
    if y is None:
        raise InputError(argument, "must hold one number a row", "None")
    column = _one_column(y, argument)
    values = np.ascontiguousarray(column_numbers(column, argument))
    if not len(values):
        raise InputError(argument, "is empty: at least one row is expected")
    refuse_infinite(values, (), argument)
    return values, column


def read_weights(sample_weight: Any, n_rows: int) -> Floats | None:
    """Return weights, none below zero and not all zero; None where all are one.

    Examples
    --------
    >>> read_weights([1, 0, 2], 3).tolist()
    [1.0, 0.0, 2.0]
    """
    if sample_weight is None:
        return None
    argument = "sample_weight"
    if isinstance(sample_weight, Real):
        sample_weight = np.full(n_rows, float(sample_weight))
    column = _one_column(sample_weight, argument, warn=False)
    weights = np.ascontiguousarray(column_numbers(column, argument))
    refuse_infinite(weights, (), argument)
    negative = int((weights < 0).sum())
    if negative:
        raise InputError(
            argument,
            f"must not be negative; {negative} of {len(weights)} are, the lowest is "
            f"{weights.min():g}",
        )
    if not weights.any():
        raise InputError(argument, "is zero for every row: nothing is left to fit")
    check_lengths(n_rows, sample_weight=weights)
    return None if (weights == 1.0).all() else weights


def _one_column(values: Any, argument: str, warn: bool = True) -> Column:
    if issparse(values):
        raise TypeError(
            f"{argument} is sparse: dense data is required. Convert it with .toarray()."
        )
    shape = getattr(values, "shape", None)
    shape = np.asarray(values).shape if shape is None else tuple(shape)
    if len(shape) == 1:
        (column,) = as_columns(values, argument)
    elif warn:
        # scikit-learn's words for (N, 1), which it accepts, and for all else.
        array = values if isinstance(values, np.ndarray) else np.asarray(values)
        column = column_or_1d(unmasked(array), warn=True)
    else:
        raise InputError(argument, "must be 1D", f"shape {shape}")
    return column


def check_lengths(n_rows: int, **columns: Any) -> None:
    """Raise if a column has not one value for each row of X."""
    for argument, column in columns.items():
        if column is not None and len(column) != n_rows:
            counts = f"{len(column)} values, but there are {n_rows} rows"
            raise InputError(argument, f"has {counts}")


def refuse_infinite(values: Floats, names: Sequence[str], argument: str = "X") -> None:
    """Raise if not all are finite.  One number decides, details only then."""
    with np.errstate(all="ignore"):
        # A sum of squares is one pass at the speed of memory, and NaN and inf stay.
        if math.isfinite(np.vdot(values, values)):
            return
    bad = [
        _describe_bad(column, name)
        for column, name in zip(np.atleast_2d(values.T), names or ("",), strict=True)
        if not np.isfinite(column).all()
    ]
    if bad:
        rest = len(bad) - 5
        more = f" and {counted(rest, 'more column')}" if rest > 0 else ""
        raise InputError(
            argument,
            f"must be finite, but has {'; '.join(bad[:5])}{more}",
            cure="Drop or impute these rows.",
        )


def _describe_bad(column: Floats, name: str) -> str:
    nan, infinite = int(np.isnan(column).sum()), int(np.isinf(column).sum())
    counts = [f"{n} {what}" for n, what in ((nan, "NaN"), (infinite, "inf")) if n]
    where = f" in column {shown(name)}" if name else ""
    return f"{' and '.join(counts)}{where}"


def finite_predictions(m: Floats) -> Floats:
    """Return predictions of finite rows; raise if some are too large for a float.

    Examples
    --------
    >>> import numpy as np
    >>> finite_predictions(np.array([1.0, 2.0])).tolist()
    [1.0, 2.0]
    """
    lost = len(m) - int(np.isfinite(m).sum())
    if lost:
        raise InputError(
            "X",
            "has values that are far from those of training: "
            f"{lost} of {counted(len(m), 'prediction')} are too large to be numbers "
            "(inf or NaN)",
            cure="Leave out these rows, or give their values in the units of training.",
        )
    return m
