"""The certificate of a fitted model, from rows it has not met."""

from __future__ import annotations

from typing import Any

import numpy as np

from rankfair._validation import check_flag, check_number, check_seed, naming
from rankfair.certificate.bounds import certify_rows
from rankfair.certificate.calibration import calibrated
from rankfair.certificate.records import Certificate
from rankfair.certificate.rows import read_rows, unwrapped

__all__ = ["certify"]


def certify(
    model: Any,
    X: Any,
    y: Any = None,
    *,
    sensitive_features: Any = None,
    tasks: Any = None,
    confidence: float = 0.95,
    calibrate: bool = False,
    random_state: Any = None,
) -> Certificate:
    """Bound the rank gap of a fitted model in the population, from rows it has not met.

    The bound is honest only on rows that had no part in fitting or choosing the model.
    Where most rows are in tasks of one group only, tasks are clusters: rows of a task
    are alike, and many of them say little more than few.  Where tasks mix the groups,
    rows and (from ten tasks on) tasks are both tried, and the wider bound counts.

    Parameters
    ----------
    model : fitted regressor
        Anything with ``predict``: `RankFairRegressor` (whose own ``certify`` is the
        same), `TiltedRegressor`, `RankFairPostprocessor`, or another library's model.
    X : array-like or data frame of shape (N, n_features_in_)
        New rows, as for ``predict``.
    y : array-like of shape (N,), optional
        The target, for the error beside the bound.
    sensitive_features : array-like of shape (N,), or str or int, optional
        The group of each row, or the column of X that says so; by default the column
        that the model was given, or one inside a pipeline, a search or a transformed
        target, cut by `bins` and combined as in training.  Rows of unknown group are
        left out.
    tasks : array-like of shape (N,) or (N, q), or str or int, optional
        The task of each row, or the column of X that says so; by default the columns
        that the model was given.
    confidence : float, default=0.95
        How sure, from 0.5 to below 1.
    calibrate : bool, default=False
        First move each group's predictions by a constant, so that AUC is 1/2 on a
        random half of the rows (whole tasks where they are clusters, or twenty and
        more); certify on the other half.  The group must be a column of X that the
        model may use.
    random_state : int, Generator or None, default=None
        Seed of the halves.

    Returns
    -------
    Certificate
        With three or more groups, of the group that is worst off, at a confidence for
        all of them together (Bonferroni).

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
    confidence = check_number("confidence", confidence, 0.5, 1.0)
    if confidence == 1.0:
        raise ValueError(
            "confidence must be below 1; got 1: only the bound 1/2 is that sure."
        )
    check_flag("calibrate", calibrate)
    check_seed("random_state", random_state)
    owner, seen = naming(model, X, "sensitive_features")
    if sensitive_features is None and _regroups(owner):
        sensitive_features = _regrouped(owner, seen, calibrate)
    sensitive_features = unwrapped(sensitive_features)
    rows = read_rows(model, X, y, sensitive_features, tasks)
    if not calibrate:
        return certify_rows(rows, confidence)
    rng = np.random.default_rng(random_state)
    return calibrated(model, sensitive_features, rows, confidence, rng)


def _regroups(model: Any) -> bool:
    """Tell whether the fit cut a number into its groups, or combined columns."""
    return bool(getattr(model, "bin_edges_", {}) or getattr(model, "_intersect", False))


def _regrouped(model: Any, X: Any, calibrate: bool) -> Any:
    """Return the groups of new rows as in training; None of several attributes."""
    found = model.group_labels(X)
    if calibrate:
        raise ValueError(
            "calibrate=True moves predictions by the labels of one column of X, but "
            "the groups of this model are cut by bins or combined from several. Fit "
            "again on more rows instead."
        )
    return next(iter(found.values())) if len(found) == 1 else None
