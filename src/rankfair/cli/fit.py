"""Work of `rankfair fit`: a model file, and what it changed on left-out rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.base import clone

from rankfair.audit import Audit
from rankfair.audit.records import plain
from rankfair.cli.audit import AuditGate, audit_table, show_comparisons
from rankfair.cli.data import FitData, HeldOut, ModelSettings, read_data
from rankfair.cli.errors import NotEstimableError, echo
from rankfair.cli.methods import FREE
from rankfair.cli.screen import OnStep, say, write_results
from rankfair.engines.parquet import n_rows_of, open_parquet
from rankfair.engines.streams import stream
from rankfair.files.columns import Reading, Roles, files_of
from rankfair.files.encoding import Encoding, ModelColumns
from rankfair.files.model_files import save_model
from rankfair.files.table import check_names
from rankfair.input.errors import counted, listed, shown
from rankfair.input.folds import Folds

if TYPE_CHECKING:
    from rankfair.cli.options import OutputOptions

BEFORE, AFTER = "before", "after"
SMALL = 200_000  # rows that are read at once, with a report by cross-validation
NO_REPORT = (
    "Fitted without holding the rows in memory, so there is no report: audit the model "
    "on rows that memory holds with rankfair audit FILE --model MODEL."
)


def fit_rows(
    files: Sequence[str],
    roles: Roles,
    reading: Reading,
    settings: ModelSettings,
    *,
    needs_report: bool = False,
    out: Path | None = None,
    notes: str | None = None,
    on_step: Any = None,
    **report: Any,
) -> Fitted:
    """Fit to files, or to a folder: in memory with a report unless it is large.

    Parameters are those of `fit_files` and `fit_folder`; ``needs_report`` refuses to do
    without one.
    """
    common: dict[str, Any] = {"out": out, "notes": notes, "on_step": on_step}
    is_folder = len(files) == 1 and Path(files[0]).is_dir()
    named = files_of(files[0]) if is_folder else files
    if not is_folder or n_rows_of(map(Path, named)) <= SMALL:
        return fit_files(named, roles, reading, settings, **common, **report)
    if needs_report:
        raise ValueError(
            "--html and --max-gap need a report, and rows that are not in memory get "
            "none: audit the model on some of them with rankfair audit --model."
        )
    _refuse_reading(reading)
    return fit_folder(files[0], roles, settings, **common)


def _refuse_reading(reading: Reading) -> None:
    """Raise for options that change rows or columns on their way into memory."""
    for option, given in (
        ("--drop-missing", reading.drop_missing),
        ("--missing", reading.missing),
        ("--text", reading.text),
        ("--number", reading.numbers),
        ("--file-column", reading.file_column is not None),
    ):
        if given:
            raise ValueError(
                f"{option} is not for rows that are not in memory, which are taken as "
                "the Parquet files hold them: leave it out, and write files with what "
                f"it would do done, or fit to {SMALL:,} rows at most."
            )


@dataclass(frozen=True)
class Fitted:
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
    """

    model: Any
    path: Path | None
    n_rows: int
    audit: Audit | None
    measured: str
    notes: tuple[str, ...]
    details: str = ""


def fit_files(
    files: Sequence[str],
    roles: Roles,
    reading: Reading,
    settings: ModelSettings,
    *,
    out: Path | None = None,
    folds: int = 5,
    cap: int = 50,
    notes: str | None = None,
    command: str | None = None,
    title: str | None = None,
    on_step: OnStep | None = None,
) -> Fitted:
    """Fit a model to the rows of some files and report what it changed.

    Models with and without the constraint predict rows that they have not seen, and
    these predictions are audited: each row is left out of one fit or, where there is no
    formula for that, held out in one of several folds.  The model that is kept is
    fitted to all rows.
    """
    tell = on_step or (lambda name, step, steps: None)
    tell("reading", 1, 4)
    data = read_data(files, roles, reading, cap)
    parts = _folds(data, folds, settings)
    model = settings.model(data.design.roles)
    everything = np.arange(len(data.y))
    tell("fitting to all rows", 2, 4)
    final = data.fit(model, everything)
    free = clone(model).set_params(epsilon=FREE, constraints="rank", scope="global")
    # Left out, every row is measured from one fit; else there are folds.
    left_out = folds > 0 and settings.scope == "global"
    left_out = left_out and final.loo_predictions_ is not None
    if left_out:
        tell("fitting without the constraint", 4, 4)
        unconstrained = data.fit(free, everything)
        before = HeldOut(unconstrained.loo_predictions_, 0, 1)
        after = HeldOut(final.loo_predictions_, 0, 1)
    else:
        tell("fitting folds without the constraint", 3, 4)
        before = data.held_out(free, parts)
        tell("fitting folds with the constraint", 4, 4)
        after = data.held_out(model, parts)
    measured = "left out" if left_out else "held out" if folds else "fitted"
    judged = np.flatnonzero(~np.isnan(after.values))
    found = audit_table(
        data.table,
        roles,
        rows=judged,
        bins=settings.bins,
        models={BEFORE: before.values[judged], AFTER: after.values[judged]},
        intersect=settings.intersect,
        command=command,
        title=title or _title(settings, measured),
        random_state=settings.seed,
    )
    path = None
    if out is not None:
        path = save_model(final, out, notes=notes, extra=data.design.to_dict())
    left = _left_note(len(data.y) - len(judged))
    said = (*data.notes, *data.unknown_notes, _fold_note(after), left)
    return Fitted(
        final,
        path,
        data.n_counting,
        found,
        measured=measured,
        notes=tuple(filter(None, said)),
        details=data.design.encoding.details,
    )


def _folds(data: FitData, folds: int, settings: ModelSettings) -> Folds:
    try:
        return data.folds(folds, settings)
    except NotEstimableError as error:
        raise NotEstimableError(
            f"{error} --folds 0 reports on the rows fitted."
        ) from None


