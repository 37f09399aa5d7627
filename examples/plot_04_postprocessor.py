"""
When the group may be used: move predictions, keep the model
============================================================

Where the group of a new person is known and may be used, any model can be kept as it
is. ``RankFairPostprocessor`` moves its predictions.  By default it moves them least;
``method="line"`` takes each a share of the way to the common quantiles, so that means
and distributions come closer too.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.ensemble import HistGradientBoostingRegressor

from rankfair import RankFairPostprocessor
from rankfair.datasets import make_biased_tasks
from rankfair.metrics import rank_auc, rmse

data = make_biased_tasks(20, 200, auc=0.8, random_state=1)
train = np.arange(len(data.target)) % 2 == 0
X, y, z = data.frame.drop(columns="z"), data.target, data.sensitive

boosting = HistGradientBoostingRegressor(max_iter=60, random_state=0)
model = RankFairPostprocessor(boosting, epsilon=0.01, method="line")
model.fit(X[train], y[train], sensitive_features=z[train])
fair = model.predict(X[~train], sensitive_features=z[~train])
free = boosting.fit(X[train], y[train]).predict(X[~train])

# %%
# New rows: the order of the groups is gone, and the error hardly changes.
for name, y_pred in {"free": free, "fair": fair}.items():
    auc = rank_auc(None, y_pred, sensitive_features=z[~train])
    print(f"{name}: AUC {auc:.3f}, RMSE {rmse(y[~train], y_pred):.3f}")

# %%
# The map of each group is monotone: within a group nobody overtakes anybody.
figure, axes = plt.subplots(1, 3, figsize=(10, 3.4), layout="constrained")
bins = np.linspace(free.min(), free.max(), 40)
for axis, y_pred, title in zip(axes, (free, fair), ("free", "fair"), strict=False):
    for group in ("0", "1"):
        chosen = y_pred[z[~train] == group]
        axis.hist(chosen, bins, density=True, alpha=0.5, label=f"group {group}")
    axis.set(title=title, xlabel="prediction", yticks=[])
axes[0].legend(frameon=False)
for group in ("0", "1"):
    rows = np.flatnonzero(z[~train] == group)
    rows = rows[np.argsort(free[rows])]
    axes[2].plot(free[rows], fair[rows], label=f"group {group}")
axes[2].axline((0, 0), slope=1, color="0.7", lw=1, zorder=0)
axes[2].set(title="the maps", xlabel="free prediction", ylabel="fair prediction")
