"""`rankfair fit`: a model file, and what the constraint changed on left-out rows."""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from rankfair.audit.records import Comparison, ModelLine, plain
from rankfair.audit.summary import comparison_columns
from rankfair.cli.data import FitData, read_data
from rankfair.cli.describe import report_of
from rankfair.cli.errors import NotEstimableError, echo
from rankfair.cli.methods import FREE, changed, without_constraint
from rankfair.cli.options import FitCommand
from rankfair.cli.screen import Answer, OnStep, say, show_table
from rankfair.cli.verdict import AFTER, BEFORE, status_of, urgent_of, verdict_of
from rankfair.engines.streams import n_rows_of, stream
from rankfair.files.encoding import ModelColumns
from rankfair.files.model_files import save_model
from rankfair.files.read import files_of
from rankfair.files.table import check_names
from rankfair.input.errors import InputError, check_count, counted

NO_REPORT = (
    "Fitted without holding the rows in memory, so there is no report: audit the model "
    "on rows that memory holds with rankfair audit FILE --model MODEL."
)
FITTED_WITHIN = (
    "Figures within tasks are of training rows: within small tasks, left-out "
    "predictions give a wrong order."
)
DEFAULTS = {"penalty": "pool", "beta": "auto"}
MOST_FOLDED = 100_000  # rows: of more the model card says what the report does
MEASURED = {
    "left out": "Rows left out of the fit",
    "held out": "Held-out rows",
    "fitted": "Training rows",
}


@dataclass(frozen=True, kw_only=True)
class Fitted(Answer):
    """A model, where it is, and what it changed.

    Attributes
    ----------
    model : RankFairRegressor
        Fitted to all rows.
    path : Path or None
        The model file.
    n_rows : int
        Rows fitted; those of weight 0 are not.
    audit : Audit or None
        Predictions without and with the constraint; None for rows that are not in
        memory.
    measured : {"left out", "held out", "fitted"}
        Which rows are audited: each left out of one fit, held out in folds, or those
        fitted.
    urgent, verdict : tuple of str
        What is to be said first, and last.
    """

    model: Any
    path: Path | None
    n_rows: int
    measured: str = "fitted"
    urgent: tuple[str, ...] = ()
    verdict: tuple[str, ...] = ()

    def say(self, quiet: bool) -> None:
        """Print what the fit came to, and what it changed."""
        say(*self.opening())
        if self.audit is not None:
            rows = MEASURED[self.measured]
            say(f"{rows}, without the constraint (before) and with it (after):", "")
            show_table(*comparison_columns(self.audit))
            say("", *self.verdict)
        if self.path is None and not quiet:
            echo("The model was not kept: -o FILE writes it.", err=True)

    def opening(self) -> list[str]:
        """Return what is urgent, and what the fit came to."""
        return [*self.urgent, _status(self.model, self.n_rows)]

    def to_dict(self) -> dict[str, Any]:
        """Return what `docs/fit.schema.json` describes."""
        model, audit = self.model, self.audit
        found = {
            "model": None if self.path is None else str(self.path),
            "status": status_of(model, audit),
            "constraint_status": model.status_,
            "verdict": " ".join([*self.urgent, *self.verdict]),
            "rank_auc": float(model.rank_auc_),
            "proxy_auc": float(model.proxy_auc_),
            "constraints": {k: float(v) for k, v in model.constraint_values_.items()},
            "beta": model.beta_,
            "unbalanced_tasks": getattr(model, "unbalanced_tasks_", None) or {},
            "held_out": self.measured != "fitted",
            "notes": self.notes,
        }
        measured = None if audit is None else audit.to_dict()
        head = {"format": "rankfair-fit", "version": 2}
        return {**head, **plain(found), "audit": measured}


def fit_files(asked: FitCommand, on_step: OnStep) -> Fitted:
    """Fit to files, or to a folder: in memory with a report unless it is large."""
    folder = asked.files[0]
    is_folder = len(asked.files) == 1 and Path(folder).is_dir()
    if not is_folder or n_rows_of(map(Path, files_of(folder))) <= asked.memory_rows:
        return _fit_in_memory(asked, on_step)
    _refuse_in_pieces(asked)
    return _fit_folder(asked, folder, on_step)


