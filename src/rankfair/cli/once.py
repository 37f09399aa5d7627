"""Options that take one value are given once."""

from typing import Any

import typer
from typer.core import TyperCommand

__all__ = ["Once"]


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
        return super().parse_args(ctx, args)


def _takes_one(param: Any) -> bool:
    """Tell whether it is an option with a value, of which the last would win."""
    is_option = str(param.param_type_name) == "option"
    return is_option and not (param.multiple or param.is_flag)
