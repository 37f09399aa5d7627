"""Labels of rows: tasks, and sensitive features as groups."""

from __future__ import annotations

import itertools
import json
import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from numbers import Integral, Real
from typing import Any

import narwhals as nw
import numpy as np
from numpy.typing import NDArray

from rankfair.input.arrays import Bools, Codes, Column, Floats
from rankfair.input.errors import (
    CUT,
    MOST_GROUPS,
    Argument,
    InputError,
    Words,
    as_given,
    counted,
    listed,
    no_column,
    one_group,
    shown,
)
from rankfair.input.frames import (
    InputTable,
    as_columns,
    check_lengths,
    column_numbers,
    find_cells,
    find_known,
    find_labels,
    open_table,
)

GROUPS = "sensitive_features"
MOST_NUMBERS = 20  # more distinct numbers than that are a quantity, and no labels
MOST_FRACTIONS = 10  # the same where some are fractions
ALONE: Words = (
    "Join small groups, or balance each feature alone without ",
    *(Argument("intersect"), "."),
)


# Where labels come from


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


def resolve_columns(argument: str, wanted: Any, table: InputTable) -> tuple[int, ...]:
    """Return positions of the columns that ``wanted`` names: one or several.

    Text is a name, an integer is a position (negative ones count from the end).

    Examples
    --------
    >>> resolve_columns("tasks", [0, -1], open_table([[1.0, 2.0, 3.0]]))
    (0, 2)
    """
    refs = list(wanted) if isinstance(wanted, list | tuple) else [wanted]
    if not refs or not all(map(is_reference, refs)):
        raise InputError(
            argument,
            "in the constructor names columns of X (a name, a position, or a list of "
            "them)",
            as_given(wanted),
            f"Labels of the rows go to fit(X, y, {argument}=...).",
        )
    found = tuple(_position(Argument(argument, ref), table) for ref in refs)
    if len(set(found)) < len(found):
        expected = f"names a column twice: {listed(refs)}"
        raise InputError(argument, expected, cure="Name each once.")
    return found


def is_reference(ref: Any) -> bool:
    """Tell whether this can name a column: text or a position."""
    return isinstance(ref, str | Integral) and not isinstance(ref, bool)


def _position(argument: Argument, table: InputTable) -> int:
    """Return the position of the column that an argument names."""
    ref, n = argument.value, table.shape[1]
    if not isinstance(ref, str):
        if -n <= int(ref) < n:
            return int(ref) % n
        has = f"It has {counted(n, 'column')} (0 to {n - 1})."
        raise no_column(argument, cure=has)
    if table.names is None:
        raise InputError(
            argument,
            "names a column, but X is an array without column names",
            cure="Give a position, or pass a data frame: a ColumnTransformer makes one "
            'after set_output(transform="pandas").',
        )
    if ref in table.names:
        return table.names.index(ref)
    # A ColumnTransformer puts its step and __ in front.
    steps = [str(name).rpartition("__") for name in table.names]
    names = [last for _, _, last in steps]
    if names.count(ref) == 1:
        return names.index(ref)
    if ref in names:
        expected = f"names {names.count(ref)} columns of X"
        raise InputError(argument, expected, cure="Give a position, or rename them.")
    own = [
        f"{step}__{last}"
        for step, _, last in steps
        if step and last.startswith(f"{ref}_")
    ]
    through = (
        f"It has {listed(own)}: let the ColumnTransformer pass {shown(ref)} through as "
        'it is, with set_output(transform="pandas") and '
        "verbose_feature_names_out=False."
    )
    raise no_column(argument, table.names, cure=through if own else "")


def refuse_same_columns(tasks: Source | None, groups: Source | None) -> None:
    """Raise if the tasks are the groups: no task would have two of them."""
    if tasks is None or groups is None or not tasks.at:
        return
    if set(tasks.at) <= set(groups.at):
        both = f" both name column {listed(tasks.names)}: each group would be a task"
        raise InputError(
            "tasks",
            ("and ", Argument(GROUPS), f"{both} of its own"),
            cure="Name other tasks, or leave them out.",
        )


