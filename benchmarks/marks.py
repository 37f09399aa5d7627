"""Pages in Markdown: rows of tables, and text between marks, measured, never typed."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path


def put(path: Path, mark: str, text: str) -> None:
    """Put ``text`` between two marks of a Markdown file."""
    begin, end = f"<!-- {mark} -->", f"<!-- /{mark} -->"
    head, rest = path.read_text(encoding="utf-8").split(begin, 1)
    tail = rest.split(end, 1)[1]
    path.write_text(f"{head}{begin}\n{text}\n{end}{tail}", encoding="utf-8")


def row(cells: Iterable[str]) -> str:
    """A line of a Markdown table."""
    return f"| {' | '.join(cells)} |"


def table(head: Sequence[str], rows: Sequence[Sequence[str]], left: int = 1) -> str:
    """A Markdown table; the first columns are text."""
    rule = ["---"] * left + ["---:"] * (len(head) - left)
    return "\n".join(map(row, (head, rule, *rows)))
