"""Labels of any whole-number type are the same labels in files as in memory."""

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LinearRegression

from rankfair import (
    MultiTaskRegressor,
    RankFairRegressor,
    RankFairRegressorCV,
    TiltedRegressor,
    stream,
)

RNG = np.random.default_rng(0)
N = 300


def frame_of(labels, kind, group=(0, 1), group_kind="int64"):
    tasks = np.array(labels)[np.arange(N) % len(labels)]
    z = np.array(group)[RNG.integers(0, 2, N)]
    x = RNG.normal(size=N) + (z == group[1])
    columns = {"x": x, "t": tasks.astype(kind), "g": z.astype(group_kind)}
    return pd.DataFrame({**columns, "y": x + RNG.normal(size=N)})


@pytest.mark.parametrize(
    ("labels", "kind"),
    [
        ([-1, 5, 127], "int8"),
        ([-100, 0, 100], "int8"),
        ([0, 200, 255], "uint8"),
        ([1, 2, 3], "float64"),
        ([0.5, 1.5], "float64"),
    ],
)
@pytest.mark.parametrize("group", [(-128, 127), (0, 1)])
def test_narrow_and_fractional_labels(tmp_path, labels, kind, group):
    frame = frame_of(labels, kind, group, "int8" if group[0] else "int64")
    frame.to_parquet(tmp_path / "a.parquet")
    model = RankFairRegressor(0.5, tasks="t", sensitive_features="g")
    here = model.fit(frame.drop(columns="y"), frame["y"])
    expected, tasks = here.coef_, here.tasks_.tolist()
    there = RankFairRegressor(0.5, tasks="t", sensitive_features="g")
    there.fit(stream(tmp_path, target="y"))
    assert there.tasks_.tolist() == tasks
    assert there.groups_.tolist() == here.groups_.tolist()
    assert there.coef_ == pytest.approx(expected, rel=1e-6)


def test_files_may_differ_in_how_wide_labels_are(tmp_path):
    first, second = frame_of([-3, 2], "int64"), frame_of([0, 2], "uint8")
    third = frame_of([1, 2], "float32")
    for name, part in zip("abc", (first, second, third), strict=True):
        part.to_parquet(tmp_path / f"{name}.parquet")
    model = RankFairRegressor(0.5, tasks="t", sensitive_features="g")
    model.fit(stream(tmp_path, target="y"))
    assert model.tasks_.tolist() == [-3, 0, 1, 2]


@pytest.mark.parametrize("estimator", [MultiTaskRegressor, RankFairRegressorCV])
def test_other_estimators_say_that_they_need_rows_in_memory(tmp_path, estimator):
    frame_of([1, 2], "int64").to_parquet(tmp_path / "a.parquet")
    with pytest.raises(TypeError, match="only fit and predict of RankFairRegressor"):
        estimator().fit(stream(tmp_path, target="y"), np.zeros(N))


def test_a_reduction_says_so_without_a_target_too(tmp_path):
    frame_of([1, 2], "int64").to_parquet(tmp_path / "a.parquet")
    with pytest.raises(TypeError, match="rows in memory are expected"):
        TiltedRegressor(LinearRegression()).fit(stream(tmp_path, target="y"))
