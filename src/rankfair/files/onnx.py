"""Linear models as ONNX graphs: labels to rows of coefficients, in double precision."""

from __future__ import annotations

import math
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from rankfair.estimators.base import TaskRegressor
from rankfair.files.archive import write_model
from rankfair.input.arrays import Floats
from rankfair.input.errors import ModelFileError, shown
from rankfair.input.training import GroupEncoder, Layout

OPSET, ML_OPSET, IR_VERSION = 17, 3, 8
NOT_KNOWN = -(2**63)  # a whole number that is no label; NumPy writes NaT so
MOST_CELLS = 10_000_000


def export_onnx(model: Any, path: str | os.PathLike[str]) -> Path:
    """Write a fitted linear model as an ONNX graph.

    Inputs are ``predictors``, a double matrix with the predictors in the order of
    ``model.predictors_`` (protected groups left out, protected numbers that ``bins``
    cut left in); ``task``, one label a row, if the model has tasks (``task_1``,
    ``task_2``, … if several columns name them); and ``group``, one label a row, if the
    group is a predictor (``group_1``, ``group_2``, … if several attributes are).
    Labels are strings or 64-bit integers, as in training.  The output ``prediction`` is
    one double a row.

    An ONNX graph cannot refuse a row.  A task not seen in training is predicted with
    the shared coefficients if the model was made with ``unseen="shared"``; otherwise
    its prediction is NaN, and so is that of a group not seen.  A group that is not
    known is predicted as `predict` does: it is the empty text (unless a group is called
    so), among integers −2⁶³, and NaN in place of a number that was cut.

    Parameters
    ----------
    model : RankFairRegressor, MultiTaskRegressor or one of the baselines
        A fitted model.
    path : str or path
        Where to; by custom its name ends in ``.onnx``.

    Returns
    -------
    Path
        The same path.

    Raises
    ------
    ModelFileError
        If the labels have no ONNX type, or the file could not be written.
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
    try:
        import onnx
    except ImportError as error:
        said = 'ONNX needs an extra: pip install "rankfair[onnx]"'
        raise ImportError(said) from error
    graph = _Graph(onnx.helper, onnx.TensorProto)
    places = _places(model._layout)
    _build(graph, model, *places)
    output = graph.value("prediction", "DOUBLE", [None])
    laid = graph.helper.make_graph(
        graph.nodes, type(model).__name__, graph.inputs, [output], graph.stored
    )
    opsets = [("", OPSET), ("ai.onnx.ml", ML_OPSET)]
    imports = [graph.helper.make_opsetid(*each) for each in opsets]
    proto = graph.helper.make_model(
        laid, opset_imports=imports, ir_version=IR_VERSION, producer_name="rankfair"
    )
    labelled, others, _ = places
    names = [str(name) for name in model.predictors_.tolist()]
    props = {
        "predictors": "\n".join(names[j] for j in others),
        "groups": "\n".join(each.name for each, _ in labelled),
    }
    graph.helper.set_model_props(proto, props)
    onnx.checker.check_model(proto)
    return bytes(proto.SerializeToString())


# Protected attributes of labels, an input each, with the columns of the coefficients
# that they become; all other columns, numbers that bins cut among them; and what stands
# for NaN in each of these, the mean of a number that was cut.
Places: TypeAlias = tuple[list[tuple[GroupEncoder, list[int]]], list[int], Floats]


def _places(layout: Layout) -> Places:
    """Return which columns of the coefficients each input has."""
    behind = [each.column for each in layout.protected if each.apart]
    ahead = [j for j in layout.predictors if j not in behind]
    labelled, fill, end = [], np.full(len(layout.names), np.nan), len(ahead)
    for each in layout.protected:
        if each.labels is None:
            fill[ahead.index(each.column)] = each.fill[0]
        elif each.apart:
            labelled.append((each, list(range(end, end + len(each.fill)))))
            end += len(each.fill)
        else:
            labelled.append((each, [ahead.index(each.column)]))
    own = {j for _, columns in labelled for j in columns}
    others = [j for j in range(len(layout.names)) if j not in own]
    return labelled, others, fill[others]


def _build(
    graph: _Graph, model: Any, labelled: Any, others: list[int], fill: Floats
) -> None:
    """Lay the graph: coefficients of each row's task, times its features, summed."""
    layout = model._layout
    features, order = _features(graph, labelled, others, fill)
    row = None
    if layout.task_columns is not None:
        row = _task_rows(graph, layout.tasks.tolist())

    def of_row(name: str, values: Floats) -> str:
        if row is None:
            return graph.table(name, values[:1])
        return graph.node("Gather", [graph.table(name, values), row], f"{name}_of_row")

    coef, intercept = _tables(model)
    graph.node("Mul", [features, of_row("coef", coef[:, order])], "terms")
    axes = graph.table("axes", np.array([1], np.int64))
    graph.node("ReduceSum", ["terms", axes], "total", keepdims=0)
    added = "sum" if model.resolution_ else "prediction"
    graph.node("Add", ["total", of_row("intercept", intercept)], added)
    if model.resolution_:  # powers of two: dividing and multiplying are exact
        step = graph.table("resolution", np.array(model.resolution_))
        graph.node("Div", ["sum", step], "parts")
        graph.node("Round", ["parts"], "whole")  # halves to even, as predict does
        graph.node("Mul", ["whole", step], "prediction")


