"""Bounds of the rank gap: of predictions, and of rows with two or more groups."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np

from rankfair._frames import Codes, Floats, shown
from rankfair._groups import Bools
from rankfair.certificate.records import Certificate
from rankfair.certificate.rows import Rows
from rankfair.inference import Spread, auc_spread, clusters_of

__all__ = ["certify_predictions", "certify_rows", "completed"]


def certify_predictions(
    predicted: Floats,
    in_a: Bools,
    tasks: Codes | None = None,
    confidence: float = 0.95,
) -> Certificate:
    """Bound the rank gap of predictions in the population they are a sample of.

    Parameters
    ----------
    predicted : ndarray of shape (N,)
        Predictions.
    in_a : boolean ndarray of shape (N,)
        The rows of group A, neither none nor all.
    tasks : integer ndarray of shape (N,), optional
        The task of each row.
    confidence : float, default=0.95
        How sure.

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
    needed, possible, reason = clusters_of(tasks, in_a)
    spread = auc_spread(predicted, in_a, needed)
    if possible is not None:
        other = auc_spread(predicted, in_a, possible)
        spread = max(spread, other, key=lambda each: each.bound(confidence))
    n_a = int(np.count_nonzero(in_a))
    return Certificate(
        auc=spread.auc,
        bound=spread.bound(confidence),
        interval=spread.interval(confidence),
        confidence=confidence,
        method=_method(spread),
        n_a=n_a,
        n_b=len(in_a) - n_a,
        n_clusters=spread.n_clusters,
        notes=(reason, *_doubts(spread)),
    )


def _method(spread: Spread) -> str:
    if not spread.estimable:
        return "none"
    if spread.exact:
        return "exact"
    return "delong-logit" if spread.n_clusters is None else "clusters"


def _doubts(spread: Spread) -> list[str]:
    unit = "row" if spread.n_clusters is None else "task"
    if not spread.estimable:
        return [f"Not estimable: a group has one {unit} only, which shows no spread."]
    if spread.exact:
        return ["No placement differs from another: the limit is Hoeffding's."]
    if spread.few:
        return [f"Few {unit}s: the interval allows for the greatest possible variance."]
    return []


def certify_rows(rows: Rows, confidence: float) -> Certificate:
    """Bound the rank gap of these rows, of two groups or of each of several."""
    labels = rows.labels.tolist()
    if len(labels) > 2:
        return _certify_each(rows, labels, confidence)
    found = certify_predictions(rows.ranked, rows.groups == 1, rows.tasks, confidence)
    return completed(found, rows, groups=(labels[0], labels[1]))


def _certify_each(rows: Rows, labels: list[Any], confidence: float) -> Certificate:
    """Each group against all others; the doubt is shared out among them."""
    each = 1.0 - (1.0 - confidence) / len(labels)
    parts = tuple(
        replace(
            certify_predictions(rows.ranked, rows.groups == code, rows.tasks, each),
            groups=(None, label),
        )
        for code, label in enumerate(labels)
    )
    # What is not known may be the worst of all.
    worst = max(parts, key=lambda part: part.bound if part.estimable else math.inf)
    return completed(
        replace(worst, confidence=confidence, parts=parts),
        rows,
        f"{len(labels)} groups, each against all others; the worst off is "
        f"{shown(worst.groups[1])}.",
    )


def completed(found: Certificate, rows: Rows, *notes: str, **more: Any) -> Certificate:
    """Return a certificate with the error and the notes of its rows."""
    return replace(
        found, rmse=_rmse(rows), notes=rows.notes + notes + found.notes, **more
    )


def _rmse(rows: Rows) -> float:
    if rows.y is None:
        return math.nan
    error = np.abs(rows.y - rows.predicted)
    scale = float(error.max()) or 1.0
    return scale * math.sqrt(np.mean((error / scale) ** 2))
