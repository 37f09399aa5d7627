"""Groups of a TiltedRegressor as they come: unknown, combined, cut, by name."""

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import Ridge

from rankfair import RankFairPostprocessor, TiltedRegressor
from rankfair._groups import Groups
from rankfair.balances import Rank
from rankfair.certificate import certify
from rankfair.metrics import rank_auc_by_group
from rankfair.reduction.maps import fit_maps
from rankfair.reduction.several import Demands
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


@pytest.mark.parametrize("labels", [SOME, np.where(KNOWN, Z > 0, None)], ids=[3, 2])
@pytest.mark.parametrize("epsilon", [0.0, 0.02])
def test_rows_of_unknown_group_are_in_the_loss_only(labels, epsilon):
    model = TiltedRegressor(Ridge(), epsilon).fit(X, Y, sensitive_features=labels)
    assert model.status_ == "satisfied"
    assert model.n_unknown_ == (~KNOWN).sum()
    known = np.array(labels[KNOWN].tolist())
    assert_level(model.predict(X)[KNOWN], known, epsilon)
    assert not model.tilt_[~KNOWN].any()
    # What these rows are like makes no difference to the count, but to the fit.
    moved = np.where(KNOWN, Y, Y + 5.0)
    other = clone(model).fit(X, moved, sensitive_features=labels)
    assert_level(other.predict(X)[KNOWN], known, epsilon)
    assert not np.allclose(other.predict(X), model.predict(X))


@pytest.mark.parametrize("n_groups", [2, 3])
@pytest.mark.parametrize("cv", [None, 3])
@pytest.mark.parametrize("finish", ["shift", "map"])
def test_a_row_of_unknown_group_is_the_average_of_groups(finish, cv, n_groups):
    rows = np.column_stack((NUMBERS, np.where(KNOWN, Z % n_groups, np.nan)))
    # One refit leaves a gap to close.
    model = fair(epsilon=0.002, finish=finish, cv=cv, max_refits=2).fit(rows, Y)
    assert model.status_ == "satisfied" and model.n_unknown_ == (~KNOWN).sum()
    raw, m = model.estimator_.predict(rows), model.predict(rows)
    codes = np.where(KNOWN, Z % n_groups, -1)
    shares = np.bincount(codes[KNOWN]) / KNOWN.sum()
    if finish == "shift":
        assert shares @ model.shift_ == pytest.approx(0, abs=1e-9)
        np.testing.assert_array_equal(m[~KNOWN], raw[~KNOWN])
    else:
        each = [model.maps_(raw, np.full(N, g)) for g in range(n_groups)]
        np.testing.assert_allclose(m[~KNOWN], (shares @ each)[~KNOWN])
        assert model.maps_.shares == pytest.approx(shares.tolist())
    if cv is None:
        assert_level(m[KNOWN], Z[KNOWN] % n_groups, 0.002)


def test_a_new_row_may_be_of_unknown_group():
    model = fair(epsilon=0.002, max_refits=2).fit(X, Y)
    new = X[:4].copy()
    new[1:3, -1] = np.nan
    raw = model.estimator_.predict(new)
    shift = np.array([model.shift_[Z[0]], 0.0, 0.0, model.shift_[Z[3]]])
    np.testing.assert_array_equal(model.predict(new), raw + shift)


def test_maps_of_unknown_rows_agree_with_their_fit():
    codes = np.where(KNOWN, Z, -1)
    asked = Demands.of(Rank(0.02), Y, Groups(codes, np.arange(3)), shifts=True)
    m = NUMBERS[:, 0] + Z
    maps, fit = fit_maps(m, asked)
    moved = fit.m + asked.by_group(fit.shift)
    np.testing.assert_allclose(maps(m, codes), moved, atol=1e-9)
    assert asked.count(moved).inside


