"""Predictions with groups, tasks and weights, for metrics, audits and paths."""

from __future__ import annotations

import hashlib
import math
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import narwhals as nw
import numpy as np
from numpy.typing import NDArray

from rankfair.input.arrays import Codes, Column, Floats
from rankfair.input.columns import is_reference, label_source_of, naming, reader_of
from rankfair.input.errors import counted, listed, shown
from rankfair.input.frames import as_columns, column_numbers
from rankfair.input.groups import (
    CUT_FIRST,
    MOST_GROUPS,
    Bools,
    Protected,
    SensitiveGroups,
    Source,
    crossed,
    label_table,
    refuse_quantity,
)
from rankfair.input.labels import find_known, find_labels
from rankfair.input.settings import check_lengths
from rankfair.input.training import read_ranked, read_target, read_weights

PREDICTED = "what the model predicts"


@dataclass(frozen=True)
class ScoredRows:
    """Predictions of the rows with a known group, what they are of, and the target."""

    predicted: Floats
    ranked: Floats  # of the same order and ties, exactly
    groups: Codes
    labels: NDArray[Any]
    tasks: Codes | None
    y: Floats | None
    notes: tuple[str, ...]


def _codes(values: NDArray[Any]) -> Codes:
    return np.unique(values, return_inverse=True)[1].astype(np.intp)


def read_scored(
    model: Any, X: Any, y: Any, sensitive_features: Any, tasks: Any
) -> ScoredRows:
    """Predict and read new rows; leave out those of unknown group."""
    sensitive_features = _unwrapped(sensitive_features)
    source = _labels("sensitive_features", sensitive_features, model, X)
    if source is None:
        raise ValueError(
            "sensitive_features is missing: give the group of each row, or the column "
            "of X that says so."
        )
    if len(source.columns) > 1:
        raise ValueError(
            f"sensitive_features has {len(source.columns)} columns: one protected "
            "attribute is certified at a time. Name one column of X, "
            'sensitive_features="sex", or pass the labels of one.'
        )
    of_tasks = _labels("tasks", tasks, model, X)
    given = {"tasks": tasks, "sensitive_features": sensitive_features}
    predicted, ranked = read_ranked(_answer(model, X, given), PREDICTED)
    target = None if y is None else read_target(y)
    check_lengths(len(predicted), y=target)
    known, groups, labels = _known_groups(source.columns[0])
    codes = None if of_tasks is None else _codes(of_tasks.labels()[0][known])
    unknown = int((~known).sum())
    gone = counted(unknown, "row of unknown group was", "rows of unknown group were")
    return ScoredRows(
        predicted[known],
        ranked[known],
        groups,
        labels,
        codes,
        None if target is None else target[known],
        (f"{gone} left out.",) if unknown else (),
    )


def _labels(argument: str, given: Any, model: Any, X: Any) -> Source | None:
    """Return labels that were given, else those of columns that a model names."""
    if given is None:
        model, X = naming(model, X, argument)
    return label_source_of(argument, given, model, X)


def _known_groups(column: Column) -> tuple[Bools, Codes, NDArray[Any]]:
    """Return which rows have a known group, the group of these, and the labels."""
    codes, labels = find_known(column, "sensitive_features")
    known = codes >= 0
    if not known.any():
        raise ValueError(
            f"sensitive_features is unknown for all {len(known)} rows: there is "
            "nothing to certify. Give the groups of some."
        )
    if len(labels) < 2:
        raise ValueError(
            f"sensitive_features has one group only ({shown(labels.tolist()[0])}, "
            f"{counted(int(known.sum()), 'row')}): there is nothing to compare it with."
        )
    refuse_quantity(SensitiveGroups(codes, labels), "sensitive_features", CUT_FIRST)
    if len(labels) > MOST_GROUPS:
        raise ValueError(
            f"sensitive_features has {len(labels)} groups "
            f"({listed(labels.tolist())}): at most {MOST_GROUPS} are certified. Join "
            "small groups."
        )
    return known, codes[known], labels


def _unwrapped(given: Any) -> Any:
    """Return the only column of a list that names one."""
    alone = isinstance(given, list | tuple) and len(given) == 1
    return given[0] if alone and is_reference(given[0]) else given


def _answer(model: Any, X: Any, labels: dict[str, Any]) -> Any:
    """What the model predicts, as it came.

    Passed on are the labels that its ``predict`` has an argument for, that came as an
    array, and that it does not read from a column of X; a pipeline hands them to its
    last step.
    """
    passed = {
        name: given
        for name, given in labels.items()
        if given is not None
        and not is_reference(given)
        and (reader := reader_of(model, name)) is not None
        and getattr(reader, name, None) is None
        and not (name == "tasks" and _fitted_without_tasks(reader))
    }
    return model.predict(X, **passed)


