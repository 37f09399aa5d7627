"""`RankFairRegressor` with its settings chosen by held-out error."""

from __future__ import annotations

import warnings
from dataclasses import KW_ONLY, dataclass
from typing import Any

import numpy as np
from sklearn.utils.parallel import Parallel, delayed

from rankfair.estimators.base import check_settings
from rankfair.estimators.linear import FairRegressor, RankFairRegressor
from rankfair.estimators.tilted import check_unit
from rankfair.input.arrays import Floats
from rankfair.input.errors import check_choice, check_number, values_to_try
from rankfair.input.folds import Folds, make_folds, take_rows
from rankfair.input.groups import GROUPS, label_table, passed_columns
from rankfair.input.training import read_training
from rankfair.penalties import PENALTIES, PenaltyName


@dataclass(eq=False, repr=False)
class RankFairRegressorCV(FairRegressor):
    """`RankFairRegressor` with β by cross-validation.

    Every β is fitted with the constraint on part of the rows and judged by its mean
    squared error on the rest.  The best is fitted again on all rows.

    Parameters
    ----------
    betas : sequence of float or "auto", default=("auto", 1.0, 10.0, 100.0, 1000.0)
        Weights of the penalty to try.
    epsilon : float or list of float, default=0.01
        Half width of the band, as in `RankFairRegressor`.
    cv : int, splitter or iterable of (train, test), default=5
        How many folds.  They are made within tasks, so that every task and group has
        training rows in each; the only row of a task or a group is never held out.
    tasks, sensitive_features, blind, intersect, bins, constraints, scope, side, \
penalty, count, direction, solver, standardize, unseen, max_iter, tol, verbose
        As in `RankFairRegressor`.
    random_state : int, Generator or None, default=None
        Seed of the folds, and of solvers that start at random.
    n_jobs : int, optional
        How many candidates are tried at once, in processes of their own; −1 for as many
        as there are processors.

    Attributes
    ----------
    beta_ : float or tuple of float
        The β chosen, or the numbers that "auto" came to.
    best_score_ : float
        The held-out mean squared error at the chosen β, with a minus sign.
    cv_results_ : dict
        A value for each β: "beta", "mse" (over all held-out rows), and "split_mse", of
        shape (betas, folds).
    estimator_ : RankFairRegressor
        The last fit; all its fitted attributes are here as well.

    See Also
    --------
    RankFairRegressor : one fit.
    fairness_path : error and rank gap for many ε, and which ε to choose.

    Examples
    --------
    >>> from rankfair import RankFairRegressorCV
    >>> from rankfair.datasets import make_biased_tasks
    >>> data = make_biased_tasks(10, 20, random_state=0)
    >>> model = RankFairRegressorCV(
    ...     betas=[0.1, 1.0, 1000.0], tasks="task", sensitive_features="z",
    ...     random_state=0,
    ... )
    >>> model.fit(data.frame, data.target).beta_ in (0.1, 1.0, 1000.0)
    True
    >>> abs(model.loo_auc_ - 0.5) <= 0.01
    True
    """

    betas: Any = ("auto", 1.0, 10.0, 100.0, 1000.0)
    _: KW_ONLY
    epsilon: Any = 0.01
    penalty: PenaltyName = "pool"
    cv: Any = 5
    n_jobs: int | None = None

    def fit(
        self,
        X: Any,
        y: Any,
        *,
        tasks: Any = None,
        sensitive_features: Any = None,
        sample_weight: Any = None,
    ) -> RankFairRegressorCV:
        """Choose the settings, then fit all rows.

        Parameters
        ----------
        X : array-like or data frame of shape (N, `n_features_in_`)
            Numbers; only task and group columns may hold other labels.
        y : array-like of shape (N,)
            The target.
        tasks : array-like of shape (N,) or (N, q), optional
            The task of each row, if no column of X says so.
        sensitive_features : array-like of shape (N,) or (N, q), or dict, optional
            The group of each row, if no column of X says so; several columns
            are several features.
        sample_weight : array-like of shape (N,), optional
            Weights in the fits and in the held-out error.

        Returns
        -------
        RankFairRegressorCV
            The estimator itself.

        Examples
        --------
        >>> import numpy as np
        >>> rng = np.random.default_rng(0)
        >>> X, z = rng.normal(size=(60, 2)), rng.random(60) < 0.5
        >>> model = RankFairRegressorCV([0.1, 1e6], epsilon=0.2, random_state=0)
        >>> model.fit(X, X[:, 0] + z, sensitive_features=z).beta_
        0.1
        """
        betas = [
            beta if beta == "auto" else check_number("each of betas", beta, 0.0)
            for beta in values_to_try("betas", self.betas)
        ]
        check_settings(self)
        check_choice("penalty", self.penalty, PENALTIES)  # objects bring their own β
        given = {
            "tasks": tasks,
            "sensitive_features": sensitive_features,
            "sample_weight": sample_weight,
        }
        own: dict[str, Any] = {"seen": lambda X, *_: X, "every_row": True}
        rows = read_training(X, y, self._columns(), **given, **own)
        check_unit(rows.y)
        weights = np.ones(len(rows.y)) if rows.weights is None else rows.weights
        passed: dict[str, Any] = {"sample_weight": weights}
        if tasks is not None:
            passed["tasks"] = rows.codes
        if sensitive_features is not None:
            passed[GROUPS] = label_table(passed_columns(sensitive_features, GROUPS)[0])
        cells = [each.codes for each in rows.attributes]
        folds = make_folds(
            self.cv,
            rows.codes,
            np.column_stack(cells or [np.zeros(len(rows.y), np.intp)]),
            np.random.default_rng(self.random_state),
            weights=weights,
            X=X,
            y=rows.y,
        )
        with warnings.catch_warnings():
            # What is chosen is fitted once more, and warns then.
            warnings.simplefilter("ignore", UserWarning)
            trials = (
                delayed(_errors)(self._regressor(beta), X, rows.y, passed, folds)
                for beta in betas
            )
            errors = np.array(Parallel(n_jobs=self.n_jobs)(trials))
        by_fold = np.array([weights[test].sum() for _, test in folds])
        mse = errors @ by_fold / by_fold.sum()
        best = int(np.argmin(mse))
        model = self._regressor(betas[best]).fit(X, y, **given)
        settings = model.get_params(deep=False)
        fitted = {name: it for name, it in vars(model).items() if name not in settings}
        fitted |= {
            "beta_": model.beta_ if betas[best] == "auto" else betas[best],
            "best_score_": -float(mse[best]),
            "cv_results_": {"beta": betas, "mse": mse, "split_mse": errors},
            "estimator_": model,
        }
        self._store(fitted)
        return self

    def _regressor(self, beta: Any) -> RankFairRegressor:
        names = {*RankFairRegressor._get_param_names()} - {"beta"}
        return RankFairRegressor(**{it: getattr(self, it) for it in names}, beta=beta)


def _errors(
    model: RankFairRegressor, X: Any, y: Floats, passed: dict[str, Any], folds: Folds
) -> list[float]:
    """Return the mean squared error of what each fold holds out."""
    found = []
    for train, test in folds:
        given = {name: values[train] for name, values in passed.items()}
        model.fit(take_rows(X, train), y[train], **given)
        held_out = {name: values[test] for name, values in passed.items()}
        m = model.predict(take_rows(X, test), tasks=held_out.get("tasks"))
        squares = (y[test] - m) ** 2
        found.append(float(np.average(squares, weights=held_out["sample_weight"])))
    return found
