"""What a fit says hangs on the data, not on the last bits of sums.

Another processor adds in another order, and so does the same one where rows come in
another order.
"""

import numpy as np
import pytest
from sklearn.linear_model import LinearRegression

from rankfair import RankFairPostprocessor, RankFairRegressor

pytestmark = [
    pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning"),
    pytest.mark.filterwarnings("ignore::UserWarning"),
]


def binary(rng, z):
    X = (rng.random((len(z), 3)) < 0.3 + 0.3 * (z > 0)[:, None]).astype(float)
    return X, X @ [1.0, 2.0, 3.0] + 0.7 * z + rng.normal(size=len(z))


def grid(rng, z):
    X = np.round(rng.normal(size=(len(z), 2)) + 0.5 * z[:, None])
    return X, np.round(X.sum(axis=1) + 0.7 * z + rng.normal(size=len(z)))


def far(rng, z):
    """A target so far from zero that its resolution is 1e-6."""
    X = np.round(rng.normal(size=(len(z), 3)) + 0.5 * z[:, None], 1)
    y = X @ [1.0, 2.0, 3.0] / 3 + 0.7 * z + rng.normal(size=len(z))
    return X, np.round(y) + 1e9


def drawn(make, n_groups, seed):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(24, 160))
    z, tasks = rng.integers(0, n_groups, n), rng.integers(0, 4, n)
    return *make(rng, z), tasks, z


def orders(n_rows):
    yield np.arange(n_rows)
    for seed in (1, 2):
        yield np.random.default_rng(seed).permutation(n_rows)


@pytest.mark.parametrize("epsilon", [0.0, 0.02])
@pytest.mark.parametrize("make", [binary, grid, far])
@pytest.mark.parametrize(
    ("n_groups", "settings"),
    [
        (2, {}),
        (2, {"count": "train"}),
        (2, {"constraints": "mean"}),
        (2, {"constraints": "residual"}),
        (2, {"constraints": "distribution"}),
        (2, {"constraints": "mean", "scope": "task"}),
        (2, {"constraints": "mean", "penalty": "shared", "beta": 1.0}),
        (2, {"scope": "task"}),
        (3, {}),
        (3, {"constraints": ["rank", "mean"]}),
    ],
    ids=str,
)
def test_statuses_of_linear_fits(make, n_groups, settings, epsilon):
    for seed in range(4):
        X, y, tasks, z = drawn(make, n_groups, seed)
        said = set()
        for order in orders(len(y)):
            model = RankFairRegressor(epsilon, **settings)
            given = {"tasks": tasks[order], "sensitive_features": z[order]}
            model.fit(X[order], y[order], **given)
            of_tasks = model.task_status_
            said.add((model.status_, *([] if of_tasks is None else of_tasks)))
        assert len(said) == 1


@pytest.mark.parametrize("epsilon", [0.0, 0.02])
@pytest.mark.parametrize("make", [binary, grid, far])
@pytest.mark.parametrize("constraints", ["rank", "mean", "distribution", "wasserstein"])
@pytest.mark.parametrize("n_groups", [2, 3])
def test_statuses_of_maps(make, n_groups, constraints, epsilon):
    for seed in range(6):
        X, y, _, z = drawn(make, n_groups, seed)
        said = set()
        for order in orders(len(y)):
            model = RankFairPostprocessor(
                LinearRegression(), epsilon, constraints=constraints
            )
            model.fit(X[order], y[order], sensitive_features=z[order])
            said.add((model.status_, model.rank_auc_, model.ks_))
        assert len(said) == 1
