import dataclasses

import narwhals as nw
import numpy as np
import pytest

from rankfair.datasets import base as _record
from rankfair.datasets.synthetic import make_biased_tasks


@pytest.mark.parametrize("backend", ["pandas", "polars"])
def test_frame_holds_features_task_and_group(backend):
    data = make_biased_tasks(3, 4, random_state=0, backend=backend)
    frame = nw.from_native(data.frame)
    assert frame.implementation.value == backend
    names = [*data.feature_names, data.task_name, data.sensitive_name]
    assert frame.columns == names
    np.testing.assert_array_equal(frame.select(data.feature_names).to_numpy(), data.X)
    assert frame[data.task_name].to_list() == data.tasks.tolist()
    assert frame[data.sensitive_name].to_list() == data.sensitive.tolist()


def test_frame_is_built_once():
    data = make_biased_tasks(2, 2, random_state=0)
    assert data.frame is data.frame


def test_auto_takes_what_is_installed(monkeypatch):
    monkeypatch.setattr(_record, "find_spec", lambda name: name == "polars" or None)
    data = make_biased_tasks(2, 2, random_state=0)
    assert nw.from_native(data.frame).implementation.is_polars()


def test_without_frame_library_only_the_frame_is_missing(monkeypatch):
    monkeypatch.setattr(_record, "find_spec", lambda name: None)
    data = make_biased_tasks(2, 2, random_state=0)
    assert data.X.shape == (4, 4)
    with pytest.raises(ImportError, match="needs pandas or polars"):
        _ = data.frame


def test_record_is_frozen_and_short_to_read():
    data = make_biased_tasks(2, 2, random_state=0)
    with pytest.raises(dataclasses.FrozenInstanceError):
        data.name = "other"
    assert len(repr(data)) < 80
    plain = dataclasses.replace(data, biased=False)
    assert "biased" in repr(data)
    assert "biased" not in repr(plain)
