"""Two groups whose predictions are mapped, and a model of another library."""

import numpy as np
import pandas as pd
from sklearn.linear_model import LinearRegression

from rankfair import RankFairPostprocessor

rng = np.random.default_rng(3)
N = 400
SEX = rng.choice(["F", "M"], N)
IN_A = SEX == "M"
NUMBERS = rng.normal(size=(N, 3)) + np.outer(IN_A, [0.8, 0.0, 0.4])
Y = NUMBERS @ [1.0, 0.5, -0.3] + 0.7 * IN_A + rng.normal(size=N)
WITH_CODE = np.column_stack((NUMBERS, IN_A))
FRAME = pd.DataFrame({**dict(zip("abc", NUMBERS.T, strict=True)), "sex": SEX})
WAYS = {
    "rank": {},
    "distribution": {"constraints": "distribution"},
    "line": {"method": "line"},
    "line, mean": {"constraints": "mean"},
    "line, wasserstein": {"constraints": "wasserstein", "method": "line"},
    "shift": {"method": "shift"},
    "shift, mean": {"constraints": "mean", "method": "shift"},
}
KNOWN = np.arange(N) % 9 != 4
SOME = np.where(KNOWN, SEX, None)


def fair(estimator=None, epsilon=0.02, **settings):
    settings = {"sensitive_features": 3, **settings}
    return RankFairPostprocessor(estimator or LinearRegression(), epsilon, **settings)


class Foreign:
    """A fitted model of another library: it predicts, and that is all."""

    def predict(self, X):
        return np.asarray(X)[:, 0] * 2
