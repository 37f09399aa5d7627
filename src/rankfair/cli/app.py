"""The commands. Each imports what it needs when it runs, so `--help` stays quick."""

from importlib.util import find_spec
from pathlib import Path
from typing import Annotated

import typer

from rankfair import __version__
from rankfair.cli import data, models
from rankfair.cli.ends import echo, fail, writing
from rankfair.cli.once import Commands, Once

__all__ = ["app"]

# Rich help pages and tracebacks cost more import time than all the rest of `--help`.
app = typer.Typer(
    name="rankfair",
    cls=Commands,
    help="Regression whose predictions do not rank one group above another.\n\n"
    "Example: rankfair audit pay.csv --target pay --sensitive gender --task job",
    no_args_is_help=True,
    add_completion=True,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
)


def _show_version(asked: bool) -> None:
    if asked:
        echo(f"rankfair {__version__}")
        raise typer.Exit


@app.callback()
def root(
    version: Annotated[
        bool,
        typer.Option(
            "--version",
            callback=_show_version,
            is_eager=True,
            help="Print the version and exit.",
        ),
    ] = False,
) -> None:
    """Hold the options that come before a command."""


for command in (data.audit, data.fit, models.predict, data.path, data.compare):
    app.command(cls=Once)(command)
app.command()(models.describe)
app.command("export-onnx")(models.export_onnx)


@app.command(cls=Once)
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
    from rankfair.cli.screen import progress, show
    from rankfair.experiments.demo import run

    with writing("--out", out), progress(quiet) as on_step:
        done = run(out, seed, on_step=on_step)
    show(done)