def test_an_estimator_that_takes_no_missing_label_is_explained():
    rows = np.where(KNOWN[:, None], X, np.nan)
    rows[:, :-1] = X[:, :-1]
    with pytest.raises(ValueError, match="NaN") as error:
        fair(Ridge()).fit(rows, Y)
    assert "43 rows miss a label of sensitive_features" in error.value.__notes__[0]
    assert fair(Ridge(), blind=True).fit(rows, Y).n_unknown_ == 43
    with pytest.raises(ValueError, match="NaN") as error:
        fair(Ridge()).fit(np.where(rows == rows[0, 0], np.nan, rows)[KNOWN], Y[KNOWN])
    assert not hasattr(error.value, "__notes__")


def test_weights_and_unknown_rows():
    w = np.random.default_rng(0).random(N) + 0.5
    for labels in (SOME, np.where(KNOWN, Z > 0, None)):
        model = TiltedRegressor(Ridge(), 0.02)
        model.fit(X, Y, sensitive_features=labels, sample_weight=w)
        assert model.status_ == "satisfied"
        aucs = rank_auc_by_group(
            None, model.predict(X), sensitive_features=labels, sample_weight=w
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


def test_combinations_of_columns():
    frame = FRAME.assign(part=SOME)
    model = fair(
        Ridge(), sensitive_features=["sex", "part"], intersect=True, blind=True
    ).fit(frame.drop(columns="age"), Y)
    assert model.groups_.tolist()[0] == "F × mid" and len(model.groups_) == 6
    assert model.n_unknown_ == (~KNOWN).sum()
    cells = (frame["sex"] + " × " + frame["part"])[KNOWN]
    assert_level(model.predict(frame.drop(columns="age"))[KNOWN], cells, 0.02)
    shifted = TiltedRegressor(TREES, 0.01, intersect=True, max_refits=1)
    labels = {"sex": frame["sex"], "part": SOME}
    with pytest.warns(ConvergenceWarning):
        shifted.fit(NUMBERS, Y, sensitive_features=labels)
    with pytest.raises(ValueError, match="the groups were passed to fit"):
        shifted.group_labels(NUMBERS)
    m = shifted.predict(NUMBERS, sensitive_features=labels)
    turned = {"part": SOME, "sex": frame["sex"]}
    again = shifted.predict(NUMBERS, sensitive_features=turned)
    np.testing.assert_array_equal(again, m)
    with pytest.raises(ValueError, match=r"has 1 columns; training had 2 .\"sex\""):
        shifted.predict(NUMBERS, sensitive_features=SOME)
    assert_level(m[KNOWN], cells, 0.01)
    with pytest.raises(ValueError, match=r"labels not seen in training: .*F × x"):
        shifted.predict(NUMBERS[:1], sensitive_features={"sex": ["F"], "part": ["x"]})


@pytest.mark.parametrize("form", [dict, pd.DataFrame], ids=["dict", "frame"])
def test_groups_are_known_by_the_names_of_training(form):
    labels = {"sex": FRAME["sex"].to_numpy(), "part": NAMES}
    model = TiltedRegressor(TREES, 0.01, intersect=True, max_refits=1)
    with pytest.warns(ConvergenceWarning):
        model.fit(NUMBERS, Y, sensitive_features=form(labels))
    m = model.predict(NUMBERS, sensitive_features=labels)
    turned = {"part": NAMES, "sex": labels["sex"]}
    for known in (form(labels), form(turned), np.column_stack([*labels.values()])):
        again = model.predict(NUMBERS, sensitive_features=known)
        np.testing.assert_array_equal(again, m)
    told = r'named "part", "gender"; training had "sex", "part"\. Give those'
    with pytest.raises(ValueError, match=told):
        model.predict(
            NUMBERS, sensitive_features=form({"part": NAMES, "gender": labels["sex"]})
        )
    with pytest.raises(ValueError, match=r'named "sex"; training had "sex", "part"'):
        model.predict(NUMBERS, sensitive_features=form({"sex": labels["sex"]}))


def test_one_attribute_is_known_by_its_name_too():
    model = TiltedRegressor(Ridge(), 0.01).fit(X, Y, sensitive_features={"part": NAMES})
    model.predict(X, sensitive_features={"part": NAMES})
    model.predict(X, sensitive_features=NAMES)
    with pytest.raises(ValueError, match='named "sex"; training had "part"'):
        model.predict(X, sensitive_features={"sex": NAMES})
    # An array has no name that could be another.
    model = TiltedRegressor(Ridge(), 0.01).fit(X, Y, sensitive_features=NAMES)
    model.predict(X, sensitive_features={"part": NAMES})


def test_a_number_that_is_cut_may_come_under_any_name():
    age = FRAME["age"].to_numpy()
    forms = [age, FRAME["age"], FRAME["age"].rename("years"), {"age": age}]
    for fitted in forms:
        model = TiltedRegressor(TREES, 0.01, bins=3, max_refits=1)
        with pytest.warns(ConvergenceWarning):
            model.fit(NUMBERS, Y, sensitive_features=fitted)
        m = model.predict(NUMBERS, sensitive_features=fitted)
        for new in forms[:3]:
            again = model.predict(NUMBERS, sensitive_features=new)
            np.testing.assert_array_equal(again, m)


def test_a_lone_combination_is_named():
    labels = {"sex": FRAME["sex"], "part": np.where(np.arange(N) == 4, "x", NAMES)}
    model = TiltedRegressor(Ridge(), 0.05, intersect=True)
    with pytest.warns(UserWarning, match="with a single row") as caught:
        model.fit(NUMBERS, Y, sensitive_features=labels)
    assert caught[0].filename == __file__


def test_numbers_are_cut():
    frame = FRAME[["a", "b", "c", "age"]].copy()
    frame.loc[~KNOWN, "age"] = np.nan
    model = fair(sensitive_features="age", bins=3, epsilon=0.002, max_refits=2)
    model.fit(frame, Y)
    assert len(model.groups_) == 3 and model.n_unknown_ == (~KNOWN).sum()
    edges = model.bin_edges_["age"]
    bins = np.searchsorted(edges[1:-1], frame["age"][KNOWN], "right")
    assert_level(model.predict(frame)[KNOWN], bins, 0.002)
    labels = model.group_labels(frame)["age"]
    assert labels[KNOWN].tolist() == model.groups_[bins].tolist()
    assert set(labels[~KNOWN]) == {None}
    assert certify(model, frame, sensitive_features=labels).bound > 0
    far = frame.iloc[:2].assign(age=[-5.0, 500.0])
    moved = model.predict(far) - model.estimator_.predict(far)
    np.testing.assert_allclose(moved, model.shift_[[0, 2]])


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
    model = fair(Ridge(), blind=True, **{"sensitive_features": "sex", **settings})
    with pytest.raises(ValueError, match=told):
        model.fit(FRAME, Y)
    assert not hasattr(model, "estimator_")


def test_bad_groups_are_named():
    fit = TiltedRegressor(Ridge()).fit
    with pytest.raises(ValueError, match="unknown in all 300 rows"):
        fit(X, Y, sensitive_features=[None] * N)
    with pytest.raises(ValueError, match="one group only"):
        fit(X, Y, sensitive_features=np.where(KNOWN, "a", None))
    model = fair(epsilon=0.002, max_refits=1).fit(X, Y)
    new = X[:3].copy()
    new[:, -1] = [np.nan, 7, 1]
    with pytest.raises(ValueError, match=r"not seen in training: 7 \(1 row\)"):
        model.predict(new)


@pytest.mark.parametrize("kind", [TiltedRegressor, RankFairPostprocessor])
def test_text_in_the_protected_column_is_explained(kind):
    X = pd.DataFrame({"a": np.arange(40.0), "sex": ["f", "m"] * 20})
    model = kind(Ridge(), 0.2, sensitive_features="sex")
    with pytest.raises(ValueError, match="could not convert string") as error:
        model.fit(X, X["a"])
    assert "blind=True hides it" in error.value.__notes__[-1]
    assert "ColumnTransformer" in error.value.__notes__[-1]
