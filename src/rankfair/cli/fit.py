"""`rankfair fit`: a model file, and what the constraint changed on left-out rows."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from rankfair.audit import Audit
from rankfair.audit.records import plain
from rankfair.cli.audit import audit_table, show_comparisons
from rankfair.cli.data import FitData, HeldOut, read_data
from rankfair.cli.errors import NotEstimableError, echo
from rankfair.cli.methods import without_constraint
from rankfair.cli.model_card import report_of
from rankfair.cli.quality import USELESS, Quality, advice
from rankfair.cli.screen import Answer, OnStep, say
from rankfair.cli.verdict import AFTER, BEFORE, pair_of, unbalanced, verdict_of
from rankfair.engines.parquet import n_rows_of, open_parquet
from rankfair.engines.streams import stream
from rankfair.files.columns import Roles
from rankfair.files.encoding import ModelColumns
from rankfair.files.model_files import save_model
from rankfair.files.read import files_of
from rankfair.files.table import Reading, check_names
from rankfair.input.errors import InputError, counted, listed, shown

if TYPE_CHECKING:
    from rankfair.cli.commands import FitCommand

SMALL = 200_000  # rows that are read at once, with a report by cross-validation
NO_REPORT = (
    "Fitted without holding the rows in memory, so there is no report: audit the model "
    "on rows that memory holds with rankfair audit FILE --model MODEL."
)
FITTED_WITHIN = (
    "Figures within tasks are of the rows fitted: left out one by one, rows of a small "
    "task are ordered against their own values."
)
MEASURED = {
    "left out": "Rows left out of the fit",
    "held out": "Held-out rows",
    "fitted": "The rows fitted",
}


@dataclass(frozen=True)
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
    notes : tuple of str
        What a person should know.
    details : str
        How each column of text became numbers.
    quality : Quality or None
        How good the predictions are; None for rows that are not in memory.
    """

    model: Any
    path: Path | None
    n_rows: int
    audit: Audit | None
    measured: str
    notes: tuple[str, ...]
    details: str = ""
    quality: Quality | None = None

    def say(self, quiet: bool) -> None:
        """Print what the fit came to, and what it changed."""
        if self.quality is not None:
            say(*self.quality.sentences)
        say(*_status(self))
        if self.audit is not None:
            rows = MEASURED[self.measured]
            say(f"{rows}, without the constraint (before) and with it (after):", "")
            show_comparisons(self.audit)
            say("", *self.verdict)
        if self.path is None and not quiet:
            echo("The model was not kept: -o FILE writes it.", err=True)

    @property
    def verdict(self) -> list[str]:
        """What was asked for and what came of it; then the rest; then what is known.

        Sentences of the report, and of how well the predictors tell the groups apart.
        """
        return verdict_of(self.model, self.audit)

    def to_dict(self) -> dict[str, Any]:
        """Return what `docs/fit.schema.json` describes."""
        values = self.model.constraint_values_
        useless = self.quality is not None and self.quality.useless
        return {
            "format": "rankfair-fit",
            "version": 2,
            "model": None if self.path is None else str(self.path),
            "status": USELESS if useless else self.model.status_,
            "constraint_status": self.model.status_,
            "quality": None if self.quality is None else self.quality.to_dict(),
            "verdict": " ".join(self.verdict),
            "rank_auc": plain(float(self.model.rank_auc_)),
            "proxy_auc": plain(float(self.model.proxy_auc_)),
            "constraints": plain({k: float(v) for k, v in values.items()}),
            "beta": plain(self.model.beta_),
            "unbalanced_tasks": plain(unbalanced(self.model)),
            "held_out": self.measured != "fitted",
            "notes": list(self.notes),
            "encoding": self.details,
            "audit": None if self.audit is None else self.audit.to_dict(),
        }

    def write_page(self, file: Path) -> None:
        """Write the page of the report."""
        assert self.audit is not None
        self.audit.to_html(file)

    def written(self) -> list[Any]:
        """Return the model file."""
        return [] if self.path is None else [self.path]


def fit_files(asked: FitCommand, on_step: OnStep) -> Fitted:
    """Fit to files, or to a folder: in memory with a report unless it is large."""
    files = asked.files.files
    is_folder = len(files) == 1 and Path(files[0]).is_dir()
    if not is_folder or n_rows_of(map(Path, files_of(files[0]))) <= SMALL:
        return fit_in_memory(asked, on_step)
    if asked.gate.given or asked.out.html is not None:
        raise InputError(
            "html" if asked.out.html is not None else "max_gap",
            "needs a report, and rows that are not in memory get none",
            cure="Audit the model on some of them with rankfair audit --model.",
        )
    _refuse_reading(asked.files.reading())
    return fit_folder(asked, on_step)


