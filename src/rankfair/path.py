"""What fairness costs: error against rank gap over a path of ε, on held-out rows."""

from __future__ import annotations

import importlib.util
import inspect
import math
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

import narwhals as nw
import numpy as np
from numpy.typing import NDArray
from scipy.stats import t as student
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import check_cv
from sklearn.pipeline import Pipeline

from rankfair._frames import (
    Codes,
    Floats,
    FrameTable,
    column_numbers,
    find_labels,
    listed,
    open_table,
    shown,
)
from rankfair._groups import Groups, Protected
from rankfair._validation import (
    check_count,
    check_lengths,
    check_number,
    check_seed,
    label_source,
    read_target,
    read_weights,
)
from rankfair.certificate import is_reference, read_labels
from rankfair.inference import auc_spread, clusters_of
from rankfair.metrics import mean_difference, rmse
from rankfair.solvers import Following

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["Path", "PathRow", "fairness_path", "make_folds", "take_rows", "task_folds"]

Bools = NDArray[np.bool_]
POINTS = 12
CONFIDENCE = 0.95
# As in the other pictures: after Okabe and Ito, darker for text.
INK, PALE, HELD_OUT, TRAIN = "#222222", "#8a8a8a", "#0072B2", "#C04F00"
STYLE: Any = {
    "font.family": "DejaVu Sans",
    "font.size": 10,
    "axes.edgecolor": PALE,
    "axes.labelcolor": INK,
    "text.color": INK,
    "xtick.color": INK,
    "ytick.color": INK,
}


class PathRow(NamedTuple):
    """What one ε comes to, on held-out rows and, for ``train_…``, on those fitted.

    ``…_low`` and ``…_high`` are ends of 95 % intervals; ``gap`` is ``|AUC − 1/2|``;
    ``md`` the mean prediction of group A less that of B; ``status`` that of the fit.
    """

    epsilon: float
    rmse: float
    rmse_low: float
    rmse_high: float
    auc: float
    auc_low: float
    auc_high: float
    gap: float
    md: float
    train_rmse: float
    train_auc: float
    train_gap: float
    train_md: float
    status: str


@dataclass(frozen=True)
class Path:
    """Error and rank gap along a path of ε.

    Attributes
    ----------
    rows : tuple of PathRow
        One for each ε, ascending.
    n_train, n_held_out : int
        Rows fitted in all, and rows that were held out once.
    n_clusters : int or None
        Tasks that intervals take as clusters; None if rows are independent.
    backend : {"pandas", "polars"} or None
        What `to_frame` makes; None for a dict.

    Examples
    --------
    >>> row = PathRow(*[0.0] * 13, "satisfied")
    >>> path = Path((row, row._replace(epsilon=0.1, rmse=-1.0)), 10, 10)
    >>> path.column("epsilon").tolist()
    [0.0, 0.1]
    """

    rows: tuple[PathRow, ...]
    n_train: int
    n_held_out: int
    n_clusters: int | None = None
    backend: str | None = None

    def column(self, name: str) -> NDArray[Any]:
        """Return one field of all rows."""
        return np.array([getattr(row, name) for row in self.rows])

    def to_frame(self) -> Any:
        """Return a data frame with a row for each ε, or a dict of arrays.

        Returns
        -------
        DataFrame or dict
            Of the library that X came from; else of pandas, or polars, whichever is
            installed; else a dict of arrays.

        Examples
        --------
        >>> Path((PathRow(*[0.0] * 13, "satisfied"),), 10, 10).to_frame()["status"]
        array(['satisfied'], dtype='<U9')
        """
        columns = {name: self.column(name) for name in PathRow._fields}
        if self.backend is None:
            return columns
        data = {name: column.tolist() for name, column in columns.items()}
        return nw.from_dict(data, backend=self.backend).to_native()  # type: ignore[arg-type]

    def knee(self) -> float:
        """Return the ε from which on less fairness buys little accuracy.

        With ε and held-out RMSE both scaled to [0, 1], it is the point furthest below
        the straight line from the first to the last point of the curve.  Where no point
        is below that line, no ε stands out and the smallest is returned; so it is where
        RMSE does not fall along the path: fairness is free then.

        Returns
        -------
        float
            One of the path's ε.

        Examples
        --------
        >>> bend = [(0.0, 1.0), (0.1, 0.4), (0.2, 0.2), (0.3, 0.1)]
        >>> rows = [PathRow(e, r, *[0.0] * 11, "") for e, r in bend]
        >>> Path(tuple(rows), 10, 10).knee()
        0.1
        """
        epsilon, error = self.column("epsilon"), self.column("rmse")
        fall = error[0] - error[-1]
        if len(error) < 3 or not fall > 0:
            return float(epsilon[0])
        x = (epsilon - epsilon[0]) / (epsilon[-1] - epsilon[0])
        below = (1.0 - x) - (error - error[-1]) / fall
        return float(epsilon[int(np.argmax(below))])

    def plot(self) -> Figure:
        """Draw RMSE against ``|AUC − 1/2|`` of held-out and of training rows.

        Returns
        -------
        matplotlib.figure.Figure
            Not shown and not saved.

        Examples
        --------
        >>> row = PathRow(*[0.0] * 13, "satisfied")
        >>> len(Path((row, row._replace(epsilon=0.1)), 10, 10).plot().axes)
        1
        """
        return _draw(self)


