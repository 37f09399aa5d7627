"""The commands: parse, call one function, show what it returned.

Each imports what it needs when it runs, so that `--help` stays quick.
"""

from importlib.util import find_spec
from pathlib import Path
from typing import Annotated
from zipfile import is_zipfile

import typer

from rankfair.cli.errors import (
    check_outputs,
    check_sheet,
    echo,
    echo_json,
    fail,
    telling,
    writing,
)
from rankfair.cli.methods import METHODS
from rankfair.cli.options import (
    ColumnOptions,
    ConstraintOptions,
    Epsilon,
    Epsilons,
    FileOptions,
    Folds,
    IgnoreSmall,
    MaxGap,
    ModelOptions,
    OutputOptions,
    Sheet,
    command_line,
    expanded,
    refuse_two_outputs,
)

TABLES = (".csv", ".tsv", ".txt", ".parquet", ".pq", ".html")


@expanded
def audit(
    columns: ColumnOptions,
    prediction: Annotated[
        list[str] | None,
        typer.Option(metavar="COLUMN", help="Predictions; repeat it for several."),
    ] = None,
    model: Annotated[
        str | None,
        typer.Option(metavar="MODEL", help="Audit the predictions of a model file."),
    ] = None,
    max_gap: MaxGap = None,
    ignore_small: IgnoreSmall = False,
    frequency_weights: Annotated[
        bool,
        typer.Option(
            "--frequency-weights",
            help="A weight is how often a row was seen; else a row is one observation.",
        ),
    ] = False,
    confidence: Annotated[
        float,
        typer.Option(metavar="NUMBER", help="Of all intervals, from 0.5 to below 1."),
    ] = 0.95,
    min_group: Annotated[
        int, typer.Option(min=1, metavar="N", help="Judge no group of fewer rows.")
    ] = 5,
    seed: Annotated[
        int, typer.Option(min=0, metavar="N", help="Seed of permutations.")
    ] = 0,
    sheet: Sheet = None,
    *,
    out: OutputOptions,
    files: FileOptions,
) -> None:
    """Measure how a prediction or a target ranks the groups.

    Ends with 0, or with --max-gap: 0 held (equality too), 1 exceeded, 3 not estimable.
    2 is bad usage or bad data.

    Example: rankfair audit pay.csv --target pay --sensitive gender --task job --html
    audit.html
    """
    refuse_two_outputs(out, sheet)
    with telling(out.quiet):
        from rankfair.cli.audit import AuditGate, audit_files, end_by_gate, show_audit
        from rankfair.cli.screen import progress

        check_outputs([out.html, sheet], [*files.files, model or "-"])
        check_sheet(sheet)
        with progress(out.quiet) as on_step:
            found, table = audit_files(
                files.files,
                columns.roles(predictions=tuple(prediction or ())),
                files.reading(),
                model=model,
                bins=columns.bins,
                intersect=columns.intersect,
                frequency_weights=frequency_weights,
                confidence=confidence,
                min_group=min_group,
                random_state=seed,
                command=command_line(),
                title=out.title,
                on_step=on_step,
            )
        gate = None if max_gap is None else AuditGate(max_gap, ignore_small)
        show_audit(found, out, table.notes, sheet, gate)
        end_by_gate(found, gate, out, sheet)


