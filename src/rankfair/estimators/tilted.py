"""Any regressor made fair: check, search for the tilt, store."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from rankfair.constraints import refuse_upper
from rankfair.constraints.base import Constraint
from rankfair.constraints.rank import deviation
from rankfair.core.blocks import CONSTANT, resolution_of, rounded
from rankfair.estimators.base import (
    Progress,
    check_estimator,
    check_settings,
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
from rankfair.estimators.refits import (
    EstimatorRefits,
    FitParams,
    MetaRegressor,
    Models,
    predictions_by_task,
    unweighted,
)
from rankfair.input.arrays import Bools, Floats
from rankfair.input.errors import InputError
from rankfair.input.frames import finite_predictions, refuse_unseen
from rankfair.input.training import TrainingRows, feature_record, read_new
from rankfair.solvers.base import OnStep, Status, Step, noted_in
from rankfair.solvers.counted import CLOSEST, Counted, Curve, Demand, Units
from rankfair.solvers.tilt import least_tilt

REFITS = 4  # to tilted targets, at most; one or two are the rule
MARGIN = 0.005  # of a shown value: how far inside a band refits are aimed at
USELESS = 0.99  # of the squared error of one constant: a model that is as bad


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
        beside = passed.attributes if passed.sets else ()
        masks = [(mask, each.known) for each in beside for mask in each.masks()]
        directions = [
            np.append(each.direction(), _beside(each, *masks[i % len(groups)]))
            if masks
            else each.direction()
            for i, each in enumerate(demands)
        ]
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


def _beside(demand: Demand, in_a: Bools, known: Bools | None) -> Floats:
    """The direction of validation rows: that of their group in training."""
    of_a, of_b = demand.levels()
    if not np.isin(demand.direction(), (of_a, of_b, 0.0)).all():
        raise InputError(
            "eval_set",
            "cannot be tilted: the constraint moves rows of one group unlike each "
            "other, so nothing is known of rows that it was not made of",
            cure="Let the estimator hold out training rows by itself.",
        )
    found = np.where(in_a, of_a, of_b)
    return found if known is None else np.where(known, found, 0.0)


@dataclass(frozen=True)
class Found:
    """A fit to a tilted target: its models, and its predictions, counted."""

    lam: Floats  # (r,)
    models: Models  # of all rows, once it is the one that is kept
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
        models, m = refits.counted(target.tilted(lam))
        m = (rounded(m, target.units.resolution) - target.centre) / target.unit
        line = target.line(m, np.zeros((len(lam), len(m))))
        values = line.values(lam)
        shown, gap = line.shown(values), max(line.gaps(values), default=0.0)
        error = float(np.average((m - target.y) ** 2, weights=target.weights))
        note(Step(1, error, [*shown, math.nan][0], 0.0))
        return Found(lam, models, m, shown, gap, error, line.met(values))

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
    models = best.models or refits.whole(target.tilted(best.lam))[0]
    return replace(best, models=models, trace=tuple(trace))


class TiltedRegressor(MetaRegressor):
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
    constraints : str, Constraint or list of them, default="rank"
        What is to be equal between the groups: "rank", "mean", "residual" or
        "distribution", as in `RankFairRegressor`.
    tasks : str, int or list of them, optional
        The column of X, by name or position, that says which task a row is of.  One
        clone of `estimator` is fitted to each task, as `RankFairRegressor` fits one
        linear model to each, and the column is no feature.  For one model of all
        rows leave it out: the column is a feature like any other then.
    sensitive_features : str, int or list of them, optional
        The column of X that holds the protected group.  It is not a feature unless
        ``blind=False``; then it is handed on to the estimator as it is, and text needs
        a pipeline that encodes it.  Rows whose group is missing (None, NaN, NA or NaT)
        take part in the fit and not in the constraint.
    blind : bool, default=True
        Leave the protected column of X out of the features.  Frames without it can be
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
        Count on predictions of rows that the model did not see.  Two groups take fits
        to three or four targets, six at most: with k folds k fits each, and the model.
        Folds are dealt at random, evenly by group and task.  Fits to fewer rows shrink
        more: for models that shrink a lot take more folds.  None counts on the training
        rows, which is enough for models that hardly overfit (linear ones); trees and
        networks that learn their rows by heart are fair there and unfair on new rows.
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

    tasks_: NDArray[Any] | None
    oof_predictions_: Floats
    n_refits_: int

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
        side: Literal["both", "upper"] = "both",
        cv: Any = 5,
        random_state: Any = None,
        n_jobs: int | None = None,
        verbose: int = 0,
    ):
        self._keep(locals())

    def fit(
        self,
        X: Any,
        y: Any = None,
        *,
        tasks: Any = None,
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
        tasks : array-like of shape (N,) or (N, q), optional
            The task of each row, if no column of X says so.
        sensitive_features : array-like of shape (N,) or (N, q), or dict, optional
            The protected group of each row, if no column of X says so.  The estimator
            does not see it then.
        sample_weight : array-like of shape (N,), optional
            Weights in the AUC, handed on to the estimator, or the last step of a
            pipeline, if that takes them.  A row of weight 0 counts as absent.
        **fit_params
            Handed on to ``fit`` of the estimator.  A value for each row goes where its
            row goes.  The targets of validation rows (``eval_set=[(X, y)]``; ``X_val``
            and ``y_val``; ``eval_X`` and ``eval_y``) are tilted like those of training;
            their X has the columns of training, those of tasks and groups among them.
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
        rows = self._read_rows(
            X,
            y,
            tasks=tasks,
            sensitive_features=sensitive_features,
            sample_weight=sample_weight,
        )
        for each in rows.attributes:
            refuse_upper(asked, len(each.labels))
        refits = self._refits(X, rows, fit_params, tilts=True)
        target, progress = Target.of(rows, asked, refits.passed), Progress(self)
        with self._explained():
            found = search(refits, target, progress)
        models = found.models
        fitted = {
            **feature_record(X),
            **group_attributes(self, rows),
            "_layout": rows.layout,
            "estimator_": models[0] if len(models) == 1 else models,
            "tasks_": None if rows.layout.task_columns is None else rows.layout.tasks,
            "resolution_": resolution_of(rows.y),
            **_attributes(found, target, asked, rows),
        }
        progress.close(fitted)
        self._store(fitted)
        notes: list[Warning] = [no_groups()]
        if rows.attributes:
            where = "on the training rows" if refits.folds is None else "out of fold"
            notes = [*_cautions(found, asked, rows, where)]
        tell([*notes, *unweighted(self.estimator, rows.weights)])
        return self

    def predict(self, X: Any, *, tasks: Any = None) -> Floats:
        """Return the prediction of each row.

        Parameters
        ----------
        X : array-like or data frame of shape (N, `n_features_in_`)
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
        layout, models = self._layout, self.estimator_
        table, seen = self._read_new(X)
        _, codes, others = read_new(table, tasks, replace(layout, predictors=()))
        refuse_unseen("tasks", others, layout.tasks, int((codes < 0).sum()))
        models = models if isinstance(models, list) else [models]
        m = predictions_by_task(models, seen, codes)
        return finite_predictions(rounded(m, self.resolution_))


def _attributes(
    found: Found, target: Target, asked: tuple[Constraint, ...], rows: TrainingRows
) -> dict[str, Any]:
    """Return what a fit came to."""
    m = target.units.of_user(found.m)
    return {
        "status_": str(found.status),
        **auc_attributes(rows, m),
        "constraint_values_": farthest_values(
            found.shown, asked if target.demands else ()
        ),
        "multiplier_": max(found.lam.tolist(), key=abs, default=0.0),
        "oof_predictions_": spread(m, rows.kept),
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
            f"this model is useless: {r2}, and that of one constant is 0. {ways}"
        )
    yield from rows.notes
    advice = f" {r2[0].upper()}{r2[1:]}. {ways}"
    yield from not_reached(found.status, found.shown, asked, rows.attributes, advice)