def fairness_path(
    model: Any,
    X: Any,
    y: Any,
    *,
    epsilons: Sequence[float] | None = None,
    cv: Any = 5,
    sensitive_features: Any = None,
    tasks: Any = None,
    sample_weight: Any = None,
    random_state: Any = None,
    on_step: Callable[[str, int, int], None] | None = None,
) -> Path:
    """Fit a model for each of many ε, and measure it on rows it has not seen.

    Held-out figures are of the predictions of all folds together.  Intervals of RMSE
    and AUC take tasks as clusters where most rows are in tasks of one group only.

    With ``solver="tilt"`` the fit for an ε starts where that for the ε before ended:
    the figures of a row may depend, within the solver's tolerance, on which other ε are
    asked for.

    Parameters
    ----------
    model : regressor
        With a parameter ``epsilon``, or a pipeline with one such step.  It is cloned.
    X : array-like or data frame of shape (N, n_features)
        As for its ``fit``.
    y : array-like of shape (N,)
        The target.
    epsilons : sequence of float, optional
        By default twelve from 0 to the rank gap of the fit with ε = 1/2, which asks for
        nothing, closer together near 0.
    cv : int, splitter or iterable of (train, test), default=5
        How many folds.  They are made within tasks, so that every task and group keeps
        rows to learn from; the only row of a task is always learnt from.
    sensitive_features : array-like of shape (N,), or str or int, optional
        The group of each row, or its column of X; by default the model's, cut by its
        `bins`.  Rows of unknown group are fitted if the model takes them, and count for
        RMSE only.
    tasks : array-like of shape (N,), or str or int, optional
        The task of each row, or its column of X; by default the model's.
    sample_weight : array-like of shape (N,), optional
        Weights of the rows, in the fits and in all figures.
    random_state : int, Generator or None, default=None
        Seed of the folds.
    on_step : callable, optional
        Told of each ε before it is tried: its name, its number and how many there are.

    Returns
    -------
    Path
        Rows by ascending ε.

    Examples
    --------
    >>> from rankfair import RankFairRegressor
    >>> from rankfair.datasets import make_biased_tasks
    >>> data = make_biased_tasks(8, 40, random_state=0)
    >>> model = RankFairRegressor(tasks="task", sensitive_features="z")
    >>> path = fairness_path(
    ...     model, data.frame, data.target, epsilons=[0.0, 0.1, 0.2], random_state=0
    ... )
    >>> path.column("train_gap").round(2).tolist()
    [0.0, 0.1, 0.2]
    >>> path.column("rmse")[0] > path.column("rmse")[2]
    np.True_
    """
    check_seed("random_state", random_state)
    refits = _Refits.of(model, X, y, sensitive_features, tasks, sample_weight)
    chosen = refits.default_epsilons() if epsilons is None else _checked(epsilons)
    rng = np.random.default_rng(random_state)
    codes = np.zeros(len(refits.y), np.intp) if refits.tasks is None else refits.tasks
    folds = make_folds(
        cv,
        codes,
        refits.groups,
        rng,
        weights=refits.weights,
        X=refits.X,
        y=refits.y,
        attributes=refits.groups[:, None],
    )
    judge = _Judge(refits.y, refits.groups, refits.tasks, refits.weights)
    rows = []
    for i, epsilon in enumerate(chosen, start=1):
        if on_step is not None:
            on_step(f"epsilon {epsilon:.4g}", i, len(chosen))
        rows.append(_row(refits, judge, folds, epsilon))
    held_out = np.unique(np.concatenate([test for _, test in folds]))
    return Path(
        rows=tuple(rows),
        n_train=len(refits.everywhere),
        n_held_out=len(held_out),
        n_clusters=judge.n_clusters(held_out),
        backend=_backend(X),
    )


