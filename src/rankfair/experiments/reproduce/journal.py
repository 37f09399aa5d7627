"""What has been done so far: a line a cell, on the disk before the next one starts."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from rankfair.experiments.reproduce.cells import Cell
from rankfair.experiments.reproduce.methods import Choices
from rankfair.input.disk import write_whole

__all__ = ["MISSING", "Done", "Journal", "Past", "RefusedError", "look", "open_journal"]

JOURNAL, RUN = "journal.jsonl", "run.json"
MISSING = "missing"
# Settings that only say which cells there are: those of another run serve as well.
ADDS = ("data", "repeats", "figures", "path")


class RefusedError(Exception):
    """A folder that holds something else than what was asked for."""


class Done(NamedTuple):
    """A finished cell: its records, the seconds it took, and with what it was run."""

    cell: Cell
    records: list[dict[str, Any]]
    seconds: float
    chosen: Choices = Choices()

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


class Past(NamedTuple):
    """What a folder holds: how its run was described, and the cells that are done."""

    run: dict[str, Any]
    cells: dict[Cell, Done]

    def fingerprint(self, data: str) -> str | None:
        """The fingerprint that was recorded for a dataset, if it was found."""
        found = self.run.get(f"data {data}")
        return None if found in (None, MISSING) else str(found)


def look(folder: Path) -> Past:
    """Return what a folder holds, without those cells that failed.

    Parameters
    ----------
    folder : Path

    Returns
    -------
    Past
        Empty if there is nothing, or nothing that can be read.

    Examples
    --------
    >>> look(Path("no such folder"))
    Past(run={}, cells={})
    """
    done = (it for it in _read(folder / JOURNAL) if not it.failed)
    return Past(_read_run(folder / RUN), {it.cell: it for it in done})


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
        names what differs.  More or fewer datasets, repeats or figures are no other
        run: they only add cells.

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
    new: dict[str, Any] = json.loads(json.dumps(run))
    past = Past({}, {})
    if any((folder / name).exists() for name in (JOURNAL, "records.jsonl")):
        if not resume:
            raise RefusedError(
                f"the folder {folder} holds a run already: add --resume to go on with "
                "it, or choose another --out"
            )
        past = look(folder)
        _check_same(folder, past.run, new)
    # Data of the folder that was not asked for now is still described.
    write_whole(folder / RUN, json.dumps(past.run | new, indent=1) + "\n")
    return Journal(folder / JOURNAL, past.cells.values())


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
        if old.get(name) != new.get(name) and not _only_adds(name, old, new)
    ]
    if differ:
        raise RefusedError(
            f"the run in {folder} was another one ({'; '.join(differ)}): ask for the "
            "same again, or choose another --out"
        )


def _only_adds(name: str, old: dict[str, Any], new: dict[str, Any]) -> bool:
    """Whether a difference makes more cells or fewer, but none of them another."""
    if name.startswith("data "):
        return old.get(name) in (None, MISSING) or name not in new
    return name in ADDS


def _shown(value: Any) -> str:
    if value is None:
        return "not recorded"
    return value if isinstance(value, str) else json.dumps(value)


def _line(done: Done) -> str:
    return json.dumps(done) + "\n"


def _read(path: Path) -> Iterator[Done]:
    """The whole lines; what follows the first broken one was never finished."""
    if not path.exists():
        return
    for line in path.read_bytes().splitlines(keepends=True):
        if not line.endswith(b"\n"):
            return
        try:
            yield _parsed(line)
        except (ValueError, TypeError):
            return


def _parsed(line: bytes) -> Done:
    cell, records, seconds, chosen = json.loads(line)
    done = Done(
        Cell(*cell), [dict(row) for row in records], float(seconds), Choices(*chosen)
    )
    hash(done.cell)
    return done
