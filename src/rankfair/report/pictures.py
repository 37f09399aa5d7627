"""All pictures by matplotlib: of an audit, of a path, and of methods.

The colours are those of Okabe and Ito, darker: they also serve for text, and can be
told apart with any kind of colour vision.
"""

from __future__ import annotations

import io
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from rankfair.report.text import numbers_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from rankfair.audit.records import Audit

Row: TypeAlias = Mapping[str, Any]  # a method
Points: TypeAlias = Sequence[tuple[float, float]]
INK, PALE = "#222222", "#8a8a8a"
BLUE, RUST, GREEN, PURPLE = "#0072B2", "#C04F00", "#00785A", "#A3357A"
STYLE: Any = {
    "font.family": "DejaVu Sans",
    "font.size": 10,
    "axes.edgecolor": PALE,
    "axes.labelcolor": INK,
    "text.color": INK,
    "xtick.color": INK,
    "ytick.color": INK,
    "svg.hashsalt": "rankfair",  # otherwise ids in the file are random
}
# Methods that need the group to predict, and others: marker, colour, fill, meaning.
NEAR = 0.05  # gaps that have a panel of their own
LOOKS = {
    "no": ("o", BLUE, BLUE, "predicts without the group"),
    "yes": ("s", RUST, "white", "needs the group to predict"),
    "-": ("D", INK, INK, "known to nobody"),
}
GAP, ERROR = "rank gap  |AUC − 1/2|", "error  (RMSE)"


def plain_axes(axes: Axes, grid: Literal["both", "y"] = "both") -> None:
    """Draw a pale grid behind everything, and no frame above or to the right."""
    axes.grid(color="#e6e6e6", linewidth=0.8, axis=grid)
    axes.set_axisbelow(True)
    axes.spines[["top", "right"]].set_visible(False)


def as_bytes(figure: Figure, kind: Literal["png", "svg"]) -> bytes:
    """Return the content of an image file, the same for the same figure.

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> as_bytes(Figure(), "png")[1:4]
    b'PNG'
    """
    from matplotlib import rc_context

    # Neither a date nor the name of a program.
    stamp = {"svg": {"Date": None, "Creator": None}, "png": {"Software": None}}[kind]
    content = io.BytesIO()
    with rc_context(STYLE):
        figure.savefig(content, format=kind, metadata=stamp, facecolor="white")
    return content.getvalue()


def draw_audit(audit: Audit, axes: Any = None) -> Any:
    """Draw every AUC with its interval; models lie beside each other."""
    axes = _axes_of(axes, 7, 1.2 + 0.32 * len(audit.comparisons))
    pairs = dict.fromkeys(c.pair for c in audit.comparisons)
    place_of = {pair: i for i, pair in enumerate(pairs)}
    colours = (PALE, BLUE, RUST, GREEN, PURPLE)
    for j, model in enumerate(audit.model_names):
        mine = [c for c in audit.comparisons if c.model == model]
        offset = 0.5 * ((j + 0.5) / len(audit.models) - 0.5)
        y = [place_of[c.pair] + offset for c in mine]
        x, low, high = np.reshape(numbers_of(c.auc for c in mine), (-1, 3)).T
        look: Any = {"fmt": "o", "ms": 5, "color": colours[j % 5]}
        # Lists: older versions look for finite numbers in arrays, and warn of one row.
        errors = [(x - low).tolist(), (high - x).tolist()]
        axes.errorbar(x, y, xerr=errors, label=_plain(model), **look)
    axes.axvline(0.5, color=INK, lw=0.8)
    rows = [_plain(f"{feature}: {a} v {b}") for feature, a, b in place_of]
    axes.set_yticks(range(len(rows)), rows)
    axes.set_ylim(len(rows) - 0.5, -0.5)
    level = f"{100 * audit.confidence:g} %"
    axes.set_xlabel(f"AUC with {level} confidence intervals; 0.5 is parity")
    axes.set_title(_plain(audit.title))
    if len(audit.models) > 1:
        axes.legend(frameon=False)
    return axes


def draw_path(path: Any, axes: Any = None) -> Any:
    """Draw RMSE against ``|AUC − 1/2|`` of a path, on held-out and training rows."""
    axes = _axes_of(axes, 6.4, 4.2)
    axes.set_xlabel(GAP)
    axes.set_ylabel(ERROR)
    plain_axes(axes)
    names = ("gap", "rmse", "train_gap", "train_rmse")
    x, y, train_x, train_y = map(path.column, names)
    low, high = map(path.column, ("rmse_ci_low", "rmse_ci_high"))
    axes.errorbar(x, y, [y - low, high - y], color=BLUE, fmt="none", alpha=0.35)
    axes.plot(x, y, "-o", color=BLUE, markersize=4, label="held-out rows")
    axes.plot(train_x, train_y, "--s", color=RUST, markersize=4, label="training rows")
    if len(path.rows) > 1 and path.chosen is not None:
        at = path.column("epsilon") == path.chosen
        name = f"ε = {path.chosen:.3g}, marked"
        axes.plot(x[at][:1], y[at][:1], "o", color=INK, markersize=9, label=name)
    axes.legend(frameon=False)
    return axes


