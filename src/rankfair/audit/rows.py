"""The audit's door: predictions, groups, tasks and weights as checked arrays."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import narwhals as nw
import numpy as np

from rankfair._frames import (
    Codes,
    Floats,
    as_columns,
    find_known,
    find_labels,
    listed,
    shown,
)
from rankfair._groups import MOST_GROUPS
from rankfair._validation import check_lengths, read_target, read_weights

__all__ = ["Grouping", "Rows", "read_rows"]

# Rows that are repeated have to fit into memory with ease.
MOST_REPEATED = 20_000_000
TIMES = " × "


@dataclass(frozen=True)
class Grouping:
    """An attribute: the group of each row, −1 where it is missing."""

    name: str
    codes: Codes
    labels: tuple[str, ...]


@dataclass(frozen=True)
class Rows:
    """What is audited; arrays of one length N."""

    predicted: dict[str, Floats]
    target: Floats | None
    groupings: tuple[Grouping, ...]
    tasks: Codes | None
    task_labels: tuple[str, ...]
    weights: Floats | None
    fingerprint: str
    n_given: int
    backend: str | None
    unit: float = 1.0  # what a weight of 1 was before


def read_rows(
    y_true: Any,
    y_pred: Any,
    sensitive_features: Any,
    tasks: Any,
    sample_weight: Any,
    intersect: bool,
    frequency_weights: bool = False,
) -> Rows:
    """Check all arguments and return them as arrays."""
    predicted = _read_predictions(y_pred)
    n_rows = len(next(iter(predicted.values())))
    target = None if y_true is None else read_target(y_true, "y_true")
    check_lengths(n_rows, **{f"y_pred[{name!r}]": p for name, p in predicted.items()})
    check_lengths(n_rows, y_true=target)
    weights = read_weights(sample_weight, n_rows)
    groupings = _read_groupings(sensitive_features, n_rows)
    if weights is not None:
        _refuse_weightless(groupings, weights)
    if frequency_weights:
        _refuse_no_frequencies(weights)
    if intersect:
        groupings += _intersections(groupings, weights)
    codes: Codes | None = None
    labels: tuple[str, ...] = ("all",)
    if tasks is not None:
        columns = as_columns(tasks, "tasks")
        check_lengths(n_rows, tasks=columns[0])
        codes, found = find_labels(columns, "tasks")
        labels = texts(found.tolist())
    rows = Rows(
        predicted,
        target,
        groupings,
        codes,
        labels,
        None,
        _fingerprint(predicted, target, groupings, (codes, labels), weights),
        n_rows,
        _backend(sensitive_features, y_pred),
    )
    return rows if weights is None else _weighted(rows, weights, frequency_weights)


def texts(labels: list[Any]) -> tuple[str, ...]:
    """Return labels as text; those of several columns are joined.

    Examples
    --------
    >>> texts(["a", 1, ("b", 2)])
    ('a', '1', 'b / 2')
    """
    plain = [
        " / ".join(map(str, label)) if isinstance(label, tuple) else str(label)
        for label in labels
    ]
    if len(set(plain)) < len(plain):  # 1 and "1"
        plain = [repr(label) for label in labels]
    return tuple(plain)


def _read_predictions(y_pred: Any) -> dict[str, Floats]:
    if isinstance(y_pred, dict):
        if not y_pred:
            raise ValueError(
                "y_pred is an empty dict: a name and predictions for each model are "
                'expected, {"before": p0, "after": p1}.'
            )
        _refuse_namesakes("y_pred", list(y_pred))
        return {
            str(name): read_target(values, f"y_pred[{name!r}]")
            for name, values in y_pred.items()
        }
    return {"predicted": read_target(y_pred, "y_pred")}


def _refuse_namesakes(argument: str, names: list[Any]) -> None:
    seen: dict[str, Any] = {}
    for name in names:
        if str(name) in seen:
            raise ValueError(
                f"{argument} has two columns called {str(name)!r} ({seen[str(name)]!r} "
                f"and {name!r}): rename one of them."
            )
        seen[str(name)] = name


def _read_groupings(given: Any, n_rows: int) -> tuple[Grouping, ...]:
    if given is None:
        raise ValueError(
            "sensitive_features is None: the group of each row is expected."
        )
    found = []
    for name, column in _named_columns(given).items():
        argument = "sensitive_features" if name == "group" else f"attribute {name!r}"
        check_lengths(n_rows, **{argument: column})
        codes, labels = find_known(column, argument)
        _refuse_odd(argument, labels.tolist(), codes)
        found.append(Grouping(name, codes, texts(labels.tolist())))
    return tuple(found)


def _named_columns(given: Any) -> dict[str, Any]:
    """Columns of labels by name: of a dict, a frame, a series or an array."""
    if isinstance(given, dict):
        _refuse_namesakes("sensitive_features", list(given))
        named = {}
        for name, values in given.items():
            columns = as_columns(values, f"sensitive_features[{name!r}]")
            if len(columns) != 1:
                raise ValueError(
                    f"sensitive_features[{name!r}] has {len(columns)} columns: one is "
                    "expected for each name."
                )
            named[str(name)] = columns[0]
        if not named:
            raise ValueError("sensitive_features is an empty dict: no groups.")
        return named
    native = nw.from_native(given, allow_series=True, pass_through=True)
    columns = as_columns(given, "sensitive_features")
    if isinstance(native, nw.DataFrame):
        _refuse_namesakes("sensitive_features", list(native.columns))
        return dict(zip(map(str, native.columns), columns, strict=True))
    if isinstance(native, nw.Series):
        return {str(native.name or "group"): columns[0]}
    if len(columns) == 1:
        return {"group": columns[0]}
    return {f"attribute {j + 1}": column for j, column in enumerate(columns)}


def _refuse_odd(argument: str, labels: list[Any], codes: Codes) -> None:
    if len(labels) == 0:
        raise ValueError(f"{argument} is missing in all {len(codes)} rows.")
    if len(labels) == 1:
        raise ValueError(
            f"{argument} has one group only ({listed(labels)}, "
            f"{int((codes >= 0).sum())} rows): there is nothing to compare."
        )
    if len(labels) > MOST_GROUPS:
        raise ValueError(
            f"{argument} has {len(labels)} groups ({listed(labels)}): at most "
            f"{MOST_GROUPS} are expected. Is it a number? Cut it into a few bins."
        )


def _refuse_weightless(groupings: tuple[Grouping, ...], weights: Floats) -> None:
    for grouping in groupings:
        heavy = grouping.codes[(weights > 0) & (grouping.codes >= 0)]
        gone = np.flatnonzero(np.bincount(heavy, minlength=len(grouping.labels)) == 0)
        if len(gone):
            raise ValueError(
                f"sample_weight is zero for all rows of group "
                f"{shown(grouping.labels[gone[0]])} in attribute {grouping.name!r}: "
                "there is nothing to compare."
            )


def _intersections(
    groupings: tuple[Grouping, ...], weights: Floats | None
) -> tuple[Grouping, ...]:
    """Every combination of two or more attributes, with the groups that occur."""
    if len(groupings) < 2:
        raise ValueError(
            "intersect=True needs two or more attributes in sensitive_features; got "
            f"{len(groupings)}. Pass a frame, or a dict of columns."
        )
    found = []
    for size in range(2, len(groupings) + 1):
        for parts in combinations(groupings, size):
            found.append(_intersection(parts, weights))
            _refuse_odd_intersection(found[-1], groupings)
    return tuple(found)


def _refuse_odd_intersection(made: Grouping, groupings: tuple[Grouping, ...]) -> None:
    if made.name in {grouping.name for grouping in groupings}:
        raise ValueError(
            f"attribute {made.name!r} has the name of an intersection: rename it, or "
            "leave out intersect=True."
        )
    if not 2 <= len(made.labels) <= MOST_GROUPS:
        raise ValueError(
            f"intersect=True: {made.name!r} has {len(made.labels)} groups "
            f"({listed(list(made.labels))}), and 2 to {MOST_GROUPS} are expected. "
            "Unite groups, or leave out an attribute."
        )


def _intersection(parts: tuple[Grouping, ...], weights: Floats | None) -> Grouping:
    cells = np.zeros(len(parts[0].codes), np.intp)
    known = np.ones(len(cells), bool) if weights is None else weights > 0
    for part in parts:
        cells = cells * len(part.labels) + part.codes
        known &= part.codes >= 0
    present, inverse = np.unique(cells[known], return_inverse=True)
    codes = np.full(len(cells), -1, np.intp)
    codes[known] = inverse
    places = np.unravel_index(present, tuple(len(part.labels) for part in parts))
    named = [
        [part.labels[i] for part, i in zip(parts, cell, strict=True)]
        for cell in zip(*(place.tolist() for place in places), strict=True)
    ]
    labels = tuple(map(TIMES.join, named))
    if len(set(labels)) < len(labels):  # a label has the sign in it
        labels = tuple(TIMES.join(map(repr, cell)) for cell in named)
    return Grouping(TIMES.join(part.name for part in parts), codes, labels)


def _refuse_no_frequencies(weights: Floats | None) -> None:
    if weights is None:
        raise ValueError(
            "frequency_weights=True needs sample_weight: how often each row was seen."
        )
    broken = np.flatnonzero(weights != np.floor(weights))
    if len(broken):
        raise ValueError(
            f"frequency_weights=True: sample_weight must be whole numbers, how often a "
            f"row was seen; row {broken[0]} has {weights[broken[0]]:g}. Leave it out "
            "for weights of a survey."
        )
    if weights.sum() > MOST_REPEATED:
        raise ValueError(
            f"frequency_weights=True: sample_weight stands for {weights.sum():.4g} "
            f"rows, and at most {MOST_REPEATED:,} are repeated. Leave it out, and "
            "limits follow the rows that are given."
        )


def _weighted(rows: Rows, weights: Floats, frequency: bool) -> Rows:
    """Repeat rows where weights are frequencies; leave out those of weight zero.

    Other weights get the mean 1: their unit does not matter.
    """
    if frequency:
        index = np.repeat(np.arange(len(weights)), weights.astype(np.intp))
        kept, unit = None, 1.0
    else:
        index = np.flatnonzero(weights)
        unit = float(weights[index].mean())
        kept = weights[index] / unit
    return Rows(
        {name: values[index] for name, values in rows.predicted.items()},
        None if rows.target is None else rows.target[index],
        tuple(Grouping(g.name, g.codes[index], g.labels) for g in rows.groupings),
        None if rows.tasks is None else rows.tasks[index],
        rows.task_labels,
        kept,
        rows.fingerprint,
        rows.n_given,
        rows.backend,
        unit,
    )


def _fingerprint(
    predicted: dict[str, Floats],
    target: Floats | None,
    groupings: tuple[Grouping, ...],
    tasks: tuple[Codes | None, tuple[str, ...]],
    weights: Floats | None,
) -> str:
    """A digest of values and names, each with its length: none runs into another."""
    digest = hashlib.sha256()

    def add(data: bytes) -> None:
        digest.update(len(data).to_bytes(8, "little"))
        digest.update(data)

    def add_texts(*texts: str) -> None:
        digest.update(len(texts).to_bytes(8, "little"))
        for text in texts:
            add(text.encode("utf-8", "surrogatepass"))

    def add_numbers(array: Floats | Codes | None) -> None:
        if array is None:
            return add_texts()
        kind = "<f8" if array.dtype.kind == "f" else "<i8"
        return add(array.astype(kind, copy=False).tobytes())

    add_texts(*predicted)
    for values in predicted.values():
        add_numbers(values)
    for array in (target, weights, tasks[0]):
        add_numbers(array)
    add_texts(*tasks[1])
    for grouping in groupings:
        add_texts(grouping.name, *grouping.labels)
        add_numbers(grouping.codes)
    return digest.hexdigest()[:16]


def _backend(*given: Any) -> str | None:
    """The library of the first frame or series given, if it can make frames."""
    for values in given:
        native = nw.from_native(values, allow_series=True, pass_through=True)
        if isinstance(native, nw.DataFrame | nw.Series):
            name = native.implementation.value
            return str(name) if name in ("pandas", "polars") else None
    return None
