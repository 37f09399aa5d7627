"""The door: protected attributes as groups of rows, and as predictors.

A row whose label is missing (None, NaN, NA or NaT; not empty text) is of unknown group,
code −1: it is part of the data, and of no group.
"""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from numbers import Real
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from rankfair._frames import (
    Codes,
    Column,
    Floats,
    as_columns,
    column_numbers,
    find_known,
    find_labels,
    listed,
    shown,
)

Bools: TypeAlias = NDArray[np.bool_]

MOST_GROUPS = 50  # each is a demand of its own
MOST_NUMBERS = 20  # more distinct numbers than that are a quantity, and no labels
MOST_FRACTIONS = 10  # the same where some are fractions
CUT = "Set bins=4 to balance four quantiles, or turn labels that are numbers into text."
CUT_FIRST = (
    "Cut it into a few classes first, or turn labels that are numbers into text."
)
TWO = "Compare one with the rest, or two of them."
FEW_ROWS = 2  # combinations of groups with fewer rows are worth a warning


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


@dataclass(frozen=True)
class Groups:
    """The group of each row as a place in the labels, −1 where it is not known.

    Labels are sorted, or in the order of the bins where a number was cut at ``edges``:
    a bin starts at its edge, and the last ends with the last edge.
    """

    codes: Codes
    labels: NDArray[Any]
    name: str = ""
    edges: Floats | None = field(default=None, compare=False)

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

    def masks(self) -> Bools:
        """What is compared with the rest: A of two groups, of more each; a row each."""
        if len(self.labels) == 2:
            return self.in_a[None]
        found: Bools = self.codes == np.arange(len(self.labels))[:, None]
        return found

    def take(self, rows: Bools) -> Groups:
        """Return the groups of some rows."""
        return replace(self, codes=self.codes[rows])

    def sizes(self, weights: Floats | None = None) -> Floats:
        """Return how many rows, or how much weight, each group has."""
        codes, w = self.codes, weights
        if self.known is not None:
            codes = codes[self.known]
            w = None if weights is None else weights[self.known]
        return np.bincount(codes, w, len(self.labels)).astype(np.float64)


