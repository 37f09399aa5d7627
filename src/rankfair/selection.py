"""Choosing β, the penalty and ε by held-out error."""

from __future__ import annotations

import itertools
import math
import warnings
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, NamedTuple

import narwhals as nw
import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted

from rankfair._frames import (
    Codes,
    Column,
    Floats,
    find_known,
    find_labels,
    open_table,
)
from rankfair._groups import Protected
from rankfair._regressor import TaskRegressor, with_callbacks
from rankfair._validation import (
    check_lengths,
    check_number,
    check_seed,
    label_source,
    read_target,
    read_weights,
)
from rankfair.certificate import Certificate, read_labels
from rankfair.estimators import RankFairRegressor
from rankfair.path import Folds, make_folds, take_rows

__all__ = ["RankFairRegressorCV"]

NOT_OURS = ("betas", "epsilons", "penalties", "cv")


class Candidate(NamedTuple):
    """Settings that are tried."""

    epsilon: Any
    penalty: Any
    beta: float


class RankFairRegressorCV(TaskRegressor):
    """`RankFairRegressor` with β, and if asked ε and the penalty, by cross-validation.

    Every candidate is fitted with its balance on part of the rows and judged by its
    mean squared error on the rest.  The best is fitted again on all rows.

    Parameters
    ----------
    betas : sequence of float, default=(0.01, 0.1, 1.0, 10.0, 100.0)
        Weights of the penalty to try.
    epsilon : float or list of float, default=0.01
        Half width of the band, as in `RankFairRegressor`; not used with `epsilons`.
    epsilons : sequence of float, optional
        Half widths to choose from: the smallest is taken whose held-out error, with the
        best penalty and β for it, is within one standard error of the best.
    penalties : sequence of {"task", "feature", "shared", "ridge"}, default=("task",)
        Penalties to try.
    cv : int, splitter or iterable of (train, test), default=5
        How many folds.  They are made within tasks, so that every task and group keeps
        rows to learn from; the only row of a task or a group is always learnt from.
    tasks, sensitive_features, blind, intersect, bins, balance, scope, side, solver, \
standardize, unseen, max_iter, tol, verbose
        As in `RankFairRegressor`.
    random_state : int, Generator or None, default=None
        Seed of the folds, and of solvers that start at random.

    Attributes
    ----------
    beta_ : float
        The β chosen.
    epsilon_ : float or list of float
        The ε chosen, or the one given.
    penalty_ : str
        The penalty chosen.
    best_score_ : float
        Less the held-out mean squared error of what was chosen.
    cv_results_ : dict
        A value for each candidate: "epsilon", "penalty", "beta", "mse" (over all rows
        held out), "standard_error" (over folds), and "split_mse", of shape
        (candidates, folds).
    estimator_ : RankFairRegressor
        The last fit; all its fitted attributes are here as well.

    See Also
    --------
    RankFairRegressor : one fit.
    fairness_path : error and rank gap for many ε.

    Examples
    --------
    >>> from rankfair import RankFairRegressorCV
    >>> from rankfair.datasets import make_biased_tasks
    >>> data = make_biased_tasks(10, 20, random_state=0)
    >>> model = RankFairRegressorCV(
    ...     betas=[0.1, 1.0, 1000.0], tasks="task", sensitive_features="z",
    ...     random_state=0,
    ... )
    >>> model.fit(data.frame, data.target).beta_ < 1000
    True
    >>> abs(model.rank_auc_ - 0.5) <= 0.01
    True
    """

    def __init__(
        self,
        betas: Any = (0.01, 0.1, 1.0, 10.0, 100.0),
        *,
        epsilon: float = 0.01,
        epsilons: Any = None,
        penalties: Any = ("task",),
        cv: Any = 5,
        tasks: Any = None,
        sensitive_features: Any = None,
        blind: bool = False,
        intersect: bool = False,
        bins: int | None = None,
        balance: Any = "rank",
        scope: str = "global",
        side: str = "both",
        solver: Any = "tilt",
        standardize: bool = True,
        unseen: str = "error",
        max_iter: int = 50,
        tol: float = 1e-4,
        random_state: Any = None,
        verbose: int = 0,
    ):
        self.betas = betas
        self.epsilon = epsilon
        self.epsilons = epsilons
        self.penalties = penalties
        self.cv = cv
        self.tasks = tasks
        self.sensitive_features = sensitive_features
        self.blind = blind
        self.intersect = intersect
        self.bins = bins
        self.balance = balance
        self.scope = scope
        self.side = side
        self.solver = solver
        self.standardize = standardize
        self.unseen = unseen
        self.max_iter = max_iter
        self.tol = tol
        self.random_state = random_state
        self.verbose = verbose

    @with_callbacks
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
        X : array-like or data frame of shape (N, n_features_in_)
            Numbers; only task and group columns may hold other labels.
        y : array-like of shape (N,)
            The target.
        tasks : array-like of shape (N,) or (N, q), optional
            The task of each row, if no column of X says so.
        sensitive_features : array-like of shape (N,) or (N, q), or dict, optional
            The protected group of each row, if no column of X says so; several columns
            are several attributes.
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
        >>> model = RankFairRegressorCV([0.1, 1e6], random_state=0)
        >>> model.fit(X, X[:, 0] + z, sensitive_features=z).beta_
        0.1
        """
        candidates = self._candidates()
        check_seed("random_state", self.random_state)
        rows = _Rows.of(self, X, y, tasks, sensitive_features, sample_weight)
        rng = np.random.default_rng(self.random_state)
        folds = rows.folds(self.cv, rng)
        with warnings.catch_warnings():
            # What is chosen is fitted once more, and warns then.
            warnings.filterwarnings("ignore", "fit got no sensitive_features")
            warnings.simplefilter("ignore", ConvergenceWarning)
            errors = [rows.errors(self._settings(each), folds) for each in candidates]
        results = _results(candidates, np.array(errors), rows.fold_weights(folds))
        chosen = _choose(results, smallest=self.epsilons is not None)
        best = candidates[chosen]
        model = self._settings(best).fit(
            X,
            y,
            tasks=tasks,
            sensitive_features=sensitive_features,
            sample_weight=sample_weight,
        )
        self._store(
            {
                **_fitted(model),
                "beta_": best.beta,
                "epsilon_": best.epsilon,
                "penalty_": best.penalty,
                "best_score_": -float(results["mse"][chosen]),
                "cv_results_": results,
                "estimator_": model,
            }
        )
        return self

    def group_labels(self, X: Any) -> dict[str, NDArray[Any]]:
        """Return the group of each row; see `RankFairRegressor.group_labels`.

        Parameters
        ----------
        X : array-like or data frame of shape (N, n_features_in_)
            Rows with the columns of training.

        Returns
        -------
        dict of str to ndarray of shape (N,)
            Labels by attribute.

        Examples
        --------
        >>> X = [[float(i), i % 2] for i in range(8)]
        >>> model = RankFairRegressorCV([1.0], sensitive_features=1, cv=2)
        >>> model.fit(X, [0.0, 1.0, 3.0, 2.0, 5.0, 4.0, 6.0, 7.0]).group_labels(X[:2])
        {'x1': array([0, 1], dtype=object)}
        """
        check_is_fitted(self)
        labels: dict[str, NDArray[Any]] = self.estimator_.group_labels(X)
        return labels

    def certify(self, X: Any, y: Any = None, **settings: Any) -> Certificate:
        """Bound the rank gap in the population; see `RankFairRegressor.certify`.

        Parameters
        ----------
        X : array-like or data frame of shape (N, n_features_in_)
            Rows that had no part in the fit or in the choice.
        y : array-like of shape (N,), optional
            The target, for the error beside the bound.
        **settings
            As for `RankFairRegressor.certify`.

        Returns
        -------
        Certificate
            See `rankfair.certificate.certify`.

        Examples
        --------
        >>> import numpy as np
        >>> X = np.random.default_rng(0).normal(size=(80, 2))
        >>> X[:, 1] = X[:, 1] > 0
        >>> model = RankFairRegressorCV([1.0], sensitive_features=1, cv=2)
        >>> _ = model.fit(X[:40], X[:40].sum(axis=1))
        >>> model.certify(X[40:]).estimable
        True
        """
        check_is_fitted(self)
        certificate: Certificate = self.estimator_.certify(X, y, **settings)
        return certificate

    def _candidates(self) -> list[Candidate]:
        betas = _several("betas", self.betas)
        betas = [check_number("each of betas", beta, 0.0) for beta in betas]
        epsilons = [self.epsilon]
        if self.epsilons is not None:
            epsilons = _several("epsilons", self.epsilons)
            epsilons = [check_number("each of epsilons", e, 0.0) for e in epsilons]
        penalties = _several("penalties", self.penalties)
        return [
            Candidate(*each) for each in itertools.product(epsilons, penalties, betas)
        ]

    def _settings(self, candidate: Candidate) -> RankFairRegressor:
        shared = self.get_params(deep=False)
        for name in NOT_OURS:
            del shared[name]
        return RankFairRegressor(**{**shared, **candidate._asdict()})


@dataclass(frozen=True)
class _Rows:
    """The rows, with what is needed to split and to fit them."""

    X: Any
    y: Floats
    weights: Floats | None
    tasks: Codes
    groups: Codes  # of which folds hold equal parts
    attributes: Codes | None  # groups that each fold leaves rows of, a column each
    passed: dict[str, NDArray[Any]]  # labels that came as arrays

    @classmethod
    def of(
        cls, model: Any, X: Any, y: Any, tasks: Any, groups: Any, sample_weight: Any
    ) -> _Rows:
        n_rows = open_table(X).shape[0]
        target = read_target(y)
        check_lengths(n_rows, y=target)
        of_tasks = read_labels("tasks", tasks, model, X)
        of_groups = read_labels("sensitive_features", groups, model, X)
        codes = _codes("tasks", of_tasks, n_rows)
        passed = {} if tasks is None else {"tasks": codes}
        if groups is not None and of_groups is not None:
            passed["sensitive_features"] = _spelt(of_groups)
        weights = read_weights(sample_weight, n_rows)
        attributes = _attributes(model, X, groups, weights)
        cells = _cells(of_groups, n_rows)
        return cls(X, target, weights, codes, cells, attributes, passed)

    def folds(self, cv: Any, rng: np.random.Generator) -> Folds:
        """Split the rows."""
        return make_folds(
            cv,
            self.tasks,
            self.groups,
            rng,
            weights=self.weights,
            X=self.X,
            y=self.y,
            attributes=self.attributes,
        )

    def errors(self, model: RankFairRegressor, folds: Folds) -> list[float]:
        """Return the mean squared error on the rows that each fold holds out."""
        return [self._error(model, train, test) for train, test in folds]

    def _error(self, model: RankFairRegressor, train: Codes, test: Codes) -> float:
        labels = {name: values[train] for name, values in self.passed.items()}
        weights = None if self.weights is None else self.weights[train]
        model.fit(
            take_rows(self.X, train), self.y[train], sample_weight=weights, **labels
        )
        tasks = self.tasks[test] if "tasks" in self.passed else None
        predicted = model.predict(take_rows(self.X, test), tasks=tasks)
        weights = None if self.weights is None else self.weights[test]
        return float(np.average((self.y[test] - predicted) ** 2, weights=weights))

    def fold_weights(self, folds: Folds) -> Floats:
        """Return how much the rows of each fold weigh together."""
        w = np.ones(len(self.y)) if self.weights is None else self.weights
        return np.array([w[test].sum() for _, test in folds])


def _codes(name: str, columns: list[Column] | None, n_rows: int) -> Codes:
    if columns is None:
        return np.zeros(n_rows, np.intp)
    return find_labels(columns, name)[0]


def _cells(columns: list[Column] | None, n_rows: int) -> Codes:
    """Return the combination of groups that each row is of, one more if unknown."""
    cells: Codes = np.zeros(n_rows, np.intp)
    for column in columns or ():
        codes, labels = find_known(column, "sensitive_features")
        cells = cells * (len(labels) + 1) + codes + 1
    return cells


def _attributes(
    model: Any, X: Any, groups: Any, weights: Floats | None
) -> Codes | None:
    """Return the groups of each attribute as the fit will read them, −1 if unknown."""
    named = model.sensitive_features
    source = label_source("sensitive_features", named, groups, open_table(X))
    if source is None:
        return None
    found = Protected.of(source, weights, model.bins, bool(model.intersect))
    return np.column_stack([each.codes for each in found.attributes])


def _spelt(columns: list[Column]) -> NDArray[Any]:
    """Return labels as an array that rows can be taken from, a column each."""
    spelt = np.empty((len(columns[0]), len(columns)), dtype=object)
    for j, column in enumerate(columns):
        spelt[:, j] = column.to_list() if isinstance(column, nw.Series) else column
    return spelt


def _several(argument: str, values: Any) -> list[Any]:
    if isinstance(values, str) or not isinstance(values, Iterable):
        raise ValueError(f"{argument} must be a list of values to try; got {values!r}.")
    found = list(values)
    if not found:
        raise ValueError(f"{argument} is empty: give at least one value to try.")
    return found


def _results(
    candidates: list[Candidate], errors: Floats, weights: Floats
) -> dict[str, Any]:
    n_folds = errors.shape[1]
    spread = errors.std(axis=1, ddof=1) if n_folds > 1 else np.full(len(errors), 0.0)
    return {
        "epsilon": [each.epsilon for each in candidates],
        "penalty": [each.penalty for each in candidates],
        "beta": np.array([each.beta for each in candidates]),
        "mse": errors @ weights / weights.sum(),
        "standard_error": spread / math.sqrt(n_folds),
        "split_mse": errors,
    }


def _choose(results: dict[str, Any], smallest: bool) -> int:
    """Return the place of the best, or of the fairest that is not surely worse."""
    mse: Floats = results["mse"]
    best = int(np.argmin(mse))
    if not smallest:
        return best
    limit = mse[best] + results["standard_error"][best]
    epsilons = np.array(results["epsilon"])
    fairest = epsilons[mse <= limit].min()
    return int(np.argmin(np.where(epsilons == fairest, mse, math.inf)))


def _fitted(model: RankFairRegressor) -> dict[str, Any]:
    settings = model.get_params(deep=False)
    return {name: value for name, value in vars(model).items() if name not in settings}
