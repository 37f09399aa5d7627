"""The application: each command parses, asks one function, and shows the answer.

Each imports what it needs when it runs, so that `--help` stays quick.
"""

from collections.abc import Callable, Iterable
from importlib.util import find_spec
from pathlib import Path
from typing import Annotated, Any
from zipfile import is_zipfile

import typer

from rankfair import __version__
from rankfair.cli import options
from rankfair.cli.errors import check_outputs, check_sheet, echo, echo_json, fail

TABLES = (".csv", ".tsv", ".txt", ".xlsx", ".parquet", ".pq", ".html")
# Rich help pages and tracebacks cost more import time than all the rest of `--help`.
app = typer.Typer(
    name="rankfair",
    cls=options.Commands,
    help="Regression whose predictions do not rank one group above another.\n\n"
    "Example: rankfair audit pay.csv --target pay --sensitive gender --task job",
    no_args_is_help=True,
    add_completion=True,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
)


def _command(function: Callable[[Any], None]) -> None:
    named = app.command(function.__name__.replace("_", "-"), cls=options.Once)
    named(options.expanded(function))


def _show_version(asked: bool) -> None:
    if asked:
        echo(f"rankfair {__version__}")
        raise typer.Exit


VERSION = typer.Option(
    "--version",
    callback=_show_version,
    is_eager=True,
    help="Print the version and exit.",
)


@app.callback()
def root(version: Annotated[bool, VERSION] = False) -> None:
    """Hold the options that come before a command."""


@_command
def audit(asked: options.AuditCommand) -> None:
    """Measure how a prediction or a target ranks the groups.

    Without predictions the target itself is audited: its gap in units and in percent,
    over all rows and within tasks, and with --control what explains it.

    Ends with 0, or with --max-gap or --max-task-gap: 0 held (equality too), 1 exceeded,
    3 not estimable. 2 is bad usage or bad data.

    Example: rankfair audit pay.csv --target pay --sensitive gender --task job --html
    audit.html
    """
    from rankfair.cli.audit import audit_files

    check_sheet(asked.raises)
    _answer(asked, audit_files, inputs=[asked.model or "-"], outputs=[asked.raises])


@_command
def fit(asked: options.FitCommand) -> None:
    """Fit a model that does not rank one group above another.

    The report compares it with the same model without the constraint, on rows that the
    fits behind it have not seen; the model that is kept is fitted to all rows.

    A folder of Parquet files is fitted too. With more than --memory-rows it is read in
    pieces: then text is not encoded, there is no report, every row must have one of two
    groups, and the constraint is rank, mean or residual over all rows.

    Ends with 0, or with --max-gap as audit does. 3: no rows can be held out.

    Example: rankfair fit pay.csv --target pay --sensitive gender --task job -o
    pay.rankfair --html fit.html
    """
    from rankfair.cli.fit import fit_files

    if asked.out is not None and asked.out.suffix.lower() in TABLES:
        fail(f"{asked.out} is named like a table: give the model another name.")
    _answer(asked, fit_files, outputs=[asked.out])


@_command
def predict(asked: options.PredictCommand) -> None:
    """Add a column of predictions to the rows of a file.

    A folder of Parquet files is predicted file by file into a new folder, under the
    same names. It appears when all files are ready; after an error there is none.

    Example: rankfair predict pay.rankfair new.csv -o predicted.csv
    """
    from rankfair.cli.predict import predict_files

    files, model = asked.files, asked.model
    is_other = Path(model).is_file() and not is_zipfile(model)
    if is_other and files[-1].endswith(".rankfair"):
        fail(f"MODEL comes first: rankfair predict {files[-1]} {model}")
    check_outputs([asked.out], [model, *files])
    if len(files) > 1 or not Path(files[0]).is_dir():
        check_sheet(asked.out)
    predict_files(asked)


@_command
def path(asked: options.PathCommand) -> None:
    """Show what each ε costs: error and rank gap on rows that a fit has not seen.

    Example: rankfair path pay.csv --target pay --sensitive gender --task job --html
    path.html
    """
    from rankfair.cli.path import path_of_files

    _answer(asked, path_of_files)


@_command
def compare(asked: options.CompareCommand) -> None:
    """Try all methods on one's own data by cross-validation.

    Example: rankfair compare pay.csv --target pay --sensitive gender --task job --html
    methods.html
    """
    from rankfair.cli.compare import compare_files

    _answer(asked, compare_files)


def _answer(
    asked: Any,
    work: Callable[..., Any],
    *,
    inputs: Iterable[str] = (),
    outputs: Iterable[Path | str | None] = (),
) -> None:
    """Check where the answer goes, do the work, and show what came of it."""
    from rankfair.cli.screen import progress, show

    if asked.json and asked.table == "-":
        raise typer.BadParameter(
            "a pipe takes the table or --json, not both", param_hint="--out"
        )
    check_outputs([*outputs, asked.html, asked.table], [*asked.files, *inputs])
    check_sheet(asked.table)
    with progress(asked.quiet) as on_step:
        found = work(asked, on_step)
    show(found, asked)


@_command
def describe(asked: options.DescribeCommand) -> None:
    """Say what a model file holds, without running anything in it.

    Example: rankfair describe pay.rankfair --card
    """
    if asked.card and asked.json:
        raise typer.BadParameter("Markdown or JSON, not both", param_hint="--card")
    from rankfair.cli.describe import card_of, words_of
    from rankfair.files.model_files import describe_model

    found = describe_model(asked.model)
    if asked.json:
        echo_json(found)
    else:
        for line in card_of(found) if asked.card else words_of(found):
            echo(line)


@_command
def export_onnx(asked: options.OnnxCommand) -> None:
    """Write a model as ONNX, for programs without Python.

    Example: rankfair export-onnx pay.rankfair pay.onnx
    """
    from rankfair.files import onnx
    from rankfair.files.model_files import load_model

    check_outputs([asked.out], [asked.model])
    written = onnx.export_onnx(load_model(asked.model), asked.out)
    if not asked.quiet:
        echo(f"wrote {written}")


@_command
def demo(asked: options.DemoCommand) -> None:
    """Compare the methods on synthetic data: table and picture.

    Example: rankfair demo --out demo --seed 1
    """
    if find_spec("matplotlib") is None:
        fail('The picture needs an extra: pip install "rankfair[plot]"')
    asked.out.mkdir(parents=True, exist_ok=True)
    from rankfair.cli.demo import run_demo
    from rankfair.cli.screen import progress

    with progress(asked.quiet) as on_step:
        done = run_demo(asked, on_step)
    done.show()
