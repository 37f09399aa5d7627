"""Labels as codes, and the sorted labels that the codes stand for."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import narwhals as nw
import numpy as np
from numpy.typing import NDArray

from rankfair.input.arrays import Codes, Column, is_missing
from rankfair.input.errors import Argument, InputError, counted, listed, shown


@dataclass(frozen=True)
class Source:
    """Where labels come from: columns of X (``at``) or an array passed to fit."""

    argument: str
    columns: list[Column]
    at: tuple[int, ...]
    names: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        """The name of the only column."""
        return self.names[0] if self.names else ""

    def labels(self) -> tuple[Codes, NDArray[Any]]:
        """Return codes and sorted labels."""
        return find_labels(self.columns, self.argument)

    def parts(self) -> list[Source]:
        """Return each column alone, called by its name where there are several."""
        if len(self.columns) == 1:
            return [self]
        whole = self.argument.partition(" (")[0]
        return [
            Source(f"{whole} ({shown(name)})", [column], (), (name,))
            for column, name in zip(self.columns, self.names, strict=True)
        ]


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
