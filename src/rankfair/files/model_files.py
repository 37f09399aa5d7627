"""Model files: saved, loaded, described and checked as a whole."""

from __future__ import annotations

import json
import math
import os
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, TypeAlias, TypeVar, get_type_hints

import numpy as np
from numpy.typing import NDArray

from rankfair import __version__
from rankfair.estimators.base import TaskRegressor
from rankfair.estimators.linear import MultiTaskRegressor, RankFairRegressor
from rankfair.estimators.outcome import TradeOff, TradeOffRow
from rankfair.files.archive import (
    Encoder,
    as_json,
    by_kind,
    decode,
    demand,
    distrusted,
    fits,
    pack,
    unpack,
    write_model,
)
from rankfair.input.disk import read_up_to
from rankfair.input.errors import ModelFileError
from rankfair.input.training import Layout

MAX_BYTES = 1 << 30
MODELS: dict[str, type[TaskRegressor]]
MODELS = by_kind((RankFairRegressor, MultiTaskRegressor))
_NAMES = ", ".join(cls.__name__ for cls in MODELS.values())
# What the description of a model has, and what a fit leaves: any, and a fair one.
BODY: dict[str, Any] = {
    **dict.fromkeys(("estimator", "rankfair", "notes"), str),
    **dict.fromkeys(("params", "fitted", "extra"), dict[str, Any]),
}
OF_FIT = (
    *("coef_", "intercept_", "shared_coef_", "shared_intercept_", "resolution_"),
    *("n_features_in_", "predictors_", "tasks_"),
)
DECLARED = get_type_hints(TaskRegressor)
LINEAR = {"_layout": Layout, **{name: DECLARED[name] for name in OF_FIT}}
FAIR: dict[str, Any] = {
    "groups_": NDArray[Any] | dict[str, NDArray[Any]] | None,
    "status_": str,
    "_trade_off": TradeOff | None,
}
# What a fit came to, if the model has it: shown by `describe_model`.
ACHIEVED = (
    *("status_", "rank_auc_", "group_auc_", "constraint_values_"),
    *("loo_auc_", "proxy_auc_", "n_unknown_"),
)
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
    model : RankFairRegressor or MultiTaskRegressor
        A fitted model.  Its settings must be plain values, or penalties, constraints
        and solvers of this package.
    path : str or path
        Where to; by custom its name ends in ``.rankfair``.
    notes : str, optional
        A few words for people, shown by `describe_model`.
    extra : dict, optional
        Plain JSON that goes with the model, for instance how a file's columns become
        predictors; `describe_model` returns it.

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
    load_model, describe_model, export_onnx

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
        cure = "Save its estimator_ instead." if inner in MODELS.values() else ""
        reason = f"A {name} is not stored in a model file; stored are {_NAMES}"
        raise ModelFileError(reason, cure)
    demand(model.__sklearn_is_fitted__(), f"This {name} is not fitted: call fit first")
    params = model.get_params(deep=False)
    encoder = Encoder()
    fitted = {
        key: encoder.encode(value, key)
        for key, value in sorted(model.state_without_rows().items())
        if key not in params and key not in _NOT_STORED
    }
    settings = {key: encoder.encode(value, key) for key, value in params.items()}
    body = {
        "estimator": kind,
        "rankfair": __version__,
        "notes": str(notes or ""),
        "params": settings,
        "fitted": fitted,
        "extra": _as_json(extra),
    }
    raw = pack(body, encoder.arrays)
    try:
        model_of(raw)  # what could not be read again is not written
    except ModelFileError as error:
        reason = f"This {name} cannot be stored: {error.expected}"
        raise ModelFileError(reason) from None
    return raw


def _as_json(extra: Mapping[str, Any] | None) -> Any:
    """Return the extra as JSON would give it back."""
    try:
        return json.loads(json.dumps(dict(extra or {}), allow_nan=False))
    except (TypeError, ValueError, RecursionError) as error:
        raise ModelFileError(f"extra must be a dict of plain JSON: {error}") from None


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


