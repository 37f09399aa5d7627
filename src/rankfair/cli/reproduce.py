"""The command `rankfair reproduce`: options in, one function called, words out."""

from __future__ import annotations

import re
from importlib.util import find_spec
from pathlib import Path
from typing import Annotated

import typer

from rankfair.cli.ends import capital, fail, writing

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
    from rankfair.cli.screen import cell_progress, show_reproduction
    from rankfair.experiments.reproduce import docs as page
    from rankfair.experiments.reproduce import files, run, settings
    from rankfair.experiments.reproduce.journal import RefusedError
    from rankfair.experiments.reproduce.lock import locked
    from rankfair.experiments.reproduce.workers import LostWorkerError

    try:
        chosen, names = _sorted(tables, data, context.args)
        members = settings.chosen_data(chosen or tuple(settings.TABLES), names)
    except ValueError as error:
        fail(capital(str(error)))
    drawn = not chosen if figures is None else figures
    if drawn and find_spec("matplotlib") is None:
        fail('Figures need an extra: pip install "rankfair[plot]"; or --no-figures')
    asked = settings.make(members, seed, drawn, quick, repeats)
    try:
        with writing("--out", out), locked(out):
            with cell_progress(quiet) as on_cell:
                result = run.reproduce(
                    out, asked, jobs=jobs, resume=resume, on_cell=on_cell
                )
            written = files.write_pages(out, result)
        if docs is not None:
            with writing("--docs", docs):
                written += page.write_docs(docs, result, page.pictures_of(written))
    except KeyboardInterrupt:
        fail(
            f"Stopped. What was finished is kept in {out}: run the same command with "
            "--resume to go on.",
            130,
        )
    except (RefusedError, LostWorkerError) as error:
        fail(capital(str(error)))
    show_reproduction(result, written)
    if any("error" in record for record in result.records):
        raise typer.Exit(1)


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
