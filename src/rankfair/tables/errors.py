"""One kind of error for files: where it is, what is there, and which flag helps."""

from __future__ import annotations

from rankfair._printable import clipped, printable

__all__ = ["TableError", "quoted"]


def quoted(cell: str, most: int = 40) -> str:
    """Return a cell in quotes, cut where it is long, control characters shown.

    Examples
    --------
    >>> quoted("a\\tb"), quoted("x" * 100, most=5)
    ('"a[U+0009]b"', '"xxxx…"')
    """
    return f'"{clipped(cell, most)}"'


class TableError(ValueError):
    """A table that cannot be read or written without a guess.

    Attributes
    ----------
    line : int or None
        The line of the file, counted from 1, where it is known.
    column : str or None
        The name of the column.
    cure : str
        What helps, flags of the command line among it.

    Examples
    --------
    >>> print(TableError("is empty", source="a.csv"))
    a.csv is empty.
    >>> print(TableError("1e999 is too large", source="a.csv", line=2, column="pay"))
    a.csv, line 2, column "pay": 1e999 is too large.
    """

    def __init__(
        self,
        reason: str,
        source: str = "",
        line: int | None = None,
        column: str | None = None,
        cure: str = "",
    ):
        self.reason, self.source = reason, source
        self.line, self.column, self.cure = line, column, cure
        super().__init__(reason, source, line, column, cure)

    def __str__(self) -> str:
        place = [printable(self.source)] if self.source else []
        place += [f"line {self.line}"] if self.line is not None else []
        place += [f"column {quoted(self.column)}"] if self.column is not None else []
        link = ": " if self.line is not None or self.column is not None else " "
        head = ", ".join(place) + link if place else ""
        end = "" if self.cure.endswith((".", "?")) else "."
        return f"{head}{self.reason}.{f' {self.cure}{end}' if self.cure else ''}"

    def of(self, source: str) -> TableError:
        """Return the same error with the name of the file."""
        return TableError(
            self.reason,
            source=source,
            line=self.line,
            column=self.column,
            cure=self.cure,
        )
