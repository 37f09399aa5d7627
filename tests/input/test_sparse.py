"""Sparse rows: the same models as of dense ones, and nothing made dense at once."""

import numpy as np
import pytest
from scipy.sparse import csc_array, csr_array, csr_matrix

from rankfair import (
    DecisionBoundaryCovariance,
    MultiTaskRegressor,
    RankFairRegressor,
    RankFairRegressorCV,
)
from refusals import sentence

rng = np.random.default_rng(0)
N = 300
GROUP = rng.integers(0, 2, N)
TASK = rng.integers(0, 4, N)
THREE = rng.integers(0, 3, N)
NUMBERS = rng.normal(size=(N, 6)) * (rng.random((N, 6)) < 0.4)
NUMBERS[:, 0] += GROUP * (rng.random(N) < 0.5)
Y = NUMBERS @ rng.normal(size=6) + 0.5 * TASK + 2.0 * GROUP + rng.normal(size=N)
X = np.column_stack((NUMBERS, TASK, GROUP, THREE)).astype(float)
FORMATS = [csr_array, csc_array, csr_matrix]
NAMED = {"tasks": 6, "sensitive_features": 7}
MODELS = {
    "blind": RankFairRegressor(0.02, **NAMED),
    "three groups": RankFairRegressor(
        0.05, blind=False, tasks=6, sensitive_features=[8, 7]
    ),
    "task": RankFairRegressor(0.02, penalty="task", beta=1.0, **NAMED),
    "ncadmm": RankFairRegressor(0.05, solver="ncadmm", count="train", **NAMED),
    "chosen": RankFairRegressorCV([1.0], cv=2, random_state=0, **NAMED),
}


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_sparse_rows_give_the_model_of_dense_ones(name):
    model, weights = MODELS[name], np.arange(N) % 3
    dense = model.fit(X, Y, sample_weight=weights)
    expected = dense.coef_, dense.intercept_, dense.predict(X)
    for kind in FORMATS if name == "blind" else FORMATS[:1]:
        found = model.fit(kind(X), Y, sample_weight=weights)
        new = found.predict(kind(X))
        for own, other in zip(
            expected, (found.coef_, found.intercept_, new), strict=True
        ):
            np.testing.assert_allclose(own, other, rtol=1e-10, atol=1e-10)


def test_labels_may_come_beside_sparse_rows():
    given = {"tasks": TASK, "sensitive_features": GROUP}
    dense = RankFairRegressor(0.02).fit(NUMBERS, Y, **given)
    sparse = RankFairRegressor(0.02).fit(csc_array(NUMBERS), Y, **given)
    np.testing.assert_allclose(sparse.coef_, dense.coef_, rtol=1e-10, atol=1e-10)
    found = sparse.predict(csr_array(NUMBERS), tasks=TASK)
    np.testing.assert_allclose(found, dense.predict(NUMBERS, tasks=TASK), atol=1e-10)


def test_sparse_rows_that_are_refused():
    model, sparse = MultiTaskRegressor(), csr_array(NUMBERS)
    broken = sparse.copy()
    broken.data[3] = np.nan
    assert "X must be finite, but has 1 NaN" in sentence(model.fit, broken, Y)
    assert "Complex data not" in sentence(model.fit, sparse.astype(complex), Y)
    same = csr_array(np.column_stack((NUMBERS, Y)))
    assert 'X (column "x6") equals the target' in sentence(model.fit, same, Y)
    assert "0 feature(s)" in sentence(model.fit, csr_array((N, 0)), Y)
    other = DecisionBoundaryCovariance(sensitive_features=7)
    assert "X is sparse: dense data is required" in sentence(other.fit, csr_array(X), Y)
