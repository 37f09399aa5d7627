"""What a model needs to predict: told before it is stored, proved after it is read."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from rankfair._frames import find_labels
from rankfair._groups import Encoder
from rankfair._validation import Layout, is_reference
from rankfair.estimators import MultiTaskRegressor, RankFairRegressor
from rankfair.estimators.base import TaskRegressor
from rankfair.estimators.trade_off import TradeOff, TradeOffRow
from rankfair.models.archive import ModelFileError, distrusted

__all__ = ["check_sound", "columns_of"]

# What a fit leaves: any, one with groups, and one that constraints them.
LINEAR = (
    "_layout",
    "coef_",
    "intercept_",
    "n_features_in_",
    "n_iter_",
    "objective_",
    "predictors_",
    "resolution_",
    "shared_coef_",
    "shared_intercept_",
    "tasks_",
)
GROUPED = ("groups_", "status_")
BALANCED = (
    "_trade_off",
    "constraint_values_",
    "bin_edges_",
    "group_auc_",
    "n_unknown_",
    "rank_auc_",
)
N_FIELDS = len(TradeOffRow._fields)


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


@distrusted()
def check_sound(model: TaskRegressor) -> None:
    """Raise if the attributes of a model that was read do not fit together."""
    _check_fitted(model)
    _check_coefficients(model)
    _check_layout(model)
    _check_trade_off(model, getattr(model, "_trade_off", None))
    _check_settings(model)


def _check_fitted(model: Any) -> None:
    """See that nothing is missing of what every fit of this kind leaves."""
    needed = [*LINEAR]
    if not isinstance(model, MultiTaskRegressor):
        needed += GROUPED
    if isinstance(model, RankFairRegressor):
        needed += BALANCED
    for name in needed:
        _demand(name in vars(model), f"it lacks {name}")
    _demand(isinstance(model._layout, Layout), "it lacks its layout of columns")
    if "groups_" in needed:
        _demand(isinstance(model.status_, str), "status_ is no text")
        groups = model.groups_
        of_each = groups.values() if isinstance(groups, dict) else [groups]
        known = groups is None or all(map(_are_labels, of_each))
        _demand(known, "groups_ are no labels")
    if "bin_edges_" in needed:
        edges = model.bin_edges_
        _demand(
            isinstance(edges, dict)
            and all(_floats(each, 1) for each in edges.values()),
            "bin_edges_ are no numbers",
        )


def _check_layout(model: Any) -> None:
    """See that the columns it reads are there, and give the predictors it names."""
    layout, width = model._layout, model.n_features_in_
    predictors, tasks = layout.predictors, layout.task_columns or ()
    _demand(
        isinstance(predictors, tuple) and len(predictors) > 0, "it has no predictors"
    )
    _demand(isinstance(tasks, tuple), "columns of tasks are no columns")
    used = (*predictors, *tasks)
    _demand(
        type(width) is int and all(type(j) is int and 0 <= j < width for j in used),
        "it reads columns that are not there",
    )
    _demand(len(set(used)) == len(used), "it reads a column twice")
    _demand(
        len(used) == width or not isinstance(model, MultiTaskRegressor),
        "it has columns that are neither tasks nor predictors",
    )
    names = getattr(model, "feature_names_in_", None)
    _demand(names is None or len(names) == width, "names of columns are missing")
    _demand(
        names is None or (_are_labels(names) and _are_text(names)),
        "names of columns are no text, or not distinct",
    )
    _demand(isinstance(layout.protected, tuple), "protected columns are no columns")
    for each in layout.protected:
        _check_encoder(each, layout)
    columns = [each.column for each in layout.protected]
    _demand(len(set(columns)) == len(columns), "a protected column is there twice")
    more = sum(len(each.fill) - 1 for each in layout.protected)
    _demand(
        len(layout.names) == len(predictors) + more,
        "names and the columns that it reads differ in number",
    )
    _demand(_are_text(layout.names), "a name is no text")
    _demand(
        layout.groups is None or _are_labels(layout.groups), "its groups are no labels"
    )


def _check_encoder(each: Any, layout: Layout) -> None:
    _demand(isinstance(each, Encoder), "a protected column is not described")
    _demand(
        type(each.column) is int and each.column in layout.predictors,
        "a protected column is no predictor",
    )
    _demand(isinstance(each.name, str), "a protected column has no name")
    fill = each.fill
    _demand(_floats(fill, 1), "what stands for a group not known is no number")
    if each.labels is None:
        _demand(len(fill) == 1, "a protected number is not one column")
        return
    _demand(_are_labels(each.labels), "labels of a protected column are no labels")
    _demand(
        len(each.labels) == len(fill) + 1,
        "labels of a protected column are not as many as its columns",
    )


def _check_coefficients(model: Any) -> None:
    layout = model._layout
    coef, intercept = model.coef_, model.intercept_
    _demand(_floats(coef, 2) and _floats(intercept, 1), "coefficients are no numbers")
    n_tasks, n_predictors = coef.shape
    _demand(len(intercept) == n_tasks, "it has another number of intercepts than tasks")
    step = model.resolution_
    _demand(isinstance(step, float) and step >= 0.0, "resolution_ is no number")
    _demand(
        len(layout.names) == n_predictors, "names and coefficients differ in number"
    )
    _demand(
        isinstance(layout.tasks, np.ndarray) and layout.tasks.shape == (n_tasks,),
        "tasks and coefficients differ in number",
    )
    _demand(_are_labels(layout.tasks), "tasks are no labels, or one is there twice")
    n_columns = len(layout.task_columns or ())
    _demand(
        n_columns < 2
        or all(isinstance(t, tuple) and len(t) == n_columns for t in layout.tasks),
        "tasks are not as the columns that name them",
    )
    _demand(
        layout.task_columns is not None or n_tasks == 1,
        "it has several tasks, and does not read which",
    )
    for name, read in (("tasks_", layout.tasks), ("predictors_", layout.names)):
        said = getattr(model, name)
        same = isinstance(said, np.ndarray) and said.tolist() == list(read)
        _demand(same, f"{name} are not those that it reads")
    step = model.resolution_
    _demand(
        isinstance(step, float)
        and (step == 0.0 or (0.0 < step < math.inf and math.frexp(step)[0] == 0.5)),
        "its resolution is no power of two",
    )
    shared = model.shared_coef_
    if shared is not None:
        fits = _floats(shared, 1) and len(shared) == n_predictors
        _demand(fits, "the shared coefficients are not as many as the others")
        _demand(
            isinstance(model.shared_intercept_, float)
            and math.isfinite(model.shared_intercept_),
            "it lacks a shared intercept",
        )


def _check_trade_off(model: Any, found: Any) -> None:
    """See that the line of all ε is of this model; a file has a table of it."""
    if found is None:
        return
    _demand(isinstance(found, TradeOff), "its line of fits is none")
    rows = len(model.coef_) + (model.shared_coef_ is not None)
    shape = rows, model.coef_.shape[1]
    _demand(
        all(
            _floats(it, 2) and it.shape == shape
            for it in (found.coef, found.coef_slope)
        )
        and all(
            _floats(it, 1) and len(it) == rows
            for it in (found.intercept, found.intercept_slope)
        ),
        "the coefficients of its line of fits are not as many as its own",
    )
    table = found.without_rows().table
    # No ε is wide enough for some values of a band with one side.
    plain = isinstance(table, np.ndarray) and _floats(np.nan_to_num(table, nan=-1), 2)
    _demand(
        plain and len(table) > 0 and table.shape[1] == N_FIELDS,
        "the table of its line of fits is no table",
    )


def _check_settings(model: Any) -> None:
    """Let the estimator check its settings as it does in fit."""
    for name in ("tasks", "sensitive_features"):
        value = getattr(model, name, None)
        refs = value if isinstance(value, list | tuple) else [value]
        _demand(
            value is None or all(map(is_reference, refs)),
            f"a setting of it is unsound ({name} names no column)",
        )
    try:
        model._check_settings()
    except (AttributeError, TypeError, ValueError) as error:
        raise ModelFileError(f"a setting of it is unsound ({error}).") from None


def _are_labels(value: Any) -> bool:
    """Tell whether this is an array of distinct labels, as rows can have them."""
    if not isinstance(value, np.ndarray) or value.ndim != 1 or not len(value):
        return False
    return len(find_labels([value], "labels")[1]) == len(value)


def _are_text(values: Any) -> bool:
    return all(isinstance(value, str) for value in values)


def _floats(value: Any, ndim: int) -> bool:
    """Tell whether this is an array of finite numbers."""
    plain = isinstance(value, np.ndarray) and value.dtype == np.float64
    return plain and value.ndim == ndim and bool(np.isfinite(value).all())


def _demand(kept: bool, otherwise: str) -> None:
    if not kept:
        raise ModelFileError(f"{otherwise}.")
