"""Commands for one's own files: parse, call one function, show what it returned."""

import shlex
import sys
from pathlib import Path
from typing import Annotated

import typer

from rankfair.cli.bundles import Columns, Files, Model, Out, expanded
from rankfair.cli.ends import telling

__all__ = ["audit", "compare", "describe", "export_onnx", "fit", "path", "predict"]

MaxGap = Annotated[
    float | None,
    typer.Option(
        min=0.0,
        max=0.5,
        help="End with code 1 if the rank gap |AUC - 1/2| exceeds this.",
    ),
]
Title = Annotated[str | None, typer.Option(help="The title of the page.")]
Folds = Annotated[int, typer.Option(min=2, help="Folds of the cross-validation.")]


@expanded
def audit(
    columns: Columns,
    prediction: Annotated[
        list[str] | None,
        typer.Option(metavar="COLUMN", help="Predictions; repeat it for several."),
    ] = None,
    model: Annotated[
        str | None,
        typer.Option(metavar="FILE", help="Audit the predictions of a model file."),
    ] = None,
    max_gap: MaxGap = None,
    confidence: Annotated[
        float, typer.Option(help="Of all limits, from 0.5 to below 1.")
    ] = 0.95,
    min_group: Annotated[
        int, typer.Option(min=1, help="Judge no group of fewer rows.")
    ] = 5,
    seed: Annotated[int, typer.Option(min=0, help="Seed of permutations.")] = 0,
    title: Title = None,
    *,
    out: Out,
    files: Files,
) -> None:
    """Measure how a column ranks the groups: predictions, a model's, or the target.

    Ends with 0, or with --max-gap: 0 held, 1 exceeded, 3 not estimable. 2 is bad usage
    or bad data.

    Example: rankfair audit pay.csv --target pay --sensitive gender --task job --html
    audit.html
    """
    from rankfair.cli import show
    from rankfair.jobs.audits import audit_files

    with telling(out.quiet):
        found, table = audit_files(
            files.files,
            columns.roles(predictions=tuple(prediction or ())),
            files.reading(),
            model=model,
            bins=columns.bins,
            intersect=columns.intersect,
            confidence=confidence,
            min_group=min_group,
            random_state=seed,
            command=command_line(),
            title=title,
        )
        show.audit(found, out, table.notes)
        show.gate(found, max_gap, out)


@expanded
def fit(
    columns: Columns,
    settings: Model,
    model: Annotated[
        Path | None,
        typer.Option(
            "--out", "-o", dir_okay=False, metavar="FILE", help="The model file."
        ),
    ] = None,
    folds: Annotated[
        int, typer.Option(min=0, help="Folds of the report; 0: on the rows fitted.")
    ] = 5,
    notes: Annotated[
        str | None, typer.Option(help="A few words to keep in the model file.")
    ] = None,
    max_gap: MaxGap = None,
    title: Title = None,
    *,
    out: Out,
    files: Files,
) -> None:
    """Fit a model whose predictions do not rank one group above another.

    The report compares it with the same model without the balance, on rows that the
    fits behind it have not seen; the model that is kept is fitted to all rows.

    Example: rankfair fit pay.csv --target pay --sensitive gender --task job -o
    pay.rankfair --html fit.html
    """
    from rankfair.cli import show
    from rankfair.cli.screen import progress
    from rankfair.jobs.fits import fit_files

    with telling(out.quiet):
        with progress(out.quiet) as on_step:
            done = fit_files(
                files.files,
                columns.roles(**settings.more_roles()),
                files.reading(),
                settings.settings(columns),
                out=model,
                folds=folds,
                cap=settings.max_categories,
                notes=notes,
                command=command_line(),
                title=title,
                on_step=on_step,
            )
        show.fitted(done, out)
        show.gate(done.audit, max_gap, out)


