"""The commands: a record of options each, and the one function that answers it.

Each imports what it needs when it runs, so that `--help` stays quick.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path
from typing import Annotated, Any, get_args
from zipfile import is_zipfile

import typer

from rankfair.cli.errors import check_outputs, check_sheet, echo, fail, telling
from rankfair.cli.methods import METHODS
from rankfair.cli.options import (
    HALF_WIDTH,
    ColumnOptions,
    ConstraintOptions,
    FileOptions,
    GateOptions,
    LayoutName,
    ModelOptions,
    OutputOptions,
    SheetOptions,
    expanded,
    option,
)

TABLES = (".csv", ".tsv", ".txt", ".xlsx", ".parquet", ".pq", ".html")
MODEL = typer.Argument(metavar="MODEL", help="A model file.")


@dataclass(frozen=True, kw_only=True)
class AuditCommand:
    """What `rankfair audit` is asked for."""

    columns: ColumnOptions
    prediction: list[str] | None = option(
        None, "COLUMN", "Predictions; repeat it for several."
    )
    model: str | None = option(None, "MODEL", "Audit the predictions of a model file.")
    reference: list[str] | None = option(
        None,
        "LABEL",
        "The group that others are compared with, one a sensitive column; by default "
        "the largest.",
    )
    control: list[str] | None = option(
        None,
        "COLUMN",
        "A column that may explain the gap; repeat it for several.",
    )
    close_to: float | None = option(
        None,
        "SHARE",
        "Find the least raises that leave this unexplained gap, 0.02 for 2 % of the "
        "reference group's mean.",
        min=0.0,
        max=1.0,
    )
    raises: str | None = option(None, "FILE", "Write these raises there, a row each.")
    layout: LayoutName = option(
        "audit",
        "|".join(get_args(LayoutName)),
        "What the page starts with: pay-transparency is figures of Article 9 of the "
        "directive (EU) 2023/970.",
    )
    complementary: str | None = option(
        None, "COLUMN", "Complementary or variable pay, for that page."
    )
    unit: str = option("row", "NOUN", "What a row is, in the headline: a person.")
    gate: GateOptions
    frequency_weights: bool = option(
        False,
        None,
        "A weight is how often a row was seen; else a row is one observation.",
        "--frequency-weights",
    )
    confidence: float = option(0.95, "NUMBER", "Of all intervals, from 0.5 to below 1.")
    min_group: int = option(5, "N", "Judge no group of fewer rows.", min=1)
    seed: int = option(0, "N", "Seed of permutations.", min=0)
    out: SheetOptions
    files: FileOptions


@dataclass(frozen=True, kw_only=True)
class FitCommand:
    """What `rankfair fit` is asked for."""

    columns: ColumnOptions
    to: Path | None = option(
        None, "MODEL", "The model file.", "--out", "-o", dir_okay=False
    )
    epsilon: list[float] | None = option(
        None,
        "NUMBER",
        f"{HALF_WIDTH} Once for all, or once for each --constraint in order.  "
        "[default: 0.01]",
        min=0.0,
    )
    constraints: ConstraintOptions
    model: ModelOptions
    folds: int = option(
        5,
        "N",
        "Folds of the report, 2 or more, where rows cannot be left out of one fit; 0 "
        "reports on the rows fitted.",
        min=0,
    )
    gate: GateOptions
    notes: str | None = option(None, "TEXT", "A few words to keep in the model file.")
    out: OutputOptions
    files: FileOptions


@dataclass(frozen=True, kw_only=True)
class PathCommand:
    """What `rankfair path` is asked for."""

    columns: ColumnOptions
    at: list[float] | None = option(
        None, "EPSILON", "Try this ε; repeat it; by default up to forty."
    )
    constraints: ConstraintOptions
    model: ModelOptions
    folds: int | None = option(
        None,
        "N",
        "Folds of the cross-validation; by default each row is left out of one fit or, "
        "where it cannot be, there are 5.",
        min=2,
    )
    out: SheetOptions
    files: FileOptions


@dataclass(frozen=True, kw_only=True)
class CompareCommand:
    """What `rankfair compare` is asked for."""

    columns: ColumnOptions
    method: list[str] | None = option(
        None,
        "NAME",
        f"Try this method; repeat it; by default all: {'; '.join(METHODS)}.",
    )
    epsilon: float = option(0.01, "NUMBER", HALF_WIDTH, min=0.0)
    model: ModelOptions
    folds: int = option(5, "N", "Folds of the cross-validation.", min=2)
    within: float = option(
        0.05,
        "GAP",
        "Name a method of least error with a rank gap of at most this.",
        min=0.0,
        max=0.5,
    )
    out: SheetOptions
    files: FileOptions


@dataclass(frozen=True, kw_only=True)
class PredictCommand:
    """What `rankfair predict` is asked for."""

    model: str = field(metadata={"option": MODEL})
    out: str = option(
        "-", "FILE", "CSV, Excel or Parquet, - for CSV to a pipe.", "--out", "-o"
    )
    name: str = option("prediction", "NAME", "The name of the new column.")
    keep: list[str] | None = option(
        None, "COLUMN", "Write this column beside it; repeat it; by default all."
    )
    quiet: bool = option(False, None, "Show no notes.", "--quiet", "-q")
    files: FileOptions


@expanded
def audit(asked: AuditCommand) -> None:
    """Measure how a prediction or a target ranks the groups.

    Without predictions the target itself is audited: its gap in units and in percent,
    over all rows and within tasks, and with --control what explains it.

    Ends with 0, or with --max-gap or --max-task-gap: 0 held (equality too), 1 exceeded,
    3 not estimable. 2 is bad usage or bad data.

    Example: rankfair audit pay.csv --target pay --sensitive gender --task job --html
    audit.html
    """
    with telling(asked.out.quiet):
        from rankfair.cli.audit import audit_files

        check_sheet(asked.raises)
        _answer(
            asked,
            audit_files,
            inputs=[asked.model or "-"],
            outputs=[asked.raises],
            gate=asked.gate,
        )


@expanded
def fit(asked: FitCommand) -> None:
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
    if asked.folds == 1:
        raise typer.BadParameter("0, or 2 and more", param_hint="--folds")
    if asked.to is not None and asked.to.suffix.lower() in TABLES:
        fail(f"{asked.to} is named like a table: give the model another name.")
    with telling(asked.out.quiet):
        from rankfair.cli.fit import fit_files

        _answer(asked, fit_files, outputs=[asked.to], gate=asked.gate)


@expanded
def path(asked: PathCommand) -> None:
    """Show what each ε costs: error and rank gap on rows that a fit has not seen.

    Example: rankfair path pay.csv --target pay --sensitive gender --task job --html
    path.html
    """
    with telling(asked.out.quiet):
        from rankfair.cli.path import path_of_files

        _answer(asked, path_of_files)


@expanded
def compare(asked: CompareCommand) -> None:
    """Try all methods on one's own data by cross-validation.

    Example: rankfair compare pay.csv --target pay --sensitive gender --task job --html
    methods.html
    """
    with telling(asked.out.quiet):
        from rankfair.cli.compare import compare_files

        _answer(asked, compare_files)


def _answer(
    asked: Any,
    work: Callable[..., Any],
    *,
    inputs: list[str] | None = None,
    outputs: Sequence[Path | str | None] = (),
    gate: GateOptions | None = None,
) -> None:
    """Check where the answer goes, do the work, and show what came of it."""
    from rankfair.cli.screen import progress, show

    out = asked.out
    if out.as_json and out.sheet == "-":
        raise typer.BadParameter(
            "a pipe takes the table or --json, not both", param_hint="--out"
        )
    written = [*outputs, out.html, out.sheet]
    check_outputs(written, [*asked.files.files, *(inputs or [])])
    check_sheet(out.sheet)
    with progress(out.quiet) as on_step:
        found = work(asked, on_step)
    show(found, out, gate)


@expanded
def predict(asked: PredictCommand) -> None:
    """Add a column of predictions to the rows of a file.

    A folder of Parquet files is predicted file by file into another folder, under the
    same names. A folder that does not exist yet comes with all files in one step; into
    an existing one they go one by one, each whole. A folder that holds Parquet files
    is refused, and no file is left after an error.

    Example: rankfair predict pay.rankfair new.csv -o predicted.csv
    """
    files, model = asked.files.files, asked.model
    with telling(asked.quiet):
        from rankfair.cli.predict import predict_files

        last = files[-1]
        is_other = Path(model).is_file() and not is_zipfile(model)
        if is_other and last.endswith(".rankfair"):
            fail(f"MODEL comes first: rankfair predict {last} {model}")
        check_outputs([asked.out], [model, *files])
        if len(files) > 1 or not Path(files[0]).is_dir():
            check_sheet(asked.out)
        predict_files(asked)


def describe(
    model: Annotated[str, MODEL],
    as_json: Annotated[
        bool, typer.Option("--json", help="Print JSON instead of text.")
    ] = False,
    card: Annotated[
        bool, typer.Option("--card", help="Print a model card, in Markdown.")
    ] = False,
) -> None:
    """Say what a model file holds, without running anything in it.

    Example: rankfair describe pay.rankfair --card
    """
    if card and as_json:
        raise typer.BadParameter("Markdown or JSON, not both", param_hint="--card")
    with telling():
        from rankfair.cli.model_card import card_of
        from rankfair.cli.models import show_model
        from rankfair.files.model_files import describe_model

        found = describe_model(model)
        if card:
            for line in card_of(found).splitlines():
                echo(line)
        else:
            show_model(found, as_json)


def export_onnx(
    model: Annotated[str, MODEL],
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
    draws: Annotated[
        int, typer.Option(min=1, help="How many times the data are drawn.")
    ] = 20,
    quiet: Annotated[
        bool, typer.Option("--quiet", "-q", help="Show no progress, only the table.")
    ] = False,
) -> None:
    """Compare the methods on synthetic data: table and picture.

    Example: rankfair demo --out demo --seed 1
    """
    if find_spec("matplotlib") is None:
        fail('The picture needs an extra: pip install "rankfair[plot]"')
    try:
        out.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        fail(f"Could not write to --out {out}: {error.strerror or error}")
    with telling(quiet):
        from rankfair.cli.demo import run_demo
        from rankfair.cli.screen import progress

        with progress(quiet) as on_step:
            done = run_demo(out, seed, draws=draws, on_step=on_step)
        done.show()
