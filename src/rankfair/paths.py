"""The path of a model: a fit for each of many ε, measured on held-out rows."""

from __future__ import annotations

import inspect
import math
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from importlib import import_module
from typing import Any, NamedTuple

import narwhals as nw
import numpy as np
from numpy.typing import NDArray
from sklearn import config_context
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.pipeline import Pipeline

from rankfair.constraints import refuse_own_epsilon
from rankfair.constraints.distribution import Distribution
from rankfair.core.problem import Groups
from rankfair.core.ranks import whole_if_so
from rankfair.input.arrays import Codes, Floats
from rankfair.input.errors import (
    Argument,
    InputError,
    as_given,
    check_choice,
    check_jobs,
    check_number,
    check_seed,
    counted,
    listed,
    values_to_try,
)
from rankfair.input.folds import Folds, make_folds, out_of_fold, take_rows
from rankfair.input.frames import (
    frame_library,
    open_table,
    read_target,
    read_weights,
)
from rankfair.input.groups import label_source_of, label_table
from rankfair.input.scored_rows import compared_groups
from rankfair.stats.auc import auc_of_rows
from rankfair.stats.estimate import Estimate, clusters_of
from rankfair.stats.means import average, errors, paired_cost
from rankfair.stats.within_tasks import WithinTasks, pooled

__all__ = [
    "Path",
    "PathRow",
    "fairness_path",
]


class PathRow(NamedTuple):
    """What one ε comes to, on held-out rows and, for ``train_…``, on those fitted.

    ``…_low`` and ``…_high`` are ends of 95 % intervals; ``gap`` is ``|AUC − 1/2|``;
    ``md`` the mean prediction of group A less that of B, ``ks`` the largest distance
    between the distributions of their predictions; ``status`` that of the fit.
    A is ``group``, of two groups the one that sorts last and B the other; of more the
    one whose AUC against all others, B, is farthest from 1/2.  Limits of AUC are that
    group's, wide enough to hold for all groups together.  ``cost`` is the mean squared
    error less that of the ε where it is least, and ``cost_se`` the standard error of
    this difference, which is paired: over tasks from ten of them on, else over rows.
    """

    epsilon: float
    rmse: float = math.nan
    rmse_ci_low: float = math.nan
    rmse_ci_high: float = math.nan
    auc: float = math.nan
    auc_ci_low: float = math.nan
    auc_ci_high: float = math.nan
    gap: float = math.nan
    md: float = math.nan
    train_rmse: float = math.nan
    train_auc: float = math.nan
    train_gap: float = math.nan
    train_md: float = math.nan
    status: str = ""
    group: str = ""
    train_group: str = ""
    ks: float = math.nan
    cost: float = math.nan
    cost_se: float = math.nan

    @property
    def no_worse(self) -> bool:
        """Whether the error is within one standard error of the least."""
        return self.cost <= 0.0 or self.cost <= self.cost_se


NO_TASKS = Estimate(math.nan)


@dataclass(frozen=True)
class PathView:
    """What the predictions of one ε look like, on held-out rows.

    Attributes
    ----------
    shares : tuple of tuples of float
        Of each group: the share of its rows in each bin, smoothed by a kernel.
    means : tuple of float
        Mean prediction of each group.
    moves : tuple of float
        By how much each group is predicted higher, on average, than at the last ε.
    moved : tuple of int
        Rows predicted otherwise than at the last ε by more than each of the steps.
    within : Estimate
        The AUC within tasks, pooled, of training rows; NaN without tasks.
    task_aucs : tuple of float
        That of each task.
    """

    shares: tuple[tuple[float, ...], ...]
    means: tuple[float, ...]
    moves: tuple[float, ...]
    moved: tuple[int, ...]
    within: Estimate = NO_TASKS
    task_aucs: tuple[float, ...] = ()


@dataclass(frozen=True)
class PathViews:
    """A view of each ε of a path, and what all views share.

    Attributes
    ----------
    views : tuple of PathView
        One for each ε, ascending.
    edges : tuple of float
        Where bins of predictions begin and end.
    steps : tuple of float
        Round numbers, in the unit of the target, that rows move by.
    group_sizes : tuple of int
        Rows of each group.
    group, against : str
        Whose AUCs within tasks they are: predicted above whom.
    tasks : tuple of str
        Labels of the tasks that have rows of both, as many as a page holds: those with
        the most pairs, these first.
    task_sizes : tuple of pairs of int
        Rows of either in each of these tasks.
    n_tasks : int
        How many tasks have rows of both.
    """

    views: tuple[PathView, ...]
    edges: tuple[float, ...]
    steps: tuple[float, ...]
    group_sizes: tuple[int, ...]
    group: str
    against: str
    tasks: tuple[str, ...] = ()
    task_sizes: tuple[tuple[int, int], ...] = ()
    n_tasks: int = 0


