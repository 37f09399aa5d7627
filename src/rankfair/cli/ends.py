"""How a command ends when it cannot go on: one sentence and a code."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NoReturn

import typer

__all__ = ["fail", "writing"]


def fail(sentence: str, code: int = 2) -> NoReturn:
    """Say why, on stderr, and leave."""
    typer.echo(sentence[:1].upper() + sentence[1:], err=True)
    raise typer.Exit(code)


@contextmanager
def writing(option: str, folder: Path) -> Iterator[None]:
    """Name the option whose folder cannot be written."""
    try:
        yield
    except OSError as error:
        fail(f"Could not write to {option} {folder}: {error.strerror or error}")
