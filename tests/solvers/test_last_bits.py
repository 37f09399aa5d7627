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


LINEAR = [
    {},
    {"count": "train"},
    {"constraints": "mean"},
    {"constraints": "residual"},
    {"constraints": "distribution"},
    {"constraints": "mean", "scope": "task"},
    {"constraints": "mean", "penalty": "shared", "beta": 1.0},
    {"scope": "task"},
]
OF_THREE = [{}, {"constraints": ["rank", "mean"]}]
MAPS = ["rank", "mean", "distribution", "wasserstein"]
MODELS = [
    *((2, RankFairRegressor(**each)) for each in LINEAR),
    *((3, RankFairRegressor(**each)) for each in OF_THREE),
    *(
        (n_groups, RankFairPostprocessor(LinearRegression(), constraints=each))
        for n_groups in (2, 3)
        for each in MAPS
    ),
]


@pytest.mark.parametrize("epsilon", [0.0, 0.02])
@pytest.mark.parametrize("make", [binary, grid, far])
@pytest.mark.parametrize(("n_groups", "model"), MODELS, ids=str)
def test_what_is_said_hangs_on_the_data(make, n_groups, model, epsilon):
    model.set_params(epsilon=epsilon)
    for seed in range(4):
        X, y, tasks, z = drawn(make, n_groups, seed)
        said = set()
        for order in orders(len(y)):
            given = {"sensitive_features": z[order]}
            if isinstance(model, RankFairRegressor):
                model.fit(X[order], y[order], tasks=tasks[order], **given)
                of_tasks = model.task_status_
                said.add((model.status_, *([] if of_tasks is None else of_tasks)))
            else:
                model.fit(X[order], y[order], **given)
                said.add((model.status_, model.rank_auc_, model.ks_))
        assert len(said) == 1
