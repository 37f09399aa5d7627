"""Text between marks of a Markdown page: what a benchmark measured, never typed."""

from __future__ import annotations

from pathlib import Path


def put(path: Path, mark: str, text: str) -> None:
    """Put ``text`` between two marks of a Markdown file."""
    begin, end = f"<!-- {mark} -->", f"<!-- /{mark} -->"
    head, rest = path.read_text(encoding="utf-8").split(begin, 1)
    tail = rest.split(end, 1)[1]
    path.write_text(f"{head}{begin}\n{text}\n{end}{tail}", encoding="utf-8")
