"""
The published algorithm, and the straight line
==============================================

The paper's solver alternates two steps whose results never agree: one meets the band,
the other predicts.  Here it ends at predictions that hardly differ between people: no
gap, and no use.  With another projection the same algorithm ends where the line is, and
the line needs two regressions.
"""

import warnings

import matplotlib.pyplot as plt

from rankfair import RankFairRegressor
from rankfair.datasets import make_biased_tasks
from rankfair.metrics import rank_auc, rmse

warnings.simplefilter("ignore")  # The paper's solver warns that it did not converge.
kinds = {
    "unconstrained": {"epsilon": 0.5},
    "paper's solver": {"solver": "paper"},
    "NC-ADMM, shift": {"solver": "ncadmm"},
    "line (default)": {},
}
marks = dict(zip(kinds, "osD*", strict=True))

# %%
# Five draws of the synthetic design of the paper; 200 new rows a task.
figure, axis = plt.subplots(figsize=(7.5, 4.4), layout="constrained")
for seed in range(5):
    data = make_biased_tasks(20, 225, auc=0.9, random_state=seed)
    train = data.frame.groupby("task").cumcount().to_numpy() < 25
    for place, (name, settings) in enumerate(kinds.items()):
        model = RankFairRegressor(
            **{"epsilon": 0.0, **settings},
            tasks="task",
            sensitive_features="z",
            random_state=seed,
        )
        model.fit(data.frame[train], data.target[train])
        new = model.predict(data.frame[~train])
        auc = rank_auc(None, new, sensitive_features=data.sensitive[~train])
        axis.scatter(
            auc,
            rmse(data.target[~train], new),
            marker=marks[name],
            s=70,
            alpha=0.7,
            color=f"C{place}",
            label=name if seed == 0 else None,
        )
axis.axvline(0.5, color="0.5", lw=1)
axis.set(
    xlabel="AUC on new rows (0.5 is parity)",
    ylabel="RMSE on new rows, in sd of the target",
)
axis.legend(frameon=False)
