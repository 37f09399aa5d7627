"""docs/reproduction.md: the tables, figures and claims of a run, with their context."""

from __future__ import annotations

from importlib.resources import files
from pathlib import Path

from rankfair._disk import write_whole
from rankfair.experiments.reproduce.agreement import (
    CLOSE,
    agreement,
    residual_identity,
)
from rankfair.experiments.reproduce.claims import evaluate
from rankfair.experiments.reproduce.pages import NOTES, as_markdown
from rankfair.experiments.reproduce.run import Result
from rankfair.experiments.reproduce.summary import Summary
from rankfair.experiments.reproduce.tables import make_tables, title_of

__all__ = ["as_page", "write_docs"]


def as_page(result: Result, pictures: tuple[str, ...] = ()) -> str:
    """Return the page as Markdown; every number of it comes from the records.

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
    summary = Summary(result.records)
    there = [name for name in result.settings.data if name not in result.missing]
    page = engine.from_string(source.read_text(encoding="utf-8")).render(
        settings=result.settings,
        missing={title_of(name): why for name, why in result.missing.items()},
        claims=evaluate(summary, there),
        choices=[(title_of(name), summary.choices(name)) for name in there],
        agreement=agreement(summary, there),
        identity=residual_identity(result.settings.data),
        close=CLOSE,
        tables=as_markdown(make_tables(summary, result.settings.data, result.missing)),
        notes=NOTES,
        steps=_last_steps(summary, there),
        pictures=pictures,
    )
    return page + "\n"


def _last_steps(
    summary: Summary, data: list[str]
) -> list[tuple[str, dict[str, float]]]:
    """The last step of the paper's solver in each dataset."""
    found = ((title_of(name), summary.steps(name)) for name in data)
    return [(name, dict(steps[-1])) for name, steps in found if steps]


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
