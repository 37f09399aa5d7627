"""What is printed, and how a command ends when it cannot go on."""

from __future__ import annotations

import json
import os
import signal
import sys
import warnings
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, NoReturn

import typer

from rankfair.input.disk import real
from rankfair.input.errors import (
    Argument,
    FileError,
    InputError,
    InputWarning,
    printable,
)

DEBUG = "RANKFAIR_TRACEBACK"
SHEETS = ("", ".csv", ".txt", ".xlsx", ".parquet", ".pq")
STOPPED, CLOSED, FAULT = 130, 141, 70
# Options whose name is not that of the argument in Python.
OPTIONS = {
    "X": "The table",
    "constraints": "--constraint",
    "controls": "--control",
    "cv": "--folds",
    "epsilons": "--at",
    "numbers": "--number",
    "features": "--feature",
    "sample_weight": "--weight",
    "sensitive_features": "--sensitive",
    "tasks": "--task",
    "y": "--target",
    "y_pred": "--prediction",
    "y_true": "--target",
}
# Settings of a model that no option sets: they keep their names in Python.
IN_PYTHON = ("count", "direction", "side", "solver", "standardize")


class NotEstimableError(ValueError):
    """Something that these rows cannot tell: the exit code is 3."""


def spell(argument: Argument) -> str:
    """Return an argument of Python as an option, for each of several values again.

    A flag has no value.

    Examples
    --------
    >>> spell(Argument("tasks")), spell(Argument("unseen", "shared"))
    ('--task', '--unseen shared')
    >>> spell(Argument("blind", False)), spell(Argument("intersect", True))
    ('--no-blind', '--intersect')
    >>> spell(Argument("constraints", ["rank", "mean"]))
    '--constraint rank --constraint mean'
    >>> spell(Argument("count", "train"))
    'count="train"'
    """
    name, value = argument.name, argument.value
    if name in IN_PYTHON:
        return str(argument)
    if name == "blind" and value is False:
        return "--no-blind"
    option = OPTIONS.get(name, f"--{name.replace('_', '-')}")
    if value is None or value is True:
        return option
    several = value if isinstance(value, list | tuple) else [value]
    return " ".join(f"{option} {each}" for each in several)


def sentence_of(error: BaseException) -> str:
    """Return what an error or a warning says, in the words of the command line."""
    if isinstance(error, InputError | InputWarning):
        return error.render(spell)
    return str(error)


def echo(line: str = "", *, err: bool = False, bold: bool = False) -> None:
    """Print a line: nothing else does, but `echo_json` and progress.

    What a file says is shown as letters and is no command to the terminal.
    """
    line = printable(line)
    typer.echo(typer.style(line, bold=True) if bold else line, err=err)


def echo_json(value: Any) -> None:
    """Print plain JSON, characters of all languages as they are."""
    text = json.dumps(value, ensure_ascii=False, indent=2, allow_nan=False)
    typer.echo(printable(text, keep="\n", form="\\u{:04x}"))


def tell(notes: Sequence[str], quiet: bool) -> None:
    """Print notes on stderr."""
    if not quiet:
        for note in notes:
            echo(f"Note: {note}", err=True)


def fail(*lines: str, code: int = 2) -> NoReturn:
    """Say why, on stderr, and leave."""
    for line in lines:
        echo(line, err=True)
    raise typer.Exit(code)


def check_outputs(outputs: Iterable[Path | str | None], inputs: Iterable[str]) -> None:
    """Leave if a file to be written is read, or written twice, or has no place to go.

    Nobody wants to learn that after the work is done.
    """
    read = {real(each) for each in inputs if each != "-"}
    written: set[Path] = set()
    for path in (Path(each) for each in outputs if each not in (None, "-")):
        place = real(path)
        if place in written:
            fail(f"{path} is named twice as what to write: give each its own name.")
        if place in read:
            fail(f"{path} is read and would be written over: give another name.")
        if place.parent in read and path.suffix == ".parquet":
            fail(f"{path} would be in a folder that is read: give another folder.")
        if not place.parent.is_dir():
            fail(f"{path} cannot be written: there is no folder {path.parent}.")
        if not os.access(place.parent, os.W_OK):
            fail(f"{path} cannot be written: {path.parent} does not allow it.")
        written.add(place)