def passed_columns(
    passed: Any, argument: str, what: str = "group"
) -> tuple[list[Column], tuple[str, ...]]:
    """Return columns given as an array, a series, a frame or a dict, and their names.

    A column without a name is called group, or ``what`` they are, several are group 1,
    group 2 and so on.

    Examples
    --------
    >>> passed_columns({"sex": [0, 1], "age": [30, 40]}, "sensitive_features")[1]
    ('sex', 'age')
    """
    if not isinstance(passed, dict):
        columns = as_columns(passed, argument)
        names = []
        for j, column in enumerate(columns, start=1):
            name = getattr(column, "name", None)
            plain = f"{what} {j}" if columns[1:] else what
            names.append(plain if name in (None, "") else str(name))  # 0 is a name
        return columns, tuple(names)
    if not passed:
        raise InputError(argument, "is an empty dict: at least one column is expected")
    columns = []
    for name, values in passed.items():
        place = f"{argument} ({shown(name)})"
        made = isinstance(values, SensitiveGroups)
        found = [values] if made else as_columns(values, place)
        if len(found) > 1:
            expected = f"has {len(found)} columns: one is expected for each name"
            raise InputError(place, expected)
        columns += found
    return columns, tuple(map(str, passed))


def labels_of_rows(labels: Any, n_rows: int, argument: str = GROUPS) -> Source:
    """Return labels given as an array, a column for each feature."""
    columns, names = passed_columns(labels, argument)
    source = Source(argument, columns, (), names)
    for part in source.parts():
        check_lengths(n_rows, **{part.argument: part.columns[0]})
    return source


def label_source(
    argument: str, named: Any, passed: Any, table: InputTable
) -> Source | None:
    """Return where labels come from: columns of X, or an array; None for neither."""
    if named is None:
        if passed is None:
            return None
        return labels_of_rows(passed, table.shape[0], argument)
    at = resolve_columns(argument, named, table)
    names = tuple(map(table.name, at))
    place = f"column {listed(names)}"
    if passed is not None:
        raise InputError(
            argument,
            f"was given twice: in the constructor ({place} of X) and as an array to "
            "the method",
            cure="Give one of them.",
        )
    columns = [table.column(j) for j in at]
    return Source(f"{argument} ({place})", columns, at, names)


def label_source_of(argument: str, given: Any, model: Any, X: Any) -> Source | None:
    """Return labels given as an array, or as a column of X; else those of the model.

    Its attribute of the name of the argument says which columns of X are meant if none
    were given.  None where neither says anything.

    Examples
    --------
    >>> source = label_source_of("tasks", 1, None, [[0.5, 7.0], [0.1, 8.0]])
    >>> source.columns[0].tolist()
    [7.0, 8.0]
    """
    named = getattr(model, argument, None) if given is None else None
    if is_reference(given):
        named, given = given, None
    return label_source(argument, named, given, open_table(X))


def refuse_several(source: Source, cure: Words) -> None:
    """Refuse more than one sensitive feature."""
    if len(source.columns) > 1:
        expected = f"has {len(source.columns)} columns: one feature is expected"
        raise InputError(source.argument, expected, cure=cure)


# Groups


def refuse_more_than_two(argument: str, groups: SensitiveGroups) -> None:
    """Raise if there are three groups or more."""
    labels = groups.labels.tolist()
    if len(labels) > 2:
        many = f"has {len(labels)} groups ({listed(labels)}): two are expected"
        pairs = "Compare one with the rest, or two of them."
        raise InputError(argument, many, cure=pairs)


