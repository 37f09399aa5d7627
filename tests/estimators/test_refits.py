"""Estimators inside a meta-estimator: weights arrive, and methods are enough."""

import numpy as np
import pytest
from joblib import parallel_config
from sklearn import config_context
from sklearn.compose import TransformedTargetRegressor
from sklearn.ensemble import RandomForestRegressor, StackingRegressor, VotingRegressor
from sklearn.exceptions import UnsetMetadataPassedError
from sklearn.feature_selection import RFE
from sklearn.linear_model import LinearRegression, Ridge
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.neighbors import KNeighborsRegressor
from sklearn.pipeline import make_pipeline

from rankfair import RankFairPostprocessor, TiltedRegressor
from rankfair.estimators.tilted import weight_argument
from refusals import sentence

N = 120
rng = np.random.default_rng(0)
IN_A = np.arange(N) % 2
X = np.column_stack((rng.normal(size=(N, 2)) + IN_A[:, np.newaxis], IN_A))
Y = X @ [1.0, 0.5, 0.5] + rng.normal(size=N)


@pytest.mark.parametrize(
    "wrapped",
    [
        TransformedTargetRegressor(make_pipeline(Ridge())),
        GridSearchCV(make_pipeline(Ridge()), {"ridge__alpha": [1.0]}, cv=2),
        make_pipeline(GridSearchCV(Ridge(), {"alpha": [1.0]}, cv=2)),
        VotingRegressor([("one", Ridge()), ("none", "drop")]),
    ],
)
def test_weights_are_handed_on(wrapped, cv=3):
    weights = np.linspace(0.1, 2, N)
    bare, inside = (
        RankFairPostprocessor(
            estimator, 0.05, sensitive_features=2, cv=cv, random_state=0
        ).fit(X, Y, sample_weight=weights)
        for estimator in (Ridge(), wrapped)
    )
    assert inside.predict(X) == pytest.approx(bare.predict(X))


@pytest.mark.parametrize(
    "estimator, name",
    [
        (TransformedTargetRegressor(), "sample_weight"),
        (TransformedTargetRegressor(RandomForestRegressor()), "sample_weight"),
        (TransformedTargetRegressor(KNeighborsRegressor()), None),
        (RFE(make_pipeline(Ridge())), "ridge__sample_weight"),
        (StackingRegressor([("one", Ridge())]), "sample_weight"),
        (StackingRegressor([("one", Ridge())], KNeighborsRegressor()), None),
        (VotingRegressor([("one", make_pipeline(Ridge()))]), None),
    ],
)
def test_names_of_weights(estimator, name):
    assert weight_argument(estimator) == name


both = pytest.mark.parametrize("wrapper", [TiltedRegressor, RankFairPostprocessor])


@both
def test_weights_are_routed_where_scikit_learn_routes(wrapper):
    weights = np.linspace(0.1, 2, N)

    def fit(estimator):
        it = wrapper(estimator, 0.05, sensitive_features=2, cv=3, random_state=0)
        return it.fit(X, Y, sample_weight=weights).predict(X)

    alone = fit(Ridge())
    with config_context(enable_metadata_routing=True):
        asks = Ridge().set_fit_request(sample_weight=True)
        np.testing.assert_array_equal(fit(make_pipeline(asks)), alone)
        with pytest.raises(UnsetMetadataPassedError, match="set_fit_request"):
            fit(make_pipeline(Ridge()))


class Duck:
    """Has the methods of an estimator, and none of scikit-learn's classes."""

    def get_params(self, deep=True):
        return {}

    def fit(self, X, y):
        self.line_ = LinearRegression().fit(X, y)
        return self

    def predict(self, X):
        return self.line_.predict(X)


@both
def test_an_estimator_is_what_its_methods_are(wrapper):
    one, other = (
        wrapper(estimator, 0.2, sensitive_features=2, cv=3, random_state=0)
        for estimator in (LinearRegression(), Duck())
    )
    np.testing.assert_array_equal(other.fit(X, Y).predict(X), one.fit(X, Y).predict(X))
    assert np.isfinite(cross_val_score(other, X, Y, cv=2, error_score="raise")).all()


@both
def test_a_target_that_cannot_be_used_is_refused(wrapper):
    model = wrapper(Ridge(), 0.1, sensitive_features=2)
    fitted = model.fit(X, Y * 1e130)
    assert model.fit(X, Y * 1e-130).status_ == fitted.status_ == "satisfied"
    with pytest.raises(ValueError, match=r"y has values of up to .*e\+200.* another"):
        model.fit(X, Y * 1e200)
    with pytest.raises(ValueError, match=r"y has values at most .*e-200 apart.* unit"):
        model.fit(X, Y * 1e-200)
    assert model.fit(X, 0 * Y).status_ == "inactive"


@both
def test_folds_may_be_fitted_at_once(wrapper):
    model = wrapper(Ridge(), 0.2, sensitive_features=2, cv=3, random_state=0)
    alone = model.fit(X, Y).predict(X)
    with parallel_config("threading"):
        together = model.set_params(n_jobs=2).fit(X, Y).predict(X)
    np.testing.assert_array_equal(together, alone)
    assert "n_jobs must be" in sentence(model.set_params(n_jobs=0).fit, X, Y)
