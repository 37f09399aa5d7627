"""The command `rankfair reproduce`: options in, one function called, words out."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from rankfair.cli.ends import STOPPED, capital, fail, writing

if TYPE_CHECKING:
    from rankfair.experiments.reproduce.run import Result
    from rankfair.experiments.reproduce.settings import Settings

__all__ = ["reproduce"]

OUT = Path("results")
SYNTHETIC = re.compile(r"^synthetic[\s=-]+", re.IGNORECASE)


def reproduce(
    context: typer.Context,
    tables: Annotated[
        list[str] | None,
        typer.Option(metavar="2 3", help="Tables to make: 2 (synthetic), 3 (real)."),
    ] = None,
    figures: Annotated[
        bool | None,
        typer.Option(help="Draw the figures; done unless only tables are asked for."),
    ] = None,
    data: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME ...", help="synthetic, crime, income, wine, student."
        ),
    ] = None,
    repeats: Annotated[
        int | None,
        typer.Option(min=1, help="Repeats of what is random.  [default: 20]"),
    ] = None,
    out: Annotated[
        Path, typer.Option(file_okay=False, help="Folder for all files of the run.")
    ] = OUT,
    resume: Annotated[
        bool, typer.Option("--resume", help="Go on with the run in that folder.")
    ] = False,
    jobs: Annotated[int, typer.Option(min=1, help="Processes at work.")] = 2,
    quick: Annotated[
        bool, typer.Option("--quick", help="Two minutes: 2 repeats, coarse grids.")
    ] = False,
    seed: Annotated[int, typer.Option(min=0, help="Seed of all that is random.")] = 0,
    docs: Annotated[
        Path | None,
        typer.Option(file_okay=False, help="Write reproduction.md there too."),
    ] = None,
    quiet: Annotated[
        bool, typer.Option("--quiet", help="Show no progress, only the outcome.")
    ] = False,
) -> None:
    """Make the paper's tables and figures again, its values beside.

    Data that is not found is named in the tables, and the rest runs. A run that was
    stopped goes on with --resume and gives the same files.

    Example: rankfair reproduce --quick --out results
    """
    from rankfair.cli.screen import show_reproduction

    asked = _settings(tables, data, context.args, figures, seed, quick, repeats)
    with _told_of(out):
        result, written = _run(out, asked, jobs, resume, quiet, docs)
    show_reproduction(result, written)
    if any("error" in record for record in result.records):
        raise typer.Exit(1)


def _settings(
    tables: list[str] | None,
    data: list[str] | None,
    more: list[str],
    figures: bool | None,
    seed: int,
    quick: bool,
    repeats: int | None,
) -> Settings:
    """Return what is asked for, or leave with a sentence."""
    from rankfair.experiments.reproduce import settings

    try:
        chosen, names = _sorted(tables, data, more)
        members = settings.chosen_data(chosen or tuple(settings.TABLES), names)
    except ValueError as error:
        fail(capital(str(error)))
    drawn = not chosen if figures is None else figures
    if drawn and find_spec("matplotlib") is None:
        fail('Figures need an extra: pip install "rankfair[plot]"; or --no-figures')
    return settings.make(members, seed, drawn, quick, repeats)


@contextmanager
def _told_of(out: Path) -> Iterator[None]:
    """Leave with a sentence where a run cannot go on, or was stopped."""
    from rankfair.experiments.reproduce.journal import RefusedError
    from rankfair.experiments.reproduce.workers import LostWorkerError

    try:
        yield
    except KeyboardInterrupt:
        fail(
            f"Stopped. What was finished is kept in {out}: run the same command with "
            "--resume to go on.",
            STOPPED,
        )
    except (RefusedError, LostWorkerError) as error:
        fail(capital(str(error)))


def _run(
    out: Path, asked: Settings, jobs: int, resume: bool, quiet: bool, docs: Path | None
) -> tuple[Result, list[Path]]:
    """Run what is asked for; return the records and the files written."""
    from rankfair.cli.screen import cell_progress
    from rankfair.experiments.reproduce import docs as page
    from rankfair.experiments.reproduce import files, run
    from rankfair.experiments.reproduce.lock import locked

    with writing("--out", out), locked(out):
        with cell_progress(quiet) as on_cell:
            result = run.reproduce(
                out, asked, jobs=jobs, resume=resume, on_cell=on_cell
            )
        written = files.write_pages(out, result)
    if docs is not None:
        with writing("--docs", docs):
            written += page.write_docs(docs, result, page.pictures_of(written))
    return result, written


def _sorted(
    tables: list[str] | None, data: list[str] | None, more: list[str]
) -> tuple[tuple[int, ...], tuple[str, ...]]:
    """Tables and names of data.

    In `--tables 2 3` the 3 comes as an argument of its own: digits belong to --tables,
    words to --data, if that was given.
    """
    for word in more:
        option = tables if _is_number(word) else data
        if option is None:
            raise ValueError(f"unexpected {word!r}: see rankfair reproduce --help")
        option.append(word)
    numbers = _split(tables)
    for word in numbers:
        if not _is_number(word):
            raise ValueError(f"--tables takes 2 and 3, got {word!r}")
    names = [re.sub(SYNTHETIC, "synthetic ", it) for it in _split(data)]
    for name, given, found in (("tables", tables, numbers), ("data", data, names)):
        if given is not None and not found:
            raise ValueError(f"--{name} was given without a value")
    return tuple(sorted({int(word) for word in numbers})), tuple(names)


def _split(words: list[str] | None) -> list[str]:
    joined = " ".join(words or ())
    # "synthetic 0.9" is one name.
    return re.findall(r"(?i:synthetic\s+(?=\d))?[^\s,]+", joined)


def _is_number(word: str) -> bool:
    return word.isascii() and word.isdigit()