def _fitted_without_tasks(model: Any) -> bool:
    """Tell whether a model of ours knows no tasks: they are clusters only then."""
    layout = getattr(model, "_layout", None)
    return layout is not None and getattr(layout, "task_columns", ()) is None


@dataclass(frozen=True)
class Grouping:
    """An attribute: the group of each row, −1 where it is missing."""

    name: str
    codes: Codes
    labels: tuple[str, ...]


def read_groupings(given: Any, n_rows: int) -> tuple[Grouping, ...]:
    """Return the groups of every attribute; refuse what cannot be compared."""
    if given is None:
        raise ValueError(
            "sensitive_features is None: the group of each row is expected."
        )
    found = []
    for name, column in _named_columns(given).items():
        argument = "sensitive_features" if name == "group" else f"attribute {name!r}"
        codes, labels = _coded(column, n_rows, argument)
        _refuse_odd(argument, labels.tolist(), codes)
        refuse_quantity(SensitiveGroups(codes, labels), argument, CUT_FIRST)
        found.append(Grouping(name, codes, texts(labels.tolist())))
    return tuple(found)


def _coded(column: Any, n_rows: int, argument: str) -> tuple[Codes, NDArray[Any]]:
    """Codes and labels of a column; groups that were made before keep their order."""
    if not isinstance(column, SensitiveGroups):
        check_lengths(n_rows, **{argument: column})
        return find_known(column, argument)
    check_lengths(n_rows, **{argument: column.codes})
    here = np.unique(column.codes[column.codes >= 0])
    place = np.full(len(column.labels) + 1, -1, np.intp)  # the last is that of −1
    place[here] = np.arange(len(here))
    return place[column.codes], column.labels[here]


def _named_columns(given: Any) -> dict[str, Any]:
    """Columns of labels by name: of a dict, a frame, a series or an array."""
    if isinstance(given, dict):
        refuse_namesakes("sensitive_features", list(given))
        named: dict[str, Any] = {}
        for name, values in given.items():
            if isinstance(values, SensitiveGroups):
                named[str(name)] = values
                continue
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
        refuse_namesakes("sensitive_features", list(native.columns))
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
            f"{counted(int((codes >= 0).sum()), 'row')}): there is nothing to compare."
        )
    if len(labels) > MOST_GROUPS:
        raise ValueError(
            f"{argument} has {len(labels)} groups ({listed(labels)}): at most "
            f"{MOST_GROUPS} are expected. Join small groups, or cut a number into bins."
        )


def refuse_weightless(groupings: tuple[Grouping, ...], weights: Floats) -> None:
    """Refuse groups whose rows weigh nothing."""
    for grouping in groupings:
        heavy = grouping.codes[(weights > 0) & (grouping.codes >= 0)]
        gone = np.flatnonzero(np.bincount(heavy, minlength=len(grouping.labels)) == 0)
        if len(gone):
            raise ValueError(
                f"sample_weight is zero for all rows of group "
                f"{shown(grouping.labels[gone[0]])} in attribute {grouping.name!r}: "
                "there is nothing to compare."
            )


