"""The path of a model: a fit for each of many ε, measured on held-out rows."""

from __future__ import annotations

import importlib.util
import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from rankfair._frames import Codes, FrameTable, counted, open_table
from rankfair._validation import check_number, check_seed, values_to_try
from rankfair.path.folds import Folds, make_folds
from rankfair.path.judge import Judge, row_of, small_groups
from rankfair.path.records import Path, PathRow
from rankfair.path.refits import FREE, Refits

__all__ = ["fairness_path"]


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
        By default twelve from 0 to the rank gap of the fit that nothing is asked of,
        closer together near 0.  The last row is that fit, in every fold: it is made
        with ε = 1/2, as the gap of a fold may be larger.  Bands within tasks
        (``scope``) go up to 1/2.
    cv : int, splitter, iterable of (train, test) or None, default=None
        How many folds; None leaves out each row of one fit where the model can, else
        there are 5.  They are made within tasks, so that every task and group keeps
        rows to learn from; the only row of a task is always learnt from.  Other folds
        hold out no row more than once.
    sensitive_features : array-like of shape (N,), or str or int, optional
        The group of each row, or its column of X, two or more groups if the model takes
        them; by default the model's, cut by its `bins`.  Rows of unknown group are
        fitted if the model takes them, and count for RMSE only.
    tasks : array-like of shape (N,), or str or int, optional
        The task of each row, or its column of X; by default the model's.
    sample_weight : array-like of shape (N,), optional
        Weights of the rows, in the fits and in all figures.
    random_state : int, Generator or None, default=None
        Seed of the folds.
    on_step : callable, optional
        Told of each ε before it is tried: its name, its number and how many there are.

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
    refits = Refits.of(model, X, y, sensitive_features, tasks, sample_weight)
    given = None if epsilons is None else _checked(epsilons)
    line = refits.line(FREE if given is None else given[-1]) if cv is None else None
    chosen = refits.default_epsilons(line is not None) if given is None else given
    asked = chosen if given is not None else [*chosen[:-1], FREE]
    folds = [] if line is not None else _folds(refits, cv, random_state)
    if line is None:
        held_out = _held_out(folds)
    else:
        held_out = np.flatnonzero(~np.isnan(refits.left_out(line)))
    small = small_groups(refits.groups[held_out], len(refits.names))
    of_rows = (refits.y, refits.groups, refits.names, refits.tasks, refits.weights)
    judge = Judge(*of_rows, small)
    rows = []
    for i, epsilon in enumerate(chosen):
        if on_step is not None:
            on_step(f"epsilon {epsilon:.4g}", i + 1, len(chosen))
        row = _row(refits, judge, folds, asked[i], line)
        rows.append(row._replace(epsilon=epsilon))
    return Path(
        rows=tuple(rows),
        n_train=len(refits.everywhere),
        n_held_out=len(held_out),
        n_clusters=judge.n_clusters(held_out),
        backend=_backend(X),
        groups=refits.names,
        unjudged=tuple(refits.names[g] for g in small),
        left_out=line is not None,
    )


def _checked(epsilons: Sequence[float]) -> list[float]:
    values = values_to_try("epsilons", epsilons)
    return sorted({check_number("each of epsilons", value, 0.0) for value in values})


def _folds(refits: Refits, cv: Any, random_state: Any) -> Folds:
    codes = np.zeros(len(refits.y), np.intp) if refits.tasks is None else refits.tasks
    return make_folds(
        cv,
        codes,
        refits.groups,
        np.random.default_rng(random_state),
        weights=refits.weights,
        X=refits.X,
        y=refits.y,
        attributes=refits.groups[:, None],
    )


def _held_out(folds: Folds) -> Codes:
    """Return the rows that are held out, in order; refuse some that are so again."""
    times = np.bincount(np.concatenate([test for _, test in folds]))
    if times.max() > 1:
        again = counted(int((times > 1).sum()), "row")
        raise ValueError(
            f"cv holds out {again} more than once, up to {times.max()} times: a path "
            "measures one prediction of each. Repeats and random splits do so; use 5, "
            "or KFold(5, shuffle=True, random_state=0) for instance."
        )
    return np.flatnonzero(times)


def _row(
    refits: Refits, judge: Judge, folds: Folds, epsilon: float, line: Any
) -> PathRow:
    everywhere = refits.everywhere
    model = refits.fit(epsilon, everywhere) if line is None else line.at(epsilon)
    fitted = judge(refits.predict(model, everywhere), everywhere)
    predicted = np.full(len(refits.y), math.nan)
    for train, test in folds:
        predicted[test] = refits.predict(refits.fit(epsilon, train), test)
    if line is not None:
        predicted = refits.left_out(model)
    tested = np.flatnonzero(~np.isnan(predicted))
    held_out = judge(predicted[tested], tested)
    return row_of(epsilon, held_out, fitted, refits.status(model))


def _backend(X: Any) -> str | None:
    table = open_table(X)
    here = str(table.frame.implementation) if isinstance(table, FrameTable) else ""
    order = ("polars", "pandas") if "polars" in here.lower() else ("pandas", "polars")
    return next((name for name in order if importlib.util.find_spec(name)), None)