def _title(settings: ModelSettings, measured: str) -> str:
    """Say what is compared: a fit without and with its limit, and on which rows."""
    where = "the rows fitted" if measured == "fitted" else f"rows {measured}"
    what = (
        ""
        if settings.constraints == ("rank",)
        else f" on {listed(settings.constraints)}"
    )
    each = settings.epsilon
    widths = each if isinstance(each, tuple) else (each,)
    limit = ", ".join(f"{width:g}" for width in widths)
    return f"Fit before and after the limit ε = {limit}{what}, on {where}"


def _fold_note(after: HeldOut) -> str:
    return f"In the report, {after.note}." if after.note else ""


def _left_note(count: int) -> str:
    if not count:
        return ""
    return (
        f"{counted(count, 'row is', 'rows are')} not in the report: the only row of a "
        "task, or of weight 0, cannot be held out."
    )


def fit_folder(
    folder: str,
    roles: Roles,
    settings: ModelSettings,
    *,
    out: Path | None = None,
    notes: str | None = None,
    on_step: Any = None,
) -> Fitted:
    """Fit to the rows of a folder without holding them in memory."""
    if roles.target is None:
        raise ValueError("name the column to predict with --target.")
    roles.check()
    kinds = _number_columns(files_of(folder)[0])
    check_names((*roles.named, *(roles.features or ()), *roles.drop), [*kinds], folder)
    predictors = roles.predictors(tuple(kinds))
    labels = (*roles.sensitive, *roles.tasks)
    numbers = tuple(name for name in labels if kinds[name])
    design = ModelColumns(
        Roles(roles.target, roles.sensitive, roles.tasks, cut=numbers),
        Encoding(predictors, {}),
    )
    model = settings.model(design.roles)
    rows = stream(
        files_of(folder),
        target=roles.target,
        tasks=list(roles.tasks) or None,
        sensitive_features=_only(roles),
        sample_weight=roles.weight,
        features=list(predictors),
        on_rows=on_step,
    )
    model.fit(rows)
    path = None
    if out is not None:
        path = save_model(model, out, notes=notes, extra=design.to_dict())
    return Fitted(model, path, rows.n_rows, None, measured="fitted", notes=(NO_REPORT,))


def _number_columns(file: str) -> dict[str, bool]:
    """Return the columns of a Parquet file, and whether each holds numbers."""
    from pyarrow.types import is_decimal, is_floating, is_integer

    kinds = (is_integer, is_floating, is_decimal)
    with open_parquet(file) as parquet:
        schema = parquet.schema_arrow
        return {each.name: any(of(each.type) for of in kinds) for each in schema}


def _only(roles: Roles) -> str:
    if len(roles.sensitive) > 1:
        raise ValueError(
            "--sensitive names one column for rows that are not in memory."
        )
    return roles.sensitive[0]


def show_fit(done: Fitted, out: OutputOptions, gate: AuditGate | None) -> None:
    """Print what a fit came to, and what it changed."""
    found = done.audit
    gated = {"gate": gate.to_dict(found)} if gate and found is not None else {}
    write_results(
        out,
        notes=done.notes,
        page=None if found is None else found.to_html,
        as_dict=lambda: {**_as_dict(done), **gated},
        say=lambda: _say_fit(done),
        files=() if done.path is None else (done.path,),
    )
    if done.path is None and not out.quiet:
        echo("The model was not kept: -o FILE writes it.", err=True)


def _say_fit(done: Fitted) -> None:
    """Say what a fit came to, and what it changed."""
    say(*_status(done))
    if done.audit is not None:
        named = {"left out": "Rows left out of the fit", "held out": "Held-out rows"}
        rows = named.get(done.measured, "The rows fitted")
        say(f"{rows}, without the constraint (before) and with it (after):", "")
        show_comparisons(done.audit)
        say("", done.audit.verdict)


def _status(done: Fitted) -> list[str]:
    model = done.model
    values = {"rank": model.rank_auc_, **model.constraint_values_}
    came = ", ".join(
        f"{'AUC' if name == 'rank' else name} {value:.4f}"
        for name, value in sorted(values.items(), key=lambda pair: pair[0] != "rank")
    )
    where = " on rows left out of the fit" if model.count == "loo" else ""
    if where and "rank" in model.constraint_values_:
        where += f" ({model.rank_auc_:.4f} on training rows)"
    lines = [
        f"Fitted to {counted(done.n_rows, 'row')}: {model.status_}, {came}{where}."
    ]
    apart = getattr(model, "unbalanced_tasks_", None) or {}
    few = list(apart.items())[:3]
    if few:
        lines.append(
            f"{len(apart)} of {counted(len(model.tasks_), 'task')} "
            f"{'is' if len(apart) == 1 else 'are'} in no band: "
            + " ".join(f"{shown(name)}: {why}" for name, why in few)
            + (" …" if len(apart) > len(few) else "")
        )
    return lines


def _as_dict(done: Fitted) -> dict[str, Any]:
    """Return what `docs/fit.schema.json` describes."""
    model = done.model
    return {
        "format": "rankfair-fit",
        "version": 2,
        "model": None if done.path is None else str(done.path),
        "status": model.status_,
        "rank_auc": plain(float(model.rank_auc_)),
        "constraints": plain(
            {k: float(v) for k, v in model.constraint_values_.items()}
        ),
        "beta": plain(model.beta_),
        "unbalanced_tasks": plain(getattr(model, "unbalanced_tasks_", None) or {}),
        "held_out": done.measured != "fitted",
        "notes": list(done.notes),
        "encoding": done.details,
        "audit": None if done.audit is None else done.audit.to_dict(),
    }
