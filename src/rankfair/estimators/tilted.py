"""Any regressor made fair: check, search for the tilt, store."""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, TypeAlias, cast

import narwhals as nw
import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, MetaEstimatorMixin, RegressorMixin, clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import r2_score
from sklearn.pipeline import Pipeline
from sklearn.utils import _safe_indexing, get_tags
from sklearn.utils.validation import _num_samples, check_is_fitted

from rankfair.constraints import Constraint, Rank, refuse_upper
from rankfair.core.blocks import CONSTANT, resolution_of, rounded
from rankfair.core.problem import Groups, counted_weights, whole_if_so
from rankfair.core.problem import Groups as RowGroups
from rankfair.core.ranks import Duels
from rankfair.estimators.base import (
    CallbackSupportMixin,
    Progress,
    new_table,
    with_callbacks,
)
from rankfair.estimators.outcome import spread, warn_no_groups
from rankfair.estimators.refits import (
    check_unit,
    explained,
    fitted_to,
    is_pairwise,
    predictions_of,
    taken,
    weight_argument,
)
from rankfair.estimators.settings import read_constraints
from rankfair.input.arrays import Codes, Floats
from rankfair.input.columns import Columns, feature_record, label_source
from rankfair.input.errors import counted, listed, shown
from rankfair.input.folds import (
    Folds,
    Positions,
    check_cv,
    deal_folds,
    gives_folds,
    split_folds,
)
from rankfair.input.frames import ArrayTable, PartTable, Table, open_table
from rankfair.input.groups import (
    Bools,
    Protected,
    SensitiveGroups,
    Source,
    group_labels,
    masks_of,
)
from rankfair.input.labels import encode, find_labels
from rankfair.input.new_rows import (
    SORTED_ROWS,
    check_same_source,
    has_names,
    refuse_retyped,
)
from rankfair.input.settings import check_bins, check_flag, check_seed, check_verbose
from rankfair.input.training import (
    finite_predictions,
    read_given,
    read_target,
    task_labels,
)
from rankfair.solvers.base import OnStep, Status, Step, noted_in
from rankfair.solvers.counted import Counted, Demand, Units
from rankfair.solvers.joint import inside_bands, search_on
from rankfair.solvers.line import Curved
from rankfair.solvers.roots import CLOSEST


@dataclass(frozen=True)
class TiltedLayout:
    """What each column of X is for: decided by fit, reused by predict.

    Columns are positions; an empty tuple stands for labels passed as an array, None
    for no labels at all.
    """

    features: tuple[int, ...] | None  # None for all columns, as they are
    task_columns: tuple[int, ...] | None
    tasks: NDArray[Any]
    group_columns: tuple[int, ...] | None
    groups: NDArray[Any] | None
    edges: dict[str, Floats] = field(default_factory=dict)  # where bins were cut
    intersect: bool = False
    names: tuple[str, ...] = ()  # of the columns that hold groups
    by_name: bool = False  # whether these came as a dict or a frame

    def select(self, X: Any, table: Table) -> Any:
        """The columns that the estimator is to see."""
        whole = table.values if isinstance(table, ArrayTable) else X
        if self.features is None:
            return whole
        if isinstance(table, PartTable):
            names = [table.names[j] for j in self.features]
            return nw.from_native(X).select(names).to_native()
        return _safe_indexing(whole, list(self.features), axis=1)


@dataclass(frozen=True)
class TiltedRows:
    """Checked training rows; those of weight zero are left out.

    Attributes
    ----------
    X : the columns that the estimator is to see
    y : ndarray of shape (N,), float64
    codes : ndarray of shape (N,), places in ``layout.tasks``
    groups : Groups, or None if there are none
    weights : positive ndarray of shape (N,), or None if all weigh one
    layout : Layout
    note : str or None, a warning
    kept : ndarray of bool, or None if all rows that were given weigh something
    """

    X: Any
    y: Floats
    codes: Codes
    groups: SensitiveGroups | None
    weights: Floats | None
    layout: TiltedLayout
    note: str | None = None
    kept: Bools | None = None

    def folds(self, cv: Any, rng: np.random.Generator) -> Folds | None:
        """Rows to learn from and to count on; None without ``cv``, or groups."""
        if cv is None or self.groups is None:
            return None
        if gives_folds(cv):
            folds = split_folds(cv, self.X, self.y, "rows that weigh more than zero")
            self._check_tasks(folds)
            return folds
        sizes = np.bincount(self.codes)
        if len(self.y) < cv or sizes.min() < 2:
            raise ValueError(
                f"cv={cv} needs as many rows, and two of each task; there are "
                f"{len(self.y)} rows, {sizes.min()} of the smallest task."
            )
        groups = self.groups
        cells = (len(groups.labels) + 1) * self.codes + groups.codes + 1
        return deal_folds(cells, cv, rng)

    def _check_tasks(self, folds: Folds) -> None:
        """Refuse folds that leave no row of a task to learn from."""
        labels = self.layout.tasks
        for train, _ in folds:
            rows = np.bincount(self.codes[train], minlength=len(labels))
            if not rows.all():
                raise ValueError(
                    "cv holds out all rows of tasks at once: "
                    f"{listed(labels[rows == 0].tolist())}. Each task has a model of "
                    "its own: hold out a part of each, cv=5 for instance."
                )