@dataclass(frozen=True, repr=False)
class Path:
    """Error and rank gap along a path of ε.

    Attributes
    ----------
    rows : tuple of PathRow
        One for each ε, ascending.
    n_train, n_held_out : int
        Rows fitted in all, and rows that were held out once.
    n_clusters : int or None
        Tasks that intervals of AUC, of three or more groups some of them, take as
        clusters, or try as such; None if rows are independent.
    backend : {"pandas", "polars"} or None
        What `to_frame` makes; None for a dict.
    groups : tuple of str
        Labels of the groups that are compared.
    unjudged : tuple of str
        Those of them that have too few held-out rows to be judged: of three or more
        groups they are among the others, and never the one farthest from 1/2.
    left_out : bool
        Whether held-out predictions are of one fit, each row left out; else of folds.
    views : PathViews or None
        What the predictions look like at each ε; None for a model from a file.

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
    groups: tuple[str, ...] = ()
    unjudged: tuple[str, ...] = ()
    left_out: bool = False
    views: PathViews | None = None

    def column(self, name: str) -> NDArray[Any]:
        """Return one field of all rows."""
        return np.array([getattr(row, name) for row in self.rows])

    def to_frame(self) -> Any:
        """Return a data frame with a row for each ε, or a dict of arrays.

        Returns
        -------
        DataFrame or dict
            Of the library that X came from; a dict of arrays where X is an array.

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

    @property
    def chosen(self) -> float | None:
        """The smallest ε whose error cannot be told from the least.

        Its held-out error is within one standard error of that of the ε of least
        error, ``cost <= cost_se``: smaller gains may be noise.  None where errors were
        not measured, as in a path of a model file.

        Examples
        --------
        >>> bend = [(0.0, 9.0, 2.0), (0.1, 1.0, 1.5), (0.2, 0.0, 0.0)]
        >>> rows = [
        ...     PathRow(e, *[0.0] * 12, "", cost=c, cost_se=se) for e, c, se in bend
        ... ]
        >>> Path(tuple(rows), 10, 10).chosen
        0.1
        """
        return next((row.epsilon for row in self.rows if row.no_worse), None)

    @property
    def is_free(self) -> bool:
        """Whether even the smallest ε has no cost that can be measured."""
        return self.rows[0].no_worse

    def distinct(self) -> Path:
        """Leave out each ε whose fit is that of the ε before it.

        Where no fit is tight enough several ε have the one that comes closest.

        Examples
        --------
        >>> row = PathRow(*[0.0] * 13, "infeasible")
        >>> len(Path((row, row._replace(epsilon=0.1)), 10, 10).distinct().rows)
        1
        """
        same = [row._replace(epsilon=0.0) for row in self.rows]
        kept = [i for i, row in enumerate(same) if i == 0 or row != same[i - 1]]
        views = self.views
        if views is not None:
            views = replace(views, views=tuple(views.views[i] for i in kept))
        return replace(self, rows=tuple(self.rows[i] for i in kept), views=views)

    def __repr__(self) -> str:
        first, last = self.rows[0].epsilon, self.rows[-1].epsilon
        judged = "left-out" if self.left_out else "held-out"
        chosen = "none" if self.chosen is None else f"{self.chosen:.3g}"
        return (
            f"Path({len(self.rows)} ε from {first:.3g} to {last:.3g}, chosen {chosen}, "
            f"{self.n_held_out:,} {judged} rows)"
        )

    def plot(self, ax: Any = None) -> Any:
        """Draw RMSE against ``|AUC − 1/2|`` of held-out and of training rows.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Where to draw; a new figure by default.

        Returns
        -------
        Axes
            With a curve for either.
        """
        return import_module("rankfair.report.pictures").draw_path(self, ax)


CONFIDENCE = 0.95
MIN_GROUP = 5  # rows of a group that is judged, as in an audit


