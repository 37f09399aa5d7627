"""Groups of a TiltedRegressor as they come: unknown, combined, cut, by name."""

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.linear_model import Ridge

from rankfair import RankFairPostprocessor, TiltedRegressor
from rankfair.metrics import rank_auc_by_group
from rankfair.stats import certify
from three_groups import (
    KNOWN,
    NAMES,
    NUMBERS,
    SOME,
    TREES,
    N,
    X,
    Y,
    Z,
    assert_level,
    fair,
)

NEAR = 0.0005  # how far several counts may end outside their bands


@pytest.mark.parametrize("cv", [None, 5])
@pytest.mark.parametrize("labels", [SOME, np.where(KNOWN, Z > 0, None)], ids=[3, 2])
@pytest.mark.parametrize("epsilon", [0.01, 0.03])
def test_rows_of_unknown_group_are_in_the_loss_only(labels, epsilon, cv):
    model = TiltedRegressor(Ridge(), epsilon, cv=cv, random_state=0)
    model.fit(X, Y, sensitive_features=labels)
    assert model.status_ == "satisfied"
    assert model.n_unknown_ == (~KNOWN).sum()
    known = np.array(labels[KNOWN].tolist())
    assert_level(model.oof_predictions_[KNOWN], known, epsilon + NEAR)
    assert np.isfinite(model.oof_predictions_).all()
    # What these rows are like makes no difference to the count, but to the fit.
    moved = np.where(KNOWN, Y, Y + 5.0)
    other = clone(model).fit(X, moved, sensitive_features=labels)
    assert_level(other.oof_predictions_[KNOWN], known, epsilon + NEAR)
    assert not np.allclose(other.predict(X), model.predict(X))


def test_a_new_row_may_be_of_unknown_group():
    model = fair(TREES, blind=False).fit(X, Y)
    new = X[:4].copy()
    new[1:3, -1] = np.nan
    np.testing.assert_array_equal(model.predict(new)[[0, 3]], model.predict(X)[[0, 3]])
    assert np.isfinite(model.predict(new)).all()


def test_an_estimator_that_takes_no_missing_label_is_explained():
    rows = np.where(KNOWN[:, None], X, np.nan)
    rows[:, :-1] = X[:, :-1]
    with pytest.raises(ValueError, match="NaN") as error:
        fair(Ridge(), blind=False).fit(rows, Y)
    assert "43 rows miss a label of sensitive_features" in error.value.__notes__[0]
    assert fair(Ridge(), 0.1).fit(rows, Y).n_unknown_ == 43
    bad = np.where(rows == rows[0, 0], np.nan, rows)[KNOWN]
    with pytest.raises(ValueError, match="NaN") as error:
        fair(Ridge(), blind=False).fit(bad, Y[KNOWN])
    assert not hasattr(error.value, "__notes__")


def test_weights_and_unknown_rows():
    w = np.random.default_rng(0).random(N) + 0.5
    for labels in (SOME, np.where(KNOWN, Z > 0, None)):
        model = TiltedRegressor(Ridge(), 0.02, random_state=0)
        model.fit(X, Y, sensitive_features=labels, sample_weight=w)
        assert model.status_ == "satisfied"
        aucs = rank_auc_by_group(
            None, model.oof_predictions_, sensitive_features=labels, sample_weight=w
        )
        assert model.group_auc_ == pytest.approx(aucs)


# Columns


FRAME = pd.DataFrame(
    {
        **dict(zip("abc", NUMBERS.T, strict=True)),
        "age": np.round(40 + 8 * NUMBERS[:, 0] + 5 * Z),
        "sex": np.where(np.arange(N) % 2, "F", "M"),
        "part": NAMES,
    }
)


