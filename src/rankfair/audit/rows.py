"""The audit's door: predictions, groups, tasks and weights as checked arrays."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import Any

import narwhals as nw
import numpy as np

from rankfair._frames import Codes, Floats, as_columns, find_labels
from rankfair._validation import (
    check_lengths,
    read_ranked,
    read_target,
    read_weights,
)
from rankfair.audit.groupings import (
    Grouping,
    intersections,
    read_groupings,
    refuse_namesakes,
    refuse_weightless,
    texts,
)

__all__ = ["Rows", "read_rows"]

# Rows that are repeated have to fit into memory with ease.
MOST_REPEATED = 20_000_000


@dataclass(frozen=True)
class Rows:
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
    rows = Rows(
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
