"""Linear models as ONNX graphs: labels to rows of coefficients, in double precision."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rankfair.estimators.base import TaskRegressor
from rankfair.files.archive import write_model
from rankfair.input.arrays import Floats
from rankfair.input.errors import ModelFileError, listed, shown

OPSET, ML_OPSET, IR_VERSION = 17, 3, 8
BEFORE_FIT = "Make one column of text of them before fit."


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
        import onnx
    except ImportError as error:
        said = 'ONNX needs an extra: pip install "rankfair[onnx]"'
        raise ImportError(said) from error
    graph = _Graph(onnx)
    names = [str(name) for name in layout.names]
    graph.inputs.append(graph.value("predictors", "DOUBLE", [None, len(names)]))
    _lay(graph, model)
    proto = graph.finished(type(model).__name__)
    onnx.helper.set_model_props(proto, {"predictors": "\n".join(names)})
    onnx.checker.check_model(proto)
    return bytes(proto.SerializeToString())


def _lay(graph: _Graph, model: Any) -> None:
    """Lay the graph: coefficients of each row's task, times its predictors, summed."""
    of_row = [graph.table(name, values) for name, values in _tables(model).items()]
    if model._layout.task_columns is not None:
        row = _task_rows(graph, model._layout.tasks.tolist())
        of_row = [graph.node("Gather", [it, row], f"{it}_of_row") for it in of_row]
    graph.node("Mul", ["predictors", of_row[0]], "terms")
    axes = graph.table("axes", np.array([1], np.int64))
    graph.node("ReduceSum", ["terms", axes], "total", keepdims=0)
    added = "sum" if model.resolution_ else "prediction"
    graph.node("Add", ["total", of_row[1]], added)
    if model.resolution_:  # powers of two: dividing and multiplying are exact
        step = graph.table("resolution", np.array(model.resolution_))
        graph.node("Div", ["sum", step], "parts")
        graph.node("Round", ["parts"], "whole")  # halves to even, as predict does
        graph.node("Mul", ["whole", step], "prediction")


def _task_rows(graph: _Graph, labels: list[Any]) -> str:
    """Add the input of tasks; return the row of the tables that each stands for.

    Tasks not seen in training have the last row.
    """
    if all(isinstance(label, str) for label in labels):
        kind, keys = "STRING", {"keys_strings": labels}
    # Booleans are whole numbers: 0 and 1.
    elif all(isinstance(label, int) and abs(label) < 2**63 for label in labels):
        kind, keys = "INT64", {"keys_int64s": [int(label) for label in labels]}
    else:
        some = f"{shown(labels[0])} ({type(labels[0]).__name__})"
        reason = f"tasks has labels such as {some}, which ONNX cannot look up"
        raise ModelFileError(reason, f"Text and whole numbers can be. {BEFORE_FIT}")
    graph.inputs.append(graph.value("task", kind, [None]))
    rows = {"values_int64s": list(range(len(labels))), "default_int64": len(labels)}
    where = {"domain": "ai.onnx.ml"}
    return graph.node("LabelEncoder", ["task"], "row", **keys, **rows, **where)


def _tables(model: Any) -> dict[str, Floats]:
    """Return coefficients and intercepts of the tasks, a last row for all others."""
    if model._layout.task_columns is None:
        return {"coef": model.coef_, "intercept": model.intercept_}
    shared = model.unseen == "shared" and model.shared_coef_ is not None
    last = model.shared_coef_ if shared else np.zeros(model.coef_.shape[1])
    offset = model.shared_intercept_ if shared else np.nan
    intercept = np.append(model.intercept_, offset)
    return {"coef": np.vstack((model.coef_, last)), "intercept": intercept}


class _Graph:
    """The parts of a graph while it is laid."""

    def __init__(self, onnx: Any) -> None:
        self.onnx = onnx
        self.nodes: list[Any] = []
        self.inputs: list[Any] = []
        self.stored: list[Any] = []

    def value(self, name: str, kind: str, shape: list[int | None]) -> Any:
        number = getattr(self.onnx.TensorProto, kind)
        return self.onnx.helper.make_tensor_value_info(name, number, shape)

    def node(self, op: str, inputs: list[str], output: str, **settings: Any) -> str:
        made = self.onnx.helper.make_node(op, inputs, [output], **settings)
        self.nodes.append(made)
        return output

    def table(self, name: str, values: NDArray[Any]) -> str:
        plain = np.ascontiguousarray(values).reshape(values.shape)
        self.stored.append(self.onnx.numpy_helper.from_array(plain, name))
        return name

    def finished(self, name: str) -> Any:
        """Return the graph as a model."""
        helper = self.onnx.helper
        output = self.value("prediction", "DOUBLE", [None])
        laid = helper.make_graph(self.nodes, name, self.inputs, [output], self.stored)
        opsets = [("", OPSET), ("ai.onnx.ml", ML_OPSET)]
        imports = [helper.make_opsetid(*each) for each in opsets]
        return helper.make_model(
            laid,
            opset_imports=imports,
            ir_version=IR_VERSION,
            producer_name="rankfair",
        )