def model_and_extra(path: str | os.PathLike[str]) -> tuple[Any, Any]:
    """Return a model and the ``extra`` that was saved with it."""
    model, body = _reading(path, MAX_BYTES, _opened)
    return model, body["extra"]


def describe_model(
    path: str | os.PathLike[str], *, max_bytes: int = MAX_BYTES
) -> dict[str, Any]:
    """Return what a model file says about its model.

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
        ``columns`` (name and role of each column of X), ``tasks`` and ``groups``
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
    ('MultiTaskRegressor', [{'name': 'x0', 'role': 'predictor'}])
    """
    return _reading(path, max_bytes, describe_bytes)


def _reading(
    path: str | os.PathLike[str], max_bytes: int, read: Callable[[bytes], Read]
) -> Read:
    """Read a file, and name it in whatever is said of it."""
    name = os.fspath(path)
    try:
        with Path(path).open("rb") as stream:
            raw = read_up_to(stream, max_bytes)
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise ModelFileError(f"cannot be read: {reason}", source=name) from error
    try:
        most = f"it is larger than max_bytes, {max_bytes:,} bytes"
        demand(len(raw) <= max_bytes, most)
        return read(raw)
    except ModelFileError as error:
        reason = f"is no sound model file: {error.expected}"
        cure = "Save the model again, with this release, or get the file again."
        raise ModelFileError(reason, cure, source=name) from None


def model_of(raw: bytes) -> Any:
    """Return the model that the bytes of a file hold."""
    return _opened(raw)[0]


@distrusted()
def describe_bytes(raw: bytes) -> dict[str, Any]:
    """Return what `describe_model` does, of the bytes of a file."""
    model, body = _opened(raw)
    found = vars(model)
    return {
        "estimator": type(model).__name__,
        "rankfair": body["rankfair"],
        "notes": body["notes"],
        "params": as_json(model.get_params(deep=False)),
        "columns": columns_of(model),
        "tasks": as_json(model.tasks_),
        "groups": as_json(found.get("groups_")),
        "achieved": {key: as_json(found[key]) for key in ACHIEVED if key in found},
        "extra": as_json(body["extra"]),
        "bytes": len(raw),
    }


@distrusted()
def _opened(raw: bytes) -> tuple[Any, dict[str, Any]]:
    """Return the model that the bytes of a file hold, proved whole, and its body."""
    body, arrays = unpack(raw)
    demand(isinstance(body, dict), "its description is no object")
    for key, kind in BODY.items():
        demand(fits(body.get(key), kind), f"its description lacks {key!r}")
    kind = body["estimator"]
    demand(kind in MODELS, f"it holds a {kind[:40]!r}; known are {', '.join(MODELS)}")
    cls = MODELS[kind]
    params, fitted = decode([body["params"], body["fitted"]], arrays)
    known = cls._get_param_names()
    for name in params:
        demand(name in known, f"it has the setting {name[:40]!r}, not known here")
    for name in fitted:
        own = name not in known and not hasattr(cls, name)
        demand(own, f"it has the attribute {name[:40]!r}, not known here")
    model = cls(**params)
    model.__dict__.update(fitted)
    for proofs in (_kinds, _sizes, _columns):
        for sound, otherwise in proofs(model):
            demand(sound, otherwise)
    with distrusted("a setting of it is unsound"):
        model._check_settings()
    return model, body


def columns_of(model: Any) -> list[dict[str, str]]:
    """Return name and role of each column of X, in order."""
    layout: Layout = model._layout
    protected = [each.column for each in layout.protected]
    roles = {
        "task": layout.task_columns or (),
        "group and predictor": protected,
        "predictor": [j for j in layout.predictors if j not in protected],
        "group, not used to predict": layout.unused,
    }
    of = {j: role for role, columns in roles.items() for j in columns}
    default = [f"x{j}" for j in range(model.n_features_in_)]
    names = getattr(model, "feature_names_in_", default)
    return [{"name": str(name), "role": of[j]} for j, name in enumerate(names)]