@expanded
def fit(
    columns: ColumnOptions,
    to: Annotated[
        Path | None,
        typer.Option(
            "--out", "-o", dir_okay=False, metavar="MODEL", help="The model file."
        ),
    ] = None,
    epsilon: Epsilons = None,
    *,
    demand: ConstraintOptions,
    model: ModelOptions,
    folds: Annotated[
        int,
        typer.Option(
            min=0,
            metavar="N",
            help="Folds of the report, 2 or more, where rows cannot be left out of one "
            "fit; 0 reports on the rows fitted.",
        ),
    ] = 5,
    max_gap: MaxGap = None,
    ignore_small: IgnoreSmall = False,
    notes: Annotated[
        str | None,
        typer.Option(metavar="TEXT", help="A few words to keep in the model file."),
    ] = None,
    out: OutputOptions,
    files: FileOptions,
) -> None:
    """Fit a model that does not rank one group above another.

    The report compares it with the same model without the constraint, on rows that the
    fits behind it have not seen; the model that is kept is fitted to all rows.

    A folder of Parquet files is fitted too. With more than 200,000 rows it is not held
    in memory: then text is not encoded, there is no report, and what is balanced is two
    groups known for all rows, over all rows, by rank, mean or residual.

    Ends with 0, or with --max-gap as audit does. 3: no rows can be held out.

    Example: rankfair fit pay.csv --target pay --sensitive gender --task job -o
    pay.rankfair --html fit.html
    """
    asked = demand.asked(epsilon)
    if folds == 1:
        raise typer.BadParameter("0, or 2 and more", param_hint="--folds")
    with telling(out.quiet):
        from rankfair.cli.audit import AuditGate, end_by_gate
        from rankfair.cli.fit import fit_rows, show_fit
        from rankfair.cli.screen import progress

        check_outputs([to, out.html], files.files)
        if to is not None and to.suffix.lower() in TABLES:
            fail(f"{to} is named like a table: give the model another name.")
        with progress(out.quiet) as on_step:
            done = fit_rows(
                files.files,
                columns.roles(**model.predictors()),
                files.reading(),
                model.settings(columns, **asked),
                needs_report=max_gap is not None or out.html is not None,
                out=to,
                folds=folds,
                cap=model.max_categories,
                notes=notes,
                command=command_line(),
                title=out.title,
                on_step=on_step,
            )
        gate = None if max_gap is None else AuditGate(max_gap, ignore_small)
        show_fit(done, out, gate)
        if done.audit is not None:
            end_by_gate(done.audit, gate, out)


@expanded
def path(
    columns: ColumnOptions,
    epsilons: Annotated[
        list[float] | None,
        typer.Option(
            "--at", metavar="EPSILON", help="Try this ε; repeat it; by default twelve."
        ),
    ] = None,
    *,
    demand: ConstraintOptions,
    model: ModelOptions,
    folds: Annotated[
        int | None,
        typer.Option(
            min=2,
            metavar="N",
            help="Folds of the cross-validation; by default each row is left out of "
            "one fit or, where it cannot be, there are 5.",
            show_default=False,
        ),
    ] = None,
    sheet: Sheet = None,
    out: OutputOptions,
    files: FileOptions,
) -> None:
    """Show what each ε costs: error and rank gap on rows that a fit has not seen.

    Example: rankfair path pay.csv --target pay --sensitive gender --task job --html
    path.html
    """
    refuse_two_outputs(out, sheet)
    with telling(out.quiet):
        from rankfair.cli.path import path_files, show_path
        from rankfair.cli.screen import progress

        check_outputs([out.html, sheet], files.files)
        check_sheet(sheet)
        with progress(out.quiet) as on_step:
            done = path_files(
                files.files,
                columns.roles(**model.predictors()),
                files.reading(),
                model.settings(columns, **demand.asked()),
                epsilons=epsilons,
                folds=folds,
                cap=model.max_categories,
                command=command_line(),
                title=out.title,
                on_step=on_step,
            )
        show_path(done, out, sheet)


@expanded
def compare(
    columns: ColumnOptions,
    method: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME",
            help=f"Try this method; repeat it; by default all: {'; '.join(METHODS)}.",
        ),
    ] = None,
    epsilon: Epsilon = 0.01,
    *,
    model: ModelOptions,
    folds: Folds = 5,
    within: Annotated[
        float,
        typer.Option(
            min=0.0,
            max=0.5,
            metavar="GAP",
            help="Name the method of least error with a rank gap of at most this.",
        ),
    ] = 0.05,
    sheet: Sheet = None,
    out: OutputOptions,
    files: FileOptions,
) -> None:
    """Try all methods on one's own data by cross-validation.

    Example: rankfair compare pay.csv --target pay --sensitive gender --task job --html
    methods.html
    """
    refuse_two_outputs(out, sheet)
    with telling(out.quiet):
        from rankfair.cli.compare import compare_files, show_methods
        from rankfair.cli.screen import progress

        check_outputs([out.html, sheet], files.files)
        check_sheet(sheet)
        with progress(out.quiet) as on_step:
            done = compare_files(
                files.files,
                columns.roles(**model.predictors()),
                files.reading(),
                model.settings(columns, epsilon=epsilon),
                methods=method,
                folds=folds,
                within=within,
                cap=model.max_categories,
                command=command_line(),
                title=out.title,
                on_step=on_step,
            )
        show_methods(done, out, sheet)


