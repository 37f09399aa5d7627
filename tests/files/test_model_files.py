"""A model file gives back the same model, or says why not."""

import datetime
import io
import json
import pickle
import sys
from decimal import Decimal

import numpy as np
import pandas as pd
import polars as pl
import pytest

from rankfair import (
    MultiTaskRegressor,
    RankFairRegressor,
    RankFairRegressorCV,
    TiltedRegressor,
    describe_model,
    load_model,
    save_model,
)
from rankfair.constraints import Mean, Rank
from rankfair.files.model_files import describe_bytes, model_bytes, model_of
from rankfair.input.errors import ModelFileError
from rankfair.penalties import Ridge, Shared
from rankfair.solvers import NCADMM, Tilt
from saved import FRAME, NAMED, Y, several_groups, tampered

HALVES = FRAME.assign(half=np.arange(len(FRAME)) % 2)
PLAIN = FRAME.drop(columns="z")
SHARED = {"tasks": "task", "penalty": "shared", "unseen": "shared"}
RECORDS = {
    "penalty": Ridge(0.5),
    "constraints": Rank(0.02),
    "solver": Tilt(max_iter=40),
}
SEVERAL = {"penalty": Shared(0.5), "constraints": [Rank(0.03), Mean(0.1)]}
ADMM = {"blind": False, "penalty": "task", "beta": 1.0, "solver": NCADMM(rho=0.5)}
MODELS = {
    "fair": (RankFairRegressor(0.02, **NAMED, blind=False), FRAME),
    "blind": (RankFairRegressor(0.02, **NAMED), FRAME),
    "three groups": (RankFairRegressor(0.05, **NAMED), several_groups()),
    "no tasks": (MultiTaskRegressor(), PLAIN.drop(columns="task")),
    "shared": (MultiTaskRegressor(**SHARED), PLAIN),
    "several columns": (
        RankFairRegressor(0.05, tasks=["task", "half"], sensitive_features="z"),
        HALVES,
    ),
    "array": (MultiTaskRegressor(tasks=4), PLAIN.astype({"task": int}).to_numpy(float)),
    "objects": (RankFairRegressor(**NAMED, **RECORDS), pl.from_pandas(FRAME)),
    "admm": (RankFairRegressor(**NAMED, **ADMM), FRAME),
    "list of objects": (RankFairRegressor(**NAMED, **SEVERAL), FRAME),
}


@pytest.fixture(scope="module")
def fitted():
    return {name: (model.fit(X, Y), X) for name, (model, X) in MODELS.items()}


def alike(a, b):
    """Tell whether two values are equal in type and content, NaN like NaN."""
    if isinstance(a, np.ndarray):
        if a.dtype.kind == "O":
            return a.shape == b.shape and alike(a.tolist(), b.tolist())
        nan = a.dtype.kind == "f"
        return a.dtype == b.dtype and np.array_equal(a, b, equal_nan=nan)
    if type(a) is not type(b):
        return False
    if isinstance(a, dict):
        return list(a) == list(b) and all(alike(a[key], b[key]) for key in a)
    if isinstance(a, list | tuple):
        return len(a) == len(b) and all(map(alike, a, b))
    if hasattr(a, "__dataclass_fields__"):
        return alike(vars(a), vars(b))
    return a == b or (a != a and b != b)


@pytest.mark.parametrize("name", MODELS)
def test_a_model_comes_back_to_the_last_bit(fitted, tmp_path, name):
    model, X = fitted[name]
    path = save_model(model, tmp_path / "a.rankfair")
    again = load_model(path)
    assert type(again) is type(model)
    np.testing.assert_array_equal(again.predict(X), model.predict(X))
    assert sorted(vars(again)) == sorted(vars(model))
    # Rows stay out of files.
    for key, value in model.state_without_rows().items():
        assert alike(vars(again)[key], value), key
    assert path.read_bytes() == model_bytes(again)


@pytest.mark.parametrize(
    "labels",
    [
        [1, 2],
        [1.5, 2.5],
        [True, False],
        [1, "b"],
        [2**70, 1],
        [datetime.date(2020, 1, 1), datetime.date(2020, 2, 1)],
        [datetime.datetime(2020, 1, 1, 5), datetime.datetime(2020, 2, 1)],
        [Decimal("1.10"), Decimal("2")],
        [("a", 1), ("b", 2)],
        ["\ud800", "\U0001f600\u202e</script>"],
    ],
)
def test_labels_keep_their_type(labels):
    tasks = np.empty(6, dtype=object)
    tasks[:] = labels * 3
    X = np.arange(6.0)[:, None]
    for given in (tasks, pd.to_datetime(["2020-01-01", "2020-01-02"] * 3).to_series()):
        model = MultiTaskRegressor(beta=0.1).fit(X, range(6), tasks=given)
        again = model_of(model_bytes(model))
        assert given is not tasks or alike(again.tasks_, model.tasks_)
        expected = model.predict(X, tasks=given)
        np.testing.assert_array_equal(again.predict(X, tasks=given), expected)
    with pytest.raises(ValueError, match="tasks is missing"):
        again.predict(X)


