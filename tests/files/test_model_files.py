"""A model file gives back the same model, or says why not."""

import datetime
import io
import json
import pickle
import sys
from decimal import Decimal

import numpy as np
import pandas as pd
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
from rankfair.files.model_files import describe_bytes, model_bytes, model_of
from rankfair.input.errors import ModelFileError
from rankfair.penalties import Ridge
from saved import FRAME, MODELS, NAMED, Y, fitted, stored, tampered


@pytest.mark.parametrize("name", MODELS)
def test_a_model_comes_back_to_the_last_bit(tmp_path, name):
    model, X = fitted(name), MODELS[name][1]
    path = save_model(model, tmp_path / "a.rankfair")
    again = load_model(path)
    assert type(again) is type(model)
    np.testing.assert_array_equal(again.predict(X), model.predict(X))
    assert sorted(vars(again)) == sorted(vars(model))
    assert again.loo_predictions_ is None  # rows stay out of files
    # Values of another type or sign would make other bytes.
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
        [datetime.datetime(2020, 1, 1, 5), pd.Timestamp(2020, 2, 1)],
        [Decimal("1.10"), Decimal("2")],
        [("a", 1), ("b", 2)],
        ["\ud800", "\U0001f600\u202e</script>"],
    ],
)
def test_labels_keep_their_type(labels):
    tasks = np.empty(6, dtype=object)
    tasks[:] = labels * 3
    X = np.arange(6.0)[:, None]
    model = MultiTaskRegressor(beta=0.1).fit(X, range(6), tasks=tasks)
    again = model_of(model_bytes(model))
    for one, other in zip(again.tasks_.tolist(), model.tasks_.tolist(), strict=True):
        assert one == other and isinstance(other, type(one))
    expected = model.predict(X, tasks=tasks)
    np.testing.assert_array_equal(again.predict(X, tasks=tasks), expected)
    with pytest.raises(ValueError, match="tasks is missing"):
        again.predict(X)


def test_what_it_says_about_itself(tmp_path):
    model = model_of(stored("fair"))
    model.group_auc_ = {1: float("nan"), Decimal("2"): np.zeros(2)}
    # New attributes are stored without being listed.
    model.other_ = {"a": [(1, np.float64(2)), None], 3: np.arange(6.0).reshape(2, 3)}
    path, extra = tmp_path / "a.rankfair", {"target": "pay", "n": [1, None]}
    save_model(model, path, notes="for the board", extra=extra)
    other = load_model(path).other_
    assert other["a"] == model.other_["a"] and type(other["a"][0][1]) is np.float64
    np.testing.assert_array_equal(other[3], model.other_[3])
    found = describe_model(path)
    assert json.loads(json.dumps(found, allow_nan=False)) == found
    assert found["estimator"] == "RankFairRegressor"
    assert (found["notes"], found["extra"]) == ("for the board", extra)
    assert found["params"]["epsilon"] == 0.1
    assert found["tasks"] == ["1", "2", "3", "4"] and found["groups"] == ["0", "1"]
    assert found["achieved"]["rank_auc_"] == model.rank_auc_
    assert found["achieved"]["status_"] == model.status_
    assert found["achieved"]["group_auc_"] == {"1": None, "2": [0.0, 0.0]}
    assert found["bytes"] == path.stat().st_size
    penalty = describe_bytes(stored("objects"))["params"]["penalty"]
    assert penalty == "Ridge(beta=0.5)"


@pytest.mark.parametrize(
    ("name", "group"),
    [("blind", "group, not used to predict"), ("protected", "group and predictor")],
)
def test_roles_of_columns(name, group):
    found = describe_bytes(stored(name))["columns"]
    roles = [*["predictor"] * 4, "task", group, group]
    expected = zip(["x1", "x2", "x3", "x4", "task", "z", "age"], roles, strict=True)
    assert found == [{"name": name, "role": role} for name, role in expected]
    bare = describe_bytes(stored("array"))["columns"]
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
def test_what_cannot_be_stored_is_named_and_not_written(tmp_path, change, said):
    model = model_of(stored("fair")).set_params(**change)
    with pytest.raises(ModelFileError, match=said):
        save_model(model, tmp_path / "a.rankfair")
    assert not list(tmp_path.iterdir())


def test_other_models_and_extras_are_refused_with_a_way_out():
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
            model_bytes(fitted("shared"), extra=extra)
    with pytest.raises(ModelFileError, match="too large for a model file"):
        model_bytes(fitted("shared"), notes="a" * (65 << 20))


def test_reading_never_runs_anything(tmp_path):
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
    with pytest.raises(ModelFileError, match="never pickled objects"):
        model_of(tampered(stored("shared"), {"arrays/0.npy": stream.getvalue()}))
