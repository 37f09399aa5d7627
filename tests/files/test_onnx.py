"""The graph predicts what the model predicts, to 1e-9 in double."""

import sys

import numpy as np
import pandas as pd
import pytest
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import PolynomialFeatures, StandardScaler

from rankfair import MultiTaskRegressor, RankFairRegressor, TiltedRegressor
from rankfair.datasets.synthetic import make_biased_tasks
from rankfair.files.onnx import export_onnx, onnx_bytes
from rankfair.input.errors import ModelFileError

onnxruntime = pytest.importorskip("onnxruntime")

DATA = make_biased_tasks(4, 25, random_state=0)
FRAME, Y = DATA.frame, DATA.target
X = FRAME[["x1", "x2", "x3", "x4"]].to_numpy()
TASK, GROUP = FRAME["task"].to_numpy(object), FRAME["z"].to_numpy(object)
NAMED = {"tasks": "task", "sensitive_features": "z", "blind": False}


def run(model, **inputs):
    session = onnxruntime.InferenceSession(
        onnx_bytes(model), providers=["CPUExecutionProvider"]
    )
    assert {each.name for each in session.get_inputs()} == set(inputs)
    (found,) = session.run(["prediction"], inputs)
    assert found.dtype == np.float64
    return found


def close(found, expected):
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-9)


def test_labels_are_text_or_whole_numbers_or_not_there():
    flags = np.arange(len(X)) % 2 == 0
    model = MultiTaskRegressor().fit(X, Y, tasks=flags)
    found = run(model, predictors=X, task=flags.astype(np.int64))
    close(found, model.predict(X, tasks=flags))
    model = MultiTaskRegressor().fit(X, Y)
    close(run(model, predictors=X), model.predict(X))


def test_a_task_or_group_not_seen_is_nan_or_shared():
    model = RankFairRegressor(0.02, **NAMED).fit(FRAME, Y)
    task, group = TASK.copy(), GROUP.copy()
    task[0], group[1] = "other", "other"
    found = run(model, predictors=X, task=task, group=group)
    assert np.isnan(found[:2]).all()
    close(found[2:], model.predict(FRAME)[2:])
    model = MultiTaskRegressor(tasks="task", penalty="shared", unseen="shared")
    frame = FRAME.drop(columns="z")
    model.fit(frame, Y)
    frame = frame.assign(task=["other", *frame["task"][1:]])
    found = run(model, predictors=X, task=frame["task"].to_numpy(object))
    close(found, model.predict(frame))


LABELS = {"pair": ["f", "m"], "three": ["a", "b", "c"], "four": [3, 1, 7, 5]}
LABELS |= {"flag": [False, True], "old": range(18, 80)}  # ages are to be cut


def protected_frame(names, unknown, seed=0):
    """Return a frame with protected columns between the others, and an outcome."""
    rng, n = np.random.default_rng(seed), 240
    frame = pd.DataFrame({"x1": rng.normal(size=n)})
    y = rng.normal(size=n) + frame["x1"]
    for name in names:
        codes = rng.integers(0, len(LABELS[name]), n)
        column = np.array(LABELS[name], float if name == "old" else object)[codes]
        y += codes * rng.normal() / len(LABELS[name])
        if unknown:
            column[rng.choice(n, 12)] = np.nan if name == "old" else None
        frame[name] = column
    frame["task"] = rng.choice(["u", "v"], n).astype(object)
    return frame.assign(x2=rng.normal(size=n)), y


def fed(frame, names, blind):
    """Return the inputs of a graph: numbers in order, labels apart."""
    labelled = [name for name in names if name != "old"]
    apart = {*(names if blind else labelled), "task"}
    numbers = frame[[name for name in frame if name not in apart]]
    inputs = {"predictors": numbers.to_numpy(float)}
    inputs["task"] = frame["task"].to_numpy(object)
    for number, name in enumerate(() if blind else labelled, start=1):
        label = f"group_{number}" if len(labelled) > 1 else "group"
        text = isinstance(LABELS[name][0], str)
        cells = frame[name].where(frame[name].notna(), "" if text else -(2**63))
        inputs[label] = cells.to_numpy(object if text else np.int64)
    return inputs


BINS = {"bins": 3}
CASES = [
    (["pair"], {}, True),
    (["flag"], {}, True),
    (["four", "three"], {}, False),  # in the order of the constructor
    (["pair", "flag"], {"intersect": True}, True),
    (["old", "three"], BINS | {"blind": True}, True),
    (["three", "old", "pair"], BINS, False),
    (["three", "old", "pair"], BINS | {"intersect": True}, True),
]


@pytest.mark.parametrize(("names", "how", "unknown"), CASES)
@pytest.mark.filterwarnings("ignore::UserWarning")
def test_any_protected_columns_are_read_as_predict_reads_them(names, how, unknown):
    frame, y = protected_frame(sorted(names), unknown)
    how = {"blind": False, "max_iter": 10, **how}
    model = RankFairRegressor(0.1, tasks="task", sensitive_features=names, **how)
    inputs = fed(model.fit(frame, y) and frame, names, model.blind)
    close(run(model, **inputs), model.predict(frame))