def read_rows(
    X: Any,
    y: Any,
    named: Columns,
    *,
    tasks: Any = None,
    sensitive_features: Any = None,
    sample_weight: Any = None,
) -> TiltedRows:
    """Check what was passed to ``fit``.

    Examples
    --------
    >>> rows = read_rows([[1.0, 0], [2.0, 1]], [3.0, 5.0], Columns(None, 1, blind=True))
    >>> rows.X.tolist(), rows.groups.codes.tolist()
    ([[1.0], [2.0]], [0, 1])
    """
    table = open_table(X)
    feature_record(X)  # what could not be stored is not fitted either
    target, weights, of_tasks, of_groups = read_given(
        table, y, named, tasks, sensitive_features, sample_weight
    )
    check_unit(target)
    found = None if of_groups is None else _read_groups(of_groups, weights, named)
    codes, labels = task_labels(of_tasks, table.shape[0])
    layout = TiltedLayout(
        _features(table, of_tasks, of_groups if named.blind else None),
        None if of_tasks is None else of_tasks.at,
        labels,
        None if of_groups is None else of_groups.at,
        None if found is None else found.attributes[0].labels,
        {} if found is None else _edges(found),
        named.intersect,
        () if of_groups is None else of_groups.names,
        has_names(sensitive_features),
    )
    groups, note = (None, None) if found is None else (found.attributes[0], found.note)
    rows = TiltedRows(
        layout.select(X, table), target, codes, groups, weights, layout, note
    )
    return rows if weights is None or weights.all() else _weighted(rows, weights > 0)


def _read_groups(source: Source, weights: Floats | None, named: Columns) -> Protected:
    """Return the groups of one attribute, or the combinations of several."""
    if len(source.columns) > 1 and not named.intersect:
        raise ValueError(
            f"{source.argument} has {len(source.columns)} columns: one protected "
            "attribute is expected. Set intersect=True to balance their combinations; "
            "RankFairRegressor constraints each of several attributes."
        )
    return Protected.of(source, weights, named.bins, named.intersect)


def _edges(found: Protected) -> dict[str, Floats]:
    return {it.name: it.edges for it in found.columns if it.edges is not None}


def _features(table: Table, *apart: Source | None) -> tuple[int, ...] | None:
    """The columns beside those of tasks and of a hidden group; None for all."""
    away = {j for source in apart if source is not None for j in source.at}
    if not away:
        return None
    features = tuple(j for j in range(table.shape[1]) if j not in away)
    if not features:
        raise ValueError(
            "X has no feature left: every column names tasks or the protected group. "
            "Add a column to predict from."
        )
    return features


def _weighted(rows: TiltedRows, keep: Bools) -> TiltedRows:
    """Leave out the rows of weight zero, and tasks that no other row has."""
    codes, present = find_labels([rows.codes[keep]], "tasks")
    assert rows.weights is not None
    return TiltedRows(
        _safe_indexing(rows.X, np.flatnonzero(keep)),
        rows.y[keep],
        codes,
        None if rows.groups is None else rows.groups.take(keep),
        rows.weights[keep],
        replace(rows.layout, tasks=rows.layout.tasks[present]),
        rows.note,
        keep,
    )


def task_codes(table: Table, tasks: Any, layout: TiltedLayout) -> Codes:
    """The task of each new row; refuse one that training did not have."""
    source = label_source("tasks", layout.task_columns or None, tasks, table)
    check_same_source(source, layout.task_columns)
    if source is None:
        return np.zeros(table.shape[0], np.intp)
    codes, others = encode(source.columns, layout.tasks, source.argument)
    _refuse_others(others, int((codes < 0).sum()), layout.tasks, source)
    return codes


def _refuse_others(
    others: list[Any], n_rows: int, labels: NDArray[Any], source: Source
) -> None:
    argument = source.argument
    refuse_retyped(argument, others, labels)
    if others:
        raise ValueError(
            f"{argument} has labels not seen in training: {listed(others)} "
            f"({counted(n_rows, 'row')}); training had {listed(labels.tolist())}. "
            f"Use the labels of training, or fit with rows of these too. {SORTED_ROWS}"
        )


Models: TypeAlias = list[Any]


