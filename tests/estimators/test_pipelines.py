"""Task and group columns by name, behind scikit-learn's preprocessing."""

import joblib
import numpy as np
import pandas as pd
import pytest
import skops.io as skops
from sklearn.compose import ColumnTransformer
from sklearn.ensemble import HistGradientBoostingRegressor
from sklearn.impute import SimpleImputer
from sklearn.inspection import partial_dependence, permutation_importance
from sklearn.linear_model import Ridge
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder

from four_tasks import INTERCHANGE
from rankfair import RankFairPostprocessor, RankFairRegressor, TiltedRegressor
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


MODELS = {
    "linear": RankFairRegressor(0.1, tasks="school", sensitive_features="sex"),
    "boosting": TiltedRegressor(
        HistGradientBoostingRegressor(max_iter=5, random_state=0),
        0.1,
        sensitive_features=["school", "sex"],
        cv=None,
    ),
    "mapped": RankFairPostprocessor(
        Ridge(), 0.1, sensitive_features=["school", "sex"], blind=True
    ),
}


def prepared(passed=("school", "sex"), output="pandas", **settings):
    """Missing values filled, categories encoded, some columns as they are."""
    codes = OneHotEncoder(sparse_output=False)
    others = [c for c in ("school", "sex") if c not in passed]
    steps = [
        ("numbers", SimpleImputer(), ["hours"]),
        ("categories", codes, ["degree", *others]),
        ("kept", "passthrough", list(passed)),
    ]
    return ColumnTransformer(steps, **settings).set_output(transform=output)


# Of scikit-learn's transformers below 1.9.
@pytest.mark.filterwarnings("ignore:the default behavior of `how=:DeprecationWarning")
@pytest.mark.filterwarnings(INTERCHANGE)
@pytest.mark.parametrize("name", ["linear", "boosting"])
@pytest.mark.parametrize("output", ["pandas", "polars"])
def test_columns_are_found_with_and_without_prefixes(name, output):
    model = MODELS[name]
    one, other = (
        make_pipeline(prepared(output=output, verbose_feature_names_out=verbose), model)
        .fit(ROWS, Y)
        .predict(ROWS)
        for verbose in (True, False)
    )
    np.testing.assert_array_equal(one, other)


def test_columns_that_were_lost_are_explained():
    model = RankFairRegressor(tasks="school", sensitive_features="sex")
    words = sentence(make_pipeline(prepared(output="default"), model).fit, ROWS, Y)
    assert 'set_output(transform="pandas")' in words
    words = sentence(make_pipeline(prepared(["school"]), model).fit, ROWS, Y)
    assert 'let the ColumnTransformer pass "sex" through' in words
    assert "verbose_feature_names_out=False" in words
    twice = pd.DataFrame({"a__sex": ROWS["sex"], "b__sex": ROWS["sex"], "x": Y})
    model = RankFairRegressor(0.5, sensitive_features="sex")
    assert "names 2 columns of X" in sentence(model.fit, twice, Y)
    exact = twice.rename(columns={"a__sex": "sex"})[["sex", "x"]]
    assert model.fit(exact, Y + 1).groups_.size == 2


@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::FutureWarning")
@pytest.mark.filterwarnings("ignore:.*Any type hint is inferred:UserWarning")
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("name", MODELS)
def test_trackers_and_files_keep_a_pipeline(name, tmp_path):
    import mlflow.sklearn

    model = make_pipeline(prepared(), MODELS[name]).fit(ROWS, Y)
    joblib.dump(model, tmp_path / "model.joblib")
    held = skops.dumps(model)
    trusted = skops.get_untrusted_types(data=held)
    assert any(each.startswith("rankfair.") for each in trusted)
    mlflow.sklearn.save_model(
        model,
        tmp_path / "tracked",
        serialization_format="skops",
        skops_trusted_types=trusted,
        pip_requirements=["rankfair"],
    )
    for again in (
        joblib.load(tmp_path / "model.joblib"),
        skops.loads(held, trusted=trusted),
        mlflow.sklearn.load_model(str(tmp_path / "tracked")),
        mlflow.pyfunc.load_model(str(tmp_path / "tracked")),
    ):
        np.testing.assert_array_equal(again.predict(ROWS), model.predict(ROWS))


def test_inspection_takes_columns_of_text():
    rows = ROWS[["school", "sex"]].assign(hours=ROWS["hours"].fillna(40))
    model = MODELS["linear"].fit(rows, Y)
    found = permutation_importance(model, rows, Y, n_repeats=2, random_state=0)
    lost = dict(zip(rows, found.importances_mean, strict=True))
    assert lost["hours"] > 0.1
    assert lost["sex"] == 0  # the group is no predictor
    curve = partial_dependence(model, rows, ["school"], categorical_features=["school"])
    assert curve["grid_values"][0].tolist() == ["north", "south", "west"]
    one = model.predict(rows.assign(school="north")).mean()
    assert curve["average"][0][0] == pytest.approx(one)
