"""The command `rankfair`: parse, call one function, print."""

import io
import os
import sys

__all__ = ["main"]

_EXTRA = frozenset({"typer", "click", "rich"})


def main() -> None:
    """Run the command line, or say in one sentence how to install it.

    Examples
    --------
    >>> from unittest.mock import patch
    >>> with patch("sys.argv", ["rankfair", "--version"]):
    ...     try:
    ...         main()
    ...     except SystemExit as done:
    ...         print("exit code", done.code)
    rankfair ...
    exit code 0
    """
    _open_closed()
    try:
        from rankfair.cli.app import app
        from rankfair.cli.errors import ending
    except ModuleNotFoundError as error:
        if error.name not in _EXTRA:
            raise
        print(
            'The command line needs an extra: pip install "rankfair[cli]"',
            file=sys.stderr,
        )
        raise SystemExit(2) from None
    _never_fail_to_print()
    with ending():
        app(prog_name="rankfair")


def _open_closed() -> None:
    """Stand in for standard streams that are closed, before a file gets their number.

    To read from one or to print is an error then; what is said on stderr goes nowhere.
    """
    for name, mode, way in (
        ("stdin", "r", os.O_WRONLY),
        ("stdout", "w", os.O_RDONLY),
        ("stderr", "w", os.O_WRONLY),
    ):
        if getattr(sys, name) is None:
            handle = os.open(os.devnull, way)
            stand_in = open(handle, mode, encoding="utf-8", closefd=False)  # noqa: SIM115
            setattr(sys, name, stand_in)


def _never_fail_to_print() -> None:
    """Show a question mark for a sign that the console does not have."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")