Proofs: TypeAlias = Iterator[tuple[object, str]]  # what has to hold, and what if not


def _kinds(model: TaskRegressor) -> Proofs:
    """All is there that a model of this kind predicts with, and of its type."""
    fair = isinstance(model, RankFairRegressor)
    for name, kind in (LINEAR | FAIR if fair else LINEAR).items():
        yield name in vars(model), f"it lacks {name}"
        yield fits(vars(model)[name], kind), f"its {name} is of another type"


def _sizes(model: Any) -> Proofs:
    """There are as many numbers as tasks and predictors, and finite ones."""
    layout, shared = model._layout, model.shared_coef_
    k, n = len(layout.tasks), len(layout.names)
    found = [("coef_", model.coef_, (k, n)), ("intercept_", model.intercept_, (k,))]
    if shared is not None:
        offset = np.array(model.shared_intercept_, float)
        found += [("shared_coef_", shared, (n,)), ("shared_intercept_", offset, ())]
    for each in layout.protected:
        more = 1 if each.labels is None else len(each.labels) - 1
        yield more, f"the sensitive column {each.name} has one label only"
        found.append((f"what stands for no {each.name}", each.fill, (more,)))
    line = getattr(model, "_trade_off", None)
    if line is not None:
        rows = k + (shared is not None)
        for name in ("coef", "coef_slope"):
            found.append((f"{name} of its line", getattr(line, name), (rows, n)))
        for name in ("intercept", "intercept_slope"):
            found.append((f"{name} of its line", getattr(line, name), (rows,)))
        table = np.array(() if line.table is None else line.table)
        several = len(table) and table.shape[1:] == (len(TradeOffRow._fields),)
        yield several, "the table of its line is no table"
    for name, numbers, shape in found:
        sound = numbers.shape == shape and np.isfinite(numbers).all()
        yield sound, f"{name} should be finite numbers of shape {shape}"
    step = model.resolution_
    power = math.isfinite(step) and step >= 0 and math.frexp(step)[0] in (0.0, 0.5)
    yield power, "its resolution is no power of two"


def _columns(model: Any) -> Proofs:
    """Each column has one use, and they give the tasks and predictors it names."""
    layout, width = model._layout, model.n_features_in_
    predictors, tasks = layout.predictors, layout.task_columns or ()
    yield predictors, "it has no predictors"
    used = (*predictors, *tasks, *layout.unused)
    once = len(used) == width and {*used} == {*range(width)}
    yield once, "it reads columns that are not there, or does not use each of them once"
    labels = layout.tasks.tolist()
    single = len(labels) == 1 or layout.task_columns is not None
    yield single, "it has several tasks, and does not read which"
    of_columns = all(isinstance(it, tuple) and len(it) == len(tasks) for it in labels)
    yield len(tasks) < 2 or of_columns, "tasks are not as the columns that name them"
    names = getattr(model, "feature_names_in_", None)
    if names is not None:
        distinct = fits(names, NDArray[Any]) and fits(names.tolist(), list[str])
        yield distinct and len(names) == width, "names of columns are unsound"
    protected = [each.column for each in layout.protected]
    own = len({*protected}) == len(protected) and {*protected} <= {*predictors}
    yield own, "a sensitive column is no predictor, or there twice"
    more = sum(len(each.fill) - 1 for each in layout.protected)
    as_many = len(layout.names) == len(predictors) + more
    yield as_many, "names and the columns that it reads differ in number"
    for name, read in (("tasks_", labels), ("predictors_", list(layout.names))):
        same = getattr(model, name).tolist() == read
        yield same, f"{name} are not those that it reads"
