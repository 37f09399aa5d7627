"""
Two sensitive features at once
==============================

The diabetes data of scikit-learn have the sex and the age of 442 patients.  The
predicted progress of the disease shall rank neither one sex nor one of three ages above
the others.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_diabetes

from rankfair import RankFairRegressor

X, y = load_diabetes(return_X_y=True, as_frame=True, scaled=False)
X["sex"] = np.where(X["sex"] == 1, "sex 1", "sex 2")
X["age"] = np.select(
    [X["age"] < 40, X["age"] < 55], ["below 40", "40–54"], "55 or more"
)

# %%
# Each group is balanced against all others; one fit does all of them.
aucs = {}
for name, epsilon in {"unconstrained": 0.5, "fair": 0.03}.items():
    model = RankFairRegressor(epsilon, sensitive_features=["sex", "age"]).fit(X, y)
    aucs[name] = {
        group: auc for part in model.group_auc_.values() for group, auc in part.items()
    }
    print(name, model.status_, {k: round(v, 3) for k, v in aucs[name].items()})

# %%
figure, axis = plt.subplots(figsize=(7.5, 3.6), layout="constrained")
groups = list(aucs["fair"])
place = np.arange(len(groups))
for shift, (name, values) in zip((0.1, -0.1), aucs.items(), strict=True):
    axis.scatter([values[each] for each in groups], place + shift, s=70, label=name)
axis.axvspan(0.47, 0.53, alpha=0.12, lw=0, label="band of ε = 0.03")
axis.axvline(0.5, color="0.5", lw=1)
axis.set_yticks(place, groups)
axis.set(xlabel="AUC of the group against the rest, training rows")
axis.legend(frameon=False)
