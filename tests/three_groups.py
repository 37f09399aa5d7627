"""Three groups whose ranks are far apart, and how level predictions are."""

import numpy as np
from sklearn.compose import make_column_transformer
from sklearn.ensemble import HistGradientBoostingRegressor
from sklearn.linear_model import Ridge
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from oracles import gaps
from rankfair import TiltedRegressor

TREES = HistGradientBoostingRegressor(max_iter=20, max_leaf_nodes=6, random_state=0)


def make(n_groups, n=300, seed=0):
    """Numbers, targets and groups of unlike size that are apart in both."""
    rng = np.random.default_rng(seed)
    sizes = np.arange(n_groups, 0, -1) + 1.0
    z = rng.choice(n_groups, n, p=sizes / sizes.sum())
    far = z / (n_groups - 1)
    X = rng.normal(size=(n, 3)) + np.outer(far, [0.8, 0.0, 0.4])
    y = X @ [1.0, 0.5, -0.3] + 0.7 * far + np.sin(2 * X[:, 1])
    return X, y + 0.5 * rng.normal(size=n), z


NUMBERS, Y, Z = make(3)
N = len(Y)
X = np.column_stack((NUMBERS, Z))
NAMES = np.array(["old", "mid", "new"])[Z]
KNOWN = np.arange(N) % 7 != 3
RIDGE = make_pipeline(
    make_column_transformer((OneHotEncoder(), [-1]), remainder=StandardScaler()),
    Ridge(),
)


def fair(estimator=TREES, epsilon=0.02, **settings):
    settings = {"sensitive_features": -1, "random_state": 0, **settings}
    return TiltedRegressor(estimator, epsilon, **settings)


def assert_level(m, labels, epsilon):
    for gap, pair in gaps(m, labels):
        assert gap <= epsilon + pair + 1e-12
