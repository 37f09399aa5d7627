"""How numbers are written in a file: the signs for decimals, thousands and nothing."""

from __future__ import annotations

import re
from dataclasses import dataclass

from rankfair.tables.errors import TableError, quoted

__all__ = ["PLAIN", "Style"]

THOUSANDS = (",", ".", "'", "’", " ", "\u00a0", "\u202f", "_")


@dataclass(frozen=True)
class Style:
    """How numbers are written in a file.

    Attributes
    ----------
    decimal : str
        ``"."`` or ``","``.
    thousands : str or None
        What stands between groups of three digits.
    missing : tuple of str
        Cells that mean "not known", beside the empty one.
    """

    decimal: str = "."
    thousands: str | None = None
    missing: tuple[str, ...] = ()

    def check(self, delimiter: str | None) -> None:
        """Raise if the signs contradict each other."""
        if self.decimal not in (".", ","):
            raise TableError(
                f"decimal must be a point or a comma; got {quoted(self.decimal)}",
                cure="--decimal '.' or --decimal ','",
            )
        if self.thousands is not None and self.thousands not in THOUSANDS:
            raise TableError(
                f"thousands cannot be {quoted(self.thousands)}",
                cure="It is one of comma, point, apostrophe, space, underscore.",
            )
        if self.thousands == self.decimal:
            raise TableError(
                f"{quoted(self.decimal)} cannot be both the decimal sign and that of "
                "thousands",
                cure="Give --decimal and --thousands different signs.",
            )
        if delimiter is not None and len(delimiter) != 1:
            raise TableError(
                f"delimiter must be one character; got {quoted(delimiter)}",
                cure="For a tab write --delimiter $'\\t'",
            )
        if delimiter is not None and delimiter in '"\r\n\0':
            raise TableError(
                f"delimiter cannot be {quoted(delimiter)}",
                cure="Use a comma, a semicolon, a tab or a bar.",
            )

    @property
    def pattern(self) -> re.Pattern[str]:
        """What a number looks like."""
        point = re.escape(self.decimal)
        whole = "[0-9]+"
        if self.thousands is not None:
            sign = re.escape(self.thousands)
            whole = rf"(?:[0-9]{{1,3}}(?:{sign}[0-9]{{3}})+|[0-9]+)"
        return re.compile(
            rf"[+-]?(?:{whole}(?:{point}[0-9]*)?|{point}[0-9]+)(?:[eE][+-]?[0-9]+)?"
        )


PLAIN = Style().pattern  # 12, -3.5, .5, 1e-7
