"""Any regressor made fair: its fits to other targets, and the search for the tilt.

An estimator of others sees some columns of the rows, is cloned and fitted to a target
on some of them, and predicts.  The arguments of its ``fit`` are handed on.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import KW_ONLY, dataclass, field, replace
from functools import cached_property
from inspect import Parameter, signature
from itertools import cycle
from numbers import Integral
from typing import Any

import narwhals as nw
import numpy as np
from scipy.sparse import issparse
from sklearn import get_config
from sklearn.base import BaseEstimator, MetaEstimatorMixin, clone
from sklearn.compose import TransformedTargetRegressor
from sklearn.pipeline import Pipeline
from sklearn.utils import _safe_indexing, get_tags
from sklearn.utils.validation import (
    _check_method_params,
    check_is_fitted,
)

from rankfair.constraints import refuse_upper
from rankfair.constraints.base import Constraint
from rankfair.constraints.rank import deviation
from rankfair.core.blocks import CONSTANT, resolution_of, rounded
from rankfair.estimators.base import (
    BandSettings,
    GroupLabels,
    Progress,
    check_estimator,
    check_settings,
    new_table,
    r_squared,
    read_constraints,
)
from rankfair.estimators.outcome import (
    auc_attributes,
    farthest_values,
    group_attributes,
    groups_of,
    no_groups,
    not_reached,
    spread,
    tell,
)
from rankfair.input.arrays import Codes, Floats
from rankfair.input.errors import Argument, InputError, InputWarning, listed
from rankfair.input.folds import Folds, make_folds, out_of_fold
from rankfair.input.frames import (
    InputTable,
    finite_predictions,
    known_codes,
    read_target,
)
from rankfair.input.groups import GROUPS, SensitiveGroups, group_labels, label_source
from rankfair.input.training import (
    Layout,
    TrainingRows,
    feature_record,
    read_training,
)
from rankfair.solvers.base import OnStep, Status, Step, noted_in
from rankfair.solvers.counted import CLOSEST, Counted, Curve, Demand, Units
from rankfair.solvers.tilt import least_tilt

WEIGHTS = "sample_weight"
LARGE = 1e140  # squares of sums of larger numbers overflow; one over it, they vanish
VALIDATION = ("eval_set", "X_val", "y_val", "eval_X", "eval_y")
POSITIONS = ("categorical_feature", "cat_features")
REFITS = 4  # to tilted targets, at most; one or two are the rule
MARGIN = 0.005  # of a shown value: how far inside a band refits are aimed at
USELESS = 0.99  # of the squared error of one constant: a model that is as bad


@dataclass(eq=False, repr=False)
class MetaRegressor(MetaEstimatorMixin, GroupLabels):
    """A regressor around one that the user chose, which sees some columns of X."""

    estimator: Any
    epsilon: Any = 0.01
    _: KW_ONLY
    cv: Any = None
    random_state: Any = None
    n_jobs: int | None = None

    def _read_rows(self, X: Any, y: Any, groups: Any, weights: Any) -> TrainingRows:
        """Check what was passed to ``fit``; X stays what it is, for the estimator."""
        given = {GROUPS: groups, WEIGHTS: weights}
        rows = read_training(X, y, self._columns(), **given, seen=columns_seen)
        check_unit(rows.y)
        return rows

    def _read_new(self, X: Any) -> tuple[InputTable, Any]:
        """New rows: as a table, and as the estimator sees them."""
        layout = self._layout
        table = new_table(self, X, layout.unused)
        return table, columns_seen(X, table, layout)

    def _inside(self, X: Any) -> tuple[Any, Any]:
        """An estimator, which may know the task columns of X, and what it sees."""
        return self.estimator_, self._read_new(X)[1]

    def _refits(
        self, X: Any, rows: TrainingRows, fit_params: dict[str, Any], tilts: bool
    ) -> EstimatorRefits:
        """What is needed to fit the estimator to any target, alike each time."""
        rng = np.random.default_rng(self.random_state)
        template = seeded(self.estimator, rng) if tilts else self.estimator
        tilted_by = self.sensitive_features if tilts and rows.attributes else None
        passed = read_fit_params(template, fit_params, X, rows, tilted_by)
        folds = None
        if self.cv is not None and rows.attributes:
            groups = np.column_stack([each.codes for each in rows.attributes])
            given = self.cv, rows.codes, groups, rng
            folds = make_folds(*given, X=rows.X, y=rows.y, every_row=True)
        return EstimatorRefits(template, rows, folds, passed, self.n_jobs)

    def _store_around(
        self, model: Any, X: Any, rows: TrainingRows, own: dict[str, Any]
    ) -> None:
        """Store the model inside, what every fit knows of rows, and what is found."""
        of_rows = {**feature_record(X), **group_attributes(self, rows)}
        self._store({**of_rows, "_layout": rows.layout, "estimator_": model, **own})

    @contextmanager
    def _explained(self) -> Iterator[None]:
        """Say, where the estimator refuses rows, what in X it may not take."""
        try:
            yield
        except ValueError as error:
            seen = self.sensitive_features is not None and not self.blind
            if seen and any(it in str(error) for it in ("NaN", "string to float")):
                error.add_note(
                    "The estimator sees the column of sensitive_features as it is, "
                    "text and missing labels too. blind=True hides it; else encode it "
                    "in a pipeline, with a ColumnTransformer for instance, or pass "
                    "groups to fit as an array."
                )
            raise

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        if hasattr(self.estimator, "__sklearn_tags__"):
            inner = get_tags(self.estimator).input_tags
            tags.input_tags.allow_nan = inner.allow_nan
            tags.input_tags.sparse = inner.sparse
        return tags


def check_unit(y: Floats, argument: str = "y") -> None:
    """Refuse numbers of which errors cannot be squared, by no estimator either."""
    size, apart = float(np.abs(y).max()), float(np.ptp(y / 2)) * 2
    wrong = ""
    if size > LARGE:
        wrong = f"has values of up to {size:.3g}: their squares overflow"
    elif 0.0 < apart < 1 / LARGE:
        wrong = f"has values at most {apart:.3g} apart: squares of that vanish"
    if wrong:
        raise InputError(argument, wrong, cure="Give y in another unit.")


@dataclass(frozen=True)
class EstimatorRefits:
    """Fits of one template to any target, on all rows or fold by fold.

    A target is that of the training rows and, behind them, of validation rows.
    """

    template: Any
    rows: TrainingRows
    folds: Folds | None  # train and test rows of each fold
    passed: FitParams
    n_jobs: int | None = None  # folds at once

    def whole(self, target: Floats) -> tuple[Any, Floats]:
        """The model of all rows, and their predictions."""
        every = np.arange(len(self.rows.y))
        model = self.model(target, every)
        return model, self.predict(model, every)

    def counted(self, target: Floats) -> tuple[Any, Floats]:
        """The same, or with folds the predictions out of fold alone."""
        if self.folds is None:
            return self.whole(target)

        def predicted(train: Codes, test: Codes) -> Floats:
            return self.predict(self.model(target, train), test)

        m = out_of_fold(len(self.rows.y), self.folds, predicted, self.n_jobs)
        return None, m

    def model(self, target: Floats, rows: Codes) -> Any:
        """A clone fitted to the target of some rows, with weights if it takes them."""
        weights, name = self.rows.weights, weight_argument(self.template)
        more = self.passed.of_fit(target, rows)
        if name is not None and weights is not None:
            more[name] = weights[rows]
        return clone(self.template).fit(self._taken(rows), target[rows], **more)

    def predict(self, model: Any, rows: Codes) -> Floats:
        """The predictions of some rows."""
        return predictions_of(model, self._taken(rows))

    def _taken(self, rows: Codes) -> Any:
        every = len(rows) == len(self.rows.y)
        return self.rows.X if every else _safe_indexing(self.rows.X, rows)


def seeded(estimator: Any, rng: np.random.Generator) -> Any:
    """A clone in which every ``random_state`` that is None has a seed."""
    template = clone(estimator)
    seeds = {
        name: int(rng.integers(1 << 31))
        for name, value in sorted(template.get_params(deep=True).items())
        if value is None and name.split("__")[-1] == "random_state"
    }
    return template.set_params(**seeds) if seeds else template


def predictions_of(estimator: Any, X: Any) -> Floats:
    """Return what an estimator predicts as new floats, one a row, all finite."""
    values, n_rows = np.asarray(estimator.predict(X)), X.shape[0]
    if values.shape not in ((n_rows,), (n_rows, 1)):
        came = f"shape {values.shape} for {n_rows} rows"
        raise InputError("estimator", "must predict one number a row", came)
    return read_target(values.ravel(), "the estimator's prediction").copy()


def unweighted(estimator: Any, weights: Floats | None) -> Iterator[Warning]:
    """Say that the estimator takes no weights."""
    if weights is not None and weight_argument(estimator) is None:
        last = estimator.steps[-1][1] if isinstance(estimator, Pipeline) else estimator
        yield InputWarning(
            WEIGHTS,
            f"is not taken by {type(last).__name__}.fit: it is fitted without weights, "
            "and only the groups are compared with them",
            cure="Leave it out, or take another estimator.",
        )


def weight_argument(estimator: Any) -> str | None:
    """Return how ``fit`` of this estimator calls its weights, None if it takes none.

    Of pipelines these are the weights of the last step.  Searches, transformed targets
    and the like hand on what they are given.
    """
    name, taken = None, signature(estimator.fit).parameters
    hands_on = any(each.kind is Parameter.VAR_KEYWORD for each in taken.values())
    if isinstance(estimator, Pipeline):
        step, last = estimator.steps[-1]
        inner = weight_argument(last)
        name = None if inner is None else f"{step}__{inner}"
    elif WEIGHTS in taken and not (hands_on and hasattr(estimator, "estimators")):
        name = WEIGHTS
    elif hands_on:  # scikit-learn 1.6 names the weights of votes and stacks too
        several = dict(getattr(estimator, "estimators", None) or {}).values()
        others = ("estimator", "regressor", "final_estimator")
        inside = [*several, *(getattr(estimator, other, None) for other in others)]
        names = {weight_argument(it) for it in inside if it not in (None, "drop")}
        if isinstance(estimator, TransformedTargetRegressor):
            names = names or {WEIGHTS}
        if len(names) == 1 and not (several and names != {WEIGHTS}):
            (name,) = names  # all get them under one
    if name is not None and get_config()["enable_metadata_routing"]:
        return WEIGHTS  # it finds its way by what the steps request
    return name


# Arguments of ``fit`` of the estimator inside


@dataclass(frozen=True)
class FitParams:
    """Arguments of ``fit`` of the estimator inside.

    Validation rows, which tell it when to stop, are as it sees them.  Their target
    stands behind that of training.
    """

    values: dict[str, Any]
    names: tuple[str, ...] = ()  # of validation rows: of the pair, or of X and of y
    X: Any = None
    y: Floats = field(default_factory=lambda: np.empty(0))
    attributes: tuple[SensitiveGroups, ...] = ()  # the groups of validation rows

    def of_fit(self, target: Floats, rows: Codes) -> dict[str, Any]:
        """Return the arguments of a fit to some training rows.

        ``target`` is that of all training rows, and behind them of validation.
        """
        own, of_validation = np.split(target, [len(target) - len(self.y)])
        pair = self.X, of_validation
        parts: Sequence[Any] = pair if len(self.names) == 2 else [[pair]]
        found = dict(_check_method_params(own, self.values, rows))
        return {**found, **dict(zip(self.names, parts, strict=False))}


def columns_seen(X: Any, table: InputTable, layout: Layout) -> Any:
    """Return the columns that the estimator is to see, in the type of X."""
    whole = table.rows if table.names is None and not issparse(X) else X
    if issparse(X) and X.format not in ("csr", "csc"):
        whole = X.tocsr()  # of the others no rows can be taken
    if len(layout.predictors) == table.shape[1]:
        return whole
    if table.names is not None and table.is_part:
        names = [table.names[j] for j in layout.predictors]
        return nw.from_native(X).select(names).to_native()
    return _safe_indexing(whole, list(layout.predictors), axis=1)


def read_fit_params(
    template: Any, passed: dict[str, Any], X: Any, rows: TrainingRows, tilted_by: Any
) -> FitParams:
    """Check what is handed on to ``template``; read validation rows as new ones.

    Their targets are tilted by their groups, the columns ``tilted_by`` of X, if any.
    """
    last = {name: name.rpartition("__")[2] for name in passed}  # behind pipeline steps
    sets = {name: it for name, it in passed.items() if last[name] in VALIDATION}
    values = {
        name: _placed(name, value, rows.layout) if last[name] in POSITIONS else value
        for name, value in passed.items()
        if name not in sets
    }
    if rows.kept is not None:
        values = _check_method_params(rows.kept, values, np.flatnonzero(rows.kept))
    if not sets:
        return FitParams(values)
    many_steps = isinstance(template, Pipeline) and len(template.steps) > 1
    if many_steps and getattr(template, "transform_input", None) is None:
        raise InputError(
            "eval_set",
            "would reach the last step of a pipeline without the steps before it",
            cure="Let the estimator hold out training rows by itself.",
        )
    names = tuple(sorted(sets))  # that of X is first
    pair = tuple(sets[name] for name in names)
    if len(pair) == 1:
        (pair,) = pair
        pair = pair[0] if isinstance(pair, list) and len(pair) == 1 else pair
    if not (isinstance(pair, tuple) and len(pair) == 2):
        raise InputError(names[0], "must be one set of validation rows, (X, y)")
    known = BaseEstimator()
    vars(known).update(feature_record(X))
    try:
        unused = rows.layout.unused if tilted_by is None else ()
        table = new_table(known, pair[0], unused)
        y = read_target(pair[1], n_rows=table.shape[0])
        seen = columns_seen(pair[0], table, rows.layout)
        return FitParams(values, names, seen, y, _groups_of(table, rows, tilted_by))
    except (TypeError, ValueError) as error:
        error.add_note(f"This is said of {names[0]}.")
        raise


def _groups_of(
    table: InputTable, rows: TrainingRows, named: Any
) -> tuple[SensitiveGroups, ...]:
    """The groups of validation rows, as those of training were read."""
    source = label_source(GROUPS, named, None, table)
    if source is None:
        return ()
    intersect = len(source.columns) > len(rows.attributes)
    labels = group_labels(source, dict(rows.edges), intersect).values()
    return tuple(
        replace(each, codes=known_codes(own, GROUPS, each.labels))
        for own, each in zip(labels, rows.attributes, strict=True)
    )


def _placed(name: str, value: Any, layout: Layout) -> Any:
    """Positions of columns of X as positions among those that the estimator sees."""
    if isinstance(value, str):
        return value
    places: list[Any] = np.asarray(value, dtype=object).tolist()
    seen = {j: place for place, j in enumerate(layout.predictors)}
    lost = [j for j in places if isinstance(j, Integral) and j not in seen]
    if lost:
        raise InputError(
            name,
            f"names columns of X that the estimator does not see: {listed(lost)}",
            cure="Leave out the columns of groups.",
        )
    return [seen.get(j, j) for j in places]


# The search for the tilt


@dataclass(frozen=True)
class Target:
    """The target in standard units, and what is asked of its predictions."""

    y: Floats
    unit: float
    centre: float
    weights: Floats | None
    demands: tuple[Demand, ...]
    directions: Floats  # ``g`` of every demand, a row each; of validation rows behind
    validation: Floats  # the target of validation rows

    @classmethod
    def of(
        cls, rows: TrainingRows, asked: Sequence[Constraint], passed: FitParams
    ) -> Target:
        """Standard units, and one demand a constraint and group against the rest."""
        y, weights = rows.y, rows.weights
        centre, unit = float(np.average(y, weights=weights)), deviation(y, weights)
        standard = y - centre
        if not unit > CONSTANT * float(np.abs(y).max()):
            standard, unit = np.zeros(len(y)), 1.0
        standard /= unit
        groups = groups_of(rows.attributes, weights)
        demands = [Demand(it.on(standard, own), own) for it in asked for own in groups]
        directions = [each.direction() for each in demands]
        if demands and passed.names:
            behind = _validation_directions(demands, passed)
            directions = [*map(np.append, directions, behind)]
        return cls(
            standard,
            unit,
            centre,
            weights,
            tuple(demands),
            np.array(directions),
            (passed.y - centre) / unit,
        )

    @cached_property
    def units(self) -> Units:
        """What predictions are to the user."""
        user = self.y * self.unit + self.centre
        return Units(self.unit, self.centre / self.unit, resolution_of(user))

    def tilted(self, lam: Floats) -> Floats:
        """``y − λ g`` in the user's units."""
        t: Floats = np.append(self.y, self.validation) - lam @ self.directions
        return t * self.unit + self.centre

    def line(self, m: Floats, d: Floats, narrow: bool = False) -> Counted:
        """A line of predictions; its bands a little narrower, by half at most."""

        def of(each: Constraint) -> Constraint:
            return replace(each, epsilon=each.epsilon - min(each.epsilon / 2, MARGIN))

        demands = self.demands
        if narrow:
            demands = tuple(Demand(of(it.constraint), it.groups) for it in demands)
        return Counted(m, d, demands, self.units)

    def curve(self, line: Counted) -> Curve:
        """The squared error along a line of predictions."""
        s = 1.0 if self.weights is None else self.weights
        r, E = self.y - line.q, line.E
        c, constant = (float((s * each * each).sum()) for each in (r, self.y))
        return Curve(c, (s * E) @ r, (s * E) @ E.T, constant)