@expanded
def predict(
    model: Annotated[str, typer.Argument(metavar="MODEL", help="A model file.")],
    files: Files,
    out: Annotated[
        str,
        typer.Option(
            "--out", "-o", metavar="FILE", help="CSV or Parquet, - for a pipe."
        ),
    ] = "-",
    name: Annotated[str, typer.Option(help="The name of the new column.")] = (
        "prediction"
    ),
    keep: Annotated[
        list[str] | None,
        typer.Option(metavar="COLUMN", help="Write these columns beside it; or all."),
    ] = None,
    quiet: Annotated[bool, typer.Option("--quiet", help="Show no notes.")] = False,
) -> None:
    """Add a column of predictions to the rows of a file.

    Example: rankfair predict pay.rankfair new.csv -o predicted.csv
    """
    from rankfair.cli import show
    from rankfair.jobs.predicts import predict_files

    with telling(quiet):
        done = predict_files(
            model, files.files, files.reading(), out=out, name=name, keep=keep
        )
        show.predicted(done, out, quiet)


@expanded
def path(
    columns: Columns,
    settings: Model,
    epsilons: Annotated[
        list[float] | None,
        typer.Option("--at", metavar="EPSILON", help="Try this ε; repeat it."),
    ] = None,
    folds: Folds = 5,
    title: Title = None,
    *,
    out: Out,
    files: Files,
) -> None:
    """Show what each ε costs: error and rank gap on held-out rows.

    Example: rankfair path pay.csv --target pay --sensitive gender --task job --html
    path.html
    """
    from rankfair.cli import show
    from rankfair.jobs.paths import path_files

    with telling(out.quiet):
        done = path_files(
            files.files,
            columns.roles(**settings.more_roles()),
            files.reading(),
            settings.settings(columns),
            epsilons=epsilons,
            folds=folds,
            cap=settings.max_categories,
            command=command_line(),
            title=title,
        )
        show.priced(done, out)


@expanded
def compare(
    columns: Columns,
    settings: Model,
    method: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME", help="Try this method; repeat it; or all."),
    ] = None,
    folds: Folds = 5,
    title: Title = None,
    *,
    out: Out,
    files: Files,
) -> None:
    """Try all methods on one's own data by cross-validation: one table, one page.

    Example: rankfair compare pay.csv --target pay --sensitive gender --task job --html
    methods.html
    """
    from rankfair.cli import show
    from rankfair.cli.screen import progress
    from rankfair.jobs.compares import compare_files

    with telling(out.quiet):
        with progress(out.quiet) as on_step:
            done = compare_files(
                files.files,
                columns.roles(**settings.more_roles()),
                files.reading(),
                settings.settings(columns),
                methods=method,
                folds=folds,
                cap=settings.max_categories,
                command=command_line(),
                title=title,
                on_step=on_step,
            )
        show.compared(done, out)


def describe(
    model: Annotated[str, typer.Argument(metavar="MODEL", help="A model file.")],
    as_json: Annotated[
        bool, typer.Option("--json", help="Print JSON instead of text.")
    ] = False,
) -> None:
    """Say what a model file holds, without running anything in it.

    Example: rankfair describe pay.rankfair
    """
    from rankfair.cli import show
    from rankfair.models import describe_model

    with telling():
        show.described(describe_model(model), as_json)


def export_onnx(
    model: Annotated[str, typer.Argument(metavar="MODEL", help="A model file.")],
    out: Annotated[
        Path,
        typer.Argument(metavar="OUT", dir_okay=False, help="The ONNX file."),
    ],
) -> None:
    """Write a model as ONNX, for programs without Python.

    Example: rankfair export-onnx pay.rankfair pay.onnx
    """
    from rankfair.models import export_onnx as export
    from rankfair.models import load_model

    with telling():
        typer.echo(f"wrote {export(load_model(model), out)}")


def command_line() -> str:
    """Return the command as it was typed."""
    return shlex.join(["rankfair", *sys.argv[1:]])
