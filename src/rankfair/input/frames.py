"""Any frame or array as columns, and columns as numbers or labels."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from numbers import Real
from os import PathLike
from typing import Any, TypeAlias

import narwhals as nw
import numpy as np
from narwhals.exceptions import DuplicateError
from numpy.typing import NDArray
from scipy.sparse import csr_array, issparse

from rankfair.input.arrays import Codes, Column, Floats
from rankfair.input.errors import Argument, InputError, Words, counted, listed, shown

EXACT = 2.0**53  # below it floats tell whole numbers apart

_PLAIN = {"String": "text", "Categorical": "categories", "Enum": "categories"}


# Tables


@dataclass(frozen=True)
class ArrayTable:
    """A two-dimensional array, dense or sparse by rows; columns have positions only."""

    values: Any

    names = None

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns."""
        return self.values.shape[0], self.values.shape[1]

    def column(self, j: int) -> Column:
        """Return column ``j``, as a view of a dense array."""
        if issparse(self.values):
            return np.asarray(self.values[:, [j]].toarray().ravel())
        return np.asarray(self.values[:, j])

    def numbers(self, columns: Sequence[int]) -> Any:
        """Return these columns as floats, C-ordered; a copy only where needed."""
        if self.values.dtype.kind not in "biuf":
            return _stacked(self, columns)
        whole = len(columns) == self.shape[1]
        values = self.values if whole else self.values[:, list(columns)]
        if issparse(values):
            return values.astype(np.float64, copy=False)
        return np.ascontiguousarray(values, dtype=np.float64)


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
        return _stacked(self, columns)


Table: TypeAlias = ArrayTable | FrameTable


def _stacked(table: ArrayTable | FrameTable, columns: Sequence[int]) -> Floats:
    out = np.empty((table.shape[0], len(columns)))
    for place, j in enumerate(columns):
        name = str(j) if table.names is None else shown(table.names[j])
        out[:, place] = column_numbers(table.column(j), f"X (column {name})")
    return out


def column_name(table: Table, j: int) -> str:
    """Return the name of column ``j`` as text; ``x3`` where X has no names."""
    return f"x{j}" if table.names is None else str(table.names[j])


def open_table(X: Any) -> Table:
    """Return X as a table of columns; refuse what is no real table of two dimensions.

    Examples
    --------
    >>> open_table([[1.0, "a"], [2.0, "b"]]).shape
    (2, 2)
    """
    if isinstance(X, str | PathLike):
        raise InputError(
            "X",
            f"is the name of a file or folder ({str(X)!r}): rows are expected",
            cure="Read it first, or for Parquet files larger than memory pass "
            "rankfair.stream(…) to RankFairRegressor.",
        )
    if getattr(X, "is_stream", False) is True:
        raise InputError(
            "X",
            "is a stream of files, which only fit and predict of RankFairRegressor "
            "read: rows in memory are expected here",
            cure="Read some of the files first.",
        )
    frame = _as_frame(X)
    if frame is None:
        from sklearn.utils import check_array  # a second to import

        values = csr_array(X) if issparse(X) else as_array(X)
        refuse_complex(values, "X")
        taken = {"accept_sparse": True, "dtype": None, "ensure_all_finite": False}
        return ArrayTable(check_array(values, **taken))
    for count, what in zip(frame.shape, ("sample", "feature"), strict=True):
        if count == 0:  # scikit-learn's words
            empty = f"has 0 {what}(s) (shape={frame.shape})"
            raise InputError("X", f"{empty} while a minimum of 1 is required")
    return frame


def refuse_sparse(X: Any) -> None:
    """Raise if X is sparse, for estimators that need dense rows."""
    if issparse(X):
        size = f"{8e-9 * X.shape[0] * X.shape[1]:.2g} GB by X.toarray()"
        expected = f"is sparse: dense data is required, {size}"
        cure = "RankFairRegressor and MultiTaskRegressor take sparse rows."
        raise InputError("X", expected, cure=cure)