@dataclass(frozen=True)
class Judge:
    """Measures predictions of its rows; those of unknown group count for errors.

    Of two groups one is compared with the reference, of more each with the rest: the
    figures are those of the one farthest from AUC = 1/2, the ``small`` ones apart.  As
    that one is chosen by its AUC, the intervals of all k groups hold together: each has
    k times less doubt.
    """

    y: Floats
    groups: Codes  # places in labels, or −1
    labels: tuple[str, ...]
    tasks: Codes | None
    weights: Floats | None
    small: tuple[int, ...] = ()  # places of groups that are compared with no others
    reference: int = 0  # of two groups, the one that the other is compared with
    task_labels: tuple[str, ...] = ()

    def take(self, at: NDArray[Any]) -> Judge:
        """Return what measures some of the rows."""
        tasks = None if self.tasks is None else self.tasks[at]
        weights = None if self.weights is None else self.weights[at]
        y, groups = self.y[at], self.groups[at]
        return replace(self, y=y, groups=groups, tasks=tasks, weights=weights)

    def __call__(self, predicted: Floats) -> PathRow:
        """Return the figures of predictions of the rows."""
        known = self.groups >= 0
        mine, m = self.take(known), predicted[known]
        aucs = {g: mine.auc(m, g) for g in self.compared}
        most = max(aucs, key=lambda g: abs(aucs[g].value - 0.5))
        auc, in_a, w = aucs[most], mine.groups == most, mine.mass
        error = errors(self.y, predicted, self.tasks, self.weights, CONFIDENCE)[0]
        halves, distance = Groups(in_a, whole_if_so(mine.weights)), Distribution()
        return PathRow(
            math.nan,
            rmse=error.value,
            rmse_ci_low=error.ci_low,
            rmse_ci_high=error.ci_high,
            auc=auc.value,
            auc_ci_low=auc.ci_low,
            auc_ci_high=auc.ci_high,
            gap=abs(auc.value - 0.5),
            md=average(m[in_a], w[in_a]) - average(m[~in_a], w[~in_a]),
            ks=distance.show(distance.value(m, halves), halves),
            group=self.labels[most],
        )

    @property
    def compared(self) -> list[int]:
        """Groups that are compared with all others; of two that with the reference."""
        if len(self.labels) == 2:
            return [1 - self.reference]
        return [g for g in range(len(self.labels)) if g not in self.small]

    @property
    def mass(self) -> Floats:
        """What each row weighs."""
        return np.ones(len(self.y)) if self.weights is None else self.weights

    def check(self) -> None:
        """Refuse rows that miss a group."""
        counts = np.bincount(self.groups + 1, minlength=len(self.labels) + 1)[1:]
        missed = [self.labels[g] for g in np.flatnonzero(counts == 0)]
        if missed:
            raise InputError(
                "cv",
                f"holds out no row of group {listed(missed)}: a path measures every "
                "group",
                cure="Use one that holds out rows of each, 5 for instance, or join "
                "groups.",
            )

    def auc(self, predicted: Floats, g: int) -> Estimate:
        """The AUC of a group against all others, with the interval of an audit."""
        confidence = 1.0 - (1.0 - CONFIDENCE) / len(self.compared)
        given = self.tasks, self.weights, confidence
        return auc_of_rows(predicted, self.groups == g, *given)

    def means(self, values: Floats) -> tuple[float, ...]:
        """Return the mean of each group."""
        of_groups = [self.groups == g for g in range(len(self.labels))]
        return tuple(average(values[i], self.mass[i]) for i in of_groups)

    def shapes(self, predicted: Floats, edges: Floats) -> tuple[tuple[float, ...], ...]:
        """Return the share of each group in each bin, smoothed by Silverman's rule."""
        found, width = [], edges[1] - edges[0]
        far = np.arange(-BINS, BINS + 1) * width
        for g in range(len(self.labels)):
            mine, w = predicted[self.groups == g], self.mass[self.groups == g]
            low, high = np.quantile(mine, [0.25, 0.75])
            spread = min(float(mine.std()), (high - low) / 1.34) or float(mine.std())
            bandwidth = max(0.9 * spread * len(mine) ** -0.2, 0.7 * width)
            kernel = np.exp(-0.5 * (far / bandwidth) ** 2)
            counts = np.histogram(mine, edges, weights=w)[0]
            smooth = np.convolve(counts, kernel / kernel.sum())[BINS:-BINS]
            found.append(tuple((smooth / w.sum()).tolist()))
        return tuple(found)

    def within(self, predicted: Floats, g: int) -> WithinTasks:
        """Return the AUC of a group against all others in each task."""
        known = self.groups >= 0
        mine = self.take(known)
        assert mine.tasks is not None
        given = mine.tasks, mine.groups == g, mine.weights
        return WithinTasks.of_rows(predicted[known], *given)

    def n_clusters(self) -> int | None:
        """Return how many tasks of the rows are clusters; None if rows are free."""
        known = self.take(self.groups >= 0)
        ways = (clusters_of(known.tasks, known.groups == g) for g in self.compared)
        if known.tasks is None or not any(needed or may for needed, may, _ in ways):
            return None
        return len(np.unique(known.tasks))


