"""
Every tolerance from one fit
============================

Forty branches, twenty-five people in each.  Without any constraint, the model ranks a
person of one group above a person of the other in three of four pairs.  One fit holds
the fair model of every tolerance ε, and says what each costs on rows that it has not
seen.
"""

import matplotlib.pyplot as plt

from rankfair import RankFairRegressor
from rankfair.datasets import make_biased_tasks

data = make_biased_tasks(n_tasks=40, n_per_task=25, auc=0.9, random_state=0)
model = RankFairRegressor(0.01, tasks="task", sensitive_features="z")
model.fit(data.frame, data.target)
print(f"{model.status_}: AUC of left-out rows {model.loo_auc_:.3f}")

# %%
# ``path()`` has a row for every ε: each number is measured on left-out rows, that is on
# the prediction of each row by the fit without it.
path = model.path()
for row in path.rows[::10]:
    print(f"ε {row.epsilon:.3f}  gap {row.gap:.3f}  RMSE {row.rmse:.3f}")

# %%
# ``at`` gives the fitted model of another ε, without the data.
print(model.at(0.1).loo_auc_)

# %%
# The curve says what parity is worth here: the steeper it is, the more the predictors
# tell of the group and of the target at once.
figure, axis = plt.subplots(figsize=(7, 4.2), layout="constrained")
gap = [row.gap for row in path.rows]
axis.fill_between(
    gap,
    [row.rmse_ci_low for row in path.rows],
    [row.rmse_ci_high for row in path.rows],
    alpha=0.15,
)
axis.plot(gap, [row.rmse for row in path.rows], lw=2.5)
axis.set(xlabel="rank gap |AUC − 1/2|, left-out rows", ylabel="RMSE, left-out rows")
axis.set_title("What each rank gap costs (band: 95 % confidence interval)")
axis.grid(alpha=0.3)
