"""
Overall or within tasks?  The two can disagree
==============================================

One group is found mostly in the tasks that pay little.  Parity over all rows then moves
the levels of the tasks, and leaves the order inside them as it was.  ``scope="task"``
asks for parity inside the tasks, and leaves their levels.  An audit shows both numbers.
"""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

from rankfair import RankFairRegressor
from rankfair.metrics import rank_auc

rng = np.random.default_rng(0)
n, tasks = 3000, 6
task = rng.integers(0, tasks, n)
woman = rng.random(n) < np.linspace(0.8, 0.1, tasks)[task]
years = rng.gamma(4.0, 3.0, n) - 1.0 * woman
pay = 30 + 8 * task + 0.8 * years + rng.normal(0, 4, n)
people = pd.DataFrame({"years": years, "task": task, "sex": np.where(woman, "F", "M")})


def within(y_pred):
    """The AUC inside each task."""
    return [
        rank_auc(None, y_pred[task == t], sensitive_features=people["sex"][task == t])
        for t in range(tasks)
    ]


# %%
# Three models: no constraint, parity over all rows, parity in every task.
predictions = {}
for name, settings in {
    "free": {"epsilon": 0.5},
    "parity overall": {"epsilon": 0.01},
    "parity within tasks": {"epsilon": 0.03, "scope": "task"},
}.items():
    model = RankFairRegressor(tasks="task", sensitive_features="sex", **settings)
    y_pred = predictions[name] = model.fit(people, pay).predict(people)
    overall = rank_auc(None, y_pred, sensitive_features=people["sex"])
    print(f"{name}: overall {overall:.2f}, within tasks {np.round(within(y_pred), 2)}")

# %%
# Above the line a man is ranked above a woman more often than not.
figure, axis = plt.subplots(figsize=(7, 4.2), layout="constrained")
for place, (name, y_pred) in enumerate(predictions.items()):
    shift, look = 0.2 * (place - 1), {"color": f"C{place}", "label": name}
    axis.scatter(np.arange(tasks) + shift, within(y_pred), s=45, **look)
    overall = rank_auc(None, y_pred, sensitive_features=people["sex"])
    axis.scatter(tasks + 0.6 + shift, overall, s=120, marker="D", color=f"C{place}")
axis.axhline(0.5, color="0.5", lw=1)
axis.axvline(tasks - 0.2, color="0.85")
labels = [f"task {t}" for t in range(tasks)]
axis.set_xticks([*range(tasks), tasks + 0.6], [*labels, "overall"])
axis.set(ylabel="AUC, men above women")
axis.legend(frameon=False, ncols=3, loc="lower center", bbox_to_anchor=(0.5, 1))