def _validation_directions(
    demands: Sequence[Demand], passed: FitParams
) -> Iterator[Floats]:
    """The directions of validation rows: those of their groups in training."""
    if not passed.attributes:
        raise InputError(
            "eval_set",
            "needs the group of each of its rows, to tilt their targets like those of "
            "training, which came as an array",
            cure=("Name the groups as a column of X: ", Argument(GROUPS), "."),
        )
    groups = groups_of(passed.attributes, None)
    for demand, own in zip(demands, cycle(groups), strict=False):
        of_a, of_b = demand.levels()
        if not np.isin(demand.direction(), (of_a, of_b, 0.0)).all():
            raise InputError(
                "eval_set",
                "cannot be used with this constraint: it moves rows of one group by "
                "different amounts, so it is not known how to move validation rows",
                cure="Leave it out: many estimators hold out training rows themselves.",
            )
        yield own.of_known(np.where(own.in_a, of_a, of_b))


@dataclass(frozen=True)
class Found:
    """A fit to a tilted target: its models, and its predictions, counted."""

    lam: Floats  # (r,)
    model: Any  # of all rows, once it is the one that is kept
    m: Floats  # what was counted, out of fold where there are folds; standard units
    shown: list[float]  # the values of the demands, as people read them
    gap: float  # how far the worst of them is outside its band
    error: float  # relative to that of one constant
    inside: bool  # whether all values are in their bands
    trace: tuple[Step, ...] = ()

    @property
    def status(self) -> Status:
        """How the search ended."""
        if not self.inside:
            return Status.INFEASIBLE
        return Status.SATISFIED if self.lam.any() else Status.INACTIVE


