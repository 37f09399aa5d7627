"""Model files: saved, loaded, described and checked as a whole."""

from __future__ import annotations

import json
import math
import os
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from rankfair import __version__
from rankfair.estimators import (
    DecisionBoundaryCovariance,
    MultiTaskRegressor,
    RankFairRegressor,
    StratifiedBalancedResiduals,
    StratifiedEqualMeans,
)
from rankfair.estimators.base import TaskRegressor
from rankfair.estimators.trade_off import TradeOff, TradeOffRow
from rankfair.files.archive import (
    ModelFileError,
    demand,
    distrusted,
    pack,
    unpack,
    unpack_meta,
    write_model,
)
from rankfair.files.codec import Decoder, Encoder, by_kind, plain
from rankfair.input.columns import GroupEncoder, Layout, is_reference
from rankfair.input.disk import read_up_to
from rankfair.input.labels import find_labels

MAX_BYTES = 1 << 30
MODELS: dict[str, type[TaskRegressor]] = by_kind(
    (
        RankFairRegressor,
        MultiTaskRegressor,
        StratifiedEqualMeans,
        StratifiedBalancedResiduals,
        DecisionBoundaryCovariance,
    )
)
_NAMES = ", ".join(cls.__name__ for cls in MODELS.values())
# What the description of a model has, and of which type.
BODY = {
    **dict.fromkeys(("estimator", "rankfair", "notes"), str),
    **dict.fromkeys(("params", "fitted", "extra"), dict),
    "columns": list,
}
# What a fit leaves: any, one with groups, and one that constrains them.
LINEAR = (
    *("_layout", "coef_", "intercept_", "n_features_in_", "n_iter_", "objective_"),
    *("predictors_", "resolution_", "shared_coef_", "shared_intercept_", "tasks_"),
)
GROUPED = ("groups_", "status_")
BALANCED = (
    *("_trade_off", "constraint_values_", "bin_edges_"),
    *("group_auc_", "n_unknown_", "rank_auc_"),
)
# What a fit came to, if the model has it: shown by `describe_model`.
ACHIEVED = (
    *("status_", "rank_auc_", "group_auc_"),
    *("constraint_values_", "covariance_", "strata_"),
)
_ATTRIBUTE = re.compile(r"_?[a-z][a-z0-9_]*")
# Which keywords scikit-learn is to hand on: a setting of a program, not of a model.
_NOT_STORED = ("_metadata_request",)
Read = TypeVar("Read")


def save_model(
    model: Any,
    path: str | os.PathLike[str],
    *,
    notes: str | None = None,
    extra: Mapping[str, Any] | None = None,
) -> Path:
    """Write a fitted model to a file that `load_model` reads.

    Parameters
    ----------
    model : RankFairRegressor, MultiTaskRegressor or one of the baselines
        A fitted model.  Its settings must be plain values, or penalties, constraints
        and solvers of this package.
    path : str or path
        Where to; by custom its name ends in ``.rankfair``.
    notes : str, optional
        A few words for people, shown by `describe_model`.
    extra : dict, optional
        Plain JSON that goes with the model, for instance how a file's columns become
        predictors; `read_extra` returns it.

    Returns
    -------
    Path
        The same path.

    Raises
    ------
    ModelFileError
        If the model cannot be stored or the file not be written; nothing was changed.

    See Also
    --------
    load_model, describe_model, read_extra, export_onnx

    Examples
    --------
    >>> import tempfile
    >>> from rankfair import MultiTaskRegressor, load_model, save_model
    >>> model = MultiTaskRegressor(beta=0.0).fit([[0.0], [1.0], [2.0]], [1, 3, 5])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = save_model(model, f"{folder}/a.rankfair")
    ...     load_model(path).predict([[3.0]]).round(6).tolist()
    [7.0]
    """
    return write_model(path, model_bytes(model, notes=notes, extra=extra))


