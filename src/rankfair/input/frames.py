"""Any frame or array as columns, and columns as numbers or labels."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from numbers import Real
from os import PathLike
from typing import Any, TypeAlias

import narwhals as nw
import numpy as np
from narwhals.exceptions import DuplicateError
from numpy.typing import NDArray
from scipy.sparse import issparse
from sklearn.utils import check_array, column_or_1d

from rankfair.input.arrays import Codes, Column, Floats
from rankfair.input.errors import Argument, InputError, Words, counted, listed, shown


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
    if isinstance(values, list):
        try:  # few labels are distinct: most often these show that none is missing
            some = any(map(is_missing, dict.fromkeys(values)))
        except TypeError:
            some = True  # what is no label is refused where labels are made
        if some:
            return np.array([not is_missing(value) for value in values], bool)
    elif values.dtype.kind == "f":
        there: NDArray[np.bool_] = ~np.isnan(values)
        return there
    return np.ones(len(values), bool)


def recode(
    codes: Codes, here: NDArray[Any], labels: NDArray[Any]
) -> tuple[Codes, list[Any]]:
    """Return codes into ``labels`` for codes into ``here``, and what others are there.

    The code is −1 for others, and for rows that have no label and −1 already.

    Examples
    --------
    >>> import numpy as np
    >>> recode(np.array([1, 0, -1]), np.array(["b", "x"]), np.array(["a", "b"]))
    (array([-1,  1, -1]), ['x'])
    """
    index = {label: code for code, label in enumerate(labels.tolist())}
    places = [index.get(label, -1) for label in here.tolist()]
    others = [label for label, c in zip(here.tolist(), places, strict=True) if c < 0]
    # The last place is that of code −1.
    return np.array([*places, -1], np.intp)[codes], others


# The cure where labels are unseen in cross-validation.
SORTED_ROWS = (
    "Folds of sorted rows leave out whole tasks and groups: shuffle them, "
    "cv=KFold(5, shuffle=True)."
)
FIT_MORE = ("Use the labels of training, or fit with rows of these too. ",)


class UnseenError(InputError):
    """Labels of new rows that training did not have; what it is about is kept apart.

    Attributes
    ----------
    labels, known : sequence
        Those labels, and the ones of training.
    column : str or None
        The column of a sensitive feature; None where the labels are of tasks.
    n_rows : int
        How many rows have such labels.
    """

    labels: Sequence[Any] = ()
    known: Sequence[Any] = ()
    column: str | None = None
    n_rows: int = 0


def refuse_unseen(
    argument: str,
    others: Sequence[Any],
    known: NDArray[Any],
    n_rows: int,
    cure: tuple[str | Argument, ...] = FIT_MORE,
    column: str | None = None,
) -> None:
    """Raise if new rows have labels that training did not have.

    Some may be known ones of another type: 101 is not "101".
    """
    if not others:
        return
    refuse_retyped(argument, others, known)
    error = UnseenError(
        argument,
        f"has labels not seen in training: {listed(others)} "
        f"({counted(n_rows, 'row')}); training had {listed(known.tolist())}",
        cure=(*cure, SORTED_ROWS),
    )
    error.labels, error.known = others, known.tolist()
    error.column, error.n_rows = column, n_rows
    raise error


def refuse_retyped(argument: str, others: Sequence[Any], known: NDArray[Any]) -> None:
    """Raise if unknown labels are known ones of another type: 101 is not "101"."""
    texts = {str(label): label for label in known.tolist()}
    twins = [label for label in others if str(label) in texts]
    if twins:
        here, there = twins[0], texts[str(twins[0])]
        raise InputError(
            argument,
            f"has labels of another type than in training: {shown(here)} "
            f"({type(here).__name__}) here, {shown(there)} ({type(there).__name__}) "
            f"there; {counted(len(twins), 'label differs', 'labels differ')} so",
            cure="Convert labels as in training, for example with "
            f".astype({type(there).__name__}).",
        )


def _plain(column: Column) -> NDArray[Any] | list[Any]:
    """Return numbers as an array and every other kind of label as a list."""
    if isinstance(column, nw.Series):
        if not column.dtype.is_numeric() and column.dtype != nw.Boolean:
            return column.to_list()
        if not column.dtype.is_float() and column.null_count():
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
    try:
        labels = sorted(distinct)
    except TypeError:
        labels = sorted(distinct, key=str)
    index = {label: code for code, label in enumerate(labels)}
    codes = np.fromiter(map(index.__getitem__, values), np.intp, len(values))
    return codes, label_array(labels)


def _refuse_missing(count: int, n_rows: int, argument: str) -> None:
    if count:
        raise InputError(
            argument,
            f"has {counted(count, 'missing label')} (NaN, None, NA or NaT) in "
            f"{counted(n_rows, 'row')}: every row needs one",
            cure="Drop such rows or name them.",
        )


def _refuse_infinite(count: int, n_rows: int, argument: str) -> None:
    if count:
        raise InputError(
            argument,
            f"has {counted(count, 'infinite label')} in {counted(n_rows, 'row')}: "
            "text, booleans and finite numbers are labels",
            cure="Name such rows, or drop them.",
        )


def label_array(labels: list[Any]) -> NDArray[Any]:
    """Return numbers and booleans as an array of their own type, all else as objects.

    Text as NumPy has it takes the room of the longest label for each of them, and loses
    NULs at the end.

    Examples
    --------
    >>> label_array(["a", "b" * 100_000]).dtype, label_array([("a", 1), ("b", 2)]).shape
    (dtype('O'), (2,))
    """
    for kind in (bool, int, float):
        if all(isinstance(label, kind) for label in labels):
            found = np.array(labels)
            if kind is int and found.dtype.kind == "f":
                break  # some are beyond 2⁶³, where floats would tie them
            return found
    out = np.empty(len(labels), dtype=object)
    out[:] = labels
    return out
