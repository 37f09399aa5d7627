"""Options that take one value are given once, and what is wrong is printable."""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from difflib import get_close_matches
from typing import Any

import typer
from typer.core import TyperCommand, TyperGroup

from rankfair.input.errors import printable

__all__ = ["Commands", "Once"]

CHOICE = re.compile(r"'(.*)' is not one of ('.*')\.")


# Typer has a copy of click of its own, or uses that of others.
UsageError: type[Exception] = typer.BadParameter.__mro__[1]


class Commands(TyperGroup):
    """Commands that say what is wrong with their words as `echo` would."""

    def make_context(self, *given: Any, **more: Any) -> Any:
        """Parse the words before the command."""
        with _printable_errors():
            return super().make_context(*given, **more)

    def invoke(self, ctx: Any) -> Any:
        """Parse the others, and run the command."""
        with _printable_errors():
            return super().invoke(ctx)


@contextmanager
def _printable_errors() -> Iterator[None]:
    try:
        yield
    except UsageError as error:
        said: Any = error
        said.message = printable(said.message or "", keep="\n")
        raise


class Once(TyperCommand):
    """A command that refuses an option given twice, where the last would win."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Parse as usual, after a look at what is there twice."""
        _, _, order = self.make_parser(ctx).parse_args(args=list(args))
        for param in order:
            if order.count(param) > 1 and _takes_one(param):
                raise typer.BadParameter(
                    f"given {order.count(param)} times, but it takes one value: give "
                    "it once",
                    ctx=ctx,
                    param_hint=param.opts[0],
                )
        try:
            return super().parse_args(ctx, args)
        except typer.BadParameter as error:
            error.message = _said(error.message)
            raise


def _said(message: str) -> str:
    """Return what is wrong with a value, and the nearest of those there are.

    Examples
    --------
    >>> _said("Value error, 'ranks' is not one of 'rank', 'mean'.")
    "'ranks' is not one of 'rank', 'mean'. Did you mean 'rank'?"
    """
    message = message.removeprefix("Value error, ")
    found = CHOICE.fullmatch(message)
    close = found and get_close_matches(found[1], re.findall(r"'([^']*)'", found[2]), 1)
    return f"{message} Did you mean '{close[0]}'?" if close else message


def _takes_one(param: Any) -> bool:
    """Tell whether it is an option with a value, of which the last would win."""
    is_option = str(param.param_type_name) == "option"
    return is_option and not (param.multiple or param.is_flag)
