"""Two groups whose ranks are far apart; the group is the last column."""

import numpy as np
import pandas as pd
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.ensemble import HistGradientBoostingRegressor
from sklearn.linear_model import LinearRegression, Ridge

from rankfair import TiltedRegressor

rng = np.random.default_rng(7)
N = 300
SEX = rng.choice(["F", "M"], N, p=[0.6, 0.4])
IN_A = SEX == "M"
TASK = rng.choice(["n", "s"], N)
NUMBERS = rng.normal(size=(N, 3)) + np.outer(IN_A, [0.8, 0.0, 0.4])
Y = NUMBERS @ [1.0, 0.5, -0.3] + 0.7 * IN_A + np.sin(2 * NUMBERS[:, 1])
Y = Y + 0.5 * rng.normal(size=N)
X = np.column_stack([NUMBERS, IN_A])
FRAME = pd.DataFrame({"a": X[:, 0], "b": X[:, 1], "c": X[:, 2], "sex": SEX})
PAIR = 1 / (IN_A.sum() * (~IN_A).sum())
TREES = HistGradientBoostingRegressor(max_iter=20, max_leaf_nodes=6)


def fair(estimator=None, epsilon=0.02, **settings):
    settings.setdefault("random_state", 0)
    estimator = Ridge() if estimator is None else estimator
    return TiltedRegressor(estimator, epsilon, sensitive_features=-1, **settings)


class Slow(RegressorMixin, BaseEstimator):
    """A line that counts its fits and may stop at one of them."""

    fits = 0

    def __init__(self, stop_at=np.inf):
        self.stop_at = stop_at

    def fit(self, X, y):
        Slow.fits += 1
        if Slow.fits >= self.stop_at:
            raise KeyboardInterrupt
        self.line_ = LinearRegression().fit(X, y)
        return self

    def predict(self, X):
        return self.line_.predict(X)
