"""Sensitive features as groups: bins, intersections, unknown rows, refusals."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from numbers import Real
from typing import Any, TypeAlias

import narwhals as nw
import numpy as np
from numpy.typing import NDArray

from rankfair.input.arrays import Codes, Column, Floats
from rankfair.input.errors import counted, listed, shown
from rankfair.input.frames import as_columns
from rankfair.input.labels import find_known, find_labels

Bools: TypeAlias = NDArray[np.bool_]


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
class SensitiveGroups:
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

    def take(self, rows: Bools) -> SensitiveGroups:
        """Return the groups of some rows."""
        return replace(self, codes=self.codes[rows])

    def sizes(self, weights: Floats | None = None) -> Floats:
        """Return how many rows, or how much weight, each group has."""
        codes, w = self.codes, weights
        if self.known is not None:
            codes = codes[self.known]
            w = None if weights is None else weights[self.known]
        return np.bincount(codes, w, len(self.labels)).astype(np.float64)


def masks_of(attributes: Sequence[SensitiveGroups]) -> tuple[Bools, Bools | None]:
    """Return the groups to be held level with the rest, and whose group is known.

    A row each for A of two groups, and for each of more; None if all are known.

    Examples
    --------
    >>> sex = SensitiveGroups(np.array([0, 1, 1]), np.array(["F", "M"]), "sex")
    >>> masks_of([sex])
    (array([[False,  True,  True]]), None)
    """
    masks = [each.masks() for each in attributes]
    if all(each.known is None for each in attributes):
        return np.vstack(masks), None
    known = [
        np.broadcast_to(True if each.known is None else each.known, mask.shape)
        for each, mask in zip(attributes, masks, strict=True)
    ]
    return np.vstack(masks), np.vstack(known)


def cut(groups: SensitiveGroups, bins: int, weights: Floats | None) -> SensitiveGroups:
    """Return quantiles of a number as groups; equal numbers stay together."""
    total = groups.sizes(weights)
    values = groups.labels.astype(np.float64)[total > 0]
    total = total[total > 0]
    place = quantile_places(total, bins)
    starts = np.unique(values[np.flatnonzero(np.diff(place, prepend=-1))])
    return cut_at(groups, np.append(starts, values[-1]))


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


def cut_at(groups: SensitiveGroups, edges: Floats) -> SensitiveGroups:
    """Return the bin of each row; numbers beyond the edges are in the outer bins.

    Examples
    --------
    >>> ages = SensitiveGroups(np.array([0, 1, -1, 2]), np.array([5, 30, 99]), "age")
    >>> cut_at(ages, np.array([18.0, 40.0, 65.0])).codes.tolist()
    [0, 0, -1, 1]
    """
    values = groups.labels.astype(np.float64)
    place = np.searchsorted(edges[1:-1], values, "right").astype(np.intp)
    codes = np.where(groups.codes < 0, -1, place[groups.codes])
    return SensitiveGroups(codes, bin_labels(edges), groups.name, edges)


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


FEW_ROWS = 2  # combinations of groups with fewer rows are worth a warning


def crossed(
    found: Sequence[SensitiveGroups], weights: Floats | None = None
) -> SensitiveGroups:
    """Return the combinations of several attributes that some row has, as groups.

    A row is of unknown group if one of its labels is missing.

    Examples
    --------
    >>> sex = SensitiveGroups(np.array([0, 1, 1]), np.array(["F", "M"]), "sex")
    >>> old = SensitiveGroups(np.array([0, 0, -1]), np.array(["no", "yes"]), "old")
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
    labels = plain_labels([*zip(*parts, strict=True)])
    codes = np.full(len(known), -1, np.intp)
    place = np.searchsorted(present, cells)
    codes[known] = np.where(np.isin(cells, present), place, -1)
    return SensitiveGroups(
        codes, np.array(labels), cell_label([each.name for each in found])
    )


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

    Text that holds the sign between parts, or a quote, is quoted; with ``quote`` all
    text is, for numbers that text looks like.

    Examples
    --------
    >>> cell_label(("F", 3)), cell_label(("F × M", 3)), cell_label(("F", 3.0))
    ('F × 3', '"F × M" × 3', 'F × 3')
    """
    return " × ".join(_part(label, quote) for label in parts)


def _part(label: Any, quote: bool) -> str:
    # Rows without 0.5 hold 1 where others hold 1.0: both are called the same.
    whole = isinstance(label, float) and label.is_integer()
    text = str(int(label) if whole else label)
    quoted = {*text} & {"×", '"'} or (quote and isinstance(label, str))
    return json.dumps(text, ensure_ascii=False) if quoted else text


def check_cells(
    cells: SensitiveGroups, argument: str, weights: Floats | None
) -> str | None:
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


MOST_GROUPS = 60  # each is a demand of its own; states and territories are 56
MOST_NUMBERS = 20  # more distinct numbers than that are a quantity, and no labels
MOST_FRACTIONS = 10  # the same where some are fractions
CUT = "Set bins=4 to balance four quantiles, or turn labels that are numbers into text."
CUT_FIRST = (
    "Cut it into a few classes first, or turn labels that are numbers into text."
)
TWO = "Compare one with the rest, or two of them."


def holds_numbers(groups: SensitiveGroups) -> bool:
    """Tell whether the labels are numbers, or bins of one."""
    return groups.labels.dtype.kind in "iuf" or groups.edges is not None


def _is_quantity(groups: SensitiveGroups) -> bool:
    """Tell whether these are too many numbers for labels."""
    most = MOST_FRACTIONS if groups.labels.dtype.kind == "f" else MOST_NUMBERS
    return holds_numbers(groups) and len(groups.labels) > most


def refuse_quantity(groups: SensitiveGroups, argument: str, cure: str) -> None:
    """Refuse too many numbers to be labels.

    Examples
    --------
    >>> refuse_quantity(SensitiveGroups(np.array([0, 1]), np.array([3, 4])), "z", CUT)
    """
    if _is_quantity(groups):
        labels = groups.labels.tolist()
        raise ValueError(
            f"{argument} holds {len(labels)} distinct numbers ({listed(labels)}): "
            f"groups are expected. {cure}"
        )


def check_groups(
    groups: SensitiveGroups,
    argument: str,
    weights: Floats | None,
    several: bool,
    cure: str = TWO,
) -> SensitiveGroups:
    """Refuse one group only, too many groups, and groups without any weight.

    Examples
    --------
    >>> groups = SensitiveGroups(np.array([0, 1]), np.array(["F", "M"]))
    >>> check_groups(groups, "sensitive_features", None, False) is groups
    True
    """
    labels = groups.labels.tolist()
    if len(labels) == 1:
        rows = counted(len(groups.codes) - groups.n_unknown, "row")
        raise ValueError(
            f"{argument} has one group only ({shown(labels[0])}, {rows}): there is "
            "nothing to balance"
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


def _refuse_weightless(groups: SensitiveGroups, argument: str, weights: Floats) -> None:
    for g in np.flatnonzero(groups.sizes(weights) == 0).tolist():
        raise ValueError(
            f"sample_weight is zero for all {int((groups.codes == g).sum())} rows of "
            f"group {shown(groups.labels.tolist()[g])} in {argument}: there is nothing "
            "to balance. Give some of them weight, or leave these rows out."
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
        groups = SensitiveGroups(*find_known(part.columns[0], part.argument), part.name)
        if groups.name in edges:
            if not holds_numbers(groups) and len(groups.labels):
                raise ValueError(
                    f"{part.argument} was a number in training, which bins cut; now it "
                    f"holds {listed(groups.labels.tolist())}. Convert it as in "
                    "training."
                )
            groups = cut_at(groups, edges[groups.name])
        found[groups.name] = groups
    if intersect and len(found) > 1:
        cells = crossed(list(found.values()))
        found = {cells.name: cells}
    return {name: spelt(groups) for name, groups in found.items()}


def spelt(groups: SensitiveGroups) -> NDArray[Any]:
    """Return the label of each row, None where it is not known."""
    labels = np.empty(len(groups.labels) + 1, dtype=object)
    labels[:-1] = groups.labels.tolist()
    return labels[groups.codes]  # the last one, None, for code −1


def label_table(columns: Sequence[Column]) -> NDArray[Any]:
    """Return labels as an array that rows can be taken from, a column each.

    Examples
    --------
    >>> label_table([np.array(["F", "M"]), np.array([20, 70])]).tolist()
    [['F', 20], ['M', 70]]
    """
    labels = np.empty((len(columns[0]), len(columns)), dtype=object)
    for j, column in enumerate(columns):
        labels[:, j] = column.to_list() if isinstance(column, nw.Series) else column
    return labels


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
                    f"{argument}[{name!r}] has {len(columns)} columns: one is "
                    "expected. Give each a name of its own."
                )
        return [columns[0] for columns in lists], tuple(map(str, passed))
    columns = as_columns(passed, argument)
    names = [getattr(column, "name", None) for column in columns]
    named = (f"z{j}" if n in (None, "") else str(n) for j, n in enumerate(names))
    return columns, tuple(named)


@dataclass(frozen=True)
class Protected:
    """Protected attributes: as columns that came, and as what is to be balanced."""

    columns: tuple[SensitiveGroups, ...] = ()
    attributes: tuple[SensitiveGroups, ...] = ()
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
) -> SensitiveGroups:
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
            "expected. RankFairRegressor constraints several at once."
        )
    codes, labels = source.labels()
    groups = SensitiveGroups(codes, labels, source.name)
    return check_groups(groups, argument, weights, several, cure)


def read_attributes(
    source: Source,
    weights: Floats | None = None,
    bins: int | None = None,
    several: bool = True,
    cure: str = CUT,
) -> list[SensitiveGroups]:
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
    if bins is not None and not any(map(holds_numbers, found)):
        raise ValueError(
            f"bins={bins} cuts numbers into groups, but {source.argument} holds none "
            f"({listed(found[0].labels.tolist())}). Leave it out."
        )
    return found


def _read(
    source: Source, weights: Floats | None, bins: int | None, several: bool, cure: str
) -> SensitiveGroups:
    """Return the groups of one attribute."""
    argument = source.argument
    codes, labels = find_known(source.columns[0], argument)
    if labels.dtype == object and all(map(_is_number, labels.tolist())):
        numbers = labels.astype(np.float64)
        labels = numbers if (np.diff(numbers) > 0).all() else labels
    if not len(labels):
        raise ValueError(
            f"{argument} is unknown in all {len(codes)} rows: there is nothing to "
            "constraints"
        )
    groups = SensitiveGroups(codes, labels, source.name)
    if bins is not None and holds_numbers(groups) and len(labels) > bins:
        groups = cut(groups, bins, weights)
    elif several:
        refuse_quantity(groups, argument, cure)
    return check_groups(groups, argument, weights, several)


def _is_number(label: Any) -> bool:
    return isinstance(label, Real) and not isinstance(label, bool | np.bool_)
