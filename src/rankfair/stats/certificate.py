"""A bound on the rank gap of a fitted model in the population, from new rows.

Parity on training rows is not parity in the population.  On rows that the fit has not
seen, the AUC of the predictions estimates that of the population, and `certify` gives
an upper bound of ``|AUC − 1/2|`` with a given confidence.
"""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass, replace
from html import escape
from typing import Any

import numpy as np

from rankfair.input.arrays import Bools, Codes, Floats
from rankfair.input.errors import InputError, check_number, counted, shown
from rankfair.input.scored_rows import ScoredRows, score_model
from rankfair.stats.auc import Spread, auc_spread
from rankfair.stats.estimate import check_confidence, clusters_of
from rankfair.stats.means import errors


@dataclass(frozen=True, repr=False)
class Certificate:
    """A bound on the rank gap of a model in the population.

    Attributes
    ----------
    auc : float
        The AUC of the rows given, group A against group B (or against all others).
    bound : float
        ``|AUC − 1/2|`` of the population is at most this, with the confidence given.
        NaN if it is not estimable; `notes` say why.
    interval : pair of float
        A two-sided interval of the AUC, with the same confidence.
    confidence : float
        The confidence of the bound.
    method : {"delong-logit", "clusters", "exact", "none"}
        Rows are independent; tasks are clusters; placements do not vary and the bound
        holds for all distributions; not estimable.
    n_a, n_b : int
        Rows of the groups.
    n_clusters : int or None
        The number of tasks that are clusters; None if rows are independent.
    groups : tuple
        Labels of groups B and A; for one of several groups, None and its label.
    rmse : float
        Root mean squared error, NaN without y.
    notes : tuple of str
        Sentences about the method and its problems.
    parts : tuple of Certificate
        With three or more groups, each against all others; all bounds hold together.

    Examples
    --------
    >>> import numpy as np
    >>> from rankfair.stats.certificate import certify_predictions
    >>> rng = np.random.default_rng(0)
    >>> in_a = rng.random(400) < 0.5
    >>> certificate = certify_predictions(rng.normal(size=400), in_a)
    >>> print(certificate)
    With 95 % confidence |AUC − 1/2| ≤ 0.0659 (AUC 0.5184, 0.4614 to 0.5749;
    183 rows in A, 217 in B; delong-logit).
    >>> certificate.holds(0.1)
    True
    """

    auc: float
    bound: float
    interval: tuple[float, float]
    confidence: float
    method: str
    n_a: int
    n_b: int
    n_clusters: int | None = None
    groups: tuple[Any, Any] = (False, True)
    rmse: float = math.nan
    notes: tuple[str, ...] = ()
    parts: tuple[Certificate, ...] = ()

    @property
    def estimable(self) -> bool:
        """Whether there is a bound."""
        return not math.isnan(self.bound)

    def holds(self, epsilon: float) -> bool:
        """Tell whether the bound is at most ``epsilon``; False if there is none.

        Examples
        --------
        >>> import numpy as np
        >>> from rankfair.stats.certificate import certify_predictions
        >>> certify_predictions(np.arange(3.0), np.arange(3) > 1).holds(0.5)
        False
        """
        return self.bound <= check_number("epsilon", epsilon, 0.0, 0.5)

    def to_dict(self) -> dict[str, Any]:
        """Return the record as plain values.

        Examples
        --------
        >>> import numpy as np
        >>> from rankfair.stats.certificate import certify_predictions
        >>> found = certify_predictions(np.arange(9.0) % 4, np.arange(9) > 4).to_dict()
        >>> found["n_a"], found["n_b"], found["method"]
        (4, 5, 'delong-logit')
        """
        return asdict(self) | {"parts": [part.to_dict() for part in self.parts]}

    def __repr__(self) -> str:
        return f"<Certificate: {self}>"

    def _repr_html_(self) -> str:
        return f"<p>{escape(str(self))}</p>"

    def __str__(self) -> str:
        rows = f"{counted(self.n_a, 'row')} in A, {self.n_b} in B"
        if self.groups[0] is None:  # one of several groups
            rows = f"{counted(self.n_a, 'row')} of {shown(self.groups[1])}, "
            rows += f"{self.n_b} of others"
        if self.n_clusters is not None:
            rows += f", {self.n_clusters} clusters"
        if not self.estimable:
            return f"Not estimable (AUC {self.auc:.4f}; {rows}). {self.notes[-1]}"
        low, high = self.interval
        return (
            f"With {100 * self.confidence:g} % confidence |AUC − 1/2| ≤ "
            f"{self.bound:.4f} (AUC {self.auc:.4f}, {low:.4f} to {high:.4f}; {rows}; "
            f"{self.method})."
        )