@dataclass(frozen=True)
class EstimatorRefits:
    """Fits of one template to any target, on all rows or fold by fold.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.linear_model import LinearRegression
    >>> X, y = np.array([[0.0], [1.0], [2.0]]), np.array([1.0, 3.0, 5.0])
    >>> refits = EstimatorRefits(LinearRegression(), X, np.zeros(3, np.intp), 1)
    >>> models, m = refits.fit(y)
    >>> m.round(6).tolist()
    [1.0, 3.0, 5.0]
    """

    template: Any
    X: Any
    codes: Codes  # the task of each row
    n_tasks: int
    weights: Floats | None = None
    folds: Folds | None = None  # train and test rows of each fold

    def fit(self, target: Floats) -> tuple[Models, Floats]:
        """The models of all rows and their predictions; by folds, predictions only."""
        if self.folds is None:
            models = self.whole(target)
            return models, predict(models, self.X, self.codes)
        m = np.empty(len(target))
        for train, test in self.folds:
            held = taken(self.template, self.X, test, train)
            m[test] = predict(self._models(target, train), held, self.codes[test])
        return [], m

    def whole(self, target: Floats) -> Models:
        """The models of all rows."""
        return self._models(target, np.arange(len(target)))

    def _models(self, target: Floats, rows: Positions) -> Models:
        return [
            self._model(target, of_task)
            for of_task in _by_task(self.codes, self.n_tasks, rows)
        ]

    def _model(self, target: Floats, rows: Positions) -> Any:
        whole = len(rows) == len(target)
        X = self.X if whole else taken(self.template, self.X, rows)
        weights = None if self.weights is None else self.weights[rows]
        return fitted_to(self.template, X, target[rows], weights)


def _by_task(codes: Codes, n_tasks: int, rows: Positions) -> Iterator[Positions]:
    """These rows, those of each task in turn."""
    if n_tasks == 1:
        return iter((rows,))
    order = rows[np.argsort(codes[rows], kind="stable")]
    ends = np.searchsorted(codes[order], np.arange(1, n_tasks))
    return iter(np.split(order, ends))


def predict(models: Models, X: Any, codes: Codes) -> Floats:
    """The prediction of each row by the model of its task."""
    if len(models) == 1:
        return predictions_of(models[0], X)
    m = np.empty(len(codes))
    for j in np.unique(codes).tolist():
        rows = np.flatnonzero(codes == j)
        m[rows] = predictions_of(models[j], _safe_indexing(X, rows))
    return m


def seeded(estimator: Any, rng: np.random.Generator) -> Any:
    """A clone in which every ``random_state`` that is None has a seed.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.linear_model import Ridge
    >>> seeded(Ridge(), np.random.default_rng(0)).random_state is None
    False
    """
    template = clone(estimator)
    open_seeds = [
        name
        for name, value in sorted(template.get_params(deep=True).items())
        if value is None and name.split("__")[-1] == "random_state"
    ]
    seeds = {name: int(rng.integers(1 << 31)) for name in open_seeds}
    return template.set_params(**seeds) if seeds else template


def refuse_parts(estimator: Any, n_models: int, absent: bool) -> None:
    """Raise if X is a matrix of kernels, and models are fitted to parts of its rows.

    New rows come with a column for every row of training, of which such a model knows
    but some: those of its task, or those of positive weight if some are ``absent``.

    Examples
    --------
    >>> from sklearn.linear_model import Ridge
    >>> refuse_parts(Ridge(), 3, absent=True)
    """
    if is_pairwise(estimator) and (n_models > 1 or absent):
        what = "tasks, each with a model of its own" if n_models > 1 else "weights of 0"
        raise ValueError(
            f"estimator ({type(estimator).__name__}) learns from a matrix of kernels "
            f"or distances of all rows, which {what} would cut. Leave them out, or "
            "give it features."
        )


def refuse_weightless(estimator: Any) -> None:
    """Raise if ``fit`` of this estimator takes no weights.

    Examples
    --------
    >>> from sklearn.linear_model import Ridge
    >>> refuse_weightless(Ridge())
    """
    if weight_argument(estimator) is None:
        last = estimator.steps[-1][1] if isinstance(estimator, Pipeline) else estimator
        raise ValueError(
            "sample_weight was passed, but the fit of estimator "
            f"({type(last).__name__}) takes none. Leave it out, or take another "
            "estimator."
        )


REFITS = 4  # to tilted targets, at most; one or two are the rule
MARGIN = 0.005  # of a shown value: how far inside a band refits are aimed at


