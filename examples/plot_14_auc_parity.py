"""
What AUC parity is, and what it is not
======================================

In each picture a row of one group is predicted above a row of the other in half of all
pairs. Only in the first are the groups treated alike.
"""

import matplotlib.pyplot as plt
import numpy as np
from scipy.stats import ks_2samp

from rankfair.metrics import mean_difference, rank_auc

rng = np.random.default_rng(0)
n = 20_000
b = rng.normal(0, 1, n)
designs = {
    "alike": rng.normal(0, 1, n),
    "one group is wider": rng.normal(0, 2.2, n),
    "torn: half below, a few far above": np.where(
        rng.random(n) < 0.5, rng.normal(-2.5, 0.4, n), rng.normal(4, 1.0, n)
    ),
}

# %%
# So an audit reports three numbers, not one: AUC, the difference of means (MD), and the
# largest distance of the distributions (KS).
figure, axes = plt.subplots(
    1, 3, figsize=(10.5, 3.4), layout="constrained", sharex=True
)
z = np.repeat(["A", "B"], n)
for axis, (name, a) in zip(axes, designs.items(), strict=True):
    y_pred = np.concatenate((a, b))
    auc = rank_auc(None, y_pred, sensitive_features=z)
    difference = abs(mean_difference(None, y_pred, sensitive_features=z))
    distance = ks_2samp(a, b).statistic
    print(f"{name}: AUC {auc:.2f}, MD {difference:.2f}, KS {distance:.2f}")
    for label, values in {"group A": a, "group B": b}.items():
        axis.hist(values, np.linspace(-7, 7, 80), alpha=0.5, label=label, density=True)
    axis.set_title(name)
    axis.set(
        yticks=[], xlabel=f"AUC {auc:.2f}   MD {difference:.2f}   KS {distance:.2f}"
    )
axes[0].legend(frameon=False)
