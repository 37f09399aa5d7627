"""Wherever the rows are, the same model comes out."""

import numpy as np
import pandas as pd
import pytest

from rankfair.datasets.crime import load_crime
from rankfair.datasets.income import load_income
from rankfair.datasets.student import load_student
from rankfair.datasets.wine import load_wine
from rankfair.metrics import rank_auc
from rows_elsewhere import BY, HUGE, LARGE, in_memory, random_rows

LOADERS = [load_wine, load_student, load_crime, load_income]
TRAIN = {"count": "train"}


def same(found, known, coef=1e-6, auc=1e-5, binned=False):
    """The same model, to the digits that are said of each column.

    Where rows are few and counted in bins, λ may end anywhere within 2e-7 of an AUC: a
    column whose effect the tilt took away has fewer digits than the largest then.
    """
    assert found.status_ == known.status_
    assert list(found.tasks_) == list(known.tasks_)
    assert list(found.groups_) == list(known.groups_)
    assert list(found.feature_names_in_) == list(known.feature_names_in_)
    scale = np.abs(known.coef_).max(axis=None if binned else 0, initial=1e-300)
    assert np.abs((found.coef_ - known.coef_) / scale).max() <= coef
    size = np.abs(known.intercept_).max()
    np.testing.assert_allclose(found.intercept_, known.intercept_, atol=coef * size)
    assert abs(found.rank_auc_ - known.rank_auc_) <= auc
    assert found.objective_ == pytest.approx(known.objective_, rel=coef)


SETTINGS = {
    "defaults": {},
    "train": TRAIN,
    "task": {"penalty": "task"},
    "task, train": {"penalty": "task", **TRAIN},
    "a given beta": {"beta": 3.0},
    "ridge": {"penalty": "ridge"},
    "feature": {"penalty": "feature"},
    "shared": {"penalty": "shared", "unseen": "shared"},
    "seen": {"blind": False, "penalty": "ridge"},
    "seen, pooled": {"blind": False},
    "upper": {"side": "upper", "epsilon": 0.02},
    "zero": {"epsilon": 0.0, "penalty": "ridge"},
    "no tilt is needed": {"epsilon": 0.45},
    "raw units": {"standardize": False, "beta": 0.1},
    "mean": {"constraints": "mean", "epsilon": 0.05},
    "residual": {"constraints": "residual", "epsilon": 0.02},
}


@pytest.mark.parametrize("settings", SETTINGS.values(), ids=SETTINGS)
def test_settings(engine, settings):
    frame, y = random_rows()
    known = in_memory(frame, y, **BY, **settings)
    same(engine(frame, y, sizes=LARGE, **BY, **settings), known)
    if "constraints" in settings:  # whose values follow from means of the groups
        same(engine(frame, y, sizes=HUGE, **BY, **settings), known)


def number(frame):
    return frame["task"].str[1:].astype(int)


def outlier(frame):
    far = frame["x2"].copy()
    far.iloc[[5, 5000]] = 1e5 * far.std()
    return far


def random():
    return np.random.default_rng(1)


# What becomes of the rows; few numbers are taken where a count in bins is asked for.
ROWS = {
    "whole labels": lambda f, y: (f.assign(task=40 - number(f)), y),
    "labels far apart": lambda f, y: (f.assign(task=number(f) * 10**9), y),
    "fractions as labels": lambda f, y: (f.assign(task=number(f) / 4), y),
    "truth values as labels": lambda f, y: (f.assign(task=number(f) % 2 == 0), y),
    "categories": lambda f, y: (f.astype({"task": "category"}), y),
    "many small tasks": lambda f, y: random_rows(20_000, 2500),
    "many columns": lambda f, y: random_rows(30_000, 25, 5, 3),
    "numbers as groups": lambda f, y: (f.assign(group=(f["group"] == "b") * 1), y),
    "tasks in one place": lambda f, y: (
        f.sort_values("task", kind="stable"),
        y[np.argsort(f["task"], kind="stable")],
    ),
    "columns that do not vary": lambda f, y: (
        f.assign(constant=1e5, by_task=number(f) * 1e6),
        y,
    ),
    "an outlier": lambda f, y: (f.assign(x2=outlier(f)), y),
    "lognormal": lambda f, y: (f.assign(x2=np.exp(5 * f["x2"] / f["x2"].std())), y),
    "tasks far apart": lambda f, y: (f, y + 1e6 * number(f)),
    "few values": lambda f, y: (
        f.assign(x0=f["x0"] > 0, x1=f["x1"] > 0)[["x0", "x1", "task", "group"]],
        y.round(),
    ),
    "whole weights": lambda f, y: (f, y, random().integers(1, 5, len(y))),
    "fractional weights": lambda f, y: (f, y, random().uniform(0.5, 2.0, len(y))),
    # A task and many rows that weigh nothing are not there.
    "zero weights": lambda f, y: (
        f,
        y,
        random().integers(0, 3, len(y)) * (number(f) != 3),
    ),
}