def model_bytes(
    model: Any, *, notes: str | None = None, extra: Mapping[str, Any] | None = None
) -> bytes:
    """Return the bytes of a model file."""
    name = type(model).__name__
    (kind,) = by_kind([type(model)])
    if MODELS.get(kind) is not type(model):
        inner = type(getattr(model, "estimator_", None))
        cure = " Save its estimator_ instead." if inner in MODELS.values() else ""
        raise ModelFileError(
            f"A {name} is not stored in a model file; stored are {_NAMES}.{cure}"
        )
    if not model.__sklearn_is_fitted__():
        raise ModelFileError(f"This {name} is not fitted: call fit before saving.")
    if notes is not None and not isinstance(notes, str):
        raise ModelFileError(f"notes must be text; got a {type(notes).__name__}.")
    params = model.get_params(deep=False)
    encoder = Encoder()
    fitted = {
        key: encoder.encode(value, key)
        for key, value in sorted(model.state_without_rows().items())
        if key not in params and key not in _NOT_STORED
    }
    settings = {key: encoder.encode(value, key) for key, value in params.items()}
    try:
        check_sound(model)  # what could not be read again is not written
    except ModelFileError as error:
        raise ModelFileError(f"This {name} cannot be stored: {error}") from None
    body = {
        "estimator": kind,
        "rankfair": __version__,
        "notes": notes or "",
        "columns": columns_of(model),
        "params": settings,
        "fitted": fitted,
        "extra": _as_json(extra),
    }
    return pack(body, encoder.arrays)


def _as_json(extra: Mapping[str, Any] | None) -> Any:
    """Return the extra as JSON would give it back."""
    try:
        return json.loads(json.dumps(dict(extra or {}), allow_nan=False))
    except (TypeError, ValueError, RecursionError) as error:
        raise ModelFileError(f"extra must be a dict of plain JSON: {error}.") from None


def load_model(path: str | os.PathLike[str], *, max_bytes: int = MAX_BYTES) -> Any:
    """Read a model that `save_model` wrote; it predicts the same to the last bit.

    Nothing in a model file is run.  A file that is not whole, not a model file, or
    larger than the limit is refused with the reason.

    Parameters
    ----------
    path : str or path
        The file.
    max_bytes : int, default=1 GiB
        Larger files are refused.

    Returns
    -------
    estimator
        The fitted model.

    Raises
    ------
    ModelFileError
        With the reason.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from rankfair import load_model
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "no.rankfair"
    ...     _ = path.write_bytes(b"\\x80\\x04")
    ...     try:
    ...         load_model(path)
    ...     except ValueError as error:
    ...         print(str(error).replace(folder, "…"))
    …/no.rankfair is no sound model file: it looks like a pickle, which can run any code
    when it is opened. Save the model again, with this release, or get the file again.
    """
    return _reading(path, max_bytes, model_of)


def describe_model(
    path: str | os.PathLike[str], *, max_bytes: int = MAX_BYTES
) -> dict[str, Any]:
    """Return what a model file says about its model; arrays are not read.

    Parameters
    ----------
    path : str or path
        The file.
    max_bytes : int, default=1 GiB
        Larger files are refused.

    Returns
    -------
    dict
        ``estimator``, ``rankfair`` (the release that wrote it), ``notes``, ``params``,
        ``columns`` (name, role and type of each column of X), ``tasks`` and ``groups``
        (labels, or None), ``achieved`` (status and constraint on the training rows),
        ``extra`` and ``bytes``.  All are plain JSON types, NaN is None.

    Examples
    --------
    >>> import tempfile
    >>> from rankfair import MultiTaskRegressor, save_model
    >>> from rankfair import describe_model
    >>> model = MultiTaskRegressor(beta=0.0).fit([[0.0], [1.0], [2.0]], [1, 3, 5])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     found = describe_model(save_model(model, f"{folder}/a.rankfair"))
    >>> found["estimator"], found["columns"]
    ('MultiTaskRegressor', [{'name': 'x0', 'role': 'predictor', 'type': 'float64'}])
    """
    return _reading(path, max_bytes, describe_bytes)


