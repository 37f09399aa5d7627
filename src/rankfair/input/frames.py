"""Any frame or array as columns, and columns as numbers or labels."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from os import PathLike
from typing import Any

import narwhals as nw
import numpy as np
from narwhals.exceptions import DuplicateError
from numpy.typing import NDArray
from scipy.sparse import csr_array, issparse

from rankfair.input.arrays import Bools, Codes, Column, Floats
from rankfair.input.errors import (
    Argument,
    InputError,
    Words,
    as_given,
    counted,
    listed,
    shown,
)

SORTED_ROWS = (
    " Folds of sorted rows leave out whole tasks and groups: shuffle them, "
    "cv=KFold(5, shuffle=True)."
)
FIT_MORE = "Use the labels of training, or fit with rows of these too."
EXACT = 2.0**53  # below it floats tell whole numbers apart


# Tables


@dataclass(frozen=True)
class InputTable:
    """X by column: an array, dense or sparse by rows, or a frame that narwhals knows.

    Columns of an array have positions only.  A frame may lack columns that nobody asks
    for: positions are as if it had them.
    """

    rows: Any
    names: tuple[Any, ...] | None = None  # of a frame, those it lacks among them

    @property
    def shape(self) -> tuple[int, int]:
        """Rows, and columns of all."""
        n_rows, n_own = self.rows.shape
        return n_rows, n_own if self.names is None else len(self.names)

    @property
    def is_part(self) -> bool:
        """Whether it lacks columns."""
        return bool(self.rows.shape[1] < self.shape[1])

    def column(self, j: int) -> Column:
        """Return column ``j`` of all, as a view of a dense array."""
        if self.names is not None:
            found: Column = self.rows.get_column(self.names[j])
            return found
        if issparse(self.rows):
            return np.asarray(self.rows[:, [j]].toarray().ravel())
        return np.asarray(self.rows[:, j])

    def name(self, j: int) -> str:
        """Return the name of column ``j`` as text; ``x3`` where X has no names."""
        return f"x{j}" if self.names is None else str(self.names[j])

    def numbers(self, columns: Sequence[int]) -> Any:
        """Return these columns as floats, C-ordered; a copy only where needed."""
        if self.names is None and self.rows.dtype.kind in "biuf":
            whole = len(columns) == self.shape[1]
            values = self.rows if whole else self.rows[:, list(columns)]
            if issparse(values):
                return values.astype(np.float64, copy=False)
            return np.ascontiguousarray(values, dtype=np.float64)
        out = np.empty((self.shape[0], len(columns)))
        for place, j in enumerate(columns):
            name = str(j) if self.names is None else shown(self.names[j])
            out[:, place] = column_numbers(self.column(j), f"X (column {name})")
        return out


def open_table(X: Any) -> InputTable:
    """Return X as a table of columns; refuse what is no real table of two dimensions.

    Examples
    --------
    >>> open_table([[1.0, "a"], [2.0, "b"]]).shape
    (2, 2)
    """
    try:
        native = nw.from_native(X, pass_through=True)
    except DuplicateError as error:  # pandas allows equal names
        every = [str(name) for name in X.columns]
        again = [name for name in dict.fromkeys(every) if every.count(name) > 1]
        cure = "Give each a name of its own, or pass X as an array."
        expected = f"has several columns called {listed(again)}"
        raise InputError("X", expected, cure=cure) from error
    streamed = getattr(X, "is_stream", False) is True
    if streamed or isinstance(native, str | PathLike | nw.LazyFrame):
        raise InputError(
            "X",
            "must be rows in memory",
            as_given(X),
            "Call X.collect() or X.compute() first, or for Parquet files larger than "
            "memory pass rankfair.stream(…) to fit or predict of RankFairRegressor.",
        )
    if not isinstance(native, nw.DataFrame):
        from sklearn.utils import check_array  # a second to import

        values = csr_array(X) if issparse(X) else as_array(X)
        taken = {"accept_sparse": True, "dtype": None, "ensure_all_finite": False}
        return InputTable(check_array(values, **taken))
    for count, what in zip(native.shape, ("sample", "feature"), strict=True):
        if count == 0:  # scikit-learn's words
            empty = f"has 0 {what}(s) (shape={native.shape})"
            raise InputError("X", f"{empty} while a minimum of 1 is required")
    return InputTable(native, tuple(native.columns))


def refuse_sparse(X: Any) -> None:
    """Raise if X is sparse, for estimators that need dense rows."""
    if issparse(X):
        size = f"{8e-9 * X.shape[0] * X.shape[1]:.2g} GB by X.toarray()"
        expected = f"is sparse: dense data is required, {size}"
        cure = "RankFairRegressor and MultiTaskRegressor take sparse rows."
        raise InputError("X", expected, cure=cure)


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
    if isinstance(values, np.ma.MaskedArray) and np.ma.is_masked(values):
        fraction = values.dtype.kind in "fc"
        seen = np.array(values, dtype=None if fraction else object)
        seen[values.mask] = math.nan if fraction else None
        return seen
    array = np.asarray(values)
    if isinstance(values, np.ndarray) or array.dtype.kind not in "USiuf":
        return array
    # NumPy makes text of numbers beside text, and ties large numbers beside fractions.
    large = array.dtype.kind == "f" and (np.abs(array) >= EXACT).any()
    objects = np.asarray(values, dtype=object)
    kinds = set(map(type, objects.ravel())) if isinstance(values, list | tuple) else {}
    united = bool in kinds and len(kinds) > 1
    return objects if array.dtype.kind in "US" or large or united else array


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
    what = "text"
    if isinstance(column, nw.Series):
        what = "categories" if column.dtype in (nw.Categorical, nw.Enum) else what
        column = column.to_numpy()
    if column.dtype.kind in "biuf" and what == "text":
        return np.asarray(column, dtype=np.float64)
    if column.dtype.kind not in "OUSbiuf":
        expected = f"has dtype {column.dtype}: numbers are expected"
        raise InputError(argument, expected, cure=_cure(argument))
    values = column.tolist()
    no_numbers = [v for v in values if isinstance(v, str | bytes) or what != "text"]
    if no_numbers:
        example = f"{len(values)} values, for example {shown(no_numbers[0])}"
        raise InputError(
            argument,
            f"holds {what} where numbers are expected ({len(no_numbers)} of {example})",
            cure=_cure(argument),
        )
    filled = [math.nan if is_missing(value) else value for value in values]
    return np.asarray(filled, dtype=object).astype(np.float64)


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
    """Return a target as floats, and as numbers with exactly its order and ties.

    Usually both are the same numbers.

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
    bad = []
    for column, name in zip(np.atleast_2d(values.T), names or ("",), strict=True):
        counts = (np.isnan(column).sum(), "NaN"), (np.isinf(column).sum(), "inf")
        said = " and ".join(f"{n} {what}" for n, what in counts if n)
        bad += [f"{said} in column {shown(name)}" if name else said] if said else []
    if bad:
        rest = len(bad) - 5
        more = f" and {counted(rest, 'more column')}" if rest > 0 else ""
        expected = f"must be finite, but has {'; '.join(bad[:5])}{more}"
        raise InputError(argument, expected, cure="Drop or impute these rows.")


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
    codes, cells = find_cells(found)
    return codes, label_array(cells)


