"""Labels of any whole-number type are the same labels in files as in memory."""

import numpy as np
import pandas as pd
import pytest

from rankfair import RankFairRegressor, stream

N = 300


def frame_of(labels, kind, group=(0, 1), group_kind="int64"):
    rng = np.random.default_rng(0)
    tasks = np.array(labels)[np.arange(N) % len(labels)]
    z = np.array(group)[rng.integers(0, 2, N)]
    x = rng.normal(size=N) + (z == group[1])
    columns = {"x": x, "t": tasks.astype(kind), "g": z.astype(group_kind)}
    return pd.DataFrame({**columns, "y": x + rng.normal(size=N)})


def fitted(*given):
    return RankFairRegressor(0.5, tasks="t", sensitive_features="g").fit(*given)


@pytest.mark.parametrize(
    ("labels", "kind"),
    [
        ([-1, 5, 127], "int8"),
        ([-100, 0, 100], "int8"),
        ([0, 200, 255], "uint8"),
        ([1, 2**63 + 1, 2**63 + 2], "uint64"),
        ([1, 2, 3], "float64"),
        ([0.5, 1.5], "float64"),
        ([1.0, 1e300], "float64"),
    ],
)
@pytest.mark.parametrize("group", [(-128, 127), (0, 1)])
def test_narrow_wide_and_fractional_labels(tmp_path, labels, kind, group):
    frame = frame_of(labels, kind, group, "int8" if group[0] else "int64")
    frame.to_parquet(tmp_path / "a.parquet")
    here = fitted(frame.drop(columns="y"), frame["y"])
    there = fitted(stream(tmp_path, target="y"))
    assert there.tasks_.tolist() == here.tasks_.tolist()
    assert (there.tasks_.dtype.kind == "f") == (here.tasks_.dtype.kind == "f")
    assert there.groups_.tolist() == here.groups_.tolist()
    assert there.coef_ == pytest.approx(here.coef_, rel=1e-6)


def test_files_may_differ_in_how_wide_labels_are(tmp_path):
    kinds = (([-3, 2], "int64"), ([0, 2], "uint8"), ([1, 2], "float32"))
    for i, given in enumerate(kinds):
        frame_of(*given).to_parquet(tmp_path / f"{i}.parquet")
    assert fitted(stream(tmp_path, target="y")).tasks_.tolist() == [-3, 0, 1, 2]