def _checked(epsilons: Sequence[float]) -> list[float]:
    values = [check_number("each of epsilons", value, 0.0) for value in epsilons]
    if not values:
        raise ValueError("epsilons is empty: give at least one number.")
    return sorted(set(values))


def _row(refits: _Refits, judge: _Judge, folds: Folds, epsilon: float) -> PathRow:
    everywhere = refits.everywhere
    model = refits.fit(epsilon, everywhere, "all")
    fitted = judge(refits.predict(model, everywhere), everywhere)
    predicted = np.full(len(refits.y), math.nan)
    for i, (train, test) in enumerate(folds):
        predicted[test] = refits.predict(refits.fit(epsilon, train, i), test)
    tested = np.flatnonzero(~np.isnan(predicted))
    found = judge(predicted[tested], tested)
    return PathRow(
        epsilon=epsilon,
        **found._asdict(),
        train_rmse=fitted.rmse,
        train_auc=fitted.auc,
        train_gap=fitted.gap,
        train_md=fitted.md,
        status=str(getattr(refits.owner(model), "status_", "")),
    )


class _Figures(NamedTuple):
    rmse: float
    rmse_low: float
    rmse_high: float
    auc: float
    auc_low: float
    auc_high: float
    gap: float
    md: float


@dataclass(frozen=True)
class _Judge:
    """Measures predictions of chosen rows; rows of unknown group count for errors."""

    y: Floats
    groups: Codes  # 0, 1 or −1
    tasks: Codes | None
    weights: Floats | None

    def __call__(self, predicted: Floats, at: Codes) -> _Figures:
        y, known = self.y[at], self.groups[at] >= 0
        weights = None if self.weights is None else self.weights[at]
        in_a = self.groups[at][known] == 1
        if in_a.all() or not in_a.any():
            raise ValueError(
                f"cv holds out rows of one group only ({len(at)} rows): there is "
                "nothing to compare."
            )
        clusters = self._clusters(at[known])
        of_known = None if weights is None else weights[known]
        spread = auc_spread(predicted[known], in_a, clusters, of_known)
        low, high = spread.interval(CONFIDENCE)
        error = rmse(y, predicted, sample_weight=weights)
        units = None if clusters is None or self.tasks is None else self.tasks[at]
        half = _half_width(np.abs(y - predicted) / (error or 1.0), units, weights)
        by_group = {"sensitive_features": in_a, "sample_weight": of_known}
        return _Figures(
            rmse=error,
            rmse_low=error * math.sqrt(max(1.0 - half, 0.0)),
            rmse_high=error * math.sqrt(1.0 + half),
            auc=spread.auc,
            auc_low=low,
            auc_high=high,
            gap=abs(spread.auc - 0.5),
            md=mean_difference(None, predicted[known], **by_group),
        )

    def _clusters(self, at: Codes) -> Codes | None:
        tasks = None if self.tasks is None else self.tasks[at]
        return clusters_of(tasks, self.groups[at] == 1)[0]

    def n_clusters(self, at: Codes) -> int | None:
        clusters = self._clusters(at[self.groups[at] >= 0])
        return None if clusters is None else len(np.unique(clusters))


def _half_width(
    relative: Floats, clusters: Codes | None, weights: Floats | None
) -> float:
    """Half the width of a 95 % interval of the mean of these squared, which is 1."""
    units = np.arange(len(relative)) if clusters is None else clusters
    w = np.ones(len(relative)) if weights is None else weights
    pulls = np.bincount(units, w * (relative**2 - 1.0)) / w.sum()
    n = len(np.unique(units))  # two groups are two units at least
    quantile = float(student.isf((1.0 - CONFIDENCE) / 2, n - 1))
    return quantile * math.sqrt(n / (n - 1) * float(pulls @ pulls))


Folds = list[tuple[Codes, Codes]]