@dataclass(frozen=True)
class TriedEpsilon:
    """The predictions of one ε, of held-out rows and of those fitted."""

    epsilon: float
    held_out: Floats
    fitted: Floats
    status: str


def measured(tried: Sequence[TriedEpsilon], held_out: Judge, fitted: Judge) -> Path:
    """Return a row and a view of each ε; a judge measures the rows that go with it."""
    rows, names = [], ("rmse", "auc", "gap", "md", "group")
    judged = [held_out(it.held_out) for it in tried]
    best = tried[int(np.argmin([own.rmse for own in judged]))].held_out
    for it, own in zip(tried, judged, strict=True):
        of_fit, given = fitted(it.fitted), (held_out.tasks, held_out.weights)
        train = {f"train_{name}": getattr(of_fit, name) for name in names}
        cost, se = paired_cost(held_out.y, it.held_out, best, *given)
        train |= {"epsilon": it.epsilon, "status": it.status}
        rows.append(own._replace(cost=cost, cost_se=se, **train))
    return Path(
        rows=tuple(rows),
        n_train=len(fitted.y),
        n_held_out=len(held_out.y),
        n_clusters=held_out.n_clusters(),
        groups=held_out.labels,
        unjudged=tuple(held_out.labels[g] for g in held_out.small),
        views=_views(tried, held_out, fitted, rows[-1].group),
    )


BINS = 72  # of a view
MOST_TASKS = 60  # that a view tells apart


def _views(
    tried: Sequence[TriedEpsilon], judge: Judge, of_fit: Judge, group: str
) -> PathViews:
    """What a page shows of each ε; of the tasks those with the most pairs, in order."""
    first, free = tried[0].held_out, tried[-1].held_out
    ends = np.quantile(np.concatenate([first, free]), [0.0, 0.002, 0.998, 1.0])
    room = 0.1 * (ends[2] - ends[1])
    start = max(ends[1] - room, ends[0] - room / 2)
    end = min(ends[2] + room, ends[3] + room / 2)
    edges = np.linspace(start, end, BINS + 1)
    steps = _steps(float(np.quantile(np.abs(first - free), 0.9)))
    others, n_groups = [it for it in judge.labels if it != group], len(judge.labels)
    views = []
    for it in tried:
        moves = it.held_out - free
        shares, means = judge.shapes(it.held_out, edges), judge.means(it.held_out)
        moved = tuple(int((np.abs(moves) > step).sum()) for step in steps)
        views.append(PathView(shares, means, judge.means(moves), moved))
    found = PathViews(
        views=tuple(views),
        edges=tuple(edges.tolist()),
        steps=steps,
        group_sizes=tuple(int((judge.groups == g).sum()) for g in range(n_groups)),
        group=group,
        against=others[0] if len(others) == 1 else "the rest",
    )
    if of_fit.tasks is None:
        return found
    within = [of_fit.within(it.fitted, judge.labels.index(group)) for it in tried]
    tasks = within[0]
    at = np.argsort(-tasks.n_a * tasks.n_b, kind="stable")[:MOST_TASKS]
    for i, own in enumerate(within):
        auc, aucs = pooled(own, CONFIDENCE), tuple(own.auc[at].tolist())
        views[i] = replace(views[i], within=auc, task_aucs=aucs)
    sizes = tasks.n_a[at].tolist(), tasks.n_b[at].tolist()
    return replace(
        found,
        views=tuple(views),
        tasks=tuple(of_fit.task_labels[j] for j in tasks.tasks[at]),
        task_sizes=tuple(zip(*sizes, strict=True)),
        n_tasks=len(tasks.tasks),
    )


