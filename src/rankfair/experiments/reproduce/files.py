"""Everything a run writes beside its records: tables and figures."""

from __future__ import annotations

from pathlib import Path

from rankfair._disk import write_whole
from rankfair.experiments.frontier import as_bytes
from rankfair.experiments.reproduce.docs import write_docs
from rankfair.experiments.reproduce.figures import draw_figures
from rankfair.experiments.reproduce.pages import NOTES, as_html, as_markdown
from rankfair.experiments.reproduce.run import Result
from rankfair.experiments.reproduce.summary import Summary
from rankfair.experiments.reproduce.tables import make_tables

__all__ = ["write_pages"]


def write_pages(out: Path, result: Result, docs: Path | None = None) -> list[Path]:
    """Write tables.md, tables.html and, if asked for, the figures and the docs.

    Parameters
    ----------
    out : Path
        The folder of the records.
    result : Result
        What `reproduce` returned.
    docs : Path, optional
        Folder for reproduction.md and its images.

    Returns
    -------
    list of Path
        All files of the run, the records first.

    Examples
    --------
    >>> import tempfile
    >>> from rankfair.experiments.reproduce.settings import Settings
    >>> nothing = Result(Settings(("wine",)), [], {"wine": "no file"}, {})
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     [path.name for path in write_pages(Path(folder), nothing)][-2:]
    ['tables.md', 'tables.html']
    """
    summary, settings = Summary(result.records), result.settings
    tables = make_tables(summary, settings.data, result.missing)
    written = [
        out / "records.jsonl",
        out / "records.csv",
        write_whole(out / "tables.md", "\n\n".join((*NOTES, as_markdown(tables)))),
        write_whole(out / "tables.html", as_html(tables)),
    ]
    pictures: dict[str, bytes] = {}
    if settings.figures:
        there = [name for name in settings.data if name not in result.missing]
        for name, figure in draw_figures(summary, there).items():
            pictures[name] = as_bytes(figure, "svg")
            folder = out / "figures"
            written.append(write_whole(folder / f"{name}.png", as_bytes(figure, "png")))
            written.append(write_whole(folder / f"{name}.svg", pictures[name]))
    if docs is not None:
        written += write_docs(docs, result, pictures)
    return written
