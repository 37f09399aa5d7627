"""docs/reproduction.md: the tables, figures and claims of a run, with their context."""

from __future__ import annotations

from collections.abc import Iterable
from importlib.resources import files
from pathlib import Path

from rankfair.experiments.reproduce import facts
from rankfair.experiments.reproduce.agreement import CLOSE, agreement
from rankfair.experiments.reproduce.claims import evaluate
from rankfair.experiments.reproduce.pages import NOTES, as_markdown, plain
from rankfair.experiments.reproduce.parameters import extremes, parameters
from rankfair.experiments.reproduce.run import Result
from rankfair.experiments.reproduce.settings import command
from rankfair.experiments.reproduce.summary import Summary
from rankfair.experiments.reproduce.tables import (
    describe_failure,
    make_tables,
    title_of,
)
from rankfair.input.disk import write_whole

__all__ = ["as_page", "pictures_of", "write_docs"]


def as_page(result: Result, pictures: tuple[str, ...] = ()) -> str:
    """Return the page as Markdown; every measured number comes from the records.

    Parameters
    ----------
    result : Result
        What `reproduce` returned.
    pictures : tuple of str
        Names of the figures that lie in images/.

    Returns
    -------
    str

    Examples
    --------
    >>> from rankfair.experiments.reproduce.settings import Settings
    >>> page = as_page(Result(Settings(("wine",)), [], {"wine": "no file"}, {}))
    >>> page.splitlines()[0]
    '# The paper, made again'
    """
    from jinja2 import Environment, StrictUndefined

    source = files(__package__).joinpath("reproduction.md.j2")
    engine = Environment(
        undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    engine.filters["plain"] = plain
    summary, there = Summary(result.records), result.there
    page = engine.from_string(source.read_text(encoding="utf-8")).render(
        settings=result.settings,
        command=command(result.settings),
        missing={title_of(name): why for name, why in result.missing.items()},
        failures=[describe_failure(it) for it in summary.failures()],
        claims=evaluate(summary, there) if there else [],
        agreement=agreement(summary, there),
        close=CLOSE,
        tables=as_markdown(make_tables(summary, result.settings.data, result.missing)),
        notes=NOTES,
        steps=_last_steps(summary, there),
        pictures=pictures,
        parameters=[parameters(summary, name) for name in there],
        extremes=extremes(summary, there, result.settings),
        constants=facts.constants(summary, there),
        huge=facts.huge(summary, there),
        huge_limit=facts.HUGE,
        widest=facts.widest(summary, there),
        **facts.of_paper(),
        **facts.fixed(),
    )
    return page + "\n"


def _last_steps(
    summary: Summary, data: list[str]
) -> list[tuple[str, dict[str, float]]]:
    """The last step of the paper's solver in each dataset."""
    found = ((title_of(name), summary.steps(name)) for name in data)
    return [(name, dict(steps[-1])) for name, steps in found if steps]


def pictures_of(written: Iterable[Path]) -> dict[str, bytes]:
    """Return the SVG files among those that a run has written, by name.

    Parameters
    ----------
    written : iterable of Path
        As `write_pages` returns them.

    Returns
    -------
    dict

    Examples
    --------
    >>> pictures_of([Path("results/tables.md")])
    {}
    """
    return {path.stem: path.read_bytes() for path in written if path.suffix == ".svg"}


def write_docs(folder: Path, result: Result, pictures: dict[str, bytes]) -> list[Path]:
    """Write reproduction.md and images/reproduction-*.svg.

    Parameters
    ----------
    folder : Path
        The folder of the documentation.
    result : Result
        What `reproduce` returned.
    pictures : dict
        SVG files by the name of the figure.

    Returns
    -------
    list of Path

    Examples
    --------
    >>> import tempfile
    >>> from rankfair.experiments.reproduce.settings import Settings
    >>> nothing = Result(Settings(("wine",)), [], {"wine": "no file"}, {})
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     [path.name for path in write_docs(Path(folder), nothing, {})]
    ['reproduction.md']
    """
    page = as_page(result, tuple(pictures))
    written = [write_whole(folder / "reproduction.md", page)]
    for name, content in pictures.items():
        path = folder / "images" / f"reproduction-{name}.svg"
        written.append(write_whole(path, content))
    return written