@dataclass(frozen=True)
class Encoder:
    """How a protected column of X becomes predictors.

    Two groups are 0 and 1, of more each but the first is a column of 0 and 1, and a
    number that was cut for the balance is itself.  What is not known is ``fill``: the
    share of each group, or the mean.
    """

    column: int
    name: str
    labels: NDArray[Any] | None  # None for a number
    fill: Floats

    @property
    def apart(self) -> bool:
        """Whether it is several columns, which stand after all others."""
        return len(self.fill) > 1

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the predictors."""
        if self.labels is None or not self.apart:
            return (self.name,)
        return tuple(f"{self.name}={label}" for label in self.labels.tolist()[1:])

    def columns_of(self, codes: Codes) -> Floats:
        """Return the predictors of rows of these groups: a row each."""
        assert self.labels is not None
        later = np.arange(1, len(self.labels))
        found: Floats = (codes[:, None] == later).astype(np.float64)
        unknown = codes < 0
        if unknown.any():
            found[unknown] = self.fill
        return found

    def filled(self, numbers: Floats) -> Floats:
        """Return the numbers, the mean for those that are missing."""
        missing = np.isnan(numbers)
        return np.where(missing, self.fill[0], numbers) if missing.any() else numbers


def encoder_of(
    groups: Groups, column: int, values: Column, weights: Floats | None
) -> Encoder:
    """Return how this column of X is read, from the rows of training.

    Examples
    --------
    >>> groups = Groups(np.array([0, 1, 1, -1]), np.array(["F", "M"]), "sex")
    >>> encoder_of(groups, 0, np.array([*"FMM", None]), None).fill.round(3).tolist()
    [0.667]
    """
    if groups.edges is None:
        sizes = groups.sizes(weights)
        fill = sizes[1:] / sizes.sum()
        return Encoder(column, groups.name, groups.labels, fill)
    numbers = column_numbers(values, groups.name)
    known = ~np.isnan(numbers)
    w = None if weights is None else weights[known]
    mean = np.average(numbers[known], weights=w)
    return Encoder(column, groups.name, None, np.array([mean]))


@dataclass(frozen=True)
class Protected:
    """Protected attributes: as columns that came, and as what is to be balanced."""

    columns: tuple[Groups, ...] = ()
    attributes: tuple[Groups, ...] = ()
    note: str | None = None  # a warning

    @classmethod
    def of(
        cls,
        source: Source,
        weights: Floats | None = None,
        bins: int | None = None,
        intersect: bool = False,
    ) -> Protected:
        """Read all attributes; with ``intersect`` their combinations are balanced."""
        found = tuple(read_attributes(source, weights, bins))
        if not intersect or len(found) == 1:
            return cls(found, found)
        cells = crossed(found, weights)
        return cls(found, (cells,), check_cells(cells, source.argument, weights))


def read_groups(
    source: Source,
    weights: Floats | None = None,
    several: bool = False,
    cure: str = TWO,
) -> Groups:
    """Return the groups of one attribute, all known: two unless there may be several.

    ``cure`` is what to do about more than two.

    Examples
    --------
    >>> source = Source("sensitive_features", [np.array(["M", "F", "M"])], ())
    >>> read_groups(source).in_a.tolist()
    [True, False, True]
    """
    argument = source.argument
    if len(source.columns) > 1:
        raise ValueError(
            f"{argument} has {len(source.columns)} columns: one protected attribute is "
            "expected. RankFairRegressor balances several at once."
        )
    codes, labels = source.labels()
    groups = Groups(codes, labels, source.name)
    return check_groups(groups, argument, weights, several, cure)


def read_attributes(
    source: Source,
    weights: Floats | None = None,
    bins: int | None = None,
    several: bool = True,
    cure: str = CUT,
) -> list[Groups]:
    """Return the groups of each attribute; rows of weight zero count as absent.

    Parameters
    ----------
    source : Source
        One column for each attribute.
    weights : ndarray of shape (N,), optional
        Weights of the rows.
    bins : int, optional
        Attributes of more distinct numbers than that are cut into so many quantiles.
    several : bool, default=True
        Whether there may be more than two groups.
    cure : str
        What to do about too many numbers.

    Examples
    --------
    >>> source = Source("sensitive_features", [np.array([20.0, 31.0, 44.0, 67.0])], ())
    >>> read_attributes(source, bins=2)[0].labels.tolist()
    ['[20, 44)', '[44, 67]']
    """
    found = [_read(part, weights, bins, several, cure) for part in source.parts()]
    names = [groups.name for groups in found]
    for name in names:
        if names.count(name) > 1:
            raise ValueError(
                f"{source.argument} has {names.count(name)} attributes called "
                f"{shown(name)}: give each a name of its own."
            )
    if bins is not None and not any(map(_holds_numbers, found)):
        raise ValueError(
            f"bins={bins} cuts numbers into groups, but {source.argument} holds none "
            f"({listed(found[0].labels.tolist())}). Leave bins out."
        )
    return found


def _read(
    source: Source, weights: Floats | None, bins: int | None, several: bool, cure: str
) -> Groups:
    """Return the groups of one attribute."""
    argument = source.argument
    codes, labels = find_known(source.columns[0], argument)
    if labels.dtype == object and all(map(_is_number, labels.tolist())):
        labels = labels.astype(np.float64)
    if not len(labels):
        raise ValueError(
            f"{argument} is unknown in all {len(codes)} rows: there is nothing to "
            "balance"
        )
    groups = Groups(codes, labels, source.name)
    if bins is not None and _holds_numbers(groups) and len(labels) > bins:
        groups = _cut(groups, bins, weights)
    elif several:
        refuse_quantity(groups, argument, cure)
    return check_groups(groups, argument, weights, several)


def _is_number(label: Any) -> bool:
    return isinstance(label, Real) and not isinstance(label, bool | np.bool_)


def _holds_numbers(groups: Groups) -> bool:
    return groups.labels.dtype.kind in "iuf" or groups.edges is not None


def _is_quantity(groups: Groups) -> bool:
    """Tell whether these are too many numbers for labels."""
    most = MOST_FRACTIONS if groups.labels.dtype.kind == "f" else MOST_NUMBERS
    return _holds_numbers(groups) and len(groups.labels) > most


def refuse_quantity(groups: Groups, argument: str, cure: str) -> None:
    """Refuse too many numbers to be labels.

    Examples
    --------
    >>> refuse_quantity(Groups(np.array([0, 1]), np.array([3, 4])), "z", CUT)
    """
    if _is_quantity(groups):
        labels = groups.labels.tolist()
        raise ValueError(
            f"{argument} holds {len(labels)} distinct numbers ({listed(labels)}): "
            f"groups are expected. {cure}"
        )


def check_groups(
    groups: Groups,
    argument: str,
    weights: Floats | None,
    several: bool,
    cure: str = TWO,
) -> Groups:
    """Refuse one group only, too many groups, and groups without any weight.

    Examples
    --------
    >>> groups = Groups(np.array([0, 1]), np.array(["F", "M"]))
    >>> check_groups(groups, "sensitive_features", None, False) is groups
    True
    """
    labels = groups.labels.tolist()
    if len(labels) == 1:
        raise ValueError(
            f"{argument} has one group only ({shown(labels[0])}, "
            f"{len(groups.codes) - groups.n_unknown} rows): there is nothing to balance"
        )
    if len(labels) > 2 and not several:
        raise ValueError(
            f"{argument} has {len(labels)} groups ({listed(labels)}): two are "
            f"expected. {cure}"
        )
    if len(labels) > MOST_GROUPS:
        raise ValueError(
            f"{argument} has {len(labels)} groups ({listed(labels)}): at most "
            f"{MOST_GROUPS} are expected. Join small groups, or cut a number into bins."
        )
    if weights is not None:
        _refuse_weightless(groups, argument, weights)
    return groups


def _refuse_weightless(groups: Groups, argument: str, weights: Floats) -> None:
    for g in np.flatnonzero(groups.sizes(weights) == 0).tolist():
        raise ValueError(
            f"sample_weight is zero for all {int((groups.codes == g).sum())} rows of "
            f"group {shown(groups.labels.tolist()[g])} in {argument}: there is nothing "
            "to balance"
        )


def _cut(groups: Groups, bins: int, weights: Floats | None) -> Groups:
    """Return quantiles of a number as groups; equal numbers stay together."""
    total = groups.sizes(weights)
    values = groups.labels.astype(np.float64)[total > 0]
    total = total[total > 0]
    upto = np.cumsum(total)
    middle = (upto - total / 2) / upto[-1]
    place = np.minimum((middle * bins).astype(np.intp), bins - 1)
    starts = values[np.flatnonzero(np.diff(place, prepend=-1))]
    return cut_at(groups, np.append(starts, values[-1]))


def cut_at(groups: Groups, edges: Floats) -> Groups:
    """Return the bin of each row; numbers beyond the edges are in the outer bins.

    Examples
    --------
    >>> ages = Groups(np.array([0, 1, -1, 2]), np.array([5, 30, 99]), "age")
    >>> cut_at(ages, np.array([18.0, 40.0, 65.0])).codes.tolist()
    [0, 0, -1, 1]
    """
    values = groups.labels.astype(np.float64)
    place = np.searchsorted(edges[1:-1], values, "right").astype(np.intp)
    codes = np.where(groups.codes < 0, -1, place[groups.codes])
    return Groups(codes, bin_labels(edges), groups.name, edges)


def bin_labels(edges: Floats) -> NDArray[Any]:
    """Return bins as text, with as many digits as tell the edges apart.

    Examples
    --------
    >>> bin_labels(np.array([18.0, 35.0, 90.0])).tolist()
    ['[18, 35)', '[35, 90]']
    """
    starts = len(edges) - 1
    for digits in (4, 6, 9, 17):
        shown_edges = [f"{edge:.{digits}g}" for edge in edges]
        if len(set(shown_edges[:starts])) == starts:
            break
    ends = [")"] * (starts - 1) + ["]"]
    return np.array(
        [
            f"[{low}, {high}{end}"
            for low, high, end in zip(shown_edges, shown_edges[1:], ends, strict=False)
        ]
    )


def crossed(found: Sequence[Groups], weights: Floats | None = None) -> Groups:
    """Return the combinations of several attributes that some row has, as groups.

    A row is of unknown group if one of its labels is missing.

    Examples
    --------
    >>> sex = Groups(np.array([0, 1, 1]), np.array(["F", "M"]), "sex")
    >>> old = Groups(np.array([0, 0, -1]), np.array(["no", "yes"]), "old")
    >>> both = crossed([sex, old])
    >>> both.name, both.labels.tolist(), both.codes.tolist()
    ('sex × old', ['F × no', 'M × no'], [0, 1, -1])
    """
    known = np.all([groups.codes >= 0 for groups in found], axis=0)
    shape = tuple(len(groups.labels) for groups in found)
    cells = np.ravel_multi_index(
        tuple(groups.codes[known] for groups in found), shape
    ).astype(np.intp)
    counted = cells if weights is None else cells[weights[known] > 0]
    present = np.unique(counted)
    places = np.unravel_index(present, shape)
    parts = [
        groups.labels[place].tolist()
        for groups, place in zip(found, places, strict=True)
    ]
    labels = [cell_label(cell) for cell in zip(*parts, strict=True)]
    at = np.full(math.prod(shape), -1, np.intp)
    at[present] = np.arange(len(present))
    codes = np.full(len(known), -1, np.intp)
    codes[known] = at[cells]
    return Groups(codes, np.array(labels), cell_label([each.name for each in found]))


def cell_label(parts: Sequence[Any]) -> str:
    """Return what a combination is called; no two are called the same.

    Text that holds the sign between parts, or a quote, is quoted.

    Examples
    --------
    >>> cell_label(("F", 3)), cell_label(("F × M", 3))
    ('F × 3', '"F × M" × 3')
    """
    return " × ".join(map(_part, parts))


def _part(label: Any) -> str:
    text = str(label)
    return json.dumps(text, ensure_ascii=False) if {*text} & {"×", '"'} else text


def check_cells(cells: Groups, argument: str, weights: Floats | None) -> str | None:
    """Refuse too many combinations, or only one; return a warning of small ones."""
    if not len(cells.labels):
        raise ValueError(
            f"{argument}: no row has a known label in every one of {cells.name}, so "
            "there is no combination to balance. Leave intersect out."
        )
    if len(cells.labels) > MOST_GROUPS:
        raise ValueError(
            f"{argument} has {len(cells.labels)} combinations of {cells.name} "
            f"({listed(cells.labels.tolist(), 3)}): at most {MOST_GROUPS} are "
            "expected. Join small groups, or balance each attribute alone with "
            "intersect=False."
        )
    check_groups(cells, argument, None, several=True)
    rows = cells.sizes(None if weights is None else np.sign(weights))
    small = [
        f"{shown(cells.labels.tolist()[g])} ({int(rows[g])} row)"
        for g in np.flatnonzero(rows < FEW_ROWS).tolist()
    ]
    if not small:
        return None
    more = f" and {len(small) - 5} more" if len(small) > 5 else ""
    return (
        f"{argument}: combinations of {cells.name} with a single row: "
        f"{', '.join(small[:5])}{more}. Each is held in the middle of all predictions. "
        "Join small groups, or balance each attribute alone with intersect=False."
    )


def group_labels(
    source: Source, edges: dict[str, Floats], intersect: bool
) -> dict[str, NDArray[Any]]:
    """Return the label of each row by attribute, cut and combined as in training.

    Labels not known are None.

    Examples
    --------
    >>> source = Source("sensitive_features", [np.array([20, 70])], (), ("age",))
    >>> group_labels(source, {"age": np.array([18.0, 40.0, 65.0])}, False)
    {'age': array(['[18, 40)', '[40, 65]'], dtype=object)}
    """
    found = {}
    for part in source.parts():
        groups = Groups(*find_known(part.columns[0], part.argument), part.name)
        if groups.name in edges:
            if not _holds_numbers(groups) and len(groups.labels):
                raise ValueError(
                    f"{part.argument} was a number in training, which bins cut; now it "
                    f"holds {listed(groups.labels.tolist())}."
                )
            groups = cut_at(groups, edges[groups.name])
        found[groups.name] = groups
    if intersect and len(found) > 1:
        cells = crossed(list(found.values()))
        found = {cells.name: cells}
    return {name: spelt(groups) for name, groups in found.items()}


def spelt(groups: Groups) -> NDArray[Any]:
    """Return the label of each row, None where it is not known."""
    labels = np.empty(len(groups.labels) + 1, dtype=object)
    labels[:-1] = groups.labels.tolist()
    return labels[groups.codes]  # the last one, None, for code −1


def passed_columns(passed: Any, argument: str) -> tuple[list[Column], tuple[str, ...]]:
    """Return columns given as an array, a series, a frame or a dict, and their names.

    Columns without a name are called z0, z1 and so on.

    Examples
    --------
    >>> passed_columns({"sex": [0, 1], "age": [30, 40]}, "sensitive_features")[1]
    ('sex', 'age')
    """
    if isinstance(passed, dict):
        if not passed:
            raise ValueError(f"{argument} is an empty dict: give at least one column.")
        lists = [as_columns(passed[name], argument) for name in passed]
        for name, columns in zip(passed, lists, strict=True):
            if len(columns) > 1:
                raise ValueError(
                    f"{argument}[{name!r}] has {len(columns)} columns: one is expected."
                )
        return [columns[0] for columns in lists], tuple(map(str, passed))
    columns = as_columns(passed, argument)
    names = [getattr(column, "name", None) for column in columns]
    named = (f"z{j}" if n in (None, "") else str(n) for j, n in enumerate(names))
    return columns, tuple(named)