def search(refits: EstimatorRefits, target: Target, on_step: OnStep) -> Found:
    """Look for the least tilt whose counts are in their bands.

    A refit lands beside the place on the line that it was aimed at.  So the first one
    is aimed at the edge of the band, which is exact where fits are linear, and others,
    after a miss, a little inside.
    """
    trace: list[Step] = []
    note = noted_in(trace, on_step)

    def fit(lam: Floats) -> Found:
        model, m = refits.counted(target.tilted(lam))
        m = (rounded(m, target.units.resolution) - target.centre) / target.unit
        line = target.line(m, np.zeros((len(lam), len(m))))
        values = line.values(lam)
        shown, gap = line.shown(values), max(line.gaps(values), default=0.0)
        error = float(np.average((m - target.y) ** 2, weights=target.weights))
        note(Step(1, error, [*shown, math.nan][0], 0.0))
        return Found(lam, model, m, shown, gap, error, line.met(values))

    seen = [fit(np.zeros(len(target.demands)))]
    if not seen[0].inside:
        g = target.directions * target.unit
        d = np.array([refits.counted(each)[1] for each in g]) / target.unit
    while not seen[-1].inside and len(seen) <= REFITS:
        last = seen[-1]
        line = target.line(last.m, d, narrow=len(seen) > 1)
        step = least_tilt(target.curve(line), line).lam
        if not step.any():
            break
        seen.append(fit(last.lam + step))
        # The least change of d after which m − δ d passes through both fits (Broyden).
        d += np.outer(step, last.m - step @ d - seen[-1].m) / (step @ step)
    best = seen[-1]
    if not best.inside:  # of the closest, the one that errs least
        near = min(each.gap for each in seen) + CLOSEST
        best = min((it for it in seen if it.gap <= near), key=lambda it: it.error)
    model = best.model
    if model is None:
        model = refits.whole(target.tilted(best.lam))[0]
    return replace(best, model=model, trace=tuple(trace))


