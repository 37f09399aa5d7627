"""The whole of it: find the data, run the cells that are left, write the files."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable, Mapping, Sequence
from math import fsum
from pathlib import Path
from typing import Any, NamedTuple

from rankfair.experiments.reproduce.cases import fetch, fingerprint, make_case
from rankfair.experiments.reproduce.cells import CV, SIZES, Cell, plan
from rankfair.experiments.reproduce.journal import (
    MISSING,
    Done,
    Journal,
    Past,
    look,
    open_journal,
)
from rankfair.experiments.reproduce.settings import Settings
from rankfair.experiments.reproduce.stages import STAGES, chosen_before, unfinished
from rankfair.experiments.reproduce.surroundings import describe
from rankfair.experiments.reproduce.work import COLUMNS
from rankfair.experiments.reproduce.workers import Workers
from rankfair.input.disk import write_whole

__all__ = ["Found", "OnCell", "Result", "Standing", "find_data", "reproduce"]

NOTHING = Past({}, {})


class Standing(NamedTuple):
    """How far a run has come: cells, their share of the work, and what is at work."""

    done: int
    cells: int
    share: float
    at: tuple[str, ...]


OnCell = Callable[[Standing], None]


class Result(NamedTuple):
    """All records in canonical order, what data is missing, and seconds of cells.

    `missing` says why without naming a folder, for files that others will read; `said`
    is the whole sentence of the loader, for the screen.
    """

    settings: Settings
    records: list[dict[str, Any]]
    missing: dict[str, str]
    seconds: dict[Cell, float]
    said: Mapping[str, str] = {}

    @property
    def there(self) -> list[str]:
        """The datasets that were run."""
        return [name for name in self.settings.data if name not in self.missing]


class Found(NamedTuple):
    """Fingerprints of the data that is there, and why other data is not."""

    fingerprints: dict[str, str]
    errors: dict[str, Exception]

    @property
    def missing(self) -> dict[str, str]:
        """Why data is not there, without the folders of this machine."""
        return {name: _short(name, error) for name, error in self.errors.items()}

    @property
    def said(self) -> dict[str, str]:
        """The same as the loader says it."""
        return {name: str(error) for name, error in self.errors.items()}

    def as_dict(self) -> dict[str, str]:
        """The data as it goes to run.json."""
        found = {**self.fingerprints, **dict.fromkeys(self.errors, MISSING)}
        return {f"data {name}": it for name, it in found.items()}


def _short(name: str, error: Exception) -> str:
    what = "its files are damaged or of another version"
    if isinstance(error, FileNotFoundError):
        what = str(error).partition(":")[0]
    elif isinstance(error, OSError):
        what = "its files could not be had"
    return f"{what}; the variable RANKFAIR_DATA names the folder that holds {name}/"


def find_data(settings: Settings, past: Past = NOTHING) -> Found:
    """Return a fingerprint of each dataset that is there, and why others are not.

    Parameters
    ----------
    settings : Settings
    past : Past
        What has been done before.  Of data whose cells are all done the files are not
        needed any more; if they are there, they have to be the same.

    Returns
    -------
    Found

    Examples
    --------
    >>> found = find_data(Settings(("synthetic 0.9",), n_tasks=4))
    >>> list(found.fingerprints), found.missing
    (['synthetic 0.9'], {})
    """
    found = Found({}, {})
    for name in settings.data:
        done = not unfinished(plan(settings, [name]), past.cells)
        known = past.fingerprint(name) if done else None
        try:
            found.fingerprints[name] = _fingerprint(name, settings, known)
        except (OSError, ValueError) as error:
            found.errors[name] = error
    return found


def _fingerprint(name: str, settings: Settings, known: str | None) -> str:
    try:
        if known is None:
            fetch(name)
        return fingerprint(make_case(name, 0, settings))
    except OSError:
        if known is None:
            raise
        return known


def reproduce(
    out: Path,
    settings: Settings,
    *,
    jobs: int = 2,
    resume: bool = False,
    on_cell: OnCell | None = None,
) -> Result:
    """Run all cells that are not done yet, and write the records.

    Parameters
    ----------
    out : Path
        Folder for run.json, journal.jsonl, records.jsonl, records.csv and timings.csv.
    settings : Settings
        What to run.
    jobs : int, default=2
        Worker processes; the records do not depend on it.
    resume : bool, default=False
        Go on with what the folder holds.
    on_cell : callable, optional
        Told how far the run is, when a cell starts and when one ends.

    Returns
    -------
    Result

    Examples
    --------
    >>> import tempfile
    >>> tiny = Settings(("synthetic 0.9",), repeats=1, figures=False, grid=(1.0,),
    ...     epsilons=(0.0,), folds=2, n_tasks=4)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     result = reproduce(Path(folder), tiny, jobs=1)
    ...     sorted(path.name for path in Path(folder).iterdir())
    ['journal.jsonl', 'records.csv', 'records.jsonl', 'run.json', 'timings.csv']
    >>> result.records[0]["kind"], result.missing
    ('cv', {})
    """
    found = find_data(settings, look(out) if resume else NOTHING)
    cells = plan(settings, found.fingerprints)
    described = settings.as_dict() | describe() | found.as_dict()
    with open_journal(out, described, resume) as journal:
        if unfinished(cells, journal.cells):
            with Workers(min(jobs, len(cells)), settings) as workers:
                _work_off(cells, journal, workers, _Teller(cells, on_cell))
        done = [journal.cells[cell] for cell in cells]
    records = [record for each in done for record in each.records]
    _write(out, records, done)
    seconds = {it.cell: it.seconds for it in done}
    return Result(settings, records, found.missing, seconds, found.said)


class _Teller:
    """Counts cells as they start and end, and tells how far the run is."""

    def __init__(self, cells: Sequence[Cell], on_cell: OnCell | None):
        self.on_cell = on_cell
        self.cells, self.work = len(cells), fsum(cell.weight for cell in cells)
        self.left: set[Cell] = set()
        self.at: dict[Cell, str] = {}

    def start(self, cell: Cell) -> None:
        self.at[cell] = cell.label
        self._tell()

    def end(self, cell: Cell) -> None:
        self.left.remove(cell)
        del self.at[cell]
        self._tell()

    def _tell(self) -> None:
        if self.on_cell is not None:
            done = self.cells - len(self.left)
            share = 1 - fsum(cell.weight for cell in self.left) / self.work
            self.on_cell(Standing(done, self.cells, share, tuple(self.at.values())))


def _work_off(
    cells: Sequence[Cell], journal: Journal, workers: Workers, teller: _Teller
) -> None:
    """Stage after stage; a cell is in the journal before the next one starts."""
    for stage in STAGES:
        left = unfinished(cells, journal.cells)
        teller.left = set(left)
        these = sorted((cell for cell in left if cell.stage == stage), key=_turn)
        chosen = chosen_before(stage, (cell.data for cell in these), journal.cells)
        work = ((cell, chosen[cell.data]) for cell in these)
        for done in workers.run(work, teller.start):
            journal.add(done)
            teller.end(done.cell)


def _turn(cell: Cell) -> tuple[float, str, int]:
    """Long cells first; those of one repeat together, so that its data is made once."""
    long = cell.weight if cell.kind == CV else SIZES.get(cell.data, 1.0)
    return -long, cell.data, cell.repeat


def _write(out: Path, records: Sequence[Mapping[str, Any]], done: list[Done]) -> None:
    lines = (json.dumps(record, ensure_ascii=False) + "\n" for record in records)
    write_whole(out / "records.jsonl", "".join(lines))
    write_whole(out / "records.csv", _csv(COLUMNS, records))
    names = ("kind", "data", "method", "repeat", "epsilon", "seconds")
    times = [it.cell._asdict() | {"seconds": round(it.seconds, 4)} for it in done]
    write_whole(out / "timings.csv", _csv(names, times))


def _csv(names: Sequence[str], rows: Sequence[Mapping[str, Any]]) -> str:
    text = io.StringIO()
    writer = csv.DictWriter(text, names, lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return text.getvalue()
