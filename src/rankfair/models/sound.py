"""What a model needs to predict: told before it is stored, proved after it is read."""

from __future__ import annotations

from typing import Any

import numpy as np

from rankfair._regressor import TaskRegressor
from rankfair._validation import Layout
from rankfair.models.archive import ModelFileError

__all__ = ["check_sound", "columns_of"]


def columns_of(model: TaskRegressor) -> list[dict[str, str]]:
    """Return name, role and type of each column of X, in order."""
    layout: Layout = model._layout
    n_columns = int(model.n_features_in_)
    names = getattr(model, "feature_names_in_", None)
    if names is None:
        names = [f"x{j}" for j in range(n_columns)]
    tasks = layout.task_columns or ()
    protected = {each.column: each.labels for each in layout.protected}
    found = []
    for j, name in enumerate(names):
        if j in tasks:
            role, kind = "task", _label_type(layout.tasks, tasks.index(j))
        elif j in protected:
            role, kind = "group and predictor", _group_type(protected[j])
        elif j in layout.predictors:
            role, kind = "predictor", "float64"
        else:
            role, kind = "group, not used to predict", _unused_type(model, str(name))
        found.append({"name": str(name), "role": role, "type": kind})
    return found


def _label_type(labels: Any, place: int) -> str:
    if labels is None or not len(labels):
        return "unknown"
    first = labels.tolist()[0]
    first = first[place] if isinstance(first, tuple) else first
    return type(first).__name__


def _group_type(labels: Any) -> str:
    """Return the type of a protected column; one without labels is a number."""
    return "float64" if labels is None else _label_type(labels, 0)


def _unused_type(model: Any, name: str) -> str:
    """Return the type of a protected column that is no predictor, where it is known."""
    if name in getattr(model, "bin_edges_", {}):
        return "float64"
    labels, asked = model.groups_, model.sensitive_features
    if isinstance(labels, dict):
        return _label_type(labels.get(name), 0)
    # The groups of combinations do not tell the labels they are made of.
    several = isinstance(asked, list | tuple) and len(asked) > 1
    return "unknown" if several else _label_type(labels, 0)


def check_sound(model: TaskRegressor) -> None:
    """Raise if the attributes of a model that was read do not fit together."""
    try:
        _check_shapes(model)
    except (AttributeError, TypeError, ValueError, IndexError) as error:
        if isinstance(error, ModelFileError):
            raise
        raise ModelFileError(f"its parts do not fit together ({error}).") from None


def _check_shapes(model: Any) -> None:
    layout = model._layout
    _demand(isinstance(layout, Layout), "it lacks its layout of columns")
    coef, intercept = model.coef_, model.intercept_
    _demand(_floats(coef, 2) and _floats(intercept, 1), "coefficients are no numbers")
    n_tasks, n_predictors = coef.shape
    _demand(len(intercept) == n_tasks, "it has another number of intercepts than tasks")
    _demand(
        len(layout.names) == n_predictors, "names and coefficients differ in number"
    )
    _demand(
        isinstance(layout.tasks, np.ndarray) and layout.tasks.shape == (n_tasks,),
        "tasks and coefficients differ in number",
    )
    _demand(len(set(layout.tasks.tolist())) == n_tasks, "a task is there twice")
    used = (*layout.predictors, *(layout.task_columns or ()))
    width = model.n_features_in_
    _demand(
        type(width) is int and all(type(j) is int and 0 <= j < width for j in used),
        "it reads columns that are not there",
    )
    names = getattr(model, "feature_names_in_", None)
    _demand(names is None or len(names) == width, "names of columns are missing")
    shared = model.shared_coef_
    if shared is not None:
        fits = _floats(shared, 1) and len(shared) == n_predictors
        _demand(fits, "the shared coefficients are not as many as the others")
        _demand(
            isinstance(model.shared_intercept_, float), "it lacks a shared intercept"
        )


def _floats(value: Any, ndim: int) -> bool:
    plain = isinstance(value, np.ndarray) and value.dtype == np.float64
    return plain and value.ndim == ndim


def _demand(kept: bool, otherwise: str) -> None:
    if not kept:
        raise ModelFileError(f"{otherwise}.")