def read_extra(path: str | os.PathLike[str]) -> Any:
    """Return the ``extra`` that was saved with a model.

    Examples
    --------
    >>> import tempfile
    >>> from rankfair import MultiTaskRegressor, save_model
    >>> from rankfair.files.model_files import read_extra
    >>> model = MultiTaskRegressor(beta=0.0).fit([[0.0], [1.0], [2.0]], [1, 3, 5])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = save_model(model, f"{folder}/a.rankfair", extra={"target": "pay"})
    ...     read_extra(path)
    {'target': 'pay'}
    """
    return describe_model(path)["extra"]


def _reading(
    path: str | os.PathLike[str], max_bytes: int, read: Callable[[bytes], Read]
) -> Read:
    """Read a file, and name it in whatever is said of it."""
    try:
        with Path(path).open("rb") as stream:
            raw = read_up_to(stream, max_bytes)
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise ModelFileError(f"{os.fspath(path)} cannot be read: {reason}.") from error
    try:
        if len(raw) > max_bytes:
            raise ModelFileError(f"it is larger than max_bytes, {max_bytes:,} bytes.")
        return read(raw)
    except ModelFileError as error:
        raise ModelFileError(
            f"{os.fspath(path)} is no sound model file: {error} Save the model again, "
            "with this release, or get the file again."
        ) from None


@distrusted()
def model_of(raw: bytes) -> Any:
    """Return the model that the bytes of a file hold."""
    body, arrays = unpack(raw)
    cls = MODELS[_check_body(body)["estimator"]]
    decoder = Decoder(arrays)
    params = _named(decoder.decode(body["params"]))
    fitted = _named(decoder.decode(body["fitted"]))
    known = cls._get_param_names()
    for name in params:
        if name not in known:
            raise ModelFileError(f"it has the setting {name[:40]!r}, not known here.")
    for name in fitted:
        if not _ATTRIBUTE.fullmatch(name) or name in known or hasattr(cls, name):
            raise ModelFileError(f"it has the attribute {name[:40]!r}, not known here.")
    model = cls(**params)
    model.__dict__.update(fitted)
    check_sound(model)
    if columns_of(model) != body["columns"]:
        raise ModelFileError("its columns are not those that it describes.")
    return model


@distrusted()
def describe_bytes(raw: bytes) -> dict[str, Any]:
    """Return what `describe_model` does, of the bytes of a file."""
    body = _check_body(unpack_meta(raw))
    fitted = body["fitted"]
    return {
        "estimator": MODELS[body["estimator"]].__name__,
        "rankfair": body["rankfair"],
        "notes": body["notes"],
        "params": _named(plain(body["params"])),
        "columns": body["columns"],
        "tasks": _labels(plain(fitted.get("tasks_"))),
        "groups": _labels(plain(fitted.get("groups_"))),
        "achieved": {key: plain(fitted[key]) for key in ACHIEVED if key in fitted},
        "extra": body["extra"],
        "bytes": len(raw),
    }


def _check_body(body: Any) -> dict[str, Any]:
    demand(isinstance(body, dict), "its description is no object")
    for key, kind in BODY.items():
        demand(isinstance(body.get(key), kind), f"its description lacks {key!r}")
    for column in body["columns"]:
        named = isinstance(column, dict) and {*column} == {"name", "role", "type"}
        demand(named, "its columns are not described by name, role, type")
        demand(_are_text(column.values()), "its columns are not described by text")
    kind = body["estimator"]
    demand(kind in MODELS, f"it holds a {kind[:40]!r}; known are {', '.join(MODELS)}")
    return dict(body)


def _named(values: Any) -> dict[str, Any]:
    """Return settings or attributes, if these are values by name."""
    named = isinstance(values, dict) and _are_text(values)
    demand(named, "its settings or attributes have no names")
    return dict(values)


def _labels(values: Any) -> Any:
    """Return labels to be shown, if these are a list, or lists by name."""
    lists = values.values() if isinstance(values, dict) else [values]
    labels = values is None or all(isinstance(each, list) for each in lists)
    demand(labels, "its tasks or groups are no labels")
    return values