@dataclass(frozen=True)
class SensitiveGroups:
    """The group of each row: its place in ``labels``, or −1 where it is not known.

    Labels are sorted; those of a number that was cut at ``edges`` are in the order of
    the bins.  Bin i is from edge i up to the next one, the last edge included.
    """

    codes: Codes
    labels: NDArray[Any]
    name: str = ""
    edges: Floats | None = field(default=None, compare=False)
    reference: int = field(default=0, compare=False)  # others are compared with it

    @property
    def in_a(self) -> Bools:
        """Which rows are in the last group: with two, the one that sorts last."""
        found: Bools = self.codes == len(self.labels) - 1
        return found

    @cached_property
    def known(self) -> Bools | None:
        """Which rows have a group; None if all do."""
        found: Bools = self.codes >= 0
        return None if found.all() else found

    @property
    def n_unknown(self) -> int:
        """How many rows have none."""
        return 0 if self.known is None else int((~self.known).sum())

    @property
    def holds_numbers(self) -> bool:
        """Whether the labels are numbers, or bins of one."""
        return self.labels.dtype.kind in "iuf" or self.edges is not None

    def __len__(self) -> int:
        return len(self.codes)

    def masks(self) -> Bools:
        """What is compared with the rest: A of two groups, of more each; a row each."""
        if len(self.labels) == 2:
            return self.in_a[None]
        found: Bools = self.codes == np.arange(len(self.labels))[:, None]
        return found

    def take(self, rows: NDArray[Any]) -> SensitiveGroups:
        """Return the groups of some rows."""
        return replace(self, codes=self.codes[rows])

    def sizes(self, weights: Floats | None = None) -> Floats:
        """Return how many rows, or how much weight, each group has."""
        # Places are one up, so that the first is that of no group.
        sizes = np.bincount(self.codes + 1, weights, len(self.labels) + 1)
        return sizes[1:].astype(np.float64)

    def spelt(self) -> NDArray[Any]:
        """Return the label of each row, None where it is not known."""
        labels = np.empty(len(self.labels) + 1, dtype=object)
        labels[:-1] = self.labels.tolist()
        return labels[self.codes]  # the last one, None, for code −1


def cut(groups: SensitiveGroups, bins: int, weights: Floats | None) -> SensitiveGroups:
    """Return quantiles of a number as groups; equal numbers stay together."""
    total, labels = groups.sizes(weights), groups.labels.astype(np.float64)
    values = labels[total > 0]
    place = quantile_places(total[total > 0], bins)
    starts = np.unique(values[np.flatnonzero(np.diff(place, prepend=-1))])
    numbers = np.append(labels, math.nan)[groups.codes]  # the last one for code −1
    return cut_at(numbers, np.append(starts, values[-1]), groups.name)


def quantile_places(weights: NDArray[Any], n: int) -> Codes:
    """Return the quantile, 0 to n − 1, of each of some values in order, by weight.

    It is that of the middle of a value's weight.

    Examples
    --------
    >>> quantile_places(np.array([1, 1, 1, 5]), 2).tolist()
    [0, 0, 0, 1]
    """
    upto = np.cumsum(weights)
    middle = (upto - weights / 2) / upto[-1]
    places: Codes = np.minimum((middle * n).astype(np.intp), n - 1)
    return places


def cut_at(values: Floats, edges: Floats, name: str) -> SensitiveGroups:
    """Return the bin of each row; numbers beyond the edges are in the outer bins.

    Examples
    --------
    >>> ages = np.array([5.0, 30.0, np.nan, 99.0])
    >>> cut_at(ages, np.array([18.0, 40.0, 65.0]), "age").codes.tolist()
    [0, 0, -1, 1]
    """
    places = np.searchsorted(edges[1:-1], values, "right").astype(np.intp)
    codes = np.where(np.isnan(values), -1, places)
    return SensitiveGroups(codes, bin_labels(edges), name, edges)


def bin_labels(edges: Floats) -> NDArray[Any]:
    """Return bins as text, with as many digits as tell the edges apart.

    Examples
    --------
    >>> bin_labels(np.array([18.0, 35.0, 90.0])).tolist()
    ['[18, 35)', '[35, 90]']
    """
    starts = len(edges) - 1
    for digits in (4, 6, 9, 17):
        told = [f"{edge:.{digits}g}" for edge in edges]
        if len(set(told[:starts])) == starts:
            break
    bins = [f"[{low}, {high})" for low, high in itertools.pairwise(told)]
    return np.array([*bins[:-1], f"{bins[-1][:-1]}]"])