def _fit_in_memory(asked: FitCommand, on_step: OnStep) -> Fitted:
    """Fit a model to the rows of some files and report what it changed.

    Models with and without the constraint predict rows that they have not seen, and
    these predictions are audited: each row is left out of one fit or, where there is no
    formula for that, held out in one of several folds.  The model that is kept is
    fitted to all rows.
    """
    model = asked.regressor()
    if asked.folds:
        check_count("cv", asked.folds, low=2)
    on_step("reading", 1, 4)
    data = read_data(asked)
    if asked.folds:
        try:
            data.check_folds(asked.folds)
        except NotEstimableError as none:
            raise NotEstimableError(
                f"{none} --folds 0 reports on training rows."
            ) from None
    on_step("fitting to all rows", 2, 4)
    final = data.fit(model)
    seen = _measured(asked, data, model, final, on_step)
    title = asked.title or "Fit without and with the constraint"
    found = data.audit(final, seen.values, seen.within, title=title, unit=asked.unit)
    kept = np.ones(len(data.y)) if data.weights is None else data.weights
    n_rows = int(np.count_nonzero(kept))
    extra = data.design.to_dict()
    if asked.out is not None:
        lines = [*found.comparisons, *_others(asked, data, final, seen.rows)]
        extra |= report_of(found, lines, MEASURED[seen.rows], n_rows)
    after, low, high = seen.values[AFTER], data.y.min(), data.y.max()
    n_far = int(((after < 2 * low - high) | (after > 2 * high - low)).sum())
    return Fitted(
        **_kept(asked, final, extra),
        n_rows=n_rows,
        audit=found,
        measured=seen.rows,
        urgent=urgent_of(final, found, n_far, lambda: _by_default(asked, data, model)),
        verdict=verdict_of(final, found),
        notes=(*data.notes, *seen.notes),
    )


@dataclass(frozen=True)
class Predicted:
    """Predictions of which rows, without and with the constraint, and notes on them.

    ``within`` are those for figures within tasks, where they are others.
    """

    rows: str
    values: dict[str, Any]
    within: dict[str, Any] | None
    notes: list[str]


def _measured(
    asked: FitCommand, data: FitData, model: Any, final: Any, on_step: OnStep
) -> Predicted:
    """Predict rows that the fits behind have not seen, if that is asked for."""
    free, rows, within, notes = without_constraint(model), "fitted", None, list[str]()
    if asked.folds and (model.scope != "global" or final.loo_predictions_ is None):
        rows, parts = "held out", data.folds(asked.folds, model.random_state)
        on_step("fitting folds without the constraint", 3, 4)
        before = data.held_out(free, parts).values
        on_step("fitting folds with the constraint", 4, 4)
        after, missed = data.held_out(model, parts)
        values = {BEFORE: before, AFTER: after}
        notes += [f"In the report, {missed}."] if missed else []
    else:
        on_step("fitting without the constraint", 4, 4)
        free = _free(final) or data.fit(free)
        values = {BEFORE: free.predict(data.X), AFTER: final.predict(data.X)}
        if asked.folds:
            rows, within = "left out", values if data.roles.tasks else None
            values = {BEFORE: free.loo_predictions_, AFTER: final.loo_predictions_}
    lost = int(np.isnan(values[AFTER]).sum())
    if lost:
        single = "the only row of a task, or of weight 0, cannot be held out"
        are = counted(lost, "row is", "rows are")
        notes.append(f"{are} not in the report: {single}.")
    notes += [] if within is None else [FITTED_WITHIN]
    return Predicted(rows, values, within, notes)


def _by_default(asked: FitCommand, data: FitData, model: Any) -> ModelLine | None:
    """Measure the default penalty on held-out rows, unless it is the one asked for."""
    same = all(getattr(model, name) == value for name, value in DEFAULTS.items())
    if same or not asked.folds:
        return None
    other, parts = changed(model, **DEFAULTS), data.folds(asked.folds, asked.seed)
    return data.audit(model, {AFTER: data.held_out(other, parts).values}).models[0]


