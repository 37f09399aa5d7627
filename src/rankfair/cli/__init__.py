"""The command `rankfair`: parse, call one function, print."""

import io
import os
import sys

__all__ = ["main"]

_EXTRA = frozenset({"typer", "click"})


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
    _prepare_streams()
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
    with ending():
        app(prog_name="rankfair")


def _prepare_streams() -> None:
    """Make standard streams that can be read and written.

    One that is closed becomes an empty one, before a file gets its number.  A sign that
    the console does not have is shown as a question mark.
    """
    for name in ("stdin", "stdout", "stderr"):
        stream = getattr(sys, name)
        if stream is None:
            mode = "r" if name == "stdin" else "w"
            setattr(sys, name, open(os.devnull, mode, encoding="utf-8"))  # noqa: SIM115
        elif isinstance(stream, io.TextIOWrapper) and name != "stdin":
            stream.reconfigure(errors="replace")