def draw_coefficients(
    names: Sequence[str], bars: Mapping[str, NDArray[np.float64]], axes: Any = None
) -> Any:
    """Draw a bar of each kind for every predictor, the kinds beside each other."""
    axes = _axes_of(axes, 7, 1.2 + 0.2 * (len(bars) + 1) * len(names))
    rows, height = np.arange(len(names)), 1 / (len(bars) + 1)
    for j, (kind, values) in enumerate(bars.items()):
        at = rows + (j - (len(bars) - 1) / 2) * height
        axes.barh(at, values, height, color=(PALE, RUST, BLUE)[j], label=kind)
    axes.axvline(0.0, color=INK, lw=0.8)
    axes.set_yticks(rows, [_plain(name) for name in names])
    axes.set_ylim(len(names) - 0.5, -0.5)
    axes.spines[["top", "right"]].set_visible(False)
    axes.legend(frameon=False)
    return axes


def draw_methods(rows: Sequence[Row], paths: Sequence[Points]) -> Figure:
    """Draw all methods by name, and the paths of tilt.

    Parameters
    ----------
    rows : sequence of dict
        Means of the methods with their standard errors, on held-out rows.
    paths : sequence of pairs of float
        For each draw the rank gap and the error of each ε, as many of all draws.

    Returns
    -------
    matplotlib.figure.Figure
        Not shown and not saved.
    """
    _need_matplotlib()
    from matplotlib import rc_context
    from matplotlib.figure import Figure

    with rc_context(STYLE):
        figure = Figure(figsize=(11, 4.2), dpi=150, layout="constrained")
        whole, close = figure.subplots(1, 2, width_ratios=(3, 2))
        whole.set_ylabel("error  (RMSE, standard deviations of y)")
        close.set_title(f"gaps up to {NEAR:g}, enlarged", fontsize="medium")
        near = [row for row in rows if _gap(row) <= NEAR]
        shown = {"tilt, all ε, left-out rows": _draw_paths(whole, paths)}
        for axes, drawn in ((whole, rows), (close, near)):
            axes.set_xlabel(GAP)
            plain_axes(axes)
            axes.margins(x=0.08, y=0.12)
            for row in drawn:
                shown[LOOKS[row["needs_group"]][3]] = _draw_method(axes, row)
        _names_beside(whole, [row for row in rows if row not in near])
        _names_beside(close, near)
        where: Any = {"loc": "outside lower center", "ncols": 4, "frameon": False}
        figure.legend(list(shown.values()), list(shown), **where)
    return figure


def _axes_of(axes: Any, width: float, height: float) -> Any:
    """The axes that were given, or those of a new figure."""
    _need_matplotlib()
    if axes is None:
        import matplotlib.pyplot as plt

        _, axes = plt.subplots(figsize=(width, height), layout="constrained")
    return axes


def _need_matplotlib() -> None:
    try:
        import matplotlib  # noqa: F401
    except ImportError as error:
        raise ImportError(
            'Pictures need an extra: pip install "rankfair[plot]"', name=error.name
        ) from error


def _plain(label: str) -> str:
    """A label as it is: matplotlib reads text between dollars as a formula."""
    return label.replace("$", r"\$")


def _gap(row: Row) -> float:
    return abs(float(row["auc"]) - 0.5)


def _draw_paths(axes: Axes, paths: Sequence[Points]) -> Any:
    """Draw the path of each draw, pale, and their mean."""
    for points in paths:
        axes.plot(*np.transpose(points), color=BLUE, alpha=0.2, lw=0.8, zorder=2)
    return axes.plot(*np.mean(paths, axis=0).T, color=BLUE, lw=2.4, zorder=3)[0]


def _draw_method(axes: Axes, row: Row) -> Any:
    """Draw a method at its means, with 95 % confidence intervals over draws."""
    marker, colour, fill, _ = LOOKS[row["needs_group"]]
    look: Any = {"fmt": marker, "color": colour, "markerfacecolor": fill, "zorder": 4}
    errors = 1.96 * row["rmse_error"], 1.96 * row["auc_error"]
    return axes.errorbar(_gap(row), row["rmse"], *errors, **look)


def _names_beside(axes: Axes, rows: Sequence[Row]) -> None:
    """Write names in a column beside the panel, in the order of their points."""
    line: Any = {"arrowstyle": "-", "color": PALE, "lw": 0.8, "relpos": (0, 0.5)}
    order = sorted(rows, key=lambda row: row["rmse"])
    for i, row in enumerate(order, 1):
        axes.annotate(
            row["method"],
            (_gap(row), row["rmse"]),
            (1.03, i / (len(order) + 1)),
            textcoords="axes fraction",
            va="center",
            color=LOOKS[row["needs_group"]][1],
            arrowprops=line,
            annotation_clip=False,
        )