@dataclass(frozen=True)
class Target:
    """The target in standard units, and what is asked of its predictions."""

    y: Floats
    unit: float
    centre: float
    weights: Floats | None
    demands: tuple[Demand, ...]

    @classmethod
    def of(
        cls,
        y: Floats,
        weights: Floats | None,
        asked: Sequence[Constraint],
        groups: Sequence[Groups],
    ) -> Target:
        """Standard units, and one demand a constraint and pair of groups."""
        centre = float(np.average(y, weights=weights))
        off = y - centre
        unit = float(np.sqrt(np.average(off * off, weights=weights)))
        if not unit > CONSTANT * float(np.abs(y).max()):
            off, unit = np.zeros(len(y)), 1.0
        standard = off / unit
        demands = tuple(
            Demand(each.on(standard, own), own) for each in asked for own in groups
        )
        return cls(standard, unit, centre, weights, demands)

    @cached_property
    def units(self) -> Units:
        """What predictions are to the user."""
        user = self.y * self.unit + self.centre
        return Units(self.unit, self.centre / self.unit, resolution_of(user))

    @cached_property
    def directions(self) -> Floats:
        """``g`` of every demand, a row each."""
        return np.array([each.direction() for each in self.demands])

    def tilted(self, lam: Floats) -> Floats:
        """``y − λ g`` in the user's units."""
        t: Floats = self.y - lam @ self.directions
        return t * self.unit + self.centre

    @property
    def narrower(self) -> tuple[Demand, ...]:
        """The demands with bands a little narrower, by half at most."""

        def of(each: Constraint) -> Constraint:
            return replace(each, epsilon=each.epsilon - min(each.epsilon / 2, MARGIN))

        return tuple(Demand(of(it.constraint), it.groups) for it in self.demands)

    def error(self, m: Floats) -> float:
        """The squared error relative to that of one constant."""
        squares = (m - self.y) ** 2
        return float(np.average(squares, weights=self.weights))

    def shown(self, values: Sequence[float]) -> list[float]:
        """Values of the demands as people read them."""
        return [
            each.constraint.show(value, each.groups)
            for each, value in zip(self.demands, values, strict=True)
        ]

    def gap(self, values: Sequence[float]) -> float:
        """How far the worst value is outside its band, as people read it."""
        bands = [each.constraint.band(each.groups) for each in self.demands]
        off = [band.miss(value) for band, value in zip(bands, values, strict=True)]
        level = self.shown([0.0] * len(off))
        return float(np.abs(np.subtract(self.shown(off), level)).max())


@dataclass(frozen=True)
class PredictedLine(Curved):
    """``m − λ d`` of predictions that nobody knows more of."""

    target: Target
    trained: Counted

    @cached_property
    def curve(self) -> tuple[float, Floats, Floats]:
        """``c, b, A`` with the squared error ``c + 2 bᵀλ + λᵀAλ``."""
        s = 1.0 if self.target.weights is None else self.target.weights
        r, E = self.target.y - self.trained.q, self.trained.E
        return float((s * r * r).sum()), (s * E) @ r, (s * E) @ E.T

    @property
    def squares(self) -> float:
        """The squared error of one constant."""
        s = 1.0 if self.target.weights is None else self.target.weights
        return float((s * self.target.y**2).sum())


@dataclass(frozen=True)
class Found:
    """A fit to a tilted target: its models, and its predictions, counted."""

    lam: Floats  # (r,)
    models: Models  # of all rows, once it is the one that is kept
    m: Floats  # what was counted, out of fold where there are folds; standard units
    values: tuple[float, ...]  # of the demands
    error: float  # relative to that of one constant
    inside: bool  # whether all values are in their bands
    trace: tuple[Step, ...] = ()

    @property
    def status(self) -> Status:
        """How the search ended."""
        if not self.inside:
            return Status.INFEASIBLE
        return Status.SATISFIED if self.lam.any() else Status.INACTIVE


def search(
    refits: EstimatorRefits, target: Target, on_step: OnStep | None = None
) -> Found:
    """Look for the least tilt whose counts are in their bands.

    A refit lands beside the place on the line that it was aimed at.  So the first one
    is aimed at the edge of the band, which is exact where fits are linear, and others,
    after a miss, a little inside.
    """
    trace: list[Step] = []
    note = noted_in(trace, on_step)

    def fit(lam: Floats) -> Found:
        models, m = refits.fit(target.tilted(lam))
        m = (rounded(m, target.units.resolution) - target.centre) / target.unit
        counted = Counted(m, np.zeros((len(lam), len(m))), target.demands, target.units)
        values, error = counted.values(lam), target.error(m)
        note(Step(1, error, target.shown(values)[0], 0.0))
        inside = inside_bands(counted, values)
        return Found(lam, models, m, tuple(values), error, inside)

    seen, aims = [fit(np.zeros(len(target.demands)))], target.demands
    if not seen[0].inside:
        g = target.directions * target.unit
        d = np.array([refits.fit(each)[1] for each in g]) / target.unit
    while not seen[-1].inside and len(seen) <= REFITS:
        last = seen[-1]
        line = Counted(last.m, d, aims, target.units)
        step = search_on(PredictedLine(target, line), line).lam
        if not step.any():
            break
        seen.append(fit(last.lam + step))
        aims = target.narrower
        # The least change of d after which m − δ d passes through both fits (Broyden).
        d += np.outer(step, last.m - step @ d - seen[-1].m) / (step @ step)
    best = _best(seen, target)
    models = best.models or refits.whole(target.tilted(best.lam))
    return replace(best, models=models, trace=tuple(trace))


def _best(seen: list[Found], target: Target) -> Found:
    """The last fit, if it is inside; else, of the closest, the one that errs least."""
    if seen[-1].inside:
        return seen[-1]
    gaps = [target.gap(each.values) for each in seen]
    near = min(gaps) + CLOSEST
    close = (it for it, gap in zip(seen, gaps, strict=True) if gap <= near)
    return min(close, key=lambda it: it.error)