@pytest.mark.parametrize("given", ["columns", "dict", "frame"])
def test_combinations_of_columns(given):
    frame = FRAME.assign(part=SOME).drop(columns="age")
    model = fair(Ridge(), 0.02, intersect=True, cv=None)
    labels = {"sex": frame["sex"].to_numpy(), "part": SOME}
    if given == "columns":
        rows = frame
        model.set_params(sensitive_features=["sex", "part"]).fit(rows, Y)
        # Neither column is needed to predict.
        m = model.predict(frame[["a", "b", "c"]])
        np.testing.assert_array_equal(m, model.predict(frame))
    else:
        rows = NUMBERS
        passed = labels if given == "dict" else pd.DataFrame(labels)
        model.set_params(sensitive_features=None)
        model.fit(rows, Y, sensitive_features=passed)
        with pytest.raises(ValueError, match="the groups were passed to fit"):
            model.group_labels(rows)
    assert model.groups_.tolist()[0] == "F × mid" and len(model.groups_) == 6
    assert model.n_unknown_ == (~KNOWN).sum()
    assert model.status_ == "satisfied"
    cells = (frame["sex"] + " × " + frame["part"])[KNOWN]
    assert_level(model.predict(rows)[KNOWN], cells, 0.02 + NEAR)


def test_a_number_that_is_cut_may_come_under_any_name():
    age = FRAME["age"].to_numpy()
    forms = [age, FRAME["age"], FRAME["age"].rename("years"), {"age": age}]
    found = []
    for fitted in forms:
        model = TiltedRegressor(Ridge(), 0.1, bins=3, random_state=0)
        found.append(model.fit(NUMBERS, Y, sensitive_features=fitted))
    for model in found[1:]:
        np.testing.assert_array_equal(model.predict(NUMBERS), found[0].predict(NUMBERS))
        assert model.groups_.tolist() == found[0].groups_.tolist()


def test_a_lone_combination_is_named():
    labels = {"sex": FRAME["sex"], "part": np.where(np.arange(N) == 4, "x", NAMES)}
    model = TiltedRegressor(Ridge(), 0.05, intersect=True)
    with pytest.warns(UserWarning, match="with a single row") as caught:
        model.fit(NUMBERS, Y, sensitive_features=labels)
    assert caught[0].filename == __file__


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_numbers_are_cut():
    frame = FRAME[["a", "b", "c", "age"]].copy()
    frame.loc[~KNOWN, "age"] = np.nan
    model = fair(sensitive_features="age", bins=3, epsilon=0.02, blind=False, cv=None)
    model.fit(frame, Y)
    assert len(model.groups_) == 3 and model.n_unknown_ == (~KNOWN).sum()
    edges = model.bin_edges_["age"]
    bins = np.searchsorted(edges[1:-1], frame["age"][KNOWN], "right")
    if model.status_ == "satisfied":
        assert_level(model.predict(frame)[KNOWN], bins, 0.02 + NEAR)
    labels = model.group_labels(frame)["age"]
    assert labels[KNOWN].tolist() == model.groups_[bins].tolist()
    assert set(labels[~KNOWN]) == {None}
    assert certify(model, frame, sensitive_features=labels).bound > 0


@pytest.mark.parametrize(
    ("settings", "told"),
    [
        ({"sensitive_features": ["sex", "part"]}, "Set intersect=True to balance"),
        ({"sensitive_features": "age"}, "Set bins=4"),
        ({"sensitive_features": "part", "bins": 4}, "bins=4 cuts numbers"),
        ({"bins": 1}, "bins must be a whole number ≥ 2"),
        ({"bins": 61}, "bins must be at most 60; got 61"),
        ({"intersect": "yes"}, "intersect must be True or False"),
    ],
)
def test_bad_settings_are_named(settings, told):
    model = fair(Ridge(), **{"sensitive_features": "sex", **settings})
    with pytest.raises(ValueError, match=told):
        model.fit(FRAME, Y)
    assert not hasattr(model, "estimator_")


def test_bad_groups_are_named():
    fit = TiltedRegressor(Ridge()).fit
    with pytest.raises(ValueError, match="unknown in all 300 rows"):
        fit(X, Y, sensitive_features=[None] * N)
    with pytest.raises(ValueError, match="one group only"):
        fit(X, Y, sensitive_features=np.where(KNOWN, "a", None))


@pytest.mark.parametrize("kind", [TiltedRegressor, RankFairPostprocessor])
def test_text_in_the_protected_column_is_explained(kind):
    X = pd.DataFrame({"a": np.arange(40.0), "sex": ["f", "m"] * 20})
    model = kind(Ridge(), 0.2, sensitive_features="sex", blind=False)
    with pytest.raises(ValueError, match="could not convert string") as error:
        model.fit(X, X["a"])
    assert "blind=True hides it" in error.value.__notes__[-1]
    assert "ColumnTransformer" in error.value.__notes__[-1]