def test_a_file_is_read_and_gives_what_the_model_predicts(tmp_path):
    rng = np.random.default_rng(0)
    A = rng.normal(size=(48, 3)) * [1e-3, 1.0, 1e3]
    task = np.array([f"tâsk {i}" for i in np.arange(48) % 4], object)
    model = MultiTaskRegressor(beta=0.1).fit(A, rng.normal(size=48), tasks=task)
    path = export_onnx(model, tmp_path / "a.onnx")
    session = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])
    (found,) = session.run(["prediction"], {"predictors": A, "task": task})
    close(found, model.predict(A, tasks=task))
    assert session.get_modelmeta().producer_name == "rankfair"
    assert session.get_modelmeta().custom_metadata_map["predictors"] == "x0\nx1\nx2"
    # Empty text is a group if training had it.
    frame, y = protected_frame(["three"], False)
    frame["three"] = frame["three"].replace("a", "").astype(object)
    how = {"tasks": "task", "sensitive_features": "three", "blind": False}
    model = RankFairRegressor(0.1, **how).fit(frame, y)
    inputs = fed(frame, ["three"], False)
    close(run(model, **inputs), model.predict(frame))
    inputs["group"] = np.array(["other", *inputs["group"][1:]], object)
    assert np.isnan(run(model, **inputs)[0])


def test_tasks_of_several_columns():
    frame = FRAME.assign(half=np.arange(len(FRAME)) % 3 // 2)
    frame = frame[~((frame["task"] == "1") & (frame["half"] == 1))]
    model = MultiTaskRegressor(tasks=["task", "half"]).fit(
        frame.drop(columns="z"), Y[frame.index]
    )
    task, half = frame["task"].to_numpy(object), frame["half"].to_numpy(np.int64)
    inputs = {"predictors": X[frame.index], "task_1": task, "task_2": half}
    close(run(model, **inputs), model.predict(frame.drop(columns="z")))
    # Labels that are known, but never met, are a task not seen.
    task, half = task.copy(), half.copy()
    task[:3], half[:3] = ["1", "other", "2"], [1, 0, 7]
    inputs |= {"task_1": task, "task_2": half}
    found = run(model, **inputs)
    assert np.isnan(found[:3]).all() and np.isfinite(found[3:]).all()


def test_tasks_that_fit_no_graph_are_refused():
    rows = np.arange(250.0)
    frame = pd.DataFrame({"a": rows, "b": rows, "c": rows, "x": rows % 7})
    frame = frame.astype(dict.fromkeys("abc", int))
    model = MultiTaskRegressor(tasks=["a", "b", "c"], beta=1.0).fit(frame, rows % 5)
    with pytest.raises(ModelFileError, match="15,813,251 combinations"):
        onnx_bytes(model)
    for tasks in ([1.5, 2.5], [("a", 1.5), ("b", 2)], ["a", 1], [2**63, 1]):
        labels = np.empty(6, dtype=object)
        labels[:] = tasks * 3
        model = MultiTaskRegressor().fit(rows[:6, None], range(6), tasks=labels)
        with pytest.raises(ModelFileError, match="Convert them to text before fit"):
            onnx_bytes(model)


def test_other_models_are_refused(tmp_path, monkeypatch):
    for model in (TiltedRegressor(None), MultiTaskRegressor()):
        with pytest.raises(ModelFileError, match=f"A {type(model).__name__} cannot be"):
            export_onnx(model, tmp_path / "a.onnx")
    model = MultiTaskRegressor().fit(X, Y)
    (tmp_path / "file").write_text("old")
    with pytest.raises(ModelFileError, match="Nothing was changed"):
        export_onnx(model, tmp_path / "file" / "a.onnx")
    monkeypatch.setitem(sys.modules, "onnx", None)
    with pytest.raises(ImportError, match=r"rankfair\[onnx\]"):
        export_onnx(model, tmp_path / "a.onnx")
    assert [path.name for path in tmp_path.iterdir()] == ["file"]


def test_a_pipeline_is_two_graphs_one_behind_the_other():
    from skl2onnx import to_onnx
    from skl2onnx.common.data_types import DoubleTensorType

    steps = make_pipeline(StandardScaler(), PolynomialFeatures(include_bias=False))
    model = RankFairRegressor(0.02)
    model.fit(steps.fit_transform(X), Y, tasks=TASK, sensitive_features=GROUP)
    kind = [("X", DoubleTensorType([None, X.shape[1]]))]
    before = to_onnx(steps, initial_types=kind, target_opset={"": 17, "ai.onnx.ml": 3})
    session = onnxruntime.InferenceSession(
        before.SerializeToString(), providers=["CPUExecutionProvider"]
    )
    (predictors,) = session.run(None, {"X": X})
    found = run(model, predictors=predictors, task=TASK)
    np.testing.assert_allclose(
        found, model.predict(steps.transform(X), tasks=TASK), atol=1e-5
    )
