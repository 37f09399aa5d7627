"""The command `rankfair`: parse, call one function, print."""

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
    app(prog_name="rankfair")