@dataclass(eq=False, repr=False)
class TiltedRegressor(BandSettings, MetaRegressor):
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
        never changed.  It should minimise squared error.  A task column is a feature
        like any other; `MultiTaskRegressor` is an estimator with one model a task.
    epsilon : float or list of float, default=0.01
        Half width of the band around AUC = 1/2, in [0, 0.5]; as in
        `RankFairRegressor` for other constraints.
    constraints : str, Constraint or list of them, default="rank"
        What is to be equal between the groups: "rank", "mean", "residual" or
        "distribution", as in `RankFairRegressor`.
    sensitive_features : str, int or list of them, optional
        The column of X that holds the group.  It is not a feature unless
        ``blind=False``; then it is handed on to the estimator as it is, and text needs
        a pipeline that encodes it.  Rows whose group is missing (None, NaN, NA or NaT)
        take part in the fit and not in the constraint.
    blind : bool, default=True
        Leave the sensitive column of X out of the features.  Frames without it can be
        predicted then.
    intersect : bool, default=False
        Balance the combinations of several columns, "F × black", as the groups of one,
        instead of each column alone.
    bins : int, optional
        Cut a column of more distinct numbers than that into so many quantiles,
        "[18, 35)", which are the groups.
    side : {"both", "upper"}, default="both"
        "upper" asks for 0 ≤ AUC − 1/2 ≤ epsilon.
    cv : int, splitter, list of (train, test) or None, default=5
        Count on predictions of rows that the model did not see.  For two groups three
        or four targets are fitted, six at most: each k times with k folds.  The model
        is one more fit, to all rows.  Folds are dealt at random, evenly by group.  Fits
        to fewer rows shrink more: for models that shrink a lot take more folds.  None
        counts on the training rows, which is enough for models that hardly overfit
        (linear ones); trees and networks that learn their rows by heart are fair there
        and unfair on new rows.
    random_state : int, Generator or None, default=None
        Seeds every ``random_state`` in `estimator` that is None, alike at each fit,
        and deals the folds.
    n_jobs : int, optional
        How many folds are fitted at once, in processes of their own; −1 for as many as
        there are processors.
    verbose : int, default=0
        Above 0, write a line for each fit to stderr.

    Attributes
    ----------
    estimator_ : estimator object
        The fit to the tilted targets.
    groups_ : ndarray of shape (n_groups,) or None
        Labels of the groups, sorted; of two they are B and A.
    n_unknown_ : int
        Training rows of unknown group.
    bin_edges_ : dict of str to ndarray
        Where columns were cut, by name: the start of each bin, and the end.
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
        Columns of X, group columns among them.
    feature_names_in_ : ndarray of shape (`n_features_in_`,)
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

    _: KW_ONLY
    cv: Any = 5

    def fit(
        self,
        X: Any,
        y: Any = None,
        *,
        sensitive_features: Any = None,
        sample_weight: Any = None,
        **fit_params: Any,
    ) -> TiltedRegressor:
        """Fit the estimator again and again until the groups are balanced.

        Parameters
        ----------
        X : array-like or data frame of shape (N, `n_features_in_`)
            What the estimator takes, and the columns named in the constructor.
        y : array-like of shape (N,)
            The target.
        sensitive_features : array-like of shape (N,) or (N, q), or dict, optional
            The group of each row, if no column of X says so.  The estimator
            does not see it then.
        sample_weight : array-like of shape (N,), optional
            Weights in the AUC, handed on to the estimator, or the last step of a
            pipeline, if that takes them.  A row of weight 0 counts as absent.
        **fit_params
            Handed on to ``fit`` of the estimator.  A value for each row goes where its
            row goes.  The targets of validation rows (``eval_set=[(X, y)]``; ``X_val``
            and ``y_val``; ``eval_X`` and ``eval_y``) are tilted like those of training;
            their X has the columns of training, those of groups among them.
            Positions in ``categorical_feature`` and ``cat_features`` are those in X.

        Returns
        -------
        TiltedRegressor
            The estimator itself.

        Warns
        -----
        UserWarning
            If the model errs as much as one constant: this is told first.  If there are
            no groups: the fit is unconstrained then.  If a combination of groups has
            one row only.  If the estimator takes no weights.
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
        check_estimator(self.estimator, "fit", "predict", "get_params")
        check_settings(self)
        asked = read_constraints(self)
        rows = self._read_rows(X, y, sensitive_features, sample_weight)
        for each in rows.attributes:
            refuse_upper(asked, len(each.labels))
        refits = self._refits(X, rows, fit_params, tilts=True)
        target, progress = Target.of(rows, asked, refits.passed), Progress(self)
        with self._explained():
            found = search(refits, target, progress)
        fitted = _attributes(found, target, asked, rows)
        progress.close(fitted)
        self._store_around(found.model, X, rows, fitted)
        notes: list[Warning] = [no_groups()]
        if rows.attributes:
            where = "on the training rows" if refits.folds is None else "out of fold"
            notes = [*_cautions(found, asked, rows, where)]
        tell([*notes, *unweighted(self.estimator, rows.weights)])
        return self

    def predict(self, X: Any) -> Floats:
        """Return the prediction of each row.

        Parameters
        ----------
        X : array-like or data frame of shape (N, `n_features_in_`)
            Rows with the columns of training, group columns among them.

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
        m = predictions_of(self.estimator_, self._read_new(X)[1])
        return finite_predictions(rounded(m, self.resolution_))

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Return R², the share of the target's variance that predictions explain.

        Parameters
        ----------
        X : array-like or data frame of shape (N, `n_features_in_`)
            Rows with the columns of training.
        y : array-like of shape (N,)
            What was observed.
        sample_weight : array-like of shape (N,), optional
            Weights of the rows.

        Returns
        -------
        float
            1 at best.

        Examples
        --------
        >>> from sklearn.linear_model import LinearRegression
        >>> model = TiltedRegressor(LinearRegression(), 0.5, cv=None)
        >>> X, y = [[0.0], [1.0], [2.0], [3.0]], [0.0, 1.0, 2.0, 3.0]
        >>> model.fit(X, y, sensitive_features=["F", "M", "M", "F"]).score(X, y)
        1.0
        """
        return r_squared(y, self.predict(X), sample_weight)


def _attributes(
    found: Found, target: Target, asked: tuple[Constraint, ...], rows: TrainingRows
) -> dict[str, Any]:
    """Return what a fit came to."""
    m = target.units.of_user(found.m)
    aucs = auc_attributes(rows, m)
    if rows.kept is not None:
        m = spread(m, np.flatnonzero(rows.kept), len(rows.kept))
    return {
        **aucs,
        "status_": str(found.status),
        "resolution_": resolution_of(rows.y),
        "constraint_values_": farthest_values(found.shown, asked),
        "multiplier_": max(found.lam.tolist(), key=abs, default=0.0),
        "oof_predictions_": m,
        "objective_": found.error,
        "n_refits_": len(found.trace) - 1,
        "trace_": [(step.objective, step.auc) for step in found.trace],
    }


def _cautions(
    found: Found, asked: tuple[Constraint, ...], rows: TrainingRows, where: str
) -> Iterator[Warning]:
    """Warn of a useless model before all else, then of groups, then of the band."""
    error, free = found.error, found.trace[0].objective
    r2 = f"{where} its R² is {1 - error:.3f} (without the constraint {1 - free:.3f})"
    ways = "Try a linear model, RankFairRegressor, more rows, or a larger epsilon."
    if error >= USELESS:
        yield UserWarning(
            f"this model is useless: {r2}, where one constant has 0. {ways}"
        )
    advice = f" {r2[0].upper()}{r2[1:]}. {ways}"
    yield from not_reached(found.status, found.shown, asked, rows.attributes, advice)