def columns_of(model: Any) -> list[dict[str, str]]:
    """Return name, role and type of each column of X, in order."""
    layout: Layout = model._layout
    names = getattr(model, "feature_names_in_", None)
    if names is None:
        names = [f"x{j}" for j in range(model.n_features_in_)]
    tasks = layout.task_columns or ()
    protected = {each.column: each.labels for each in layout.protected}
    found = []
    for j, name in enumerate(map(str, names)):
        if j in tasks:
            role, kind = "task", _label_type(layout.tasks, tasks.index(j))
        elif j in protected:
            labels = protected[j]  # a number that bins cut has none
            kind = "float64" if labels is None else _label_type(labels)
            role = "group and predictor"
        elif j in layout.predictors:
            role, kind = "predictor", "float64"
        else:
            role, kind = "group, not used to predict", _unused_type(model, name)
        found.append({"name": name, "role": role, "type": kind})
    return found


def _label_type(labels: Any, place: int = 0) -> str:
    if labels is None or not len(labels):
        return "unknown"
    first = labels.tolist()[0]
    return type(first[place] if isinstance(first, tuple) else first).__name__


def _unused_type(model: Any, name: str) -> str:
    """Return the type of a protected column that is no predictor, where it is known."""
    if name in getattr(model, "bin_edges_", {}):
        return "float64"
    labels, asked = model.groups_, model.sensitive_features
    if isinstance(labels, dict):
        return _label_type(labels.get(name))
    # The groups of combinations do not tell the labels they are made of.
    several = isinstance(asked, list | tuple) and len(asked) > 1
    return "unknown" if several else _label_type(labels)


@distrusted()
def check_sound(model: TaskRegressor) -> None:
    """Raise if the attributes of a model that was read do not fit together."""
    _check_fitted(model)
    _check_coefficients(model)
    _check_layout(model)
    _check_protected(model._layout)
    _check_trade_off(model, getattr(model, "_trade_off", None))
    _check_settings(model)


def _check_fitted(model: Any) -> None:
    """See that nothing is missing of what every fit of this kind leaves."""
    grouped = not isinstance(model, MultiTaskRegressor)
    balanced = isinstance(model, RankFairRegressor)
    needed = (*LINEAR, *(GROUPED if grouped else ()), *(BALANCED if balanced else ()))
    for name in needed:
        demand(name in vars(model), f"it lacks {name}")
    demand(isinstance(model._layout, Layout), "it lacks its layout of columns")
    if grouped:
        demand(isinstance(model.status_, str), "status_ is no text")
        groups = model.groups_
        of_each = groups.values() if isinstance(groups, dict) else [groups]
        known = groups is None or all(map(_are_labels, of_each))
        demand(known, "groups_ are no labels")
    if balanced:
        edges = model.bin_edges_
        named = isinstance(edges, dict)
        numbers = named and all(_floats(each, 1) for each in edges.values())
        demand(numbers, "bin_edges_ are no numbers")


def _check_coefficients(model: Any) -> None:
    layout, coef, intercept = model._layout, model.coef_, model.intercept_
    demand(_floats(coef, 2) and _floats(intercept, 1), "coefficients are no numbers")
    n_tasks, n_predictors = coef.shape
    demand(len(intercept) == n_tasks, "it has another number of intercepts than tasks")
    as_many = len(layout.names) == n_predictors
    demand(as_many, "names and coefficients differ in number")
    as_many = isinstance(layout.tasks, np.ndarray) and layout.tasks.shape == (n_tasks,)
    demand(as_many, "tasks and coefficients differ in number")
    demand(_are_labels(layout.tasks), "tasks are no labels, or one is there twice")
    for name, read in (("tasks_", layout.tasks), ("predictors_", layout.names)):
        said = getattr(model, name)
        same = isinstance(said, np.ndarray) and said.tolist() == list(read)
        demand(same, f"{name} are not those that it reads")
    step = model.resolution_
    power = isinstance(step, float) and math.isfinite(step)
    power = power and step >= 0.0 and math.frexp(step)[0] in (0.0, 0.5)
    demand(power, "its resolution is no power of two")
    shared = model.shared_coef_
    if shared is not None:
        fits = _floats(shared, 1) and len(shared) == n_predictors
        demand(fits, "the shared coefficients are not as many as the others")
        offset = model.shared_intercept_
        finite = isinstance(offset, float) and math.isfinite(offset)
        demand(finite, "it lacks a shared intercept")