def _model(asked: FitCommand) -> Any:
    """Return the estimator that is asked for."""
    constraints = asked.constraints.settings(asked.epsilon)
    return asked.model.regressor(asked.columns, **constraints)


def fit_in_memory(asked: FitCommand, on_step: OnStep) -> Fitted:
    """Fit a model to the rows of some files and report what it changed.

    Models with and without the constraint predict rows that they have not seen, and
    these predictions are audited: each row is left out of one fit or, where there is no
    formula for that, held out in one of several folds.  The model that is kept is
    fitted to all rows.
    """
    model = _model(asked)
    on_step("reading", 1, 4)
    data = read_data(asked)
    parts = _folds(data, asked.folds, model.random_state)
    on_step("fitting to all rows", 2, 4)
    final, free = data.fit(model), without_constraint(model)
    # Left out, every row is measured from one fit; else there are folds.
    is_left_out = asked.folds > 0 and model.scope == "global"
    if is_left_out and final.loo_predictions_ is not None:
        measured = "left out"
        on_step("fitting without the constraint", 4, 4)
        free = data.fit(free)
        before = HeldOut(free.loo_predictions_)
        after = HeldOut(final.loo_predictions_)
    else:
        measured = "held out" if asked.folds else "fitted"
        on_step("fitting folds without the constraint", 3, 4)
        before = data.held_out(free, parts)
        on_step("fitting folds with the constraint", 4, 4)
        after = data.held_out(model, parts)
    judged = np.flatnonzero(~np.isnan(after.values))
    found = audit_table(
        data.table,
        data.roles,
        rows=judged,
        bins=model.bins,
        models={BEFORE: before.values[judged], AFTER: after.values[judged]},
        intersect=model.intersect,
        title=asked.out.title or _title(model, measured),
        random_state=model.random_state,
    )
    quality = _quality(data, final, parts, before.values, after.values, judged)
    within = ""
    if measured == "left out" and data.roles.tasks:
        found, within = _within_fitted(found, data, free, final), FITTED_WITHIN
    left = _left_note(len(data.y) - len(judged))
    missed = f"In the report, {after.note}." if after.note else ""
    said = (*data.notes, *data.unknown_notes, missed, left, within)
    weights = data.weights
    n_rows = len(data.y) if weights is None else int(np.count_nonzero(weights))
    report = report_of(found, MEASURED[measured], n_rows)
    return Fitted(
        final,
        _save(asked, final, data.design, report),
        n_rows,
        found,
        measured=measured,
        notes=tuple(filter(None, said)),
        details=data.design.message,
        quality=quality,
    )


def _quality(
    data: FitData, model: Any, parts: Any, before: Any, after: Any, rows: Any
) -> Quality:
    """Measure the model that was fitted; if it is of no use, say what may help."""
    weights = None if data.weights is None else data.weights[rows]
    free, found = (
        Quality.of(data.y[rows], values[rows], weights) for values in (before, after)
    )
    if not found.useless:
        return found
    text, error = advice(data, model, parts, free, rows)
    return replace(found, advice=text, rmse_of_advice=error)


def _save(
    asked: FitCommand,
    model: Any,
    design: ModelColumns,
    report: dict[str, Any] | None = None,
) -> Path | None:
    """Write the model file, if one is asked for."""
    if asked.to is None:
        return None
    extra = {**design.to_dict(), **(report or {})}
    return save_model(model, asked.to, notes=asked.notes, extra=extra)


def _folds(data: FitData, n_folds: int, seed: int) -> Any:
    """Return rows to fit and rows to measure; 0 folds measure the rows fitted."""
    if n_folds == 0:
        everything = np.arange(len(data.y))
        return [(everything, everything)]
    try:
        return data.folds(n_folds, seed)
    except NotEstimableError as error:
        raise NotEstimableError(
            f"{error} --folds 0 reports on the rows fitted."
        ) from None


def _title(model: Any, measured: str) -> str:
    """Say what is compared: a fit without and with its limit, and on which rows."""
    where = "the rows fitted" if measured == "fitted" else f"rows {measured}"
    names, each = model.constraints, model.epsilon
    several = names if isinstance(names, list) else [names]
    widths = each if isinstance(each, list) else [each]
    what = "" if several == ["rank"] else f" on {listed(several)}"
    limit = ", ".join(f"{width:g}" for width in widths)
    return f"Fit before and after the limit ε = {limit}{what}, on {where}"


