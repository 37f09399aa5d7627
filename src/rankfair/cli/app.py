"""The application: its commands, and the options that come before them."""

from typing import Annotated

import typer

from rankfair import __version__
from rankfair.cli import commands
from rankfair.cli.errors import echo
from rankfair.cli.options import Commands, Once

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
for command in (
    commands.audit,
    commands.fit,
    commands.predict,
    commands.path,
    commands.compare,
    commands.describe,
    commands.export_onnx,
    commands.demo,
):
    app.command(command.__name__.replace("_", "-"), cls=Once)(command)


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
