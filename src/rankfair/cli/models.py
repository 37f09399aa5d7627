"""Commands for model files: parse, call one function, show what it returned."""

from pathlib import Path
from typing import Annotated
from zipfile import is_zipfile

import typer

from rankfair.cli.bundles import Files, Scheduler
from rankfair.cli.ends import (
    check_outputs,
    check_sheet,
    echo,
    echo_json,
    fail,
    telling,
)
from rankfair.cli.spread import expanded

__all__ = ["describe", "export_onnx", "predict"]


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
    scheduler: Scheduler = None,
    quiet: Annotated[
        bool, typer.Option("--quiet", "-q", help="Show no notes.")
    ] = False,
    *,
    files: Files,
) -> None:
    """Add a column of predictions to the rows of a file.

    A folder of Parquet files is predicted file by file into another folder, under the
    same names; with --scheduler a file a partition, part.0.parquet and so on. A folder
    that is not there yet comes with all files in one step; into one that is there they
    go one by one, each whole. One that holds Parquet files is refused, and no file is
    left after an error.

    Example: rankfair predict pay.rankfair new.csv -o predicted.csv
    """
    with telling(quiet):
        from rankfair.cli import show
        from rankfair.jobs.folders import predict_rows

        _refuse_swapped(model, files.files)
        check_outputs([out], [model, *files.files])
        if len(files.files) > 1 or not Path(files.files[0]).is_dir():
            check_sheet(out)
        done = predict_rows(
            model,
            files.files,
            files.reading(),
            scheduler=scheduler,
            out=out,
            name=name,
            keep=keep,
        )
        show.predicted(done, out, quiet)


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
        from rankfair.cli.describe import described
        from rankfair.files.model_files import describe_model

        found = describe_model(model)
        if as_json:
            echo_json(found)
        else:
            described(found)


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