USELESS = 0.99  # of the squared error of one constant: a model that is as bad
HELP = "a linear model, RankFairRegressor, more rows, or a larger epsilon"


def target_of(rows: TiltedRows, asked: tuple[Constraint, ...]) -> Target:
    """Return the target, and what is asked of each group against the rest."""
    assert rows.groups is not None
    masks, known = masks_of([rows.groups])
    parts = [None] * len(masks) if known is None else known
    groups = [
        RowGroups(mask, counted_weights(rows.weights, part))
        for mask, part in zip(masks, parts, strict=True)
    ]
    return Target.of(rows.y, rows.weights, asked, groups)


def fitted_attributes(
    found: Found, target: Target, asked: tuple[Constraint, ...], rows: TiltedRows
) -> dict[str, Any]:
    """Return what a fit leaves."""
    m = target.units.of_user(found.m)
    assert rows.groups is not None
    return {
        **free_attributes(found.models, rows),
        "status_": str(found.status),
        **standings(m, rows.groups, rows.weights),
        "constraint_values_": _came_to(found, target, asked),
        "multiplier_": max(found.lam.tolist(), key=abs),
        "oof_predictions_": spread(m, rows.kept),
        "objective_": found.error,
        "n_refits_": len(found.trace) - 1,
        "trace_": [(step.objective, step.auc) for step in found.trace],
    }


def free_attributes(models: Models, rows: TiltedRows) -> dict[str, Any]:
    """Return what a fit without groups leaves."""
    return {
        "estimator_": models[0] if len(models) == 1 else models,
        "status_": str(Status.INACTIVE),
        "rank_auc_": math.nan,
        "group_auc_": {},
        "pairwise_auc_": {},
        "n_unknown_": 0,
        "constraint_values_": {},
        "multiplier_": 0.0,
        "oof_predictions_": None,
        "objective_": math.nan,
        "n_refits_": 0,
        "trace_": [],
        "resolution_": resolution_of(rows.y),
    }


def _came_to(
    found: Found, target: Target, asked: tuple[Constraint, ...]
) -> dict[str, float]:
    """Return each constraint's value, of several groups the farthest off."""
    values = np.reshape(target.shown(found.values), (len(asked), -1))
    return {
        type(each).__name__.lower(): max(
            row.tolist(), key=lambda value: abs(value - each.middle)
        )
        for each, row in zip(asked, values, strict=True)
    }


def standings(
    m: Floats, groups: SensitiveGroups, weights: Floats | None
) -> dict[str, Any]:
    """Ranks of the groups: ``rank_auc_``, ``group_auc_`` and ``pairwise_auc_``."""
    labels = groups.labels.tolist()
    duels = Duels.of(m, groups.codes, len(labels), whole_if_so(weights))
    aucs = duels.of_rest()
    # Of two groups it is that of A, the last; of several the farthest off.
    at = 1 if len(labels) == 2 else int(np.abs(aucs - 0.5).argmax())
    return {
        "rank_auc_": float(aucs[at]),
        "group_auc_": dict(zip(labels, aucs.tolist(), strict=True)),
        "pairwise_auc_": duels.by_label(labels),
        "n_unknown_": groups.n_unknown,
    }


def warn_of(
    found: Found,
    target: Target,
    asked: tuple[Constraint, ...],
    note: str | None,
    out_of_fold: bool,
) -> None:
    """Warn of a useless model before all else, then of groups, then of the band."""
    told: list[tuple[str, type[Warning]]] = []
    where = "out of fold" if out_of_fold else "on the training rows"
    error, free = found.error, found.trace[0].objective
    r2 = f"{where} its R² is {1 - error:.3f} (without the constraint {1 - free:.3f})"
    if error >= USELESS:
        useless = f"this model is useless: {r2}, and that of one constant is 0."
        told.append((f"{useless} Try {HELP}.", UserWarning))
    if note is not None:
        told.append((note, UserWarning))
    if found.status is Status.INFEASIBLE:
        came = _came_to(found, target, asked).items()
        said = [
            f"{'AUC' if isinstance(each, Rank) else name} {value:.4f}, asked for "
            f"within {each.epsilon:g} of {each.middle:g}"
            for each, (name, value) in zip(asked, came, strict=True)
        ]
        reached = f"{found.status.value} Reached: {'; '.join(said)}; {r2}."
        told.append((f"{reached} Try {HELP}.", ConvergenceWarning))
    for message, kind in told:
        warnings.warn(message, kind, stacklevel=4)


