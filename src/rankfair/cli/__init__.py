"""The command `rankfair`: parse, call one function, print."""

import io
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
    try:
        from rankfair.cli.app import app
    except ModuleNotFoundError as error:
        if error.name not in _EXTRA:
            raise
        print(
            'The command line needs an extra: pip install "rankfair[cli]"',
            file=sys.stderr,
        )
        raise SystemExit(2) from None
    _never_fail_to_print()
    app(prog_name="rankfair")


def _never_fail_to_print() -> None:
    """Show a question mark for a sign that the console does not have."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")