def find_cells(
    found: Sequence[tuple[Codes, NDArray[Any]]], counts: Bools | None = None
) -> tuple[Codes, list[tuple[Any, ...]]]:
    """Return codes of the combinations of labels, −1 where one is missing, and these.

    They are those of rows that ``counts``, in the order of their labels.

    Examples
    --------
    >>> sex = np.array([0, 1, 1]), np.array(["F", "M"])
    >>> find_cells([sex, (np.array([0, 0, -1]), np.array([30]))])
    (array([ 0,  1, -1]), [('F', 30), ('M', 30)])
    """
    known = np.all([codes >= 0 for codes, _ in found], axis=0)
    shape = tuple(len(labels) for _, labels in found)
    cells = np.ravel_multi_index([codes[known] for codes, _ in found], shape)
    present = np.unique(cells if counts is None else cells[counts[known]])
    places = np.unravel_index(present, shape)
    parts = [labels[at].tolist() for (_, labels), at in zip(found, places, strict=True)]
    place = np.searchsorted(present, cells)
    codes = np.full(len(known), -1, np.intp)
    codes[known] = np.where(np.isin(cells, present), place, -1)
    return codes, list(zip(*parts, strict=True))


def find_known(column: Column, argument: str) -> tuple[Codes, NDArray[Any]]:
    """Return codes and labels as `find_labels` does; −1 where the label is missing.

    Examples
    --------
    >>> codes, labels = find_known(np.array([7.0, np.nan, 5.0]), "sensitive_features")
    >>> codes.tolist(), labels.tolist()
    ([1, -1, 0], [5, 7])
    """
    if isinstance(column, nw.Series):
        number = column.dtype.is_numeric() or column.dtype == nw.Boolean
        if column.dtype == nw.String and column.implementation.is_polars():
            return _code_cells(column.to_native(), argument)
        if not number or (not column.dtype.is_float() and column.null_count()):
            return _code_cells(column.to_list(), argument)
        column = column.to_numpy()
    if column.dtype.kind == "M":
        column = column.astype("M8[us]")
    if column.dtype.kind not in "biuf":
        return _code_cells(column.tolist(), argument)
    if column.dtype.kind != "f":
        return _code_numbers(column)
    known = ~np.isnan(column)
    values = column[known]
    refuse_infinite(values, (), argument)
    with np.errstate(invalid="ignore"):
        whole = values.astype(np.int64)
    # Floats are integers where nothing is lost by it.
    codes = np.full(len(column), -1, np.intp)
    codes[known], labels = _code_numbers(
        whole if np.array_equal(whole, values) else values
    )
    return codes, labels