def _as_frame(X: Any) -> FrameTable | None:
    names = None
    try:
        frame = nw.from_native(X, pass_through=True)
    except DuplicateError:
        # Only pandas allows equal names; positions are unique.
        names = tuple(X.columns)
        frame = nw.from_native(X.set_axis(range(len(names)), axis=1))
    if isinstance(frame, nw.LazyFrame):
        raise InputError(
            "X",
            f"is a lazy frame ({type(X).__name__}): rows in memory are expected",
            cure="Call X.collect() or X.compute() first.",
        )
    if isinstance(frame, nw.DataFrame):
        return FrameTable(frame, names or tuple(frame.columns))
    return None


def as_array(values: Any) -> NDArray[Any]:
    """Return an array; a list without uniting its types or rounding its numbers.

    What a mask hides is missing: NaN or None.

    Examples
    --------
    >>> as_array([True, None, "a"]).tolist(), as_array([2**53 + 1, 0.5]).tolist()
    ([True, None, 'a'], [9007199254740993, 0.5])
    >>> as_array(np.ma.array([7, 8], mask=[False, True])).tolist()
    [7, None]
    """
    array = np.asanyarray(values)
    if isinstance(array, np.ma.MaskedArray):
        hidden, array = np.ma.getmaskarray(array), np.asarray(array)
        nan = array.dtype.kind in "fc"
        if hidden.any():
            array = array.copy() if nan else array.astype(object)
            array[hidden] = math.nan if nan else None
    array = np.asarray(array)
    if isinstance(values, np.ndarray) or array.dtype.kind not in "USiuf":
        return array
    # NumPy makes text of numbers beside text, and ties large numbers beside fractions.
    large = array.dtype.kind == "f" and (np.abs(array) >= EXACT).any()
    objects = np.asarray(values, dtype=object)
    kinds = set(map(type, objects.ravel())) if isinstance(values, list | tuple) else {}
    united = bool in kinds and len(kinds) > 1
    return objects if array.dtype.kind in "US" or large or united else array


