"""What has been done so far: a line a cell, on the disk before the next one starts."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from rankfair._disk import write_whole
from rankfair.experiments.reproduce.cells import Cell

__all__ = ["Done", "Journal", "RefusedError", "open_journal"]

JOURNAL, RUN = "journal.jsonl", "run.json"


class RefusedError(Exception):
    """A folder that holds something else than what was asked for."""


class Done(NamedTuple):
    """A finished cell: its records, and the seconds it took."""

    cell: Cell
    records: list[dict[str, Any]]
    seconds: float

    @property
    def failed(self) -> bool:
        """Whether the method could not be run."""
        return any("error" in record for record in self.records)


class Journal:
    """The finished cells of a folder, and the file to which new ones are added.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     with open_journal(Path(folder), {"seed": 0}, resume=False) as journal:
    ...         journal.add(Done(Cell("table", "wine", "Rank"), [{"auc": 0.5}], 0.1))
    ...     with open_journal(Path(folder), {"seed": 0}, resume=True) as journal:
    ...         [done.cell.method for done in journal.cells.values()]
    ['Rank']
    """

    def __init__(self, path: Path, cells: Iterable[Done]):
        self.cells = {done.cell: done for done in cells}
        self._path = path

    def __enter__(self) -> Journal:
        # Lines that were cut off, or of cells to be tried again, go first.
        lines = "".join(map(_line, self.cells.values()))
        write_whole(self._path, lines)
        self._stream = self._path.open("ab")
        return self

    def __exit__(self, *_: object) -> None:
        self._stream.close()

    def add(self, done: Done) -> None:
        """Write a finished cell, and wait until it is on the disk."""
        self.cells[done.cell] = done
        self._stream.write(_line(done).encode())
        self._stream.flush()
        os.fsync(self._stream.fileno())


def open_journal(folder: Path, run: Mapping[str, Any], resume: bool) -> Journal:
    """Return the journal of a folder, empty or with what a run like this one did.

    Parameters
    ----------
    folder : Path
        Made if it is missing.
    run : mapping
        Everything that the records depend on, as it goes to run.json.
    resume : bool
        Whether the folder may hold the beginning of this run.

    Returns
    -------
    Journal
        To be used in a `with` statement.

    Raises
    ------
    RefusedError
        If the folder holds a run and `resume` is off, or another run; the sentence
        names what differs.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     with open_journal(Path(folder), {"seed": 0}, resume=False):
    ...         pass
    ...     try:
    ...         open_journal(Path(folder), {"seed": 1}, resume=True)
    ...     except RefusedError as said:
    ...         print(said)
    the run in ... was another one (seed was 0, is 1): ask for the same again, ...
    """
    path, settings = folder / JOURNAL, folder / RUN
    if not path.exists() and not (folder / "records.jsonl").exists():
        write_whole(settings, json.dumps(run, indent=1) + "\n")
        return Journal(path, ())
    if not resume:
        raise RefusedError(
            f"the folder {folder} holds a run already: add --resume to go on with it, "
            "or choose another --out"
        )
    _check_same(folder, _read_run(settings), json.loads(json.dumps(run)))
    return Journal(path, (done for done in _read(path) if not done.failed))


def _read_run(path: Path) -> dict[str, Any]:
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        found = None
    return found if isinstance(found, dict) else {}


def _check_same(folder: Path, old: dict[str, Any], new: dict[str, Any]) -> None:
    differ = [
        f"{name} was {_shown(old.get(name))}, is {_shown(new.get(name))}"
        for name in {**new, **old}
        if old.get(name) != new.get(name)
    ]
    if differ:
        raise RefusedError(
            f"the run in {folder} was another one ({'; '.join(differ)}): ask for the "
            "same again, or choose another --out"
        )


def _shown(value: Any) -> str:
    if value is None:
        return "not recorded"
    return value if isinstance(value, str) else json.dumps(value)


def _line(done: Done) -> str:
    return json.dumps([done.cell, done.records, done.seconds]) + "\n"


def _read(path: Path) -> Iterable[Done]:
    """The whole lines; what follows the first broken one was never finished."""
    if not path.exists():
        return
    for line in path.read_bytes().splitlines(keepends=True):
        if not line.endswith(b"\n"):
            return
        try:
            cell, records, seconds = json.loads(line)
        except ValueError:
            return
        yield Done(Cell(*cell), records, seconds)