@expanded
def predict(
    model: Annotated[str, typer.Argument(metavar="MODEL", help="A model file.")],
    out: Annotated[
        str,
        typer.Option(
            "--out", "-o", metavar="FILE", help="CSV or Parquet, - for CSV to a pipe."
        ),
    ] = "-",
    name: Annotated[
        str, typer.Option(metavar="NAME", help="The name of the new column.")
    ] = "prediction",
    keep: Annotated[
        list[str] | None,
        typer.Option(
            metavar="COLUMN",
            help="Write this column beside it; repeat it; by default all.",
        ),
    ] = None,
    quiet: Annotated[
        bool, typer.Option("--quiet", "-q", help="Show no notes.")
    ] = False,
    *,
    files: FileOptions,
) -> None:
    """Add a column of predictions to the rows of a file.

    A folder of Parquet files is predicted file by file into another folder, under the
    same names. A folder that does not exist yet comes with all files in one step; into
    an existing one they go one by one, each whole. A folder that holds Parquet files
    is refused, and no file is left after an error.

    Example: rankfair predict pay.rankfair new.csv -o predicted.csv
    """
    with telling(quiet):
        from rankfair.cli.predict import predict_rows, show_predicted

        _refuse_swapped(model, files.files)
        check_outputs([out], [model, *files.files])
        if len(files.files) > 1 or not Path(files.files[0]).is_dir():
            check_sheet(out)
        done = predict_rows(
            model,
            files.files,
            files.reading(),
            out=out,
            name=name,
            keep=keep,
        )
        show_predicted(done, out, quiet)


def _refuse_swapped(model: str, files: list[str]) -> None:
    """Leave if the model is named where the rows should be."""
    last = files[-1]
    if Path(model).is_file() and not is_zipfile(model) and last.endswith(".rankfair"):
        fail(f"MODEL comes first: rankfair predict {last} {model}")


def describe(
    model: Annotated[str, typer.Argument(metavar="MODEL", help="A model file.")],
    as_json: Annotated[
        bool, typer.Option("--json", help="Print JSON instead of text.")
    ] = False,
) -> None:
    """Say what a model file holds, without running anything in it.

    Example: rankfair describe pay.rankfair
    """
    with telling():
        from rankfair.cli.models import show_model
        from rankfair.files.model_files import describe_model

        found = describe_model(model)
        if as_json:
            echo_json(found)
        else:
            show_model(found)


def export_onnx(
    model: Annotated[str, typer.Argument(metavar="MODEL", help="A model file.")],
    out: Annotated[
        Path,
        typer.Argument(metavar="OUT", dir_okay=False, help="The ONNX file."),
    ],
    quiet: Annotated[
        bool, typer.Option("--quiet", "-q", help="Do not say what was written.")
    ] = False,
) -> None:
    """Write a model as ONNX, for programs without Python.

    Example: rankfair export-onnx pay.rankfair pay.onnx
    """
    with telling(quiet):
        from rankfair.files.model_files import load_model
        from rankfair.files.onnx import export_onnx as export

        check_outputs([out], [model])
        path = export(load_model(model), out)
        if not quiet:
            echo(f"wrote {path}")


def demo(
    out: Annotated[
        Path,
        typer.Option(
            file_okay=False, help="Folder for pictures and records; made if missing."
        ),
    ] = Path("demo"),
    seed: Annotated[int, typer.Option(min=0, help="Seed of the synthetic data.")] = 0,
    quiet: Annotated[
        bool, typer.Option("--quiet", help="Show no progress, only the table.")
    ] = False,
) -> None:
    """Compare the methods on synthetic data: table and picture.

    Example: rankfair demo --out demo --seed 1
    """
    if find_spec("matplotlib") is None:
        fail('The picture needs an extra: pip install "rankfair[plot]"')
    from rankfair.cli.demo import run_demo, show_demo
    from rankfair.cli.screen import progress

    with writing("--out", out), progress(quiet) as on_step:
        done = run_demo(out, seed, on_step=on_step)
    show_demo(done)
