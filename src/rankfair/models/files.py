"""`save_model` and `load_model`: a fitted model in one file, without pickle."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from rankfair import __version__
from rankfair._disk import read_up_to
from rankfair.estimators import (
    DecisionBoundaryCovariance,
    MultiTaskRegressor,
    RankFairRegressor,
    StratifiedBalancedResiduals,
    StratifiedEqualMeans,
)
from rankfair.estimators.base import TaskRegressor
from rankfair.models.archive import (
    ModelFileError,
    distrusted,
    pack,
    unpack,
    unpack_meta,
    write_model,
)
from rankfair.models.codec import Decoder, Encoder, plain
from rankfair.models.sound import check_sound, columns_of

__all__ = ["describe_model", "load_model", "read_extra", "save_model"]

MAX_BYTES = 1 << 30
MODELS: dict[str, type[TaskRegressor]] = {
    cls.__name__: cls
    for cls in (
        RankFairRegressor,
        MultiTaskRegressor,
        StratifiedEqualMeans,
        StratifiedBalancedResiduals,
        DecisionBoundaryCovariance,
    )
}
# What a fit came to, if the model has it: shown by `describe_model`.
ACHIEVED = (
    "status_",
    "rank_auc_",
    "group_auc_",
    "constraint_values_",
    "covariance_",
    "strata_",
)
_ATTRIBUTE = re.compile(r"_?[a-z][a-z0-9_]*")
# Which keywords scikit-learn is to hand on: a setting of a program, not of a model.
_NOT_STORED = ("_metadata_request",)


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
    if MODELS.get(name) is not type(model):
        raise ModelFileError(_not_ours(model))
    if not model.__sklearn_is_fitted__():
        raise ModelFileError(f"This {name} is not fitted: call fit before saving.")
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
        "estimator": name,
        "rankfair": __version__,
        "notes": _checked_notes(notes),
        "columns": columns_of(model),
        "params": settings,
        "fitted": fitted,
        "extra": _checked_extra(extra),
    }
    return pack(body, encoder.arrays)


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
    >>> from rankfair.models import describe_model
    >>> model = MultiTaskRegressor(beta=0.0).fit([[0.0], [1.0], [2.0]], [1, 3, 5])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     found = describe_model(save_model(model, f"{folder}/a.rankfair"))
    >>> found["estimator"], found["columns"]
    ('MultiTaskRegressor', [{'name': 'x0', 'role': 'predictor', 'type': 'float64'}])
    """
    found: dict[str, Any] = _reading(path, max_bytes, describe_bytes)
    return found


def read_extra(
    path: str | os.PathLike[str], *, max_bytes: int = MAX_BYTES
) -> dict[str, Any]:
    """Return the ``extra`` that was saved with a model.

    Examples
    --------
    >>> import tempfile
    >>> from rankfair import MultiTaskRegressor, save_model
    >>> from rankfair.models import read_extra
    >>> model = MultiTaskRegressor(beta=0.0).fit([[0.0], [1.0], [2.0]], [1, 3, 5])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = save_model(model, f"{folder}/a.rankfair", extra={"target": "pay"})
    ...     read_extra(path)
    {'target': 'pay'}
    """
    found: dict[str, Any] = _reading(path, max_bytes, extra_of)
    return found


def _reading(path: str | os.PathLike[str], max_bytes: int, read: Any) -> Any:
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
def extra_of(raw: bytes) -> dict[str, Any]:
    """Return what `read_extra` does, of the bytes of a file."""
    extra: dict[str, Any] = _check_body(unpack_meta(raw))["extra"]
    return extra


@distrusted()
def describe_bytes(raw: bytes) -> dict[str, Any]:
    """Return what `describe_model` does, of the bytes of a file."""
    body = _check_body(unpack_meta(raw))
    return {
        "estimator": body["estimator"],
        "rankfair": body["rankfair"],
        "notes": body["notes"],
        "params": _named(plain(body["params"])),
        "columns": body["columns"],
        "tasks": _labels(plain(body["fitted"].get("tasks_"))),
        "groups": _labels(plain(body["fitted"].get("groups_"))),
        "achieved": {
            name: plain(body["fitted"][name])
            for name in ACHIEVED
            if name in body["fitted"]
        },
        "extra": body["extra"],
        "bytes": len(raw),
    }


def _named(values: Any) -> dict[str, Any]:
    """Return settings or attributes, if these are values by name."""
    if not (isinstance(values, dict) and all(isinstance(name, str) for name in values)):
        raise ModelFileError("its settings or attributes have no names.")
    return values


def _labels(values: Any) -> Any:
    """Return labels to be shown, if these are a list, or lists by name."""
    lists = values.values() if isinstance(values, dict) else [values]
    if values is not None and not all(isinstance(each, list) for each in lists):
        raise ModelFileError("its tasks or groups are no labels.")
    return values


def _check_body(body: Any) -> dict[str, Any]:
    kinds = {
        "estimator": str,
        "rankfair": str,
        "notes": str,
        "columns": list,
        "params": dict,
        "fitted": dict,
        "extra": dict,
    }
    if not isinstance(body, dict):
        raise ModelFileError("its description is no object.")
    for key, kind in kinds.items():
        if not isinstance(body.get(key), kind):
            raise ModelFileError(f"its description lacks {key!r}.")
    for column in body["columns"]:
        if not isinstance(column, dict) or set(column) != {"name", "role", "type"}:
            raise ModelFileError("its columns are not described by name, role, type.")
        if not all(isinstance(each, str) for each in column.values()):
            raise ModelFileError("its columns are not described by text.")
    if body["estimator"] not in MODELS:
        raise ModelFileError(
            f"it holds a {body['estimator'][:40]!r}; known are {', '.join(MODELS)}."
        )
    return body


def _checked_notes(notes: str | None) -> str:
    if notes is not None and not isinstance(notes, str):
        raise ModelFileError(f"notes must be text; got a {type(notes).__name__}.")
    return notes or ""


def _checked_extra(extra: Mapping[str, Any] | None) -> dict[str, Any]:
    """Return the extra as JSON would give it back."""
    try:
        text = json.dumps(dict(extra or {}), allow_nan=False)
        found: dict[str, Any] = json.loads(text)
    except (TypeError, ValueError, RecursionError) as error:
        raise ModelFileError(f"extra must be a dict of plain JSON: {error}.") from None
    return found


def _not_ours(model: Any) -> str:
    inner = getattr(model, "estimator_", None)
    cure = ""
    if MODELS.get(type(inner).__name__) is type(inner):
        cure = " Save its estimator_ instead."
    return (
        f"A {type(model).__name__} is not stored in a model file; "
        f"stored are {', '.join(MODELS)}.{cure}"
    )
