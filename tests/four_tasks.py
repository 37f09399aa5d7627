"""Four tasks of uneven size, two groups in each, ranks far apart."""

import numpy as np
import pandas as pd

from rankfair import RankFairRegressor

# Of scikit-learn's own estimators below 1.9, which ask polars for its names so.
INTERCHANGE = "ignore:Support for the dataframe interchange:DeprecationWarning"
NO_GROUPS = "ignore:sensitive_features was not given:UserWarning"

rng = np.random.default_rng(7)
N = 240
TASK = rng.choice(["n", "e", "s", "w"], N, p=[0.4, 0.3, 0.2, 0.1])
SEX = rng.choice(["F", "M"], N)
IN_A = SEX == "M"
NUMBERS = rng.normal(size=(N, 3)) + np.outer(IN_A, [0.8, 0.0, 0.4])
Y = NUMBERS @ [1.0, 0.5, -0.3] + 0.7 * IN_A + (TASK == "n") + rng.normal(size=N)
COLUMNS = {"a": NUMBERS[:, 0], "b": NUMBERS[:, 1], "c": NUMBERS[:, 2]}
FRAME = pd.DataFrame({**COLUMNS, "task": TASK, "sex": SEX})


def fair(epsilon=0.02, **settings):
    return RankFairRegressor(
        epsilon, tasks="task", sensitive_features="sex", **settings
    )
