"""The graph predicts what the model predicts, to 1e-9 in double."""

import sys

import numpy as np
import pytest
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import PolynomialFeatures, StandardScaler

from rankfair import MultiTaskRegressor, RankFairRegressor, TiltedRegressor
from rankfair.datasets.synthetic import make_biased_tasks
from rankfair.files.onnx import export_onnx, onnx_bytes
from rankfair.input.errors import ModelFileError

onnx = pytest.importorskip("onnx")
onnxruntime = pytest.importorskip("onnxruntime")

DATA = make_biased_tasks(4, 25, random_state=0)
FRAME, Y = DATA.frame, DATA.target
X = FRAME[["x1", "x2", "x3", "x4"]].to_numpy()
TASK, GROUP = FRAME["task"].to_numpy(object), FRAME["z"].to_numpy(object)
OPSETS = {"": 17, "ai.onnx.ml": 3}
NAMED = {"tasks": "task", "sensitive_features": "z"}


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


def test_a_task_not_seen_is_nan_or_shared():
    model = RankFairRegressor(0.02, **NAMED).fit(FRAME, Y)
    task = np.array(["other", *TASK[1:]], object)
    found = run(model, predictors=X, task=task)
    assert np.isnan(found[0])
    close(found[1:], model.predict(FRAME)[1:])
    model = MultiTaskRegressor(tasks="task", penalty="shared", unseen="shared")
    frame = FRAME.drop(columns="z")
    model.fit(frame, Y)
    frame = frame.assign(task=["other", *frame["task"][1:]])
    found = run(model, predictors=X, task=frame["task"].to_numpy(object))
    close(found, model.predict(frame))


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


def test_what_fits_no_graph_is_refused():
    model = RankFairRegressor(0.02, **NAMED, blind=False).fit(FRAME, Y)
    with pytest.raises(ModelFileError, match=r'predicts from "z" .* blind=True'):
        onnx_bytes(model)
    several = [1.5, 2.5], [("a", 1.5), ("b", 2)], ["a", 1], [2**63, 1]
    for tasks in (*several, [("a", "b"), ("a", "c")]):
        labels = np.empty(6, dtype=object)
        labels[:] = tasks * 3
        model = MultiTaskRegressor().fit(X[:6], range(6), tasks=labels)
        with pytest.raises(ModelFileError, match="tasks one column of text before"):
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
    before = to_onnx(steps, initial_types=kind, target_opset=OPSETS)
    session = onnxruntime.InferenceSession(
        before.SerializeToString(), providers=["CPUExecutionProvider"]
    )
    (predictors,) = session.run(None, {"X": X})
    found = run(model, predictors=predictors, task=TASK)
    wanted = model.predict(steps.transform(X), tasks=TASK)
    np.testing.assert_allclose(found, wanted, atol=1e-5)
    # Both speak the version of the language that is asked for.
    ours = onnx.load_from_string(onnx_bytes(model))
    assert {it.domain: it.version for it in ours.opset_import} == OPSETS
