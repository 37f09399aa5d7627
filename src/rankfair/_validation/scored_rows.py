"""Predictions of new rows whose group is known, with groups, tasks and target."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rankfair._frames import Codes, Column, Floats, counted, find_known, listed, shown
from rankfair._groups import (
    CUT_FIRST,
    MOST_GROUPS,
    Bools,
    Groups,
    Source,
    refuse_quantity,
)
from rankfair._validation import (
    check_lengths,
    is_reference,
    label_source_of,
    naming,
    read_ranked,
    read_target,
    reader_of,
)

__all__ = ["ScoredRows", "read_rows"]

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


def read_rows(
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
    refuse_quantity(Groups(codes, labels), "sensitive_features", CUT_FIRST)
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