class TiltedRegressor(
    CallbackSupportMixin, MetaEstimatorMixin, RegressorMixin, BaseEstimator
):
    r"""Any regressor, refitted so that it does not rank one group above another.

    A fair fit is an ordinary fit to tilted targets,

    .. math:: m = \mathrm{fit}(y - \lambda g), \qquad
        g = \pm 1 / n_\mathrm{group}

    Fits to :math:`y` and to :math:`g`, the direction in which group means differ, make
    a line of predictions, :math:`m_0 - \lambda d`, and exact counts along it give
    :math:`\lambda`.  The model is one refit to the tilted targets.  Where its own
    count misses the band, another one corrects :math:`\lambda`, by the secant rule.

    Parameters
    ----------
    estimator : estimator object
        A regressor with `fit` and `predict`, a pipeline for instance.  It is cloned,
        never changed.  It should minimise squared error.
    epsilon : float or list of float, default=0.01
        Half width of the band around AUC = 1/2, in [0, 0.5]; as in
        `RankFairRegressor` for other constraints.
    constraints : {"rank", "mean", "residual", "distribution"}, Constraint or list of \
            them, default="rank"
        What is to be equal between the groups, as in `RankFairRegressor`.
    tasks : str, int or list of them, optional
        The column of X, by name or position, that says which task a row is of.  One
        clone of `estimator` is fitted to each task, as `RankFairRegressor` fits one
        linear model to each, and the column is no feature.  For one model of all
        rows leave it out: the column is a feature like any other then.
    sensitive_features : str, int or list of them, optional
        The column of X that holds the protected group.  It is not a feature unless
        ``blind=False``; then it is handed on to the estimator as it is, and text needs
        a pipeline that encodes it.  Rows whose group is missing (None, NaN, NA or NaT)
        take part in the fit and not in the constraint.  Several columns need
        `intersect`.
    blind : bool, default=True
        Leave the protected column of X out of the features.  Frames without it can be
        predicted then.
    intersect : bool, default=False
        Balance the combinations of several columns, "F × black", as the groups of one.
        `RankFairRegressor` can balance each column alone.
    bins : int, optional
        Cut a column of more distinct numbers than that into so many quantiles,
        "[18, 35)", which are the groups.
    side : {"both", "upper"}, default="both"
        "upper" asks for 0 ≤ AUC − 1/2 ≤ epsilon.
    cv : int, splitter, list of (train, test) or None, default=5
        Count on predictions of rows that the model did not see.  Two groups take fits
        to three or four targets, six at most: with k folds k fits each, and the model.
        Folds are dealt at random, evenly by group and task.  Fits to fewer rows shrink
        more: for models that shrink a lot take more folds.  None counts on the training
        rows, which is enough for models that hardly overfit (linear ones); trees and
        networks that learn their rows by heart are fair there and unfair on new rows.
    random_state : int, Generator or None, default=None
        Seeds every ``random_state`` in `estimator` that is None, alike at each fit,
        and deals the folds.
    verbose : int, default=0
        Above 0, write a line for each fit to stderr.

    Attributes
    ----------
    estimator_ : estimator object or list of them
        The fit to the tilted targets; with tasks, one for each of `tasks_`.
    groups_ : ndarray of shape (n_groups,) or None
        Labels of the groups, sorted; of two they are B and A.
    n_unknown_ : int
        Training rows of unknown group.
    bin_edges_ : dict of str to ndarray
        Where columns were cut, by name: the start of each bin, and the end.
    tasks_ : ndarray of shape (n_tasks,) or None
        Labels of the tasks.
    status_ : str
        "satisfied": the band is met, out of fold or with ``cv=None`` on the training
        rows, to within one pair for two groups, 0.0005 for more.  "inactive": the fit
        without a tilt meets it.  "infeasible": no refit did, and the closest was kept;
        trees move in steps, and hardly ever meet a band of ``epsilon=0``.
    rank_auc_ : float
        AUC of the predictions that were counted: out of fold, or of the training rows.
        Of three or more groups that of the group farthest from 1/2.
    group_auc_ : dict of label to float
        AUC of each group over the rest, of the same predictions.
    pairwise_auc_ : dict of label to dict of label to float
        AUC of the first group over the second, ``pairwise_auc_["M"]["F"]``.
    constraint_values_ : dict of str to float
        What each constraint came to on the same predictions; of three or more groups
        the value farthest off.
    multiplier_ : float
        :math:`\lambda` in standard units; of several the largest.
    oof_predictions_ : ndarray of shape (N,)
        The predictions that were counted, NaN for rows of weight 0.
    objective_ : float
        Their (weighted) mean squared error in variances of y: 1 is one constant.
    n_refits_ : int
        Fits to tilted targets, four at most.
    trace_ : list of (objective, AUC)
        One pair for the first fit and each of these.
    resolution_ : float
        Predictions are multiples of it, so that ties do not depend on the processor.
    n_features_in_ : int
        Columns of X, task and group columns among them.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Their names, if X is a data frame.

    See Also
    --------
    RankFairRegressor : linear models over many tasks; exact and much faster.
    RankFairPostprocessor : the least movement of predictions, where the group is known.

    Examples
    --------
    >>> from sklearn.ensemble import HistGradientBoostingRegressor
    >>> from rankfair import TiltedRegressor
    >>> from rankfair.datasets import make_biased_tasks
    >>> data = make_biased_tasks(random_state=0)
    >>> X = data.frame.drop("task", axis=1)
    >>> trees = HistGradientBoostingRegressor(max_iter=20, max_leaf_nodes=6)
    >>> model = TiltedRegressor(trees, 0.02, sensitive_features="z", random_state=0)
    >>> model.fit(X, data.target).status_
    'satisfied'
    >>> abs(model.rank_auc_ - 0.5) <= 0.02
    True
    """

    def __init__(
        self,
        estimator: Any,
        epsilon: float = 0.01,
        *,
        constraints: Any = "rank",
        tasks: Any = None,
        sensitive_features: Any = None,
        blind: bool = True,
        intersect: bool = False,
        bins: int | None = None,
        side: str = "both",
        cv: Any = 5,
        random_state: Any = None,
        verbose: int = 0,
    ):
        self.estimator = estimator
        self.epsilon = epsilon
        self.constraints = constraints
        self.tasks = tasks
        self.sensitive_features = sensitive_features
        self.blind = blind
        self.intersect = intersect
        self.bins = bins
        self.side = side
        self.cv = cv
        self.random_state = random_state
        self.verbose = verbose

    @with_callbacks
    def fit(
        self,
        X: Any,
        y: Any = None,
        *,
        tasks: Any = None,
        sensitive_features: Any = None,
        sample_weight: Any = None,
    ) -> TiltedRegressor:
        """Fit the estimator again and again until the groups are balanced.

        Parameters
        ----------
        X : array-like or data frame of shape (N, n_features_in_)
            What the estimator takes, and the columns named in the constructor.
        y : array-like of shape (N,)
            The target.
        tasks : array-like of shape (N,) or (N, q), optional
            The task of each row, if no column of X says so.
        sensitive_features : array-like of shape (N,) or (N, q), or dict, optional
            The protected group of each row, if no column of X says so.  The estimator
            does not see it then.  Several columns need `intersect`.
        sample_weight : array-like of shape (N,), optional
            Weights in the AUC, handed on to the estimator, to the last step of a
            pipeline.  A row of weight 0 counts as absent.

        Returns
        -------
        TiltedRegressor
            The estimator itself.

        Warns
        -----
        UserWarning
            If the model errs as much as one constant: this is told first.  If there are
            no groups: the fit is unconstrained then.  If a combination of groups has
            one row only.
        ConvergenceWarning
            If the band was not reached.

        Examples
        --------
        >>> from sklearn.linear_model import LinearRegression
        >>> X, y = [[0.0, 0], [0.0, 1], [1.0, 0], [1.0, 1]], [0.0, 1.0, 2.0, 3.0]
        >>> model = TiltedRegressor(LinearRegression(), 0, constraints="mean", cv=None)
        >>> model.fit(X, y, sensitive_features=["F", "F", "M", "M"]).predict(X).round(6)
        array([1., 2., 1., 2.])
        """
        asked = _check_settings(self)
        rows = read_rows(
            X,
            y,
            Columns(
                self.tasks,
                self.sensitive_features,
                self.blind,
                several=True,
                bins=self.bins,
                intersect=self.intersect,
            ),
            tasks=tasks,
            sensitive_features=sensitive_features,
            sample_weight=sample_weight,
        )
        rng = np.random.default_rng(self.random_state)
        refits = self._refits(rows, _num_samples(X), rng)
        progress = Progress(cast(Any, self), X, y)
        found = None
        if rows.groups is None:
            warn_no_groups()
            fitted = free_attributes(refits.fit(rows.y)[0], rows)
        else:
            refuse_upper(asked, len(rows.groups.labels))
            target = target_of(rows, asked)
            seen = bool(rows.layout.group_columns) and not self.blind
            with explained(rows.groups.n_unknown if seen else 0):
                found = search(refits, target, progress)
            fitted = fitted_attributes(found, target, asked, rows)
        fitted |= {**feature_record(X), **_labels(rows.layout)}
        progress.close(fitted)
        self.__dict__.pop("feature_names_in_", None)
        self.__dict__.update(fitted)
        if found is not None:
            warn_of(found, target, asked, rows.note, self.cv is not None)
        return self

    def predict(self, X: Any, *, tasks: Any = None) -> Floats:
        """Return the prediction of each row.

        Parameters
        ----------
        X : array-like or data frame of shape (N, n_features_in_)
            Rows with the columns of training, task and group columns among them.
        tasks : array-like of shape (N,), optional
            The task of each row, if `fit` got them as an array.

        Returns
        -------
        ndarray of shape (N,)
            Predictions.

        Examples
        --------
        >>> from sklearn.linear_model import LinearRegression
        >>> X, y = [[0.0, 0], [1.0, 0], [0.0, 1], [1.0, 1]], [0.0, 1.0, 2.0, 3.5]
        >>> model = TiltedRegressor(
        ...     LinearRegression(), sensitive_features=1, cv=None
        ... )
        >>> model.fit(X, y).predict([[0.5, 0], [0.5, 1]]).shape
        (2,)
        """
        check_is_fitted(self)
        layout: TiltedLayout = self._layout
        table = new_table(self, X, layout.group_columns if self.blind else ())
        codes = task_codes(table, tasks, layout)
        m = predict(self._models, layout.select(X, table), codes)
        return finite_predictions(rounded(m, self.resolution_))

    def score(
        self,
        X: Any,
        y: Any,
        sample_weight: Any = None,
        *,
        tasks: Any = None,
    ) -> float:
        """Return R², the share of the target's variance that predictions explain.

        Parameters
        ----------
        X : array-like or data frame of shape (N, n_features_in_)
            Rows with the columns of training.
        y : array-like of shape (N,)
            What was observed.
        sample_weight : array-like of shape (N,), optional
            Weights of the rows.
        tasks : array-like of shape (N,), optional
            The task of each row, if `fit` got them as an array.

        Returns
        -------
        float
            1 at best.

        Examples
        --------
        >>> from sklearn.linear_model import LinearRegression
        >>> X, y, z = [[0.0], [1.0], [2.0], [3.0]], [0.0, 2.0, 1.0, 3.5], [0, 1, 1, 0]
        >>> model = TiltedRegressor(LinearRegression(), 0.25, cv=None)
        >>> round(model.fit(X, y, sensitive_features=z).score(X, y), 3)
        0.675
        """
        m = self.predict(X, tasks=tasks)
        return float(r2_score(read_target(y), m, sample_weight=sample_weight))

    def group_labels(self, X: Any) -> dict[str, NDArray[Any]]:
        """Return the group of each row, read from X as in training.

        Parameters
        ----------
        X : array-like or data frame of shape (N, n_features_in_)
            Rows with the columns of training, those of `sensitive_features` among them.

        Returns
        -------
        dict of str to ndarray of shape (N,)
            Labels by attribute, cut by `bins` at the edges of training and combined
            where `intersect` says so; None where the group is not known.

        Examples
        --------
        >>> from sklearn.linear_model import LinearRegression
        >>> X = [[0.0, 31], [1.0, 67], [2.0, 20], [3.0, 44], [4.0, 35]]
        >>> model = TiltedRegressor(LinearRegression(), 0.5, sensitive_features=1)
        >>> _ = model.set_params(bins=2, cv=None).fit(X, [0.0, 2.0, 1.0, 3.5, 2.0])
        >>> model.group_labels([[1.0, 18], [2.0, 40]])
        {'x1': array(['[20, 35)', '[35, 67]'], dtype=object)}
        """
        check_is_fitted(self)
        layout: TiltedLayout = self._layout
        if not layout.group_columns:
            raise ValueError(
                "sensitive_features names no column of X: the groups were passed to "
                "fit, and the model cannot tell those of new rows."
            )
        source = label_source(
            "sensitive_features", list(layout.group_columns), None, open_table(X)
        )
        assert source is not None
        return group_labels(source, layout.edges, layout.intersect)

    def _inside(self, X: Any) -> tuple[Any, Any]:
        """An estimator, which may know the task columns of X, and what it sees."""
        layout: TiltedLayout = self._layout
        return self._models[0], layout.select(X, open_table(X))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        if hasattr(self.estimator, "__sklearn_tags__"):
            inner = get_tags(self.estimator).input_tags
            tags.input_tags.allow_nan = inner.allow_nan
            tags.input_tags.pairwise = inner.pairwise
        return tags

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "estimator_")

    @property
    def _models(self) -> Models:
        models = self.estimator_
        return models if isinstance(models, list) else [models]

    def _refits(
        self, rows: TiltedRows, n_rows: int, rng: np.random.Generator
    ) -> EstimatorRefits:
        if rows.weights is not None:
            refuse_weightless(self.estimator)
        absent = len(rows.y) < n_rows
        refuse_parts(self.estimator, len(rows.layout.tasks), absent)
        return EstimatorRefits(
            seeded(self.estimator, rng),
            rows.X,
            rows.codes,
            len(rows.layout.tasks),
            rows.weights,
            rows.folds(self.cv, rng),
        )


def _labels(layout: TiltedLayout) -> dict[str, Any]:
    return {
        "_layout": layout,
        "groups_": layout.groups,
        "bin_edges_": dict(layout.edges),
        "_intersect": layout.intersect,
        "tasks_": None if layout.task_columns is None else layout.tasks,
    }


def _check_settings(model: Any) -> tuple[Constraint, ...]:
    """Check the settings of a `TiltedRegressor`; return what is asked for."""
    for method in ("fit", "predict", "get_params"):
        if not hasattr(model.estimator, method) or isinstance(model.estimator, type):
            raise ValueError(
                "estimator must be a regressor like scikit-learn's, an object with "
                f"fit, predict and get_params; got {shown(model.estimator)}."
            )
    check_flag("blind", model.blind)
    check_flag("intersect", model.intersect)
    check_bins(model.bins)
    check_verbose(model.verbose)
    check_seed("random_state", model.random_state)
    check_cv(model.cv)
    return read_constraints(model)
