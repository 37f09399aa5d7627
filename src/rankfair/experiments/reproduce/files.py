"""Everything a run writes beside its records: tables and figures."""

from __future__ import annotations

from pathlib import Path

from rankfair.experiments.reproduce.figures import draw_figures
from rankfair.experiments.reproduce.pages import (
    NOTES,
    as_html,
    as_list,
    as_markdown,
)
from rankfair.experiments.reproduce.run import Result
from rankfair.experiments.reproduce.summary import Summary
from rankfair.experiments.reproduce.tables import describe_failure, make_tables
from rankfair.input.disk import write_whole
from rankfair.report.pictures import as_bytes

__all__ = ["write_pages"]


def write_pages(out: Path, result: Result) -> list[Path]:
    """Write tables.md, tables.html and, if asked for, the figures.

    Parameters
    ----------
    out : Path
        The folder of the records.
    result : Result
        What `reproduce` returned.

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
    failures = [describe_failure(it) for it in summary.failures()]
    failed = ("What failed:", as_list(failures)) if failures else ()
    text = "\n\n".join((*NOTES, *failed, as_markdown(tables)))
    written = [
        out / "records.jsonl",
        out / "records.csv",
        write_whole(out / "tables.md", text),
        write_whole(out / "tables.html", as_html(tables, failures=failures)),
    ]
    if settings.figures:
        written += _write_figures(out / "figures", summary, result.there)
    return written


def _write_figures(folder: Path, summary: Summary, data: list[str]) -> list[Path]:
    return [
        write_whole(folder / f"{name}.{kind}", as_bytes(figure, kind))
        for name, figure in draw_figures(summary, data).items()
        for kind in ("png", "svg")
    ]
