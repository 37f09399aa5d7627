"""Task and group columns by name, behind scikit-learn's preprocessing."""

import joblib
import numpy as np
import pandas as pd
import pytest
import skops.io as skops
from sklearn.compose import ColumnTransformer
from sklearn.impute import SimpleImputer
from sklearn.linear_model import Ridge
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder

from rankfair import RankFairRegressor, TiltedRegressor
from refusals import sentence

N = 400
rng = np.random.default_rng(0)
ROWS = pd.DataFrame(
    {
        "school": rng.choice(["north", "south", "west"], N),
        "hours": np.where(rng.random(N) < 0.1, np.nan, rng.normal(40, 8, N)),
        "degree": rng.choice(["none", "some", "high"], N),
        "sex": rng.choice(["F", "M"], N),
    }
)
Y = (
    ROWS["hours"].fillna(40) / 8 + (ROWS["sex"] == "M") + rng.normal(size=N)
).to_numpy()


def prepared(passed=("school", "sex"), output="pandas", **settings):
    """Missing values filled, categories encoded, some columns as they are."""
    steps = [
        ("numbers", SimpleImputer(), ["hours"]),
        ("categories", OneHotEncoder(sparse_output=False), ["degree"]),
    ]
    kept = ("kept", "passthrough", list(passed))
    others = [c for c in ("school", "sex") if c not in passed]
    coded = [("coded", OneHotEncoder(sparse_output=False), others)] if others else []
    columns = ColumnTransformer([*steps, kept, *coded], **settings)
    return columns.set_output(transform=output)


@pytest.mark.parametrize(
    "model",
    [
        RankFairRegressor(0.1, tasks="school", sensitive_features="sex"),
        TiltedRegressor(Ridge(), 0.1, tasks="school", sensitive_features="sex"),
    ],
)
@pytest.mark.parametrize("output", ["pandas", "polars"])
def test_columns_are_found_with_and_without_prefixes(model, output):
    fits = [
        make_pipeline(prepared(output=output, verbose_feature_names_out=verbose), model)
        for verbose in (True, False)
    ]
    one, other = (each.fit(ROWS, Y).predict(ROWS) for each in fits)
    np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize(
    "prepare, told",
    [
        (prepared(output="default"), 'set_output(transform="pandas")'),
        (prepared(["school"]), 'let the ColumnTransformer pass "sex" through'),
        (prepared(["school"]), 'set_output(transform="pandas")'),
        (prepared(["school"]), "verbose_feature_names_out=False"),
    ],
)
def test_columns_that_were_lost_are_explained(prepare, told):
    model = RankFairRegressor(tasks="school", sensitive_features="sex")
    assert told in sentence(make_pipeline(prepare, model).fit, ROWS, Y)


def test_a_name_with_two_prefixes_is_not_guessed():
    twice = pd.DataFrame({"a__sex": ROWS["sex"], "b__sex": ROWS["sex"], "x": Y})
    model = RankFairRegressor(sensitive_features="sex")
    assert "names 2 columns of X" in sentence(model.fit, twice, Y)
    exact = twice.rename(columns={"a__sex": "sex"})
    assert (
        model.set_params(epsilon=0.5).fit(exact[["sex", "x"]], Y + 1).groups_.size == 2
    )


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_joblib_and_skops_keep_a_pipeline(tmp_path):
    fair = RankFairRegressor(0.1, tasks="school", sensitive_features="sex")
    model = make_pipeline(prepared(), fair).fit(ROWS, Y)
    joblib.dump(model, tmp_path / "model.joblib")
    held = skops.dumps(model)
    trusted = skops.get_untrusted_types(data=held)
    for again in (
        joblib.load(tmp_path / "model.joblib"),
        skops.loads(held, trusted=trusted),
    ):
        np.testing.assert_array_equal(again.predict(ROWS), model.predict(ROWS))
