"""Linear models as ONNX graphs: labels to rows of coefficients, in double precision."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rankfair.estimators.base import TaskRegressor
from rankfair.files.archive import write_model
from rankfair.input.errors import ModelFileError, listed, shown
from rankfair.input.training import Layout

# Coefficients of each row's task, times its predictors, summed.
GRAPH = """
<ir_version: 8, opset_import: ["": 17, "ai.onnx.ml": 3], producer_name: "rankfair">
{name} (double[N, {n_predictors}] predictors{task}) => (double[N] prediction) {{
    {of_task}
    terms = Mul (predictors, coef_of_row)
    total = ReduceSum <keepdims = 0> (terms, axes)
    sum = Add (total, intercept_of_row)
    {rounded}
}}
"""
OF_TASK = """
    row = ai.onnx.ml.LabelEncoder (task)
    coef_of_row = Gather (coef, row)
    intercept_of_row = Gather (intercept, row)
"""
# By a power of two, exactly; halves are rounded to even, as predict does.
ROUNDED = """
    parts = Div (sum, resolution)
    whole = Round (parts)
    prediction = Mul (whole, resolution)
"""


def export_onnx(model: Any, path: str | os.PathLike[str]) -> Path:
    """Write a fitted linear model as an ONNX graph.

    Inputs are ``predictors``, a double matrix with the predictors in the order of
    ``model.predictors_``, and, if the model has tasks, ``task``, one label a row: a
    string or a 64-bit integer, as in training.  The output ``prediction`` is one double
    a row.

    An ONNX graph cannot refuse a row.  A task not seen in training is predicted with
    the shared coefficients if the model was made with ``unseen="shared"``; otherwise
    its prediction is NaN.

    Parameters
    ----------
    model : RankFairRegressor, MultiTaskRegressor or one of the baselines
        A fitted model that does not predict from the group.
    path : str or path
        Where to; by custom its name ends in ``.onnx``.

    Returns
    -------
    Path
        The same path.

    Raises
    ------
    ModelFileError
        If the model predicts from the group, its tasks are of several columns or have
        no ONNX type, or the file could not be written.
    ImportError
        If the extra ``onnx`` is not installed.

    Examples
    --------
    >>> import tempfile
    >>> from rankfair import MultiTaskRegressor
    >>> from rankfair import export_onnx
    >>> model = MultiTaskRegressor(beta=0.0).fit([[0.0], [1.0], [2.0]], [1, 3, 5])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     export_onnx(model, f"{folder}/a.onnx").name
    'a.onnx'
    """
    return write_model(path, onnx_bytes(model))


def onnx_bytes(model: Any) -> bytes:
    """Return the graph as bytes."""
    if not isinstance(model, TaskRegressor) or not hasattr(model, "_layout"):
        reason = f"A {type(model).__name__} cannot become an ONNX graph"
        raise ModelFileError(reason, "Give a fitted linear model of rankfair.")
    layout = model._layout
    if layout.protected:
        groups = listed([each.name for each in layout.protected])
        reason = f"A model that predicts from {groups} cannot become an ONNX graph"
        raise ModelFileError(reason, "Fit with blind=True, or use a model file.")
    try:
        from onnx import checker, helper, numpy_helper, parser
    except ImportError as error:
        said = 'ONNX needs an extra: pip install "rankfair[onnx]"'
        raise ImportError(said) from error
    names, rows = [str(name) for name in layout.names], _task_rows(layout)
    words = {"name": type(model).__name__, "n_predictors": len(names)}
    words["task"] = f", {rows.pop('kind')}[N] task" if rows else ""
    words["of_task"] = OF_TASK if rows else ""
    words["rounded"] = ROUNDED if model.resolution_ else "prediction = Identity (sum)"
    proto = parser.parse_model(GRAPH.format(**words))
    for name, values in rows.items():
        proto.graph.node[0].attribute.append(helper.make_attribute(name, values))
    for name, table in _tables(model).items():
        plain = np.ascontiguousarray(table).reshape(table.shape)
        proto.graph.initializer.append(numpy_helper.from_array(plain, name))
    helper.set_model_props(proto, {"predictors": "\n".join(names)})
    checker.check_model(proto)
    return bytes(proto.SerializeToString())


def _task_rows(layout: Layout) -> dict[str, Any]:
    """Return which row of the tables each task has, and the type of tasks, if any.

    Tasks not seen in training have the last row.
    """
    labels = layout.tasks.tolist()
    rows = {"values_int64s": list(range(len(labels))), "default_int64": len(labels)}
    if layout.task_columns is None:
        return {}
    if all(isinstance(label, str) for label in labels):
        return {"kind": "string", "keys_strings": labels, **rows}
    # Booleans are whole numbers: 0 and 1.
    if all(isinstance(label, int) and abs(label) < 2**63 for label in labels):
        return {"kind": "int64", "keys_int64s": [*map(int, labels)], **rows}
    some = f"{shown(labels[0])} ({type(labels[0]).__name__})"
    reason = f"tasks has labels such as {some}; ONNX knows text and whole numbers only"
    raise ModelFileError(reason, "Make the tasks one column of text before fit.")


def _tables(model: Any) -> dict[str, NDArray[Any]]:
    """Return what the graph stores; of tasks the last row is for all others."""
    tables = {
        "axes": np.array([1], np.int64),
        "resolution": np.array(model.resolution_),
    }
    if model._layout.task_columns is None:
        own = {"coef_of_row": model.coef_, "intercept_of_row": model.intercept_}
        return own | tables
    shared = model.unseen == "shared" and model.shared_coef_ is not None
    last = model.shared_coef_ if shared else np.zeros(model.coef_.shape[1])
    offset = model.shared_intercept_ if shared else np.nan
    intercept = np.append(model.intercept_, offset)
    return {"coef": np.vstack((model.coef_, last)), "intercept": intercept} | tables