def _check_layout(model: Any) -> None:
    """See that the columns it reads are there, and give the predictors it names."""
    layout, width = model._layout, model.n_features_in_
    predictors = layout.predictors
    tasks = () if layout.task_columns is None else layout.task_columns
    demand(isinstance(predictors, tuple) and predictors, "it has no predictors")
    demand(isinstance(tasks, tuple), "columns of tasks are no columns")
    used = (*predictors, *tasks)
    there = type(width) is int and all(type(j) is int and 0 <= j < width for j in used)
    demand(there, "it reads columns that are not there")
    demand(len(set(used)) == len(used), "it reads a column twice")
    all_used = len(used) == width or not isinstance(model, MultiTaskRegressor)
    demand(all_used, "it has columns that are neither tasks nor predictors")
    labels = layout.tasks.tolist()
    single = len(labels) == 1 or layout.task_columns is not None
    demand(single, "it has several tasks, and does not read which")
    of_columns = all(isinstance(it, tuple) and len(it) == len(tasks) for it in labels)
    alike = len(tasks) < 2 or of_columns
    demand(alike, "tasks are not as the columns that name them")
    names = getattr(model, "feature_names_in_", None)
    if names is not None:
        demand(len(names) == width, "names of columns are missing")
        distinct = _are_labels(names) and _are_text(names)
        demand(distinct, "names of columns are no text, or not distinct")
    demand(_are_text(layout.names), "a name is no text")
    known = layout.groups is None or _are_labels(layout.groups)
    demand(known, "its groups are no labels")


def _check_protected(layout: Layout) -> None:
    protected = layout.protected
    demand(isinstance(protected, tuple), "protected columns are no columns")
    for each in protected:
        demand(isinstance(each, GroupEncoder), "a protected column is not described")
        _check_encoder(each, layout)
    columns = {each.column for each in protected}
    demand(len(columns) == len(protected), "a protected column is there twice")
    more = sum(len(each.fill) - 1 for each in protected)
    as_many = len(layout.names) == len(layout.predictors) + more
    demand(as_many, "names and the columns that it reads differ in number")


def _check_encoder(each: GroupEncoder, layout: Layout) -> None:
    predicts = type(each.column) is int and each.column in layout.predictors
    demand(predicts, "a protected column is no predictor")
    demand(isinstance(each.name, str), "a protected column has no name")
    fill = each.fill
    demand(_floats(fill, 1), "what stands for a group not known is no number")
    if each.labels is None:
        demand(len(fill) == 1, "a protected number is not one column")
        return
    demand(_are_labels(each.labels), "labels of a protected column are no labels")
    as_many = len(each.labels) == len(fill) + 1
    demand(as_many, "labels of a protected column are not as many as its columns")


def _check_trade_off(model: Any, found: Any) -> None:
    """See that the line of all ε is of this model; a file has a table of it."""
    if found is None:
        return
    demand(isinstance(found, TradeOff), "its line of fits is none")
    rows = len(model.coef_) + (model.shared_coef_ is not None)
    shape = rows, model.coef_.shape[1]
    said = "the coefficients of its line of fits are not as many as its own"
    for each in (found.coef, found.coef_slope):
        demand(_floats(each, 2) and each.shape == shape, said)
    for each in (found.intercept, found.intercept_slope):
        demand(_floats(each, 1) and len(each) == rows, said)
    table = found.without_rows().table
    # No ε is wide enough for some values of a band with one side.
    plain = isinstance(table, np.ndarray) and _floats(np.nan_to_num(table, nan=-1), 2)
    fits = plain and len(table) > 0 and table.shape[1] == len(TradeOffRow._fields)
    demand(fits, "the table of its line of fits is no table")


def _check_settings(model: Any) -> None:
    """Let the estimator check its settings as it does in fit."""
    for name in ("tasks", "sensitive_features"):
        value = getattr(model, name, None)
        refs = value if isinstance(value, list | tuple) else [value]
        named = value is None or all(map(is_reference, refs))
        demand(named, f"a setting of it is unsound ({name} names no column)")
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