def _code_numbers(values: NDArray[Any]) -> tuple[Codes, NDArray[Any]]:
    """Code numbers; integers of a small range by a table, two passes and no sort."""
    if values.dtype.kind in "biu" and len(values):
        low, high = int(values.min()), int(values.max())
        if high - low <= 4 * len(values) + 1000 and high <= np.iinfo(np.intp).max:
            place = values.astype(np.intp) - low
            present = np.zeros(high - low + 1, bool)
            present[place] = True
            labels = (np.flatnonzero(present) + low).astype(values.dtype)
            return (np.cumsum(present) - 1)[place], labels
    labels, codes = np.unique(values, return_inverse=True)
    return codes.astype(np.intp, copy=False), labels


def _code_cells(cells: Any, argument: str) -> tuple[Codes, NDArray[Any]]:
    try:
        kinds, codes = distinct(cells)
    except TypeError as error:
        plain = f"must hold plain labels (text, numbers, booleans): {error}"
        raise InputError(argument, plain) from None
    labels = [kind for kind in kinds if not is_missing(kind)]
    try:
        labels.sort()
    except TypeError:
        labels.sort(key=str)
    index = {label: code for code, label in enumerate(labels)}
    places = np.array([index.get(kind, -1) for kind in kinds], np.intp)
    return places[codes], label_array(labels)


def distinct(cells: Any) -> tuple[list[Any], NDArray[Any]]:
    """Return the different cells in their order, and which of them each row has.

    Cells are a list, or a polars Series: where many rows share few cells, none of
    these becomes a Python object more than once.

    Examples
    --------
    >>> distinct(["b", "a", "b"])
    (['b', 'a'], array([0, 1, 0]))
    """
    if not isinstance(cells, list):
        import polars as pl

        kinds = cells.drop_nulls().unique(maintain_order=True)
        if 2 * len(kinds) < len(cells):
            codes = cells.cast(pl.Enum(kinds)).to_physical().cast(int)
            missing = [None] if cells.null_count() else []
            return kinds.to_list() + missing, codes.fill_null(len(kinds)).to_numpy()
        cells = cells.to_list()
    places: dict[Any, int] = {}
    found = [places.setdefault(cell, len(places)) for cell in cells]
    return list(places), np.array(found, np.intp)


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
    others = [label for label in here.tolist() if label not in index]
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
    cure: Sequence[str | Argument] = (FIT_MORE,),
) -> None:
    """Raise if new rows have labels that training did not have."""
    if others:
        raise InputError(
            argument,
            f"has labels not seen in training: {listed(others)} "
            f"({counted(n_rows, 'row')}); training had {listed(known.tolist())}",
            cure=(*cure, SORTED_ROWS),
        )


def known_codes(column: Column, argument: str, labels: NDArray[Any]) -> Codes:
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
    refuse_unseen(argument, others, labels, n_rows, [f"{none}rows of these groups."])
    return codes