def make_folds(
    cv: Any,
    codes: Codes,
    in_a: Bools | Codes,
    rng: np.random.Generator,
    *,
    weights: Floats | None = None,
    X: Any = None,
    y: Any = None,
    attributes: Codes | None = None,
) -> Folds:
    """Return pairs of rows to learn from and rows to hold out, none of weight zero.

    Parameters
    ----------
    cv : int, splitter or iterable of (train, test)
        A number makes folds within tasks; anything else is scikit-learn's.
    codes : integer ndarray of shape (N,)
        The task of each row.
    in_a : boolean or integer ndarray of shape (N,)
        The rows of group A, or the group of each row.
    rng : Generator
        Shuffles the rows.
    weights : ndarray of shape (N,), optional
        Weights of the rows.
    X, y : arrays, optional
        For a splitter that looks at them.
    attributes : integer ndarray of shape (N, q), optional
        Groups of which every fold must leave a row to learn from, −1 where a row is of
        none; a splitter does as it likes.

    Returns
    -------
    list of (train, test)
        Positions of rows.

    Examples
    --------
    >>> import numpy as np
    >>> codes, in_a = np.array([0, 0, 1, 1]), np.array([True, False, True, False])
    >>> folds = make_folds(2, codes, in_a, np.random.default_rng(0))
    >>> [test.tolist() for _, test in folds]
    [[1, 3], [0, 2]]
    """
    counts = np.ones(len(codes), bool) if weights is None else weights > 0
    if isinstance(cv, int | np.integer) and not isinstance(cv, bool):
        at = np.flatnonzero(counts)
        kept_groups = None if attributes is None else attributes[at]
        own = _own_folds(int(cv), codes[at], in_a[at], rng, kept_groups)
        return [(at[train], at[test]) for train, test in own]
    features = np.zeros((len(codes), 1)) if X is None else X
    pairs = check_cv(cv).split(features, y)
    kept = [tuple(rows[counts[rows]] for rows in map(np.asarray, p)) for p in pairs]
    return [(train, test) for train, test in kept if len(test)]


def _own_folds(
    cv: int,
    codes: Codes,
    in_a: Bools | Codes,
    rng: np.random.Generator,
    attributes: Codes | None,
) -> Folds:
    n_folds = check_count("cv", cv, low=2)
    if len(codes) < n_folds:
        raise ValueError(
            f"cv={n_folds} folds need as many rows; got n_samples = {len(codes)}."
        )
    fold = task_folds(codes, in_a, n_folds, rng)
    if (fold < 0).all():
        raise ValueError("cv holds out no row: each task has one row only.")
    for column in () if attributes is None else attributes.T:
        _keep_one_of_each(fold, column)
    if (fold < 0).all():
        raise ValueError("cv holds out no row: each task or group has one row only.")
    return [
        (np.flatnonzero(fold != k), np.flatnonzero(fold == k))
        for k in range(n_folds)
        if (fold == k).any()
    ]


def task_folds(
    codes: Codes, in_a: Bools | Codes, n_folds: int, rng: np.random.Generator
) -> Codes:
    """Return the fold of each row, −1 for the only row of a task.

    Rows of a task are dealt out in turn, group by group: folds hold as much of each
    task and group as can be, and no fold holds all rows of a task.

    Parameters
    ----------
    codes : integer ndarray of shape (N,)
        The task of each row.
    in_a : boolean or integer ndarray of shape (N,)
        The rows of group A, or the group of each row.
    n_folds : int
        At least 2.
    rng : Generator
        Shuffles the rows of a task and group.

    Returns
    -------
    integer ndarray of shape (N,)
        From 0 to ``n_folds − 1``, or −1.

    Examples
    --------
    >>> import numpy as np
    >>> codes, in_a = np.array([0, 0, 0, 1]), np.array([True, False, False, True])
    >>> task_folds(codes, in_a, 3, np.random.default_rng(0)).tolist()
    [2, 1, 0, -1]
    """
    sizes = np.bincount(codes)
    order = np.lexsort((rng.random(len(codes)), in_a, codes))
    order = order[sizes[codes[order]] > 1]
    fold = np.full(len(codes), -1, dtype=np.intp)
    fold[order] = np.arange(len(order)) % n_folds
    return fold


def _keep_one_of_each(fold: Codes, groups: Codes) -> None:
    """Never hold out a row of each group that one fold would hold out altogether."""
    for g in np.unique(groups[groups >= 0]):
        rows = np.flatnonzero(groups == g)
        if fold[rows[0]] >= 0 and (fold[rows] == fold[rows[0]]).all():
            fold[rows[0]] = -1


