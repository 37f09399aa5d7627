"""Groups of a RankFairPostprocessor as they come: unknown, combined, by name."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn import config_context
from sklearn.base import clone
from sklearn.ensemble import HistGradientBoostingRegressor
from sklearn.linear_model import LinearRegression, Ridge
from sklearn.model_selection import cross_validate
from sklearn.pipeline import make_pipeline

from mapped import (
    IN_A,
    KNOWN,
    NUMBERS,
    SEX,
    SOME,
    WAYS,
    WITH_CODE,
    N,
    Y,
    fair,
    rng,
)
from rankfair import RankFairPostprocessor
from rankfair.core.blocks import rounded
from rankfair.metrics import scorer
from rankfair.stats import certify
from refusals import sentence


def test_a_dict_of_groups_in_any_order():
    third = rng.integers(0, 3, N)
    model = fair(sensitive_features=None, epsilon=0.1)
    model.fit(NUMBERS, Y, sensitive_features={"sex": SEX, "part": third})
    assert model.groups_.tolist()[0] == "F × 0" and len(model.group_auc_) == 6
    m = model.predict(NUMBERS, sensitive_features={"sex": SEX, "part": third})
    again = model.predict(NUMBERS, sensitive_features={"part": third, "sex": SEX})
    assert np.array_equal(m, again)
    one = fair(sensitive_features=None).fit(NUMBERS, Y, sensitive_features={"s": SEX})
    plain = fair(sensitive_features=None).fit(NUMBERS, Y, sensitive_features=SEX)
    assert one.group_auc_ == plain.group_auc_


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("third", [False, True])
def test_rows_of_unknown_group_are_fitted_and_not_balanced(way, third):
    labels = np.where(np.arange(N) % 3 == 0, "X", SOME) if third else SOME
    labels = np.where(KNOWN, labels, None)
    model = fair(Ridge(), sensitive_features=None, **WAYS[way])
    model.fit(NUMBERS, Y, sensitive_features=labels)
    assert model.n_unknown_ == (~KNOWN).sum()
    assert model.groups_.tolist() == ["F", "M", "X"][: 2 + third]
    # The estimator saw all rows; the maps are those of the known ones.
    raw = Ridge().fit(NUMBERS, Y).predict(NUMBERS)
    prefit = fair(model.estimator_, sensitive_features=None, prefit=True)
    prefit.set_params(**WAYS[way])
    # What ε is a share of, for means: the spread of y in all rows.
    scaled = (Y[KNOWN] - Y[KNOWN].mean()) * Y.std() / Y[KNOWN].std()
    prefit.fit(NUMBERS[KNOWN], scaled, sensitive_features=labels[KNOWN])
    for label in model.groups_:
        np.testing.assert_allclose(model.maps_[label], prefit.maps_[label], rtol=1e-9)
    m = model.predict(NUMBERS, sensitive_features=labels)
    alone = prefit.predict(NUMBERS[KNOWN], sensitive_features=labels[KNOWN])
    np.testing.assert_allclose(m[KNOWN], alone, rtol=1e-9)
    # A row of unknown group moves by the average of the moves of all groups.
    each = [
        model.predict(NUMBERS, sensitive_features=[label] * N)
        for label in model.groups_
    ]
    shares = [(labels == label).sum() / KNOWN.sum() for label in model.groups_]
    np.testing.assert_allclose(m[~KNOWN], np.average(each, 0, shares)[~KNOWN])
    assert np.allclose(model.estimator_.predict(NUMBERS), raw)


def test_an_unknown_group_where_nothing_moves():
    model = fair(epsilon=0.5, sensitive_features=None)
    model.fit(NUMBERS, Y, sensitive_features=SOME)
    plain = rounded(model.estimator_.predict(NUMBERS), model.resolution_)
    m = model.predict(NUMBERS, sensitive_features=SOME)
    np.testing.assert_array_equal(m, plain)
    nobody = model.predict(NUMBERS[:2], sensitive_features=[None, np.nan])
    np.testing.assert_array_equal(nobody, plain[:2])


def test_combinations_miss_a_label():
    third = np.where(np.arange(N) % 5 == 1, np.nan, np.arange(N) % 2)
    model = fair(sensitive_features=None, epsilon=0.1)
    labels = {"sex": SOME, "part": third}
    w = np.where(np.arange(N) == 4, 0.0, 1.0)  # a row of unknown group
    model.fit(NUMBERS, Y, sensitive_features=labels, sample_weight=w)
    assert model.groups_.tolist() == ["F × 0", "F × 1", "M × 0", "M × 1"]
    assert model.n_unknown_ == (~KNOWN | np.isnan(third)).sum() - 1
    new = {"sex": ["F", None], "part": [7, 1]}
    words = sentence(model.predict, NUMBERS[:2], sensitive_features=new)
    assert 'not seen in training: "F × 7" (1 row)' in words


def test_labels_of_another_type_or_of_other_columns():
    ones = np.arange(N) % 2
    model = fair(sensitive_features=None, epsilon=0.1)
    model.fit(NUMBERS, Y, sensitive_features=ones)
    words = sentence(model.predict, NUMBERS[:2], sensitive_features=["1", "0"])
    assert 'another type than in training: "0" (str) here, 0 (int) there' in words
    assert "sensitive_features has 2 columns; training had 1." in sentence(
        model.predict, NUMBERS[:2], sensitive_features=[["1", "0"]] * 2
    )
    model.fit(NUMBERS, Y, sensitive_features={"a": ones, "b": SEX})
    assert "sensitive_features has 1 column; training had 2." in sentence(
        model.predict, NUMBERS[:2], sensitive_features=[0, 1]
    )


def test_an_estimator_that_takes_no_missing_label_is_explained():
    X = WITH_CODE.copy()
    X[~KNOWN, -1] = np.nan
    with pytest.raises(ValueError, match="NaN") as error:
        fair().fit(X, Y)
    assert f"{(~KNOWN).sum()} rows miss a label" in error.value.__notes__[0]
    assert fair(blind=True).fit(X, Y).n_unknown_ == (~KNOWN).sum()
    trees = fair(HistGradientBoostingRegressor(max_iter=5), epsilon=0.05).fit(X, Y)
    assert np.isfinite(trees.predict(X)).all()


@pytest.mark.parametrize("form", [dict, pd.DataFrame, pl.DataFrame])
def test_groups_are_known_by_the_names_of_training(form):
    sex, race = IN_A.astype(int), rng.integers(0, 2, N)
    model = RankFairPostprocessor(LinearRegression(), 0.05)
    model.fit(NUMBERS, Y, sensitive_features=form({"sex": sex, "race": race}))
    known = model.predict(NUMBERS, sensitive_features=form({"race": race, "sex": sex}))
    same = model.predict(NUMBERS, sensitive_features=form({"sex": sex, "race": race}))
    np.testing.assert_array_equal(known, same)
    other = form({"race": race, "gender": sex})
    with pytest.raises(ValueError, match=r'named .*"gender".*; training had .*"sex"'):
        model.predict(NUMBERS, sensitive_features=other)


def test_groups_reach_the_last_step_of_a_pipeline():
    step, named = fair(sensitive_features=None), {"sensitive_features": SEX}
    alone = clone(step).fit(NUMBERS, Y, **named)
    gap, bound = scorer("rank_gap"), certify(alone, NUMBERS, **named)
    key = "pipeline__rankfairpostprocessor__sensitive_features"
    inside = make_pipeline(make_pipeline(clone(step))).fit(NUMBERS, Y, **{key: SEX})
    assert certify(inside, NUMBERS, **named) == bound
    assert gap(inside, NUMBERS, Y, **named) == gap(alone, NUMBERS, Y, **named)
    with config_context(enable_metadata_routing=True):
        step.set_fit_request(sensitive_features=True)
        routed = make_pipeline(step).fit(NUMBERS, Y, **named)
        with pytest.raises(ValueError, match="each new row needs its group"):
            certify(routed, NUMBERS, **named)  # it has not asked for them
        step.set_predict_request(sensitive_features=True)
        assert certify(routed, NUMBERS, **named) == bound
        found = cross_validate(routed, NUMBERS, Y, params=named, scoring=gap, cv=3)
    assert np.isfinite(found["test_score"]).all()
