"""How a command ends when it cannot go on: one sentence and a code."""

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NoReturn

import typer

__all__ = ["fail", "telling", "writing"]


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


@contextmanager
def telling(quiet: bool = False) -> Iterator[None]:
    """Turn what a user can mend into a sentence, and warnings into lines on stderr."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            yield
        except (ValueError, OSError) as error:
            fail(_sentence(error))
        except ModuleNotFoundError as error:
            fail(f'This needs an extra: pip install "rankfair[all]" ({error.name})')
        except MemoryError:
            fail("There is not enough memory for these rows.")
        except KeyboardInterrupt:
            fail("Stopped; nothing was written.", 130)
        finally:
            if not quiet:
                for line in dict.fromkeys(str(each.message) for each in caught):
                    typer.echo(f"Note: {line}", err=True)


def _sentence(error: Exception) -> str:
    if isinstance(error, OSError) and error.filename is not None:
        return f"{error.filename}: {error.strerror or error}"
    return str(error)