def check_sheet(path: str | None) -> None:
    """Leave if a table's name promises what is not written."""
    suffix = "" if path is None else Path(path).suffix.lower()
    if suffix not in SHEETS:
        fail(
            f"{path} would not be a {suffix} file: tables are written as CSV (.csv, "
            ".txt, - for a pipe), Excel (.xlsx) or Parquet (.parquet, .pq)."
        )


@contextmanager
def ending() -> Iterator[None]:
    """End a process as it should, whatever the command in this block does.

    SIGTERM and a closed terminal are treated like Ctrl-C, after which nothing is left
    behind; the exit code is that of the signal.  What cannot be printed is a sentence.
    """
    came: list[int] = []

    def stop(number: int, _: Any) -> NoReturn:
        signal.signal(number, signal.SIG_IGN)  # once is enough, also on the way out
        came.append(number)
        raise KeyboardInterrupt

    numbers = [getattr(signal, name, None) for name in ("SIGTERM", "SIGHUP")]
    # Who ignores one, as nohup does, goes on ignoring it.
    ends = [n for n in numbers if n and signal.getsignal(n) is signal.SIG_DFL]
    for number in ends:
        signal.signal(number, stop)
    try:
        yield
    except OSError as error:
        typer.echo(_of_system(error), err=True)
        raise SystemExit(2) from None
    except SystemExit:
        if came:
            raise SystemExit(128 + came[0]) from None
        raise
    finally:
        for number in {*ends}.difference(came):
            signal.signal(number, signal.SIG_DFL)
        _flush()


def _of_system(error: OSError) -> str:
    """Say what the system said, and of which file."""
    if error.strerror is None:
        return str(error)
    name = f"{error.filename}: " if error.filename is not None else ""
    return f"{name}{error.strerror}"


@contextmanager
def telling(quiet: bool = False) -> Iterator[None]:
    """Turn what a user can mend into a sentence, and warnings into lines on stderr."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            yield
        except (typer.Exit, typer.BadParameter):
            raise
        except NotEstimableError as error:
            fail(sentence_of(error), code=3)
        except BrokenPipeError:
            _leave_quietly()
        except FileError as error:
            if isinstance(error.__cause__, BrokenPipeError):
                _leave_quietly()
            fail(*str(error).split("\n"))
        except OSError as error:
            fail(_of_system(error))
        except ModuleNotFoundError as error:
            fail(f'This needs an extra: pip install "rankfair[all]" ({error.name})')
        except ValueError as error:
            fail(sentence_of(error))
        except MemoryError:
            fail("There is not enough memory for these rows.")
        except KeyboardInterrupt:
            fail("Stopped.", code=STOPPED)
        except Exception as error:
            if os.environ.get(DEBUG):
                raise
            what = f"{type(error).__name__}: {error}. {DEBUG}=1 shows where"
            own = "rankfair failed, which is a fault of its own"
            fail(f"{own}: {what}; please report it.", code=FAULT)
        finally:
            told = (it.message for it in caught)
            said = (sentence_of(it) for it in told if isinstance(it, Warning))
            tell([*dict.fromkeys(said)], quiet)


def _leave_quietly() -> NoReturn:
    """End as a program does whose reader has gone away, `| head` say."""
    _flush()
    raise typer.Exit(CLOSED)


def _flush() -> None:
    """Let what cannot be printed go, rather than into a traceback at exit."""
    try:
        sys.stdout.flush()
    except (OSError, ValueError):
        null = os.open(os.devnull, os.O_WRONLY)
        with suppress(OSError, ValueError):  # a stand-in has no number
            os.dup2(null, sys.stdout.fileno())