def refuse_complex(values: NDArray[Any], argument: str) -> None:
    """Raise if an array is complex."""
    if values.dtype.kind == "c":
        raise InputError(
            argument,
            f"has dtype {values.dtype}: real numbers are expected",
            cure="Complex data not supported.",  # scikit-learn's words
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
    array = as_array(values)
    if array.ndim not in (1, 2):
        raise InputError(argument, "must hold one value a row", f"shape {array.shape}")
    return [array] if array.ndim == 1 else [array[:, j] for j in range(array.shape[1])]


def frame_library(*given: Any) -> str | None:
    """Return the library of the first frame or series given, if it can make frames."""
    for values in given:
        native = nw.from_native(values, allow_series=True, pass_through=True)
        if isinstance(native, nw.DataFrame | nw.Series):
            name = native.implementation.value
            return str(name) if name in ("pandas", "polars") else None
    return None


# Numbers


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


def column_numbers(column: Column, argument: str) -> Floats:
    """Return a column as floats, missing values as NaN; text is refused.

    Examples
    --------
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
    encode = "Drop it, turn it into numbers (one-hot encoding), or name it in "
    return encode, Argument("tasks"), " or ", Argument("sensitive_features"), "."


def exact_order(column: Column, values: Floats) -> Floats:
    """Return numbers of the exact order and ties of a column without gaps.

    They are its ``values`` as floats, unless these tie whole numbers that differ: then
    they are ranks.

    Examples
    --------
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


def read_target(y: Any, argument: str = "y", n_rows: int | None = None) -> Floats:
    """Return a target as one finite float a row, of so many rows if that is known.

    Examples
    --------
    >>> read_target([1, 2]).tolist()
    [1.0, 2.0]
    """
    return read_ranked(y, argument, n_rows)[0]


def read_ranked(
    y: Any, argument: str = "y", n_rows: int | None = None
) -> tuple[Floats, Floats]:
    """Return a target as floats, and numbers of exactly its order and ties.

    Most often the two are one.

    Examples
    --------
    >>> large, small = read_ranked([2**53, 2**53 + 1]), read_ranked([3, 1])
    >>> large[1].tolist(), small[1].tolist()
    ([0.0, 1.0], [3.0, 1.0])
    """
    if y is None and argument == "y":  # scikit-learn's own words
        missing = "requires y to be passed, but the target y is None"
        raise InputError("This estimator", missing)
    if y is None:
        raise InputError(argument, "must hold one number a row", "None")
    values, column = _finite_column(y, argument)
    if not len(values):
        raise InputError(argument, "is empty: at least one row is expected")
    if n_rows is not None:
        check_lengths(n_rows, **{argument: values})
    return values, exact_order(column, values)


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
    weights, _ = _finite_column(sample_weight, argument, warn=False)
    negative = int((weights < 0).sum())
    if negative:
        these = f"{negative} of {len(weights)} are, the lowest is {weights.min():g}"
        raise InputError(argument, f"must not be negative; {these}")
    if not weights.any():
        raise InputError(argument, "is zero for every row: nothing is left to fit")
    check_lengths(n_rows, sample_weight=weights)
    return None if (weights == 1.0).all() else weights


def _finite_column(
    values: Any, argument: str, warn: bool = True
) -> tuple[Floats, Column]:
    """Return one column as finite floats, and as it came."""
    if issparse(values):
        dense = "is sparse: dense data is required"
        raise InputError(argument, dense, cure="Convert it with .toarray().")
    shape = getattr(values, "shape", None)
    shape = np.asarray(values).shape if shape is None else tuple(shape)
    if len(shape) == 1:
        (column,) = as_columns(values, argument)
    elif warn:
        from sklearn.utils import column_or_1d  # a second to import

        # Its words for (N, 1), which it accepts, and for all else.
        column = column_or_1d(as_array(values), warn=True)
    else:
        raise InputError(argument, "must be 1D", f"shape {shape}")
    floats = np.ascontiguousarray(column_numbers(column, argument))
    refuse_infinite(floats, (), argument)
    return floats, column


def check_lengths(n_rows: int, **columns: Any) -> None:
    """Raise if a column has not one value for each row of X."""
    for argument, column in columns.items():
        if column is not None and len(column) != n_rows:
            counts = f"{len(column)} values, but there are {n_rows} rows"
            raise InputError(argument, f"has {counts}")


def refuse_infinite(values: Any, names: Sequence[str], argument: str = "X") -> None:
    """Raise if not all are finite.  One number decides, details only then."""
    if issparse(values):
        values, names = values.data, ()
    with np.errstate(all="ignore"):
        # NaN and inf stay in a sum; what is too large to be added is looked at below.
        if math.isfinite(values.sum()):
            return
    bad = [
        _describe_bad(column, name)
        for column, name in zip(np.atleast_2d(values.T), names or ("",), strict=True)
        if not np.isfinite(column).all()
    ]
    if bad:
        rest = len(bad) - 5
        more = f" and {counted(rest, 'more column')}" if rest > 0 else ""
        expected = f"must be finite, but has {'; '.join(bad[:5])}{more}"
        raise InputError(argument, expected, cure="Drop or impute these rows.")


def _describe_bad(column: Floats, name: str) -> str:
    nan, infinite = int(np.isnan(column).sum()), int(np.isinf(column).sum())
    counts = [f"{n} {what}" for n, what in ((nan, "NaN"), (infinite, "inf")) if n]
    where = f" in column {shown(name)}" if name else ""
    return f"{' and '.join(counts)}{where}"


def finite_predictions(m: Floats) -> Floats:
    """Return predictions of finite rows; raise if some are too large for a float.

    Examples
    --------
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


# Labels


def find_labels(columns: Sequence[Column], argument: str) -> tuple[Codes, NDArray[Any]]:
    """Return the code of each row and the sorted labels that the codes stand for.

    Several columns are labelled by their combinations, which are tuples.

    Examples
    --------
    >>> codes, labels = find_labels([np.array(["b", "a", "b"])], "tasks")
    >>> codes.tolist(), labels.tolist()
    ([1, 0, 1], ['a', 'b'])
    """
    found = [find_known(column, argument) for column in columns]
    for codes, _ in found:
        missing = int((codes < 0).sum())
        if missing:
            raise InputError(
                argument,
                f"has {counted(missing, 'missing label')} (NaN, None, NA or NaT) in "
                f"{counted(len(codes), 'row')}: every row needs one",
                cure="Drop such rows or name them.",
            )
    if len(found) == 1:
        return found[0]
    cells = found[0][0]
    for codes, labels in found[1:]:
        cells = cells * len(labels) + codes
    codes, present = _code_numbers(cells)
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
    if isinstance(column, nw.Series):
        number = column.dtype.is_numeric() or column.dtype == nw.Boolean
        if column.dtype == nw.String and column.implementation.is_polars():
            kinds = column.unique().drop_nulls().sort()
            if 2 * len(kinds) < len(column):  # few become objects, and only once
                labels = kinds.to_list()
                places = column.cast(nw.Enum(labels)).to_native().to_physical()
                codes = places.cast(int).fill_null(-1).to_numpy()
                return codes, label_array(labels)
        if not number or (not column.dtype.is_float() and column.null_count()):
            return _code_objects(column.to_list(), argument)
        column = column.to_numpy()
    if column.dtype.kind == "M":
        column = column.astype("M8[us]")
    if column.dtype.kind not in "biuf":
        return _code_objects(column.tolist(), argument)
    if column.dtype.kind != "f":
        return _code_numbers(column)
    known = ~np.isnan(column)
    every = bool(known.all())
    values = column if every else column[known]
    infinite = int(np.isinf(values).sum())
    if infinite:
        raise InputError(
            argument,
            f"has {counted(infinite, 'infinite label')} in "
            f"{counted(len(column), 'row')}: text, booleans and finite numbers are "
            "labels",
            cure="Name such rows, or drop them.",
        )
    with np.errstate(invalid="ignore"):
        whole = values.astype(np.int64)
    # Floats are integers where nothing is lost by it.
    found = _code_numbers(whole if np.array_equal(whole, values) else values)
    if every:
        return found
    codes = np.full(len(column), -1, np.intp)
    codes[known] = found[0]
    return codes, found[1]


def _code_numbers(values: NDArray[Any]) -> tuple[Codes, NDArray[Any]]:
    """Code numbers; integers of a small range by a table, two passes and no sort."""
    if values.dtype.kind == "b":
        codes, labels = _code_numbers(values.view(np.uint8))
        return codes, labels.astype(bool)
    if values.dtype.kind in "iu" and len(values):
        low, high = int(values.min()), int(values.max())
        if high - low <= 4 * len(values) + 1000 and high <= np.iinfo(np.intp).max:
            place = values.astype(np.intp, copy=False)
            place = place - low if low else place
            present = np.zeros(high - low + 1, bool)
            present[place] = True
            labels = (np.flatnonzero(present) + low).astype(values.dtype)
            if len(labels) == len(present):
                return place, labels
            return (np.cumsum(present) - 1)[place], labels
    labels, codes = np.unique(values, return_inverse=True)
    return codes.astype(np.intp, copy=False), labels


def _code_objects(values: list[Any], argument: str) -> tuple[Codes, NDArray[Any]]:
    try:
        distinct = list(dict.fromkeys(values))
    except TypeError as error:
        plain = f"must hold plain labels (text, numbers, booleans): {error}"
        raise InputError(argument, plain) from None
    labels = [label for label in distinct if not is_missing(label)]
    try:
        labels.sort()
    except TypeError:
        labels.sort(key=str)
    index = dict.fromkeys(distinct, -1)
    index |= {label: code for code, label in enumerate(labels)}
    codes = np.fromiter(map(index.__getitem__, values), np.intp, len(values))
    return codes, label_array(labels)


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


# Labels of new rows

SORTED_ROWS = (
    " Folds of sorted rows leave out whole tasks and groups: shuffle them, "
    "cv=KFold(5, shuffle=True)."
)
FIT_MORE = ("Use the labels of training, or fit with rows of these too.",)


class UnseenError(InputError):
    """Labels of new rows that training did not have; what it is about is kept apart.

    Attributes
    ----------
    labels, known : sequence
        Those labels, and the ones of training.
    n_rows : int
        How many rows have such labels.
    column : str or None
        The column of a sensitive feature; None where the labels are of tasks.
    """

    def __init__(
        self,
        argument: str,
        labels: Sequence[Any],
        known: Sequence[Any],
        n_rows: int,
        cure: tuple[str | Argument, ...] = FIT_MORE,
        column: str | None = None,
    ):
        super().__init__(
            argument,
            f"has labels not seen in training: {listed(labels)} "
            f"({counted(n_rows, 'row')}); training had {listed(known)}",
            cure=(*cure, SORTED_ROWS),
        )
        self.args = argument, labels, known, n_rows, cure, column
        self.labels, self.known = labels, known
        self.n_rows, self.column = n_rows, column


def recode(
    codes: Codes, here: NDArray[Any], labels: NDArray[Any], argument: str = "tasks"
) -> tuple[Codes, list[Any]]:
    """Return codes into ``labels`` for codes into ``here``, and what others are there.

    The code is −1 for others, and for rows that have no label and −1 already.  Known
    labels of another type are refused: 101 is not "101".

    Examples
    --------
    >>> recode(np.array([1, 0, -1]), np.array(["b", "x"]), np.array(["a", "b"]))
    (array([-1,  1, -1]), ['x'])
    """
    index = {label: code for code, label in enumerate(labels.tolist())}
    places = [index.get(label, -1) for label in here.tolist()]
    others = [label for label, c in zip(here.tolist(), places, strict=True) if c < 0]
    texts = {str(label): label for label in index}
    twins = [label for label in others if str(label) in texts]
    if twins:
        mine, known = twins[0], texts[str(twins[0])]
        raise InputError(
            argument,
            f"has labels of another type than in training: {shown(mine)} "
            f"({type(mine).__name__}) here, {shown(known)} ({type(known).__name__}) "
            f"there; {counted(len(twins), 'label differs', 'labels differ')} so",
            cure="Convert labels as in training, for example with "
            f".astype({type(known).__name__}).",
        )
    # The last place is that of code −1.
    return np.array([*places, -1], np.intp)[codes], others


def refuse_unseen(
    argument: str,
    others: Sequence[Any],
    known: NDArray[Any],
    n_rows: int,
    cure: tuple[str | Argument, ...] = FIT_MORE,
    column: str | None = None,
) -> None:
    """Raise if new rows have labels that training did not have."""
    if others:
        raise UnseenError(argument, others, known.tolist(), n_rows, cure, column)


def known_codes(
    column: Column, argument: str, labels: NDArray[Any], name: str | None = None
) -> Codes:
    """Return the group of each new row, −1 if it is not known; refuse other groups.

    Examples
    --------
    >>> known_codes(np.array(["M", None], object), "sex", np.array(["F", "M"])).tolist()
    [1, -1]
    """
    here, found = find_known(column, argument)
    codes, others = recode(here, found, labels, argument)
    n_rows = int((codes[here >= 0] < 0).sum())
    none = "Use the labels of training, None where the group is not known, or fit with "
    refuse_unseen(
        argument, others, labels, n_rows, (f"{none}rows of these groups.",), name
    )
    return codes
