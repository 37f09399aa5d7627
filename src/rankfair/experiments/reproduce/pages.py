"""The tables as Markdown and as one HTML page."""

from __future__ import annotations

from collections.abc import Sequence
from importlib.resources import files

from rankfair.experiments.reproduce.tables import Block, Entry, Table

__all__ = ["NOTES", "as_html", "as_list", "as_markdown", "plain"]

NOTES = (
    "In each cell: ours, and below it in parentheses the value the paper prints. ± is "
    "the standard deviation over repeats; a figure without it is one run. The best of "
    "the paper's columns is bold, as in the paper, but never one that errs like a "
    "constant (RMSE 1) or that failed in a repeat.",
    "Our AUC is shown as max(AUC, 1 − AUC) and our IRR as min(IRR, 1/IRR), the common "
    "form of the paper's two orientations; the records hold both as measured, and the "
    "values of the paper stand as printed. MD and BR are group A less group B, in "
    "standard deviations of the target.",
    "Rows without “held out” are measured on the rows of the fit, as the paper appears "
    "to do; held-out rows were seen by no fit that predicts them.",
)


def as_markdown(tables: Sequence[Table]) -> str:
    """Return the tables as Markdown, one after the other.

    Parameters
    ----------
    tables : sequence of Table
        As `make_tables` returns them.

    Returns
    -------
    str

    Examples
    --------
    >>> entry = Entry("0.500", "0.505 ± 0.004", best=True)
    >>> from rankfair.experiments.reproduce.tables import Line
    >>> block = Block("Wine", (Line("AUC", (entry,)),))
    >>> print(as_markdown([Table("Table III", ("Rank",), (block,))]))
    ### Table III
    <BLANKLINE>
    | | Rank |
    |---|---|
    | **Wine** | |
    | AUC | **0.500**<br>(0.505 ± 0.004) |
    <BLANKLINE>
    """
    parts = []
    for table in tables:
        lines = [
            f"### {table.caption}\n",
            "| | " + " | ".join(map(plain, table.columns)) + " |",
            "|---" * (len(table.columns) + 1) + "|",
        ]
        for block in table.blocks:
            lines += _markdown_block(block, len(table.columns))
        parts.append("\n".join(lines) + "\n")
    return "\n".join(parts)


def _markdown_block(block: Block, width: int) -> list[str]:
    blank = " |" * width
    lines = [f"| **{plain(block.title)}** |{blank}"]
    if block.missing:
        lines.append(f"| not run: {plain(block.missing)} |{blank}")
    for label, entries in block.lines:
        cells = " | ".join(map(_markdown_entry, entries))
        lines.append(f"| {label} | {cells} |")
    return lines


def _markdown_entry(entry: Entry) -> str:
    text = f"**{entry.text}**" if entry.best else entry.text
    return f"{text}<br>({entry.printed})" if entry.printed else text


def plain(text: str) -> str:
    """Return text that stays text in Markdown, in a cell of a table too.

    Examples
    --------
    >>> print(plain("a | b < c_d"))
    a \\| b \\< c\\_d
    """
    for sign in "\\|<>*_`[]":
        text = text.replace(sign, f"\\{sign}")
    return " ".join(text.split())


def as_list(lines: Sequence[str]) -> str:
    """Return sentences as a list in Markdown.

    Examples
    --------
    >>> as_list(["one", "two"])
    '- one\\n- two'
    """
    return "\n".join(f"- {plain(line)}" for line in lines)


def as_html(
    tables: Sequence[Table],
    notes: Sequence[str] = NOTES,
    failures: Sequence[str] = (),
) -> str:
    """Return one page with the tables, which needs no other file and runs no script.

    Parameters
    ----------
    tables : sequence of Table
        As `make_tables` returns them.
    notes : sequence of str
        Paragraphs above the tables.
    failures : sequence of str
        A list above the tables.

    Returns
    -------
    str
        Everything that is text in it is escaped.

    Examples
    --------
    >>> page = as_html([], ["1 < 2"])
    >>> "1 &lt; 2" in page, "<script" in page
    (True, False)
    """
    from jinja2 import Environment

    source = files(__package__).joinpath("tables.html.j2").read_text(encoding="utf-8")
    template = Environment(autoescape=True, trim_blocks=True, lstrip_blocks=True)
    page = template.from_string(source)
    return page.render(tables=tables, notes=notes, failures=failures) + "\n"