def crossed(
    found: Sequence[SensitiveGroups], weights: Floats | None = None
) -> SensitiveGroups:
    """Return the combinations of several features that some row has, as groups.

    A row is of unknown group if one of its labels is missing.

    Examples
    --------
    >>> sex = SensitiveGroups(np.array([0, 1, 1]), np.array(["F", "M"]), "sex")
    >>> old = SensitiveGroups(np.array([0, 0, -1]), np.array(["no", "yes"]), "old")
    >>> both = crossed([sex, old])
    >>> both.name, both.labels.tolist(), both.codes.tolist()
    ('sex × old', ['F × no', 'M × no'], [0, 1, -1])
    """
    counts = None if weights is None else weights > 0
    codes, cells = find_cells([(each.codes, each.labels) for each in found], counts)
    name = cell_label([each.name for each in found])
    return SensitiveGroups(codes, np.array(plain_labels(cells)), name)


def combined(
    found: Sequence[SensitiveGroups], argument: str | Argument, weights: Floats | None
) -> SensitiveGroups:
    """Return combinations of several features; refuse too many of them, or only one."""
    cells = crossed(found, weights)
    if not len(cells.labels):
        raise InputError(
            argument,
            f"has no row with a known label in every one of {cells.name}: there is no "
            "combination to balance",
            cure=("Leave ", Argument("intersect"), " out."),
        )
    check_groups(cells, argument, None, f"combinations of {cells.name}", ALONE)
    return cells


def plain_labels(labels: Sequence[Any]) -> list[Any]:
    """Return labels that any file takes as keys: combinations are spelt.

    Examples
    --------
    >>> plain_labels([("F", 3), ("M", 3)]), plain_labels([0, 1])
    (['F × 3', 'M × 3'], [0, 1])
    """
    if not all(isinstance(label, tuple) for label in labels):
        return list(labels)
    found = [cell_label(cell) for cell in labels]
    if len({*found}) < len(found):  # of 3 and "3"
        found = [cell_label(cell, quote=True) for cell in labels]
    return found


def cell_label(parts: Sequence[Any], quote: bool = False) -> str:
    """Return what a combination is called; no two are called the same.

    Text is quoted where it holds a quote or the sign between parts.  ``quote`` puts
    quotes around all text: the label "1" is not the number 1 then.

    Examples
    --------
    >>> cell_label(("F", 3)), cell_label(("F × M", 3)), cell_label(("F", 3.0))
    ('F × 3', '"F × M" × 3', 'F × 3')
    """

    def part(label: Any) -> str:
        # Rows without 0.5 hold 1 where others hold 1.0: both are called the same.
        whole = isinstance(label, float) and label.is_integer()
        text = str(int(label) if whole else label)
        quoted = {*text} & {"×", '"'} or (quote and isinstance(label, str))
        return json.dumps(text, ensure_ascii=False) if quoted else text

    return " × ".join(map(part, parts))


# Reading


def read_balanced(
    source: Source,
    weights: Floats | None = None,
    bins: int | None = None,
    intersect: bool = False,
) -> tuple[list[SensitiveGroups], list[SensitiveGroups]]:
    """Return sensitive features by column, and what is to be balanced.

    That is each of them or, with ``intersect``, their combinations.
    """
    found = read_features(source, weights, bins)
    if not intersect or len(found) == 1:
        return found, found
    return found, [combined(found, source.argument, weights)]


def read_features(
    source: Source,
    weights: Floats | None = None,
    bins: int | None = None,
) -> list[SensitiveGroups]:
    """Return the groups of each feature; rows of weight zero count as absent.

    Parameters
    ----------
    source : Source
        One column for each feature.
    weights : ndarray of shape (N,), optional
        Weights of the rows.
    bins : int, optional
        Features of more distinct numbers than that are cut into so many quantiles.

    Examples
    --------
    >>> source = Source("sensitive_features", [np.array([20.0, 31.0, 44.0, 67.0])], ())
    >>> read_features(source, bins=2)[0].labels.tolist()
    ['[20, 44)', '[44, 67]']
    """
    refuse_same_names(source.argument, source.names)
    found = []
    for part in source.parts():
        groups = _read(part)
        labels = groups.labels.tolist()
        most = MOST_FRACTIONS if groups.labels.dtype.kind == "f" else MOST_NUMBERS
        if bins is not None and groups.holds_numbers and len(labels) > bins:
            groups = cut(groups, bins, weights)
        elif groups.holds_numbers and len(labels) > most:
            distinct = f"holds {len(labels)} distinct numbers ({listed(labels)})"
            expected = f"{distinct}: groups are expected"
            raise InputError(part.argument, expected, cure=CUT)
        check_groups(groups, part.argument, weights)
        found.append(groups)
    if bins is not None and not any(groups.holds_numbers for groups in found):
        none = f" holds none ({listed(found[0].labels.tolist())})"
        numbers = ("cuts numbers into groups, but ", Argument(GROUPS), none)
        raise InputError(Argument("bins", bins), numbers, cure="Leave it out.")
    return found