@pytest.mark.parametrize("kind", ROWS)
def test_rows_of_any_kind(engine, kind):
    """Labels of every type, and predictions that equal bins do not tell apart."""
    frame, y, *weights = ROWS[kind](*random_rows())
    given = weights[0] if weights else None
    # Left out, rows alike are ties in memory only, which is warned of.
    counts = {"few values": ["train"], "many columns": ["loo", "train"]}
    for count in counts.get(kind, ["loo"]):
        settings = {"epsilon": 0.01 if weights else 0.02, "count": count, **BY}
        known = in_memory(frame, y, given, **settings)
        found = engine(frame, y, given, LARGE, **settings)
        same(found, known, binned=bool(weights))
        found = engine(frame, y, given, HUGE, **settings)
        same(found, known, binned=True)
        if kind.startswith("columns"):
            constant = list(found.predictors_).index("constant")
            assert not found.coef_[:, constant].any()
    if kind == "zero weights":
        assert "t003" not in found.tasks_


def test_small_data_is_fitted_in_memory(engine):
    frame, y = random_rows(600)
    for settings in ({}, TRAIN):
        known = in_memory(frame, y, **settings, **BY)
        same(engine(frame, y, **settings, **BY), known, coef=1e-12, auc=0)


def test_no_task_column(engine):
    frame, y = random_rows()
    frame, by = frame.drop(columns="task"), {"sensitive_features": "group"}
    same(engine(frame, y, sizes=LARGE, **by), in_memory(frame, y, **by))


@pytest.mark.parametrize("sizes", [{}, LARGE], ids=["small", "large"])
def test_no_groups(engine, sizes):
    frame, y = random_rows()
    frame = frame.drop(columns="group")
    with pytest.warns(UserWarning, match="sensitive_features"):
        found = engine(frame, y, sizes=sizes, tasks="task")
    with pytest.warns(UserWarning, match="sensitive_features"):
        known = in_memory(frame, y, tasks="task")
    np.testing.assert_allclose(found.coef_, known.coef_, rtol=1e-9)


@pytest.mark.parametrize("sizes", [LARGE, HUGE], ids=["large", "huge"])
def test_the_band_is_kept_on_predictions(engine, sizes):
    frame, y = random_rows()
    found = engine(frame, y, sizes=sizes, epsilon=0.02, count="train", **BY)
    counted = rank_auc(y, found.predict(frame), sensitive_features=frame["group"])
    assert found.status_ == "satisfied"
    assert abs(counted - 0.5) <= 0.02 + 1e-5
    assert found.rank_auc_ == pytest.approx(counted, abs=1e-5)


def test_groups_the_other_way_round(engine):
    frame, y = random_rows()
    other = frame.assign(group=frame["group"].map({"a": "y", "b": "x"}))
    one, two = (engine(each, y, sizes=LARGE, **BY) for each in (frame, other))
    assert one.rank_auc_ == pytest.approx(1 - two.rank_auc_, abs=1e-6)
    np.testing.assert_allclose(one.coef_, two.coef_, atol=1e-4)


@pytest.mark.filterwarnings("ignore:.*blind in name only:UserWarning")
@pytest.mark.parametrize("load", LOADERS, ids=lambda load: load.__name__)
def test_real_data(engine, real_data, load):
    """As they are, and as if they were large."""
    data = load(data_home=real_data)
    by = {"tasks": data.task_name, "sensitive_features": data.sensitive_name}
    rows = pd.DataFrame(data.frame), data.target
    known = in_memory(*rows, epsilon=0.01, **by)
    same(engine(*rows, epsilon=0.01, **by), known, coef=1e-9, auc=0)
    for count in ("loo", "train"):
        settings = {"epsilon": 0.02, "penalty": "ridge", "count": count, **by}
        # Some rows of Wine are alike, which are ties in memory only.
        near = 1e-4 if load is load_wine and count == "loo" else 1e-6
        found = engine(*rows, sizes=LARGE, **settings)
        same(found, in_memory(*rows, **settings), coef=near)
