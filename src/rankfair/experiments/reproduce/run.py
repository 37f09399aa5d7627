"""The whole of it: find the data, run the cells that are left, write the files."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable, Mapping, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any, NamedTuple

from rankfair import __version__
from rankfair._disk import write_whole
from rankfair.experiments.reproduce.cases import fetch, fingerprint, make_case
from rankfair.experiments.reproduce.cells import CV, SIZES, Cell, plan
from rankfair.experiments.reproduce.journal import Done, Journal, open_journal
from rankfair.experiments.reproduce.settings import Settings
from rankfair.experiments.reproduce.tuning import choose
from rankfair.experiments.reproduce.work import COLUMNS
from rankfair.experiments.reproduce.workers import Workers

__all__ = ["OnCell", "Progress", "Result", "find_data", "reproduce"]

LIBRARIES = ("numpy", "scipy", "scikit-learn")


class Progress(NamedTuple):
    """How far a run has come: cells, their share of the work, and what is at work."""

    done: int
    cells: int
    share: float
    at: tuple[str, ...]


OnCell = Callable[[Progress], None]


class Result(NamedTuple):
    """All records in canonical order, what data is missing, and seconds of cells."""

    settings: Settings
    records: list[dict[str, Any]]
    missing: dict[str, str]
    seconds: dict[Cell, float]


def find_data(settings: Settings) -> tuple[dict[str, str], dict[str, str]]:
    """Return a fingerprint of each dataset that is there, and why others are not.

    Parameters
    ----------
    settings : Settings

    Returns
    -------
    tuple of dict
        By name.

    Examples
    --------
    >>> found, missing = find_data(Settings(("synthetic 0.9",), n_tasks=4))
    >>> list(found), missing
    (['synthetic 0.9'], {})
    """
    found, missing = {}, {}
    for name in settings.data:
        try:
            fetch(name)
            found[name] = fingerprint(make_case(name, 0, settings))
        except (OSError, ValueError) as error:
            missing[name] = str(error)
    return found, missing


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
    found, missing = find_data(settings)
    cells = plan(settings, found)
    described = settings.as_dict() | _surroundings(found, missing)
    with open_journal(out, described, resume) as journal:
        left = [cell for cell in cells if cell not in journal.cells]
        if left:
            with Workers(min(jobs, len(left)), settings) as workers:
                _work_off(left, journal, workers, _Teller(cells, left, on_cell))
        done = [journal.cells[cell] for cell in cells]
    records = [record for each in done for record in each.records]
    _write(out, records, done)
    return Result(settings, records, missing, {it.cell: it.seconds for it in done})


def _surroundings(
    found: Mapping[str, str], missing: Mapping[str, str]
) -> dict[str, str]:
    """What the records depend on beside the settings: versions and data files."""
    versions = {"rankfair": __version__} | {name: version(name) for name in LIBRARIES}
    data = {**found, **dict.fromkeys(missing, "missing")}
    return {f"version of {name}": it for name, it in versions.items()} | {
        f"data {name}": it for name, it in data.items()
    }


class _Teller:
    """Counts cells as they start and end, and tells how far the run is."""

    def __init__(
        self, cells: Sequence[Cell], left: Sequence[Cell], on_cell: OnCell | None
    ):
        self.on_cell = on_cell
        self.cells, self.work = len(cells), sum(cell.weight for cell in cells)
        self.left, self.work_left = len(left), sum(cell.weight for cell in left)
        self.at: dict[Cell, str] = {}

    def start(self, cell: Cell) -> None:
        self.at[cell] = cell.label
        self._tell()

    def end(self, cell: Cell) -> None:
        self.left -= 1
        self.work_left -= cell.weight
        del self.at[cell]
        self._tell()

    def _tell(self) -> None:
        if self.on_cell is not None:
            done, share = self.cells - self.left, 1 - self.work_left / self.work
            at = tuple(self.at.values())
            self.on_cell(Progress(done, self.cells, share, at))


def _work_off(
    left: Sequence[Cell], journal: Journal, workers: Workers, teller: _Teller
) -> None:
    """Stage after stage; a cell is in the journal before the next one starts."""
    for stage in sorted({cell.stage for cell in left}):
        earlier = [it for it in journal.cells.values() if it.cell.stage < stage]
        known = [row for done in earlier for row in done.records]
        chosen = {name: choose(known, name) for name in {cell.data for cell in left}}
        these = sorted((cell for cell in left if cell.stage == stage), key=_turn)
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