def intersections(
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
    cells = crossed(
        [
            SensitiveGroups(part.codes, np.array(part.labels), part.name)
            for part in parts
        ],
        weights,
    )
    return Grouping(cells.name, cells.codes, tuple(cells.labels.tolist()))


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


def refuse_namesakes(argument: str, names: list[Any]) -> None:
    """Refuse names that are the same as text: 1 and "1"."""
    seen: dict[str, Any] = {}
    for name in names:
        if str(name) in seen:
            raise ValueError(
                f"{argument} has two columns called {str(name)!r} ({seen[str(name)]!r} "
                f"and {name!r}): rename one of them."
            )
        seen[str(name)] = name


# Rows that are repeated have to fit into memory with ease.
MOST_REPEATED = 20_000_000


@dataclass(frozen=True)
class AuditedRows:
    """What is audited; arrays of one length N."""

    predicted: dict[str, Floats]
    ranked: dict[str, Floats]  # of those that floats tie: their exact order and ties
    target: Floats | None
    groupings: tuple[Grouping, ...]
    tasks: Codes | None
    task_labels: tuple[str, ...]
    weights: Floats | None
    fingerprint: str
    n_given: int
    backend: str | None
    unit: float = 1.0  # what a weight of 1 was before


def read_audited(
    y_true: Any,
    y_pred: Any,
    sensitive_features: Any,
    tasks: Any,
    sample_weight: Any,
    intersect: bool,
    frequency_weights: bool = False,
) -> AuditedRows:
    """Check all arguments and return them as arrays."""
    read = _read_predictions(y_pred)
    predicted = {name: values for name, (values, _) in read.items()}
    ranked = {name: told for name, (values, told) in read.items() if told is not values}
    n_rows = len(next(iter(predicted.values())))
    target = None if y_true is None else read_target(y_true, "y_true")
    check_lengths(n_rows, **{f"y_pred[{name!r}]": p for name, p in predicted.items()})
    check_lengths(n_rows, y_true=target)
    weights = read_weights(sample_weight, n_rows)
    groupings = read_groupings(sensitive_features, n_rows)
    if weights is not None:
        refuse_weightless(groupings, weights)
    if frequency_weights:
        _refuse_no_frequencies(weights)
    if intersect:
        groupings += intersections(groupings, weights)
    codes, labels = _read_tasks(tasks, n_rows)
    rows = AuditedRows(
        predicted,
        ranked,
        target,
        groupings,
        codes,
        labels,
        None,
        _fingerprint(predicted | ranked, target, groupings, (codes, labels), weights),
        n_rows,
        _backend(sensitive_features, y_pred),
    )
    return rows if weights is None else _weighted(rows, weights, frequency_weights)


def _read_tasks(tasks: Any, n_rows: int) -> tuple[Codes | None, tuple[str, ...]]:
    if tasks is None:
        return None, ("all",)
    columns = as_columns(tasks, "tasks")
    check_lengths(n_rows, tasks=columns[0])
    codes, labels = find_labels(columns, "tasks")
    return codes, texts(labels.tolist())


def _read_predictions(y_pred: Any) -> dict[str, tuple[Floats, Floats]]:
    if isinstance(y_pred, dict):
        if not y_pred:
            raise ValueError(
                "y_pred is an empty dict: a name and predictions for each model are "
                'expected, {"before": p0, "after": p1}.'
            )
        refuse_namesakes("y_pred", list(y_pred))
        return {
            str(name): read_ranked(values, f"y_pred[{name!r}]")
            for name, values in y_pred.items()
        }
    return {"predicted": read_ranked(y_pred, "y_pred")}


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
            "intervals follow the rows that are given."
        )


def _weighted(rows: AuditedRows, weights: Floats, frequency: bool) -> AuditedRows:
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
    return AuditedRows(
        {name: values[index] for name, values in rows.predicted.items()},
        {name: values[index] for name, values in rows.ranked.items()},
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


def compared_groups(
    owner: Any, X: Any, given: Any, weights: Floats | None
) -> tuple[Codes, tuple[str, ...], NDArray[Any]]:
    """Return the group of each row, −1 if not known, names, and labels to hand on.

    Groups that the model reads, or would, are cut and combined as it does.
    """
    named = getattr(owner, "sensitive_features", None)
    own = given is None or named is None
    source = label_source_of("sensitive_features", given, owner, X)
    if source is None:
        raise ValueError(
            "sensitive_features is missing: give the group of each row, or name its "
            "column in the model."
        )
    bins = getattr(owner, "bins", None) if own else None
    intersect = own and bool(getattr(owner, "intersect", False))
    found = Protected.of(source, weights, bins, intersect).attributes
    if len(found) > 1:
        raise ValueError(
            f"sensitive_features has {len(found)} columns: a path compares the groups "
            "of one attribute. Name one of them, or compare their combinations with a "
            "model that has intersect=True."
        )
    _check_sizes(found[0], weights)
    names = tuple(map(str, found[0].labels.tolist()))
    codes, known = found[0].codes, found[0].known
    if len(source.columns) > 1:
        # Each fit cuts and combines these itself, as it would outside of a path.
        return codes, names, label_table(source.columns)
    if found[0].edges is not None:
        return codes, names, column_numbers(source.columns[0], source.name)
    labels = codes if known is None else np.where(known, codes, math.nan)
    return codes, names, labels


def _check_sizes(groups: SensitiveGroups, weights: Floats | None) -> None:
    """Refuse groups with too few rows to hold some out."""
    labels = groups.labels.tolist()
    rows = groups.sizes(None if weights is None else np.sign(weights))
    for label, count in zip(labels, rows.astype(int).tolist(), strict=True):
        if count < 2:
            raise ValueError(
                f"sensitive_features: group {shown(label)} has {count} row that "
                "counts: a path needs one to learn from and one to hold out. Join "
                "groups, or leave these rows out."
            )