def take_rows(X: Any, at: Codes) -> Any:
    """Return some rows of a table, of the type it came as.

    Examples
    --------
    >>> import numpy as np
    >>> take_rows([[1.0, 2.0], [3.0, 4.0]], np.array([1])).tolist()
    [[3.0, 4.0]]
    """
    table = open_table(X)
    if isinstance(table, FrameTable):
        return table.frame[at.tolist()].to_native()
    return table.values[at]


@dataclass(frozen=True)
class _Refits:
    """Fits of one model with any ε on any rows."""

    model: Any
    parameter: str
    X: Any
    y: Floats
    groups: Codes  # 0, 1 or, where it is not known, −1
    labels: NDArray[Any]  # of groups, for models that take them as an array
    tasks: Codes | None
    weights: Floats | None
    last: dict[Any, Floats] = field(default_factory=dict)

    @classmethod
    def of(
        cls, model: Any, X: Any, y: Any, groups: Any, tasks: Any, weights: Any
    ) -> _Refits:
        parameter = _epsilon_of(model)
        target = read_target(y)
        check_lengths(open_table(X).shape[0], y=target)
        owner = _owner(model, parameter)
        of_tasks = read_labels("tasks", tasks, owner, X)
        read = read_weights(weights, len(target))
        return cls(
            model,
            parameter,
            X,
            target,
            *_two_groups(owner, X, groups, read),
            None if of_tasks is None else find_labels(of_tasks, "tasks")[0],
            read,
        )

    @property
    def everywhere(self) -> Codes:
        """All rows that count."""
        n = len(self.y)
        return np.arange(n) if self.weights is None else np.flatnonzero(self.weights)

    def owner(self, model: Any) -> Any:
        return _owner(model, self.parameter)

    def fit(self, epsilon: float, at: Codes, key: Any = None, **settings: Any) -> Any:
        """Fit some rows; fits of one ``key``, each to the same rows, follow up."""
        model = clone(self.model).set_params(**{self.parameter: epsilon})
        self.owner(model).set_params(**settings)
        self._follow(self.owner(model), key)
        # A pipeline passes on what is called step__name.
        step = self.parameter.removesuffix("epsilon")
        step = step if isinstance(model, Pipeline) else ""
        needed = self._labels(self.owner(model), "fit")
        labels = {f"{step}{name}": values[at] for name, values in needed.items()}
        if self.weights is not None:
            labels[f"{step}sample_weight"] = self.weights[at]
        with warnings.catch_warnings():
            # The status of the fit is in the row.
            warnings.simplefilter("ignore", ConvergenceWarning)
            return model.fit(take_rows(self.X, at), self.y[at], **labels)

    def _follow(self, owner: Any, key: Any) -> None:
        """Let ``tilt`` start with the direction in which it ended for the ε before."""
        if key is None or getattr(owner, "solver", None) != "tilt":
            return
        ended = partial(self.last.__setitem__, key)
        first = self.last.get(key)
        solver = Following(owner.max_iter, owner.tol, first=first, ended=ended)
        owner.set_params(solver=solver)

    def predict(self, model: Any, at: Codes) -> Floats:
        needed = self._labels(self.owner(model), "predict")
        labels = {name: values[at] for name, values in needed.items()}
        predicted = model.predict(take_rows(self.X, at), **labels)
        return read_target(predicted, "what the model predicts")

    def _labels(self, owner: Any, method: str) -> dict[str, NDArray[Any]]:
        """What a method takes as arrays and the model does not read from X."""
        takes = inspect.signature(getattr(owner, method)).parameters
        given = {"sensitive_features": self.labels, "tasks": self.tasks}
        return {
            name: values
            for name, values in given.items()
            if values is not None
            and name in takes
            and getattr(owner, name, None) is None
        }

    def default_epsilons(self) -> list[float]:
        """Twelve from 0 to the gap of the fit that nothing is asked of."""
        owner = self.owner(self.model)
        balance = getattr(owner, "balance", "rank")
        if not isinstance(balance, str) or balance != "rank":
            raise ValueError(
                f"epsilons is needed with balance={balance!r}: the default path is "
                "in units of AUC."
            )
        at = self.everywhere
        # A band with one side would ask for something even at ε = 1/2.
        free = {"side": "both"} if hasattr(owner, "side") else {}
        predicted = self.predict(self.fit(0.5, at, **free), at)
        gap = _Judge(self.y, self.groups, None, self.weights)(predicted, at).gap
        return sorted({gap * (i / (POINTS - 1)) ** 2 for i in range(POINTS)})