def _read(source: Source) -> SensitiveGroups:
    """Return the groups of one feature; those that were made keep their order."""
    argument, (column,) = source.argument, source.columns
    if isinstance(column, SensitiveGroups):
        here = np.unique(column.codes[column.codes >= 0])
        codes = np.searchsorted(here, column.codes)
        codes[column.codes < 0] = -1
        return SensitiveGroups(codes, column.labels[here], source.name)
    codes, labels = find_known(column, argument)
    if labels.dtype == object and all(map(_is_number, labels.tolist())):
        numbers = labels.astype(np.float64)
        labels = numbers if (np.diff(numbers) > 0).all() else labels
    if not len(labels):
        expected = f"is unknown in all {len(codes)} rows: there is nothing to compare"
        raise InputError(argument, expected, cure="Give the groups of some.")
    return SensitiveGroups(codes, labels, source.name)


def _is_number(label: Any) -> bool:
    return isinstance(label, Real) and not isinstance(label, bool | np.bool_)


def refuse_same_names(
    argument: str | Argument, names: Sequence[str], what: str = "features"
) -> None:
    """Raise if two are called the same."""
    for name in names:
        if names.count(name) > 1:
            same = f"has {names.count(name)} {what} called {shown(name)}"
            raise InputError(argument, f"{same}: each needs a name of its own")


def check_groups(
    groups: SensitiveGroups,
    argument: str | Argument,
    weights: Floats | None,
    what: str = "groups",
    cure: Words = "Join small groups, or cut a number into bins.",
) -> None:
    """Refuse one group only, too many groups, and groups without any weight."""
    labels = groups.labels.tolist()
    if len(labels) == 1:
        raise one_group(argument, labels[0], len(groups) - groups.n_unknown)
    if len(labels) > MOST_GROUPS:
        many = f"has {len(labels)} {what} ({listed(labels)})"
        expected = f"{many}: at most {MOST_GROUPS} are expected"
        raise InputError(argument, expected, cure=cure)
    for g in np.flatnonzero(groups.sizes(weights) == 0).tolist():
        raise InputError(
            "sample_weight",
            f"is zero for all {int((groups.codes == g).sum())} rows of group "
            f"{shown(labels[g])} in {argument}: there is nothing to compare",
            cure="Give some of them weight, or leave these rows out.",
        )


def group_labels(
    source: Source, edges: dict[str, Floats], intersect: bool
) -> dict[str, NDArray[Any]]:
    """Return the label of each row by feature, cut and combined as in training.

    Labels not known are None.

    Examples
    --------
    >>> source = Source("sensitive_features", [np.array([20, 70])], (), ("age",))
    >>> group_labels(source, {"age": np.array([18.0, 40.0, 65.0])}, False)
    {'age': array(['[18, 40)', '[40, 65]'], dtype=object)}
    """
    found = []
    for part in source.parts():
        (column,), name = part.columns, part.name
        if name in edges:
            found.append(
                cut_at(column_numbers(column, part.argument), edges[name], name)
            )
        else:
            codes, labels = find_known(column, part.argument)
            found.append(SensitiveGroups(codes, labels, name))
    if intersect and len(found) > 1:
        found = [crossed(found)]
    return {groups.name: groups.spelt() for groups in found}


def label_table(columns: Sequence[Column]) -> NDArray[Any]:
    """Return the labels of each row side by side, in an array.

    Examples
    --------
    >>> label_table([np.array(["F", "M"]), np.array([20, 70])]).tolist()
    [['F', 20], ['M', 70]]
    """
    labels = np.empty((len(columns[0]), len(columns)), dtype=object)
    for j, column in enumerate(columns):
        labels[:, j] = column.to_list() if isinstance(column, nw.Series) else column
    return labels
