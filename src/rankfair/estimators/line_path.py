"""The path of a line: error and gaps for every ε from one fit."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from rankfair._validation import check_number, values_to_try
from rankfair.constraints import Constraint
from rankfair.estimators.settings import read_settings
from rankfair.estimators.tradeoff import TradeOff
from rankfair.path.judge import Judge
from rankfair.path.records import Path, PathRow
from rankfair.solvers import Counted

__all__ = ["path_of"]

POINTS = 20


def path_of(trade_off: TradeOff, model: Any, epsilons: Sequence[float] | None) -> Path:
    """Return a row for each ε, measured on left-out predictions."""
    if trade_off.counted is None:
        raise ValueError("a model that was loaded from a file has no rows to measure.")
    (asked,) = read_settings(model).asked
    if epsilons is None:
        gap = abs(trade_off.row(-1.0, 0.0).value - asked.middle)
        chosen = [gap * (i / (POINTS - 1)) ** 2 for i in range(POINTS)]
    else:
        values = values_to_try("epsilons", epsilons)
        chosen = sorted({check_number("each of epsilons", e, 0.0) for e in values})
    labels = tuple(str(label) for label in model.groups_.tolist())
    assert trade_off.y is not None and trade_off.trained is not None
    held_out = _judge(trade_off, trade_off.counted, labels, trade_off.rows)
    fitted = _judge(trade_off, trade_off.trained, labels, None)
    rows = [
        _row(trade_off, replace(asked, epsilon=each), held_out, fitted)
        for each in chosen
    ]
    every = np.arange(len(trade_off.counted.q))
    return Path(
        rows=tuple(rows),
        n_train=len(trade_off.y),
        n_held_out=len(every),
        n_clusters=held_out.n_clusters(every),
        groups=labels,
        left_out=trade_off.left_out,
    )


def _judge(
    trade_off: TradeOff, counted: Counted, labels: tuple[str, ...], rows: Any
) -> Judge:
    """What measures the predictions of these rows."""
    assert trade_off.y is not None and trade_off.tasks is not None
    (demand,) = counted.demands
    groups = demand.groups.in_a.astype(np.intp)
    if demand.groups.known is not None:
        groups[~demand.groups.known] = -1
    at = slice(None) if rows is None else rows
    tasks = trade_off.tasks[at].astype(np.intp) if trade_off.tasks.any() else None
    own = demand.groups.weights
    weights = None if own is None else own.astype(np.float64)
    return Judge(trade_off.y[at], groups, labels, tasks, weights)


def _row(
    trade_off: TradeOff, asked: Constraint, held_out: Judge, fitted: Judge
) -> PathRow:
    x, _, inside = trade_off.multiplier(asked)
    assert trade_off.counted is not None and trade_off.trained is not None
    lam = np.array([x])
    found = held_out(trade_off.counted.at(lam), np.arange(len(held_out.y)))
    trained = fitted(trade_off.trained.at(lam), np.arange(len(fitted.y)))
    return PathRow(
        epsilon=asked.epsilon,
        **found._asdict(),
        train_rmse=trained.rmse,
        train_auc=trained.auc,
        train_gap=trained.gap,
        train_md=trained.md,
        status="satisfied" if x and inside else "inactive" if inside else "infeasible",
        train_group=trained.group,
    )
