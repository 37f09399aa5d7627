"""Whole numbers beyond 2⁵³ keep their order and their names."""

from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest

from rankfair import MultiTaskRegressor, RankFairRegressor, audit, metrics, stream
from rankfair.stats.certificate import certify

RNG = np.random.default_rng(0)
N = 60
SMALL = RNG.integers(0, 9, N)
GROUPS = np.where(RNG.random(N) < 0.5, "a", "b")
TASKS = np.arange(N) % 3
X = RNG.normal(size=(N, 2))
Y = X[:, 0] + RNG.normal(size=N)
LARGE = 2**53


def as_list(values: Any) -> list[int]:
    return [int(v) for v in values]


KINDS = {
    "int64": lambda v: LARGE + v,
    "negative": lambda v: -(2**62) + v,
    "uint64": lambda v: v.astype(np.uint64) + np.uint64(2**63),
    "list": lambda v: as_list(LARGE + v),
    "wide list": lambda v: [2**63 + i for i in as_list(v)],
    "huge list": lambda v: [2**70 + i for i in as_list(v)],
    "mixed list": lambda v: [LARGE + i if i else 0.5 for i in as_list(v)],
    "pandas": lambda v: pd.Series(LARGE + v),
    "nullable": lambda v: pd.Series(LARGE + v, dtype="Int64"),
    "polars": lambda v: pl.Series(LARGE + v),
}
kinds = pytest.mark.parametrize("kind", KINDS)


@kinds
def test_metrics_of_ranks_tell_them_apart(kind):
    given = {"sensitive_features": GROUPS, "sample_weight": 1 + TASKS}
    for metric in (
        metrics.rank_auc,
        metrics.rank_gap,
        metrics.rank_auc_by_group,
        metrics.pairwise_rank_auc,
        metrics.impact_rank_ratio,
    ):
        assert metric(None, KINDS[kind](SMALL), **given) == metric(None, SMALL, **given)


@pytest.mark.parametrize("kind", ["negative", "huge list", "nullable"])
def test_audits_tell_them_apart(kind):
    given = {"sensitive_features": GROUPS, "tasks": TASKS}
    given["sample_weight"] = 1 + RNG.integers(3, size=N)
    small, large = (audit(None, p, **given) for p in (SMALL, KINDS[kind](SMALL)))
    (own,), (other,) = small.comparisons, large.comparisons
    for name in ("auc", "within_task_auc", "ks", "share_above_median"):
        here, there = getattr(own, name), getattr(other, name)
        assert (
            there.value,
            there.ci_low,
            there.ci_high,
            there.p_value,
        ) == pytest.approx(
            (here.value, here.ci_low, here.ci_high, here.p_value), nan_ok=True
        ), name
    assert [line.auc.value for line in large.tasks] == pytest.approx(
        [line.auc.value for line in small.tasks], nan_ok=True
    )


@kinds
def test_they_are_labels_of_groups(kind):
    codes = (GROUPS == "b").astype(int)
    labels = KINDS[kind](codes)
    expected = metrics.rank_auc(None, Y, sensitive_features=GROUPS)
    assert metrics.rank_auc(None, Y, sensitive_features=labels) == expected
    (found,) = audit(None, Y, sensitive_features=labels).comparisons
    assert found.auc.value == pytest.approx(expected)
    assert len(RankFairRegressor(0.3).fit(X, Y, sensitive_features=labels).groups_) == 2


@kinds
def test_they_are_labels_of_tasks(kind):
    labels = KINDS[kind](TASKS)
    model = MultiTaskRegressor().fit(X, Y, tasks=labels)
    expected = MultiTaskRegressor().fit(X, Y, tasks=TASKS)
    assert model.coef_ == pytest.approx(expected.coef_)
    found = model.predict(X, tasks=labels)
    assert found == pytest.approx(expected.predict(X, tasks=TASKS))


@pytest.mark.parametrize(
    "make",
    [
        lambda X, t: pd.DataFrame(X).assign(t=t).rename(columns=str),
        lambda X, t: [[*row, int(label)] for row, label in zip(X, t, strict=True)],
    ],
    ids=["frame", "lists"],
)
def test_they_are_labels_in_a_column(make):
    rows = make(X, LARGE + TASKS)
    model = MultiTaskRegressor(tasks=2).fit(rows, Y)
    assert model.tasks_.tolist() == [LARGE, LARGE + 1, LARGE + 2]
    expected = MultiTaskRegressor().fit(X, Y, tasks=TASKS)
    assert model.predict(rows) == pytest.approx(expected.predict(X, tasks=TASKS))


@pytest.mark.parametrize("origin", [-(2**62), 2**63])
def test_they_are_labels_in_files(origin, tmp_path):
    frame = pd.DataFrame(X, columns=["a", "b"]).assign(y=Y)
    kind = np.uint64 if origin > 2**62 else np.int64
    frame["t"] = np.array([origin + t for t in as_list(TASKS)], kind)
    frame["z"] = np.array([origin + int(g == "b") for g in GROUPS], kind)
    frame.to_parquet(tmp_path / "rows.parquet")
    model = RankFairRegressor(0.3, tasks="t", sensitive_features="z")
    model.fit(stream(tmp_path / "rows.parquet", target="y"))
    assert model.tasks_.tolist() == [origin, origin + 1, origin + 2]
    assert model.groups_.tolist() == [origin, origin + 1]
    same = RankFairRegressor(0.3, tasks="t", sensitive_features="z")
    same.fit(frame.drop(columns="y"), Y)
    rows = frame.drop(columns="y")
    assert model.predict(rows) == pytest.approx(same.predict(rows))


class Counts:
    """Predicts whole numbers beyond 2⁵³."""

    def predict(self, X):
        return LARGE + np.asarray(X)[:, 0].astype(np.int64)


def test_certificates_tell_them_apart():
    rows = np.column_stack((SMALL, TASKS))
    found = certify(Counts(), rows, sensitive_features=GROUPS)
    expected = metrics.rank_auc(None, SMALL, sensitive_features=GROUPS)
    assert found.auc == pytest.approx(expected)