def _kept(asked: FitCommand, model: Any, extra: dict[str, Any]) -> dict[str, Any]:
    """Write the model file, if one is asked for; return the model and where it is."""
    if asked.out is None:
        return {"model": model, "path": None}
    path = save_model(model, asked.out, notes=asked.notes, extra=extra)
    return {"model": model, "path": path, "written": (path,)}


def _free(final: Any) -> Any:
    """Return the fit without a constraint, if that is on the line of the final one."""
    if final.constraints not in ("rank", ["rank"]):
        return None
    try:
        return final.at(FREE)
    except AttributeError:  # no line of fits
        return None


def _others(
    asked: FitCommand, data: FitData, final: Any, measured: str
) -> tuple[Comparison, ...]:
    """Compare groups on rows that the report is not of: those fitted, and held out.

    Where many rows were left out of the fit one by one, the report's lines are enough.
    """
    left_out = measured == "left out"
    if measured == "fitted" or (left_out and len(data.y) > MOST_FOLDED):
        return ()
    values = {f"{AFTER}, training rows": final.predict(data.X)}
    if left_out:
        parts = data.folds(asked.folds, asked.seed)
        values[f"{AFTER}, held-out rows"] = data.held_out(final, parts).values
    return data.audit(final, values).comparisons


def _status(model: Any, n_rows: int) -> str:
    """Say what the fit came to."""
    # Without an AUC of rows left out, training rows were counted whatever was asked.
    left_out = model.count == "loo" and not math.isnan(model.loo_auc_)
    auc = model.loo_auc_ if left_out else model.rank_auc_
    values = {"rank": auc, **model.constraint_values_}
    came = [f"rank gap {abs(values.pop('rank') - 0.5):.4f}"]
    came += [f"{name} {value:.4f}" for name, value in sorted(values.items())]
    where = ""
    if left_out:
        trained = f"{abs(model.rank_auc_ - 0.5):.4f}"
        also = "" if "rank" in model.constraint_values_ else "rank gap "
        where = f" on rows left out of the fit ({also}{trained} on training rows)"
    rows = counted(n_rows, "row")
    return f"Fitted to {rows}: {model.status_}, {', '.join(came)}{where}."


def _refuse_in_pieces(asked: FitCommand) -> None:
    """Raise for a report, and for changes of rows or columns on their way in."""
    report = ("max_gap", "max_task_gap", "html")
    for name in (*report, "drop_missing", "missing", "text", "numbers", "file_column"):
        given = getattr(asked, name)
        if given is not None and given is not False:  # a limit of 0 is one
            raise InputError(
                name,
                "cannot be used when a folder is too large for memory",
                cure=f"Fit to {asked.memory_rows:,} rows at most, or audit the model "
                "on some of them with rankfair audit --model.",
            )


def _fit_folder(asked: FitCommand, folder: str, on_step: OnStep) -> Fitted:
    """Fit to the rows of a folder without holding them in memory."""
    roles = asked.roles()
    if len(roles.sensitive) > 1:
        only = "may name one column only where rows are not in memory"
        raise InputError("sensitive_features", only, str(len(roles.sensitive)))
    kinds = pl.read_parquet_schema(files_of(folder)[0])
    check_names((*roles.named, *(roles.features or ()), *roles.drop), [*kinds], folder)
    predictors = roles.predictors(tuple(kinds))
    numbers = [
        name for name in (*roles.sensitive, *roles.tasks) if kinds[name].is_numeric()
    ]
    labels = [*roles.sensitive], [*roles.tasks], numbers
    columns = ModelColumns(roles.target, *labels, [*predictors], {}, [])
    rows = stream(
        files_of(folder),
        target=roles.target,
        tasks=list(roles.tasks) or None,
        sensitive_features=roles.sensitive[0],
        sample_weight=roles.weight,
        features=list(predictors),
        on_rows=on_step,
    )
    model = asked.regressor().fit(rows)
    kept = _kept(asked, model, columns.to_dict())
    verdict = verdict_of(model, None)
    return Fitted(**kept, n_rows=rows.n_rows, verdict=verdict, notes=(NO_REPORT,))