def _steps(most: float) -> tuple[float, ...]:
    """Three round numbers up to one, as 1, 2 and 5 are; none up to 0."""
    if not 0.0 < most < math.inf:
        return ()
    unit = 10.0 ** math.floor(math.log10(most))
    round_ones = [float(f"{m * unit:.6g}") for m in (0.1, 0.2, 0.5, 1.0, 2.0, 5.0)]
    return tuple(v for v in round_ones if v <= most)[-3:]


def small_groups(groups: Codes, n_groups: int) -> tuple[int, ...]:
    """Return which of three or more groups have too few rows for a comparison.

    A group is compared with the rest, which needs as many.  Where none has enough all
    are compared, as two groups always are: their intervals say how little is known.

    Examples
    --------
    >>> small_groups(np.repeat([0, 1, 2, -1], [9, 8, 4, 3]), 3)
    (2,)
    """
    counts = np.bincount(groups[groups >= 0], minlength=n_groups)
    small = np.flatnonzero(np.minimum(counts, counts.sum() - counts) < MIN_GROUP)
    return () if len(small) == n_groups or n_groups == 2 else tuple(small.tolist())


POINTS = 12  # ε of a path by refits, unless told
LINE_POINTS = 40  # where one fit knows all of them
FREE = 0.5  # no AUC is farther from 1/2


@dataclass(frozen=True)
class PathRefits:
    """Fits of one model with any ε on any rows."""

    model: Any
    step: str  # of a pipeline, which has the parameter ε; before its two underscores
    X: Any
    y: Floats
    groups: Codes  # places in names or, where it is not known, −1
    names: tuple[str, ...]  # of groups
    given: dict[str, NDArray[Any]]  # labels, for models that take them as arrays
    tasks: Codes | None
    task_labels: tuple[str, ...]
    weights: Floats | None

    @classmethod
    def of(
        cls, model: Any, X: Any, y: Any, groups: Any, tasks: Any, weights: Any
    ) -> PathRefits:
        """Check what was passed to `fairness_path`."""
        step = _step_of(model)
        target = read_target(y, n_rows=open_table(X).shape[0])
        owner = _owner(model, step)
        refuse_own_epsilon(getattr(owner, "constraints", "rank"))
        of_tasks = label_source_of("tasks", tasks, owner, X)
        codes, names = (None, None) if of_tasks is None else of_tasks.labels()
        labels = () if names is None else tuple(map(str, names.tolist()))
        read = read_weights(weights, len(target))
        places, groups, table = compared_groups(owner, X, groups, read)
        given = {"sensitive_features": table}
        if of_tasks is not None:
            given["tasks"] = label_table(of_tasks.columns)
        of_rows = target, places, groups, given, codes, labels, read
        return cls(model, step, X, *of_rows)

    @property
    def everywhere(self) -> Codes:
        """All rows that count."""
        n = len(self.y)
        return np.arange(n) if self.weights is None else np.flatnonzero(self.weights)

    def fit(self, epsilon: float, at: Codes, **settings: Any) -> Any:
        """Fit some rows.

        A pipeline passes on what is called step__name, and nothing is routed: labels
        and weights are for the part that has the parameter alone.
        """
        model = clone(self.model)
        owner = _owner(model, self.step).set_params(epsilon=epsilon, **settings)
        needed = self._labels(owner, "fit")
        if self.weights is not None:
            needed["sample_weight"] = self.weights
        step = self.step if isinstance(model, Pipeline) else ""
        labels = {f"{step}{name}": values[at] for name, values in needed.items()}
        with warnings.catch_warnings(), config_context(enable_metadata_routing=False):
            # The status of the fit is in the row, and so are limits of its gap.
            warnings.simplefilter("ignore", ConvergenceWarning)
            warnings.filterwarnings("ignore", "the gap may be chance", UserWarning)
            return model.fit(take_rows(self.X, at), self.y[at], **labels)

    def predict(self, model: Any, at: Codes) -> Floats:
        """Predict some rows."""
        needed = self._labels(_owner(model, self.step), "predict")
        labels = {name: values[at] for name, values in needed.items()}
        with config_context(enable_metadata_routing=False):
            predicted = model.predict(take_rows(self.X, at), **labels)
        return read_target(predicted, "what the model predicts")

    def tried(
        self, epsilon: float, folds: Folds, held_out: Codes, n_jobs: int | None
    ) -> TriedEpsilon:
        """Fit an ε to all rows and fold by fold, and predict."""

        def of_fold(train: Codes, test: Codes) -> Floats:
            return self.predict(self.fit(epsilon, train), test)

        model = self.fit(epsilon, self.everywhere)
        predicted = out_of_fold(len(self.y), folds, of_fold, n_jobs)[held_out]
        fitted = self.predict(model, self.everywhere)
        status = getattr(_owner(model, self.step), "status_", "")
        return TriedEpsilon(epsilon, predicted, fitted, str(status))

    def _labels(self, owner: Any, method: str) -> dict[str, NDArray[Any]]:
        """What a method takes as arrays and the model does not read from X."""
        takes = inspect.signature(getattr(owner, method)).parameters
        return {
            name: values
            for name, values in self.given.items()
            if name in takes and getattr(owner, name, None) is None
        }

    def of_one_fit(self, epsilons: Any, reference: str | None) -> Path | None:
        """Return the path of a model that knows its fits of all ε, rows left out."""
        if not hasattr(type(self.model), "path"):
            return None
        model = self.fit(FREE, self.everywhere)
        path: Path | None = getattr(model, "path", lambda *_: None)(epsilons, reference)
        if path is None or not path.left_out:
            return None
        return replace(path, backend=frame_library(self.X))

    def default_epsilons(self) -> list[float]:
        """Twelve from 0 to the gap of the fit that nothing is asked of."""
        owner, at = _owner(self.model, self.step), self.everywhere
        constraint = getattr(owner, "constraints", "rank")
        if not isinstance(constraint, str) or constraint != "rank":
            units = ": the default path is in units of AUC"
            named = Argument("constraints", constraint)
            raise InputError("epsilons", ("is needed with ", named, units))
        gap = FREE
        # Bands within tasks bind as long as some task is outside, up to 1/2.
        if getattr(owner, "scope", "global") == "global":
            # A band with one side would ask for something even at ε = 1/2.
            free = {"side": "both"} if hasattr(owner, "side") else {}
            predicted = self.predict(self.fit(FREE, at, **free), at)
            gap = self.judge().take(at)(predicted).gap
        return sorted({gap * (i / (POINTS - 1)) ** 2 for i in range(POINTS)})

    def judge(self, small: tuple[int, ...] = (), reference: str | None = None) -> Judge:
        """What measures predictions of all rows."""
        of_rows = self.y, self.groups, self.names, self.tasks, self.weights
        return Judge(*of_rows, small, place_of(reference, self.names), self.task_labels)