def _epsilon_of(model: Any) -> str:
    """Return the name of the model's parameter ε."""
    names = list(model.get_params()) if hasattr(model, "get_params") else []
    found = [name for name in names if name.split("__")[-1] == "epsilon"]
    shallow = [n for n in found if n.count("__") == min(m.count("__") for m in found)]
    if len(shallow) != 1:
        what = listed(shallow) if shallow else "none"
        raise ValueError(
            f"model must have one parameter epsilon, its own or that of a step; "
            f"{type(model).__name__} has {what}."
        )
    return str(shallow[0])


def _owner(model: Any, parameter: str) -> Any:
    """Return the estimator that the parameter is of."""
    place = parameter.removesuffix("epsilon").removesuffix("__")
    if not place:
        return model
    if isinstance(model, Pipeline) and place in model.named_steps:
        return model.named_steps[place]
    return model.get_params()[place]


def _two_groups(
    owner: Any, X: Any, given: Any, weights: Floats | None
) -> tuple[Codes, NDArray[Any]]:
    """Return the group of each row, −1 if not known, and labels to hand on.

    Groups that the model reads, or would, are cut and combined as it does.
    """
    named = getattr(owner, "sensitive_features", None)
    own = given is None or named is None
    if given is None or is_reference(given):
        named, given = (named if given is None else given), None
    else:
        named = None
    source = label_source("sensitive_features", named, given, open_table(X))
    if source is None:
        raise ValueError(
            "sensitive_features is missing: give the group of each row, or name its "
            "column in the model."
        )
    bins = getattr(owner, "bins", None) if own else None
    intersect = own and bool(getattr(owner, "intersect", False))
    found = Protected.of(source, weights, bins, intersect).attributes
    if len(found) > 1:
        raise ValueError(
            f"sensitive_features has {len(found)} columns: a path compares two groups "
            "of one attribute."
        )
    _check_two(found[0], weights)
    if found[0].edges is not None:
        return found[0].codes, column_numbers(source.columns[0], source.name)
    known = found[0].known
    codes = found[0].codes
    return codes, codes if known is None else np.where(known, codes, math.nan)


def _check_two(groups: Groups, weights: Floats | None) -> None:
    """Refuse more than two groups, and groups with too few rows to hold some out."""
    labels = groups.labels.tolist()
    if len(labels) != 2:
        raise ValueError(
            f"sensitive_features has {len(labels)} groups ({listed(labels)}): a path "
            "compares two."
        )
    rows = groups.sizes(None if weights is None else np.sign(weights))
    for label, count in zip(labels, rows.astype(int).tolist(), strict=True):
        if count < 2:
            raise ValueError(
                f"sensitive_features: group {shown(label)} has {count} row that "
                "counts: a path needs one to learn from and one to hold out."
            )


def _backend(X: Any) -> str | None:
    table = open_table(X)
    here = str(table.frame.implementation) if isinstance(table, FrameTable) else ""
    order = ("polars", "pandas") if "polars" in here.lower() else ("pandas", "polars")
    return next((name for name in order if importlib.util.find_spec(name)), None)


def _draw(path: Path) -> Figure:
    from matplotlib import rc_context
    from matplotlib.figure import Figure

    with rc_context(STYLE):
        figure = Figure(figsize=(6.4, 4.2), dpi=150, layout="constrained")
        axes = figure.subplots()
        axes.set_xlabel("rank gap  |AUC − 1/2|")
        axes.set_ylabel("error  (RMSE)")
        axes.grid(color="#e6e6e6", linewidth=0.8)
        axes.set_axisbelow(True)
        axes.spines[["top", "right"]].set_visible(False)
        x, error = path.column("gap"), path.column("rmse")
        span = [error - path.column("rmse_low"), path.column("rmse_high") - error]
        axes.errorbar(x, error, span, color=HELD_OUT, fmt="none", alpha=0.35)
        axes.plot(x, error, "-o", color=HELD_OUT, markersize=4, label="held-out rows")
        axes.plot(
            path.column("train_gap"),
            path.column("train_rmse"),
            "--s",
            color=TRAIN,
            markersize=4,
            label="training rows",
        )
        knee = path.column("epsilon").tolist().index(path.knee())
        axes.annotate(
            f"knee, ε = {path.knee():.3g}",
            (x[knee], error[knee]),
            xytext=(12, 14),
            textcoords="offset points",
            arrowprops={"arrowstyle": "-", "color": PALE},
        )
        axes.legend(frameon=False)
    return figure