def _left_note(count: int) -> str:
    if not count:
        return ""
    return (
        f"{counted(count, 'row is', 'rows are')} not in the report: the only row of a "
        "task, or of weight 0, cannot be held out."
    )


def _within_fitted(found: Audit, data: FitData, free: Any, final: Any) -> Audit:
    """Take the figures within tasks of the rows fitted, not of those left out.

    Left out one by one, rows of a small task are ordered against their own values.
    """
    fitted = audit_table(
        data.table,
        data.roles,
        bins=final.bins,
        models={BEFORE: free.predict(data.X), AFTER: final.predict(data.X)},
        intersect=final.intersect,
        random_state=final.random_state,
    )
    within = {pair_of(c): c.within_task_auc for c in fitted.comparisons}
    comparisons = tuple(
        replace(c, within_task_auc=within.get(pair_of(c), c.within_task_auc))
        for c in found.comparisons
    )
    return replace(found, comparisons=comparisons, tasks=fitted.tasks)


def _status(done: Fitted) -> list[str]:
    model = done.model
    values = {"rank": model.rank_auc_, **model.constraint_values_}
    came = ", ".join(
        f"rank gap {abs(value - 0.5):.4f}" if name == "rank" else f"{name} {value:.4f}"
        for name, value in sorted(values.items(), key=lambda pair: pair[0] != "rank")
    )
    where = " on rows left out of the fit" if model.count == "loo" else ""
    if where and "rank" in model.constraint_values_:
        where += f" ({abs(model.rank_auc_ - 0.5):.4f} on training rows)"
    lines = [
        f"Fitted to {counted(done.n_rows, 'row')}: {model.status_}, {came}{where}."
    ]
    apart = unbalanced(model)
    few = list(apart.items())[:3]
    if few:
        lines.append(
            f"{len(apart)} of {counted(len(model.tasks_), 'task')} "
            f"{'is' if len(apart) == 1 else 'are'} in no band: "
            + " ".join(f"{shown(name)}: {why}" for name, why in few)
            + (" …" if len(apart) > len(few) else "")
        )
    return lines


def _refuse_reading(reading: Reading) -> None:
    """Raise for options that change rows or columns on their way into memory."""
    for option, given in (
        ("drop_missing", reading.drop_missing),
        ("missing", reading.missing),
        ("text", reading.text),
        ("number", reading.numbers),
        ("file_column", reading.file_column is not None),
    ):
        if given:
            raise InputError(
                option,
                "is not for rows that are not in memory, which are taken as the "
                "Parquet files hold them",
                cure="Leave it out, and write files with what it would do done, or "
                f"fit to {SMALL:,} rows at most.",
            )


def fit_folder(asked: FitCommand, on_step: OnStep) -> Fitted:
    """Fit to the rows of a folder without holding them in memory."""
    folder, roles = asked.files.files[0], asked.model.roles(asked.columns)
    if roles.target is None:
        raise InputError("y", "is needed: it names the column to predict")
    if len(roles.sensitive) > 1:
        only = "names one column for rows that are not in memory"
        raise InputError("sensitive_features", only, str(len(roles.sensitive)))
    kinds = _number_columns(files_of(folder)[0])
    check_names((*roles.named, *(roles.features or ()), *roles.drop), [*kinds], folder)
    predictors = roles.predictors(tuple(kinds))
    labels = (*roles.sensitive, *roles.tasks)
    numbers = tuple(name for name in labels if kinds[name])
    design = ModelColumns(
        Roles(roles.target, roles.sensitive, roles.tasks, cut=numbers),
        predictors,
        {},
    )
    rows = stream(
        files_of(folder),
        target=roles.target,
        tasks=list(roles.tasks) or None,
        sensitive_features=roles.sensitive[0],
        sample_weight=roles.weight,
        features=list(predictors),
        on_rows=on_step,
    )
    model = _model(asked).fit(rows)
    path = _save(asked, model, design)
    return Fitted(model, path, rows.n_rows, None, measured="fitted", notes=(NO_REPORT,))


def _number_columns(file: str) -> dict[str, bool]:
    """Return the columns of a Parquet file, and whether each holds numbers."""
    from pyarrow.types import is_decimal, is_floating, is_integer

    kinds = (is_integer, is_floating, is_decimal)
    with open_parquet(file) as parquet:
        schema = parquet.schema_arrow
        return {each.name: any(of(each.type) for of in kinds) for each in schema}