def test_what_it_says_about_itself(fitted, tmp_path):
    model = model_of(model_bytes(fitted["fair"][0]))
    model.group_auc_ = {1: float("nan"), Decimal("2"): np.zeros(2)}
    # New attributes are stored without being listed.
    model.other_ = {"a": [(1, np.float64(2)), None], 3: np.arange(6.0).reshape(2, 3)}
    path, extra = tmp_path / "a.rankfair", {"target": "pay", "n": [1, None]}
    save_model(model, path, notes="for the board", extra=extra)
    assert alike(load_model(path).other_, model.other_)
    found = describe_model(path)
    assert json.loads(json.dumps(found, allow_nan=False)) == found
    assert found["estimator"] == "RankFairRegressor"
    assert (found["notes"], found["extra"]) == ("for the board", extra)
    assert found["params"]["epsilon"] == 0.02
    assert found["tasks"] == ["1", "2", "3", "4"] and found["groups"] == ["0", "1"]
    assert found["achieved"]["rank_auc_"] == model.rank_auc_
    assert found["achieved"]["status_"] == model.status_
    assert found["achieved"]["group_auc_"] == {"1": None, "2": [0.0, 0.0]}
    assert found["bytes"] == path.stat().st_size
    penalty = describe_bytes(model_bytes(fitted["objects"][0]))["params"]["penalty"]
    assert penalty == {"record": "Ridge", "beta": 0.5}


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("blind", [False, True])
def test_roles_of_columns(fitted, blind):
    ages = np.random.default_rng(0).uniform(20, 70, len(FRAME))
    of = {"sensitive_features": ["z", "age"], "bins": 2, "blind": blind}
    model = RankFairRegressor(0.1, tasks="task", **of, max_iter=5)
    model.fit(several_groups().assign(age=ages), Y)
    found = describe_bytes(model_bytes(model))["columns"]
    group = "group, not used to predict" if blind else "group and predictor"
    roles = [*["predictor"] * 4, "task", group, group]
    names = ["x1", "x2", "x3", "x4", "task", "z", "age"]
    expected = zip(names, roles, strict=True)
    assert found == [{"name": name, "role": role} for name, role in expected]
    bare = describe_bytes(model_bytes(fitted["array"][0]))["columns"]
    assert bare[-1] == {"name": "x4", "role": "task"}


class Own(Ridge):
    """A penalty of one's own."""


LATER = pd.Timestamp("2020-01-01") + pd.Timedelta(1, "ns")


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"random_state": np.random.default_rng(0)}, "set_params"),
        ({"penalty": object()}, "penalty holds a builtins.object"),
        ({"penalty": Own(1.0)}, "Own, which a model file does not store"),
        ({"tasks": {1, 2}}, "tasks holds a builtins.set"),
        ({"constraints": np.array([[1j]])}, "constraints holds a numpy.ndarray"),
        ({"tol": np.float16(1)}, "tol holds a numpy.float16"),
        ({"constraints": LATER}, "Timestamp"),
        ({"beta": -1.0}, "This RankFairRegressor cannot be stored: a setting of it"),
    ],
)
def test_what_cannot_be_stored_is_named_and_not_written(fitted, tmp_path, change, said):
    model = model_of(model_bytes(fitted["fair"][0])).set_params(**change)
    with pytest.raises(ModelFileError, match=said):
        save_model(model, tmp_path / "a.rankfair")
    assert not list(tmp_path.iterdir())


def test_other_models_and_extras_are_refused_with_a_way_out(fitted):
    with pytest.raises(ModelFileError, match="is not fitted"):
        model_bytes(RankFairRegressor())
    with pytest.raises(ModelFileError, match="TiltedRegressor is not stored"):
        model_bytes(TiltedRegressor(Ridge(1.0)))
    chosen = RankFairRegressorCV(betas=[1.0], cv=2, **NAMED).fit(FRAME, Y)
    with pytest.raises(ModelFileError, match="Save its estimator_ instead"):
        model_bytes(chosen)
    assert model_of(model_bytes(chosen.estimator_)).status_ == chosen.estimator_.status_
    for extra in ({"a": object()}, {"a": float("nan")}, [1]):
        with pytest.raises(ModelFileError, match="plain JSON"):
            model_bytes(fitted["shared"][0], extra=extra)
    with pytest.raises(ModelFileError, match="too large for a model file"):
        model_bytes(fitted["shared"][0], notes="a" * (65 << 20))


def test_reading_never_runs_anything(tmp_path, fitted):
    class Bomb:
        def __reduce__(self):
            return (sys.exit, ("ran",))

    path = tmp_path / "a.rankfair"
    path.write_bytes(pickle.dumps(Bomb()))
    with pytest.raises(ModelFileError, match="looks like a pickle"):
        load_model(path)
    # and not inside an array either
    stream = io.BytesIO()
    np.lib.format.write_array(stream, np.array([Bomb()], object), allow_pickle=True)
    raw = model_bytes(fitted["shared"][0])
    with pytest.raises(ModelFileError, match="never pickled objects"):
        model_of(tampered(raw, {"arrays/0.npy": stream.getvalue()}))