def place_of(reference: str | None, names: Sequence[str]) -> int:
    """Return the place of the group that others are compared with, or the first."""
    named = names[0] if reference is None else reference
    return names.index(check_choice("reference", named, names))


def _step_of(model: Any) -> str:
    """Return what comes before ``epsilon`` in the name of the model's parameter ε."""
    estimator = hasattr(model, "get_params") and not isinstance(model, type)
    names = list(model.get_params()) if estimator else []
    found = [name for name in names if name.split("__")[-1] == "epsilon"]
    shallow = [n for n in found if n.count("__") == min(m.count("__") for m in found)]
    if len(shallow) != 1:
        raise InputError(
            "model",
            "must be an estimator with one parameter epsilon, its own or that of a "
            f"step: {as_given(model)} has {listed(shallow) if shallow else 'none'}",
        )
    return str(shallow[0]).removesuffix("epsilon")


def _owner(model: Any, step: str) -> Any:
    """Return the estimator that has the parameter ε."""
    return model.get_params()[step.removesuffix("__")] if step else model


def fairness_path(
    model: Any,
    X: Any,
    y: Any,
    *,
    epsilons: Sequence[float] | None = None,
    cv: Any = None,
    sensitive_features: Any = None,
    tasks: Any = None,
    sample_weight: Any = None,
    random_state: Any = None,
    reference: str | None = None,
    n_jobs: int | None = None,
    on_step: Callable[[str, int, int], None] | None = None,
) -> Path:
    """Fit a model for each of many ε, and measure it on rows it has not seen.

    A `RankFairRegressor` whose fits of all ε lie on a line is fitted once: every row is
    predicted as if it had been left out.  Other models are fitted fold by fold, and the
    figures are of the predictions of all folds together.  Intervals of RMSE
    and AUC are those that `audit` gives the same predictions, with tasks as clusters
    by the same rule.  Those of RMSE hold for many rows: squares of few errors with long
    tails, or of unequal weights, do not show how large the next may be.

    Of three or more groups each is compared with all others: AUC, gap and difference
    of means are those of the group whose AUC is farthest from 1/2, named in ``group``.
    As it is chosen by its AUC, the intervals hold for all k groups together, by
    Bonferroni's rule: each fails with probability 0.05 / k.  Groups of fewer than 5
    held-out rows are among the others but not judged themselves, as in `audit`.

    Parameters
    ----------
    model : regressor
        With a parameter ``epsilon``, or a pipeline with one such step.  It is cloned.
    X : array-like or data frame of shape (N, n_features)
        As for its ``fit``.
    y : array-like of shape (N,)
        The target.
    epsilons : sequence of float, optional
        By default from 0 to the rank gap of the fit that nothing is asked of, closer
        together near 0: forty where one fit knows all of them, else twelve.  The last
        row is that fit, in every fold: it is made with ε = 1/2, as the gap of a fold
        may be larger.  Bands within tasks (``scope``) go up to 1/2.
    cv : int, splitter, iterable of (train, test) or None, default=None
        How many folds; None leaves out each row of one fit where the model can, else
        there are 5.  They are made within tasks, so that every task and group has
        training rows in each; the only row of a task is never held out.  Folds of your
        own must not hold out a row more than once.
    sensitive_features : array-like of shape (N,), or str or int, optional
        The group of each row, or its column of X, two or more groups if the model takes
        them; by default the model's, cut by its `bins`.  Rows of unknown group are
        fitted if the model takes them, and count for RMSE only.
    tasks : array-like of shape (N,), or str or int, optional
        The task of each row, or its column of X; by default the model's.
    sample_weight : array-like of shape (N,), optional
        Weights of the rows, in the fits and in all figures.  Of a pipeline the step
        with ``epsilon`` takes them.
    random_state : int, Generator or None, default=None
        Seed of the folds.
    reference : str, optional
        Of two groups the one that the other is compared with; by default the first.
    n_jobs : int, optional
        How many folds are fitted at once, in processes of their own; −1 for as many as
        there are processors.
    on_step : callable, optional
        Told of each ε before it is fitted: its name, its number and how many there are.

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
    ...     model, data.frame, data.target, epsilons=[0.0, 0.1, 0.2]
    ... )
    >>> path.column("gap").round(2).tolist()
    [0.0, 0.1, 0.2]
    >>> path.column("rmse")[0] > path.column("rmse")[2]
    np.True_
    """
    check_seed("random_state", random_state)
    check_jobs(n_jobs)
    refits = PathRefits.of(model, X, y, sensitive_features, tasks, sample_weight)
    given = None
    if epsilons is not None:
        values = values_to_try("epsilons", epsilons)
        given = sorted({check_number("each of epsilons", it, 0.0) for it in values})
    path = refits.of_one_fit(given, reference) if cv is None else None
    if path is not None:
        return path
    chosen = asked = given or refits.default_epsilons()
    if given is None:
        asked = [*chosen[:-1], FREE]
    folds = make_folds(
        cv,
        np.zeros(len(refits.y), np.intp) if refits.tasks is None else refits.tasks,
        refits.groups,
        np.random.default_rng(random_state),
        weights=refits.weights,
        X=X,
        y=refits.y,
    )
    held_out = _held_out(folds)
    small = small_groups(refits.groups[held_out], len(refits.names))
    judge = refits.judge(small, reference)
    of_held_out, fitted = judge.take(held_out), judge.take(refits.everywhere)
    of_held_out.check()
    tried = []
    for i, epsilon in enumerate(chosen):
        if on_step is not None:
            on_step(f"epsilon {epsilon:.4g}", i + 1, len(chosen))
        found = refits.tried(asked[i], folds, held_out, n_jobs)
        tried.append(replace(found, epsilon=epsilon))
    return replace(measured(tried, of_held_out, fitted), backend=frame_library(X))


def _held_out(folds: Folds) -> Codes:
    """Return the rows that are held out, in order; refuse some that are so again."""
    times = np.bincount(np.concatenate([test for _, test in folds]))
    if times.max() > 1:
        again = counted(int((times > 1).sum()), "row")
        raise InputError(
            "cv",
            f"holds out {again} more than once, up to {times.max()} times: a path "
            "measures one prediction of each",
            cure="Repeats and random splits do so; use 5, or KFold(5, shuffle=True, "
            "random_state=0) for instance.",
        )
    return np.flatnonzero(times)