def _features(
    graph: _Graph, labelled: Any, others: list[int], fill: Floats
) -> tuple[str, list[int]]:
    """Lay the way from the inputs to features; return which columns these are."""
    parts, order = ["predictors"], list(others)
    graph.inputs.append(graph.value("predictors", "DOUBLE", [None, len(order)]))
    if not np.isnan(fill).all():
        graph.node("IsNaN", ["predictors"], "not_known")
        filled = ["not_known", graph.table("fill", fill[None]), "predictors"]
        parts = [graph.node("Where", filled, "filled")]
    for number, (each, columns) in enumerate(labelled, start=1):
        name = f"group_{number}" if len(labelled) > 1 else "group"
        labels = each.labels.tolist()
        unknown = "" if isinstance(labels[0], str) else NOT_KNOWN
        row = graph.rows(name, labels, "sensitive_features", unknown)
        # What each group is read as, then one not known, then one not seen.
        found = each.columns_of(np.append(np.arange(len(labels)), -1))
        found = np.vstack((found, np.full(found.shape[1], np.nan)))
        table = graph.table(f"indicators_of_{name}", found)
        parts.append(graph.node("Gather", [table, row], f"of_{name}"))
        order += columns
    if len(parts) == 1:
        return parts[0], order
    return graph.node("Concat", parts, "features", axis=1), order


def _task_rows(graph: _Graph, tasks: list[Any]) -> str:
    """Lay the way from labels to rows; combinations of columns by a table of all."""
    if not isinstance(tasks[0], tuple):
        return graph.rows("task", tasks, "tasks")
    parts = [list(dict.fromkeys(labels)) for labels in zip(*tasks, strict=True)]
    sizes = [len(part) + 1 for part in parts]  # one more for labels not seen
    if math.prod(sizes) > MOST_CELLS:
        many = f"{math.prod(sizes):,} combinations, too many for an ONNX graph"
        cure = "Make one column of text of them before fit."
        raise ModelFileError(f"tasks of {len(parts)} columns have {many}", cure)
    table = np.full(sizes, len(tasks), np.int64)
    index = [{label: i for i, label in enumerate(part)} for part in parts]
    for row, labels in enumerate(tasks):
        table[tuple(of[x] for of, x in zip(index, labels, strict=True))] = row
    place = graph.rows("task_1", parts[0], "tasks")
    for number, part in enumerate(parts[1:], start=2):
        step = graph.table(f"size_{number}", np.array([len(part) + 1], np.int64))
        graph.node("Mul", [place, step], f"before_{number}")
        own = graph.rows(f"task_{number}", part, "tasks")
        place = graph.node("Add", [f"before_{number}", own], f"place_{number}")
    stored = graph.table("row_of_place", table.ravel())
    return graph.node("Gather", [stored, place], "row_of_task")


def _tables(model: Any) -> tuple[Floats, Floats]:
    """Return coefficients and intercepts of the tasks, a last row for all others."""
    shared = model.unseen == "shared" and model.shared_coef_ is not None
    last = model.shared_coef_ if shared else np.zeros(model.coef_.shape[1])
    offset = model.shared_intercept_ if shared else np.nan
    return np.vstack((model.coef_, last)), np.append(model.intercept_, offset)


@dataclass
class _Graph:
    """The parts of a graph while it is laid."""

    helper: Any
    kinds: Any

    def __post_init__(self) -> None:
        self.nodes: list[Any] = []
        self.inputs: list[Any] = []
        self.stored: list[Any] = []

    def value(self, name: str, kind: str, shape: list[int | None]) -> Any:
        return self.helper.make_tensor_value_info(
            name, getattr(self.kinds, kind), shape
        )

    def node(self, op: str, inputs: list[str], output: str, **settings: Any) -> str:
        self.nodes.append(self.helper.make_node(op, inputs, [output], **settings))
        return output

    def table(self, name: str, values: NDArray[Any]) -> str:
        from onnx import numpy_helper

        self.stored.append(numpy_helper.from_array(np.ascontiguousarray(values), name))
        return name

    def rows(
        self, name: str, labels: list[Any], argument: str, unknown: Any = None
    ) -> str:
        """Add an input of labels; return the row of a table that each stands for.

        After the rows of the labels comes that of ``unknown``, where it is one label
        more, and then that of all others.
        """
        kind, keys = _keys(labels, argument)
        self.inputs.append(self.value(name, kind, [None]))
        attribute = "keys_strings" if kind == "STRING" else "keys_int64s"
        n_rows = len(keys) + (unknown is not None)
        if unknown is not None and unknown not in keys:
            keys = [*keys, unknown]
        settings = {
            attribute: keys,
            "values_int64s": list(range(len(keys))),
            "default_int64": n_rows,
        }
        row = f"row_of_{name}"
        return self.node("LabelEncoder", [name], row, domain="ai.onnx.ml", **settings)


def _keys(labels: list[Any], argument: str) -> tuple[str, list[Any]]:
    if all(isinstance(label, str) for label in labels):
        return "STRING", labels
    # Booleans are whole numbers: 0 and 1.
    if all(isinstance(label, int) and abs(label) < 2**63 for label in labels):
        return "INT64", [int(label) for label in labels]
    some = f"{shown(labels[0])} ({type(labels[0]).__name__})"
    reason = f"{argument} has labels such as {some}, which ONNX cannot look up"
    cure = "Text and whole numbers can be. Convert them to text before fit."
    raise ModelFileError(reason, cure)