def certify(
    model: Any,
    X: Any,
    y: Any = None,
    *,
    sensitive_features: Any = None,
    tasks: Any = None,
    confidence: float = 0.95,
) -> Certificate:
    """Bound the rank gap of a fitted model in the population, from new rows.

    The bound holds only on rows that were not used to fit or choose the model.  If most
    rows are in tasks with one group only, tasks are clusters.  If ten tasks or more mix
    the groups, both rows and tasks are tried, and the wider bound counts.

    Parameters
    ----------
    model : fitted regressor
        Anything with ``predict``: `RankFairRegressor` (of which this is a method too),
        `TiltedRegressor`, `RankFairPostprocessor`, or another library's model.
    X : array-like or data frame of shape (N, `n_features_in_`)
        New rows, as for ``predict``.
    y : array-like of shape (N,), optional
        The target, for the error beside the bound.
    sensitive_features : array-like of shape (N,), or str or int, optional
        The group of each row, or a column of X.  By default the column that the model
        (or the model inside a pipeline, a search or a transformed target) was fitted
        with, binned and combined as in training.  Rows of unknown group are left out.
    tasks : array-like of shape (N,) or (N, q), or str or int, optional
        The task of each row, or a column of X; by default the columns that the model
        was fitted with.
    confidence : float, default=0.95
        From 0.5 to below 1.

    Returns
    -------
    Certificate
        With three or more groups, the one with the largest bound; the confidence is for
        all groups together (Bonferroni).

    Examples
    --------
    >>> from rankfair import RankFairRegressor
    >>> from rankfair.datasets import make_biased_tasks
    >>> data = make_biased_tasks(40, 100, random_state=0)
    >>> train = data.frame.index % 2 == 0
    >>> model = RankFairRegressor(0.01, tasks="task", sensitive_features="z")
    >>> _ = model.fit(data.frame[train], data.target[train])
    >>> certificate = certify(model, data.frame[~train])
    >>> certificate.method, certificate.bound < 0.1
    ('clusters', True)
    """
    confidence = check_confidence(confidence)
    rows = score_model(model, X, y, sensitive_features, tasks)
    found = _certify_rows(rows.of_known_group(), confidence)
    unknown = rows.groupings[0].n_unknown
    if not unknown:
        return found
    gone = counted(unknown, "row of unknown group was", "rows of unknown group were")
    return replace(found, notes=(f"{gone} left out.", *found.notes))


def certify_predictions(
    predicted: Floats,
    in_a: Bools,
    tasks: Codes | None = None,
    confidence: float = 0.95,
) -> Certificate:
    """Bound the rank gap of predictions in the population.

    Parameters
    ----------
    predicted : ndarray of shape (N,)
        Predictions.
    in_a : boolean ndarray of shape (N,)
        The rows of group A, neither none nor all.
    tasks : integer ndarray of shape (N,), optional
        The task of each row.
    confidence : float, default=0.95
        From 0.5 to below 1.

    Returns
    -------
    Certificate
        Without labels.

    Examples
    --------
    >>> import numpy as np
    >>> in_a = np.arange(12) < 6
    >>> found = certify_predictions(np.arange(12.0), in_a, np.arange(12) // 2)
    >>> found.method, found.n_clusters, found.bound, found.interval[1] < 1
    ('exact', 6, 0.5, True)
    """
    if in_a.dtype != np.bool_:
        raise InputError(
            "in_a",
            "must be booleans, True for the rows of group A",
            f"{in_a.dtype}",
            'Compare the labels with one of them: groups == "A".',
        )
    needed, possible, reason = clusters_of(tasks, in_a)
    spread = auc_spread(predicted, in_a, tasks if needed else None)
    if possible:
        other = auc_spread(predicted, in_a, tasks)
        spread = max(spread, other, key=lambda each: each.bound(confidence))
    n_a = int(np.count_nonzero(in_a))
    method, doubts = _method(spread)
    return Certificate(
        auc=spread.auc,
        bound=spread.bound(confidence),
        interval=spread.interval(confidence),
        confidence=confidence,
        method=method,
        n_a=n_a,
        n_b=len(in_a) - n_a,
        n_clusters=spread.n_clusters,
        notes=(reason, *doubts),
    )


def _method(spread: Spread) -> tuple[str, tuple[str, ...]]:
    """Return the name of the method, and what a reader should know of it."""
    unit = "row" if spread.n_clusters is None else "task"
    if not spread.estimable:
        why = f"Not estimable: a group has one {unit} only, which shows no spread."
        return "none", (why,)
    if spread.exact:
        why = "No placement differs from another: the bound is Hoeffding's."
        return "exact", (why,)
    few = f"Few {unit}s: the interval allows for the greatest possible variance."
    method = "delong-logit" if spread.n_clusters is None else "clusters"
    return method, (few,) if spread.few else ()


def _certify_rows(rows: ScoredRows, confidence: float) -> Certificate:
    """Bound the rank gap of these rows, of two groups or of each of several.

    Of several each is compared with all others, with Bonferroni's correction.
    """
    (groups,) = rows.groupings
    labels = groups.labels.tolist()
    n = len(labels)
    contrasts = [(1, labels[0])] if n == 2 else [(code, None) for code in range(n)]
    each = 1.0 - (1.0 - confidence) / len(contrasts)
    parts = tuple(
        replace(
            certify_predictions(rows.exact, groups.codes == code, rows.tasks, each),
            groups=(against, labels[code]),
        )
        for code, against in contrasts
    )
    # A bound that is not known may be the largest.
    worst = max(parts, key=lambda part: part.bound if part.estimable else math.inf)
    rmse = errors(rows.target, rows.m, None, None, confidence)[0].value
    if n == 2:
        return replace(worst, rmse=rmse)
    who = f"{n} groups, each against all others; the worst off is "
    notes = (f"{who}{shown(worst.groups[1])}.", *worst.notes)
    return replace(worst, confidence=confidence, rmse=rmse, notes=notes, parts=parts)
