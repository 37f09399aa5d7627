"""Records as a table: with rich where it is installed, as plain text anywhere."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from rankfair.experiments.records import HELD_OUT, TRAIN, Record

if TYPE_CHECKING:
    from rich.table import Table

__all__ = ["LEGEND", "notes", "plain_table", "rich_table"]

COLUMNS = ("RMSE", "AUC", "MD", "BR", "IRR", "KS", "seconds")
SECTIONS = {TRAIN: "training rows", HELD_OUT: "held-out rows"}
LEGEND = (
    "RMSE: error, in standard deviations of the target.  AUC: how often a row of\n"
    "group A is predicted above one of B; 0.5 is level.  MD, BR: mean prediction and\n"
    "mean residual, A less B.  IRR: mean rank, A over B.  KS: greatest distance\n"
    "between the groups' distributions.  seconds: fit and predict."
)


def plain_table(records: Sequence[Record]) -> str:
    """Return the table as text, one line a record.

    Parameters
    ----------
    records : sequence of dict
        As `compare` returns them.

    Returns
    -------
    str
        Lines of at most 80 characters.

    Examples
    --------
    >>> from rankfair.experiments.records import Record
    >>> one = Record(
    ...     method="tilt", rows="train", epsilon=0.0, rmse=0.75, auc=0.5, gap=0.0,
    ...     md=0.1, br=1.2, irr=1.0, ks=0.1, seconds=0.1, note="",
    ... )
    >>> print(plain_table([one]))
    training rows         RMSE     AUC      MD      BR     IRR      KS  seconds
      tilt               0.750  0.5000  +0.100  +1.200   1.000   0.100     0.10
    """
    lines = []
    for title, rows in _sections(records):
        lines.append(_line(title, COLUMNS))
        lines += [_line(f"  {row['method']}", _cells(row)) for row in rows]
    return "\n".join(lines)


def rich_table(records: Sequence[Record], strong: str | None = None) -> Table:
    """Return the same table for a rich console, with one method in bold.

    Parameters
    ----------
    records : sequence of dict
        As `compare` returns them.
    strong : str, optional
        The method to set in bold.

    Returns
    -------
    rich.table.Table
        At most 80 characters wide.

    Examples
    --------
    >>> rich_table([]).columns[0].header
    'method'
    """
    from rich import box
    from rich.table import Table

    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False)
    table.add_column("method", no_wrap=True)
    for name in COLUMNS:
        table.add_column(name, justify="right", no_wrap=True)
    for title, rows in _sections(records):
        table.add_section()
        table.add_row(title, style="italic")
        for row in rows:
            style = "bold" if row["method"] == strong else None
            table.add_row(f"  {row['method']}", *_cells(row), style=style)
    return table


def notes(records: Iterable[Record]) -> list[str]:
    """Return what methods warned of, a sentence for each method that did.

    Parameters
    ----------
    records : iterable of dict
        As `compare` returns them.

    Returns
    -------
    list of str
        "method: warning", in lines of at most 80 characters.

    Examples
    --------
    >>> notes([])
    []
    """
    said = dict.fromkeys((row["method"], row["note"]) for row in records if row["note"])
    return [textwrap.fill(f"{method}: {note}", 80) for method, note in said]


def _sections(records: Sequence[Record]) -> list[tuple[str, list[Record]]]:
    """Records of the training rows, then those of the others."""
    kinds = dict.fromkeys(row["rows"] for row in records)
    return [
        (SECTIONS[kind], [row for row in records if row["rows"] == kind])
        for kind in kinds
    ]


def _cells(row: Record) -> tuple[str, ...]:
    return (
        f"{row['rmse']:.3f}",
        f"{row['auc']:.4f}",
        f"{row['md']:+.3f}",
        f"{row['br']:+.3f}",
        f"{row['irr']:.3f}",
        f"{row['ks']:.3f}",
        f"{row['seconds']:.2f}",
    )


def _line(name: str, cells: Sequence[str]) -> str:
    *measures, seconds = cells
    return f"{name:18}" + "".join(f"{cell:>8}" for cell in measures) + f"{seconds:>9}"
