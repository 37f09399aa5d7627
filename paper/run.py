"""The whole of it: find the data, run the cells in parallel, write the records.

Finished cells lie in a cache on the disk, so a run that was stopped goes on where it
was.  A cell is known by its settings, its data, the code and the libraries.
"""

from __future__ import annotations

import csv
import hashlib
import io
import json
import platform
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from importlib.metadata import version
from pathlib import Path
from typing import Any, NamedTuple

from joblib import Memory, Parallel, delayed
from rich.console import Console
from rich.progress import track

import rankfair
from paper import cases, cells, methods, tuning
from paper.cases import find_data
from paper.cells import COLUMNS, Cell, Record, plan, run_cell
from paper.methods import Choices
from paper.settings import Settings
from paper.tuning import choose

STAGES = ("Choosing β", "Choosing ε and the trade-off", "Running the methods")
# Rough ratios of times, measured once: the longest cells start first.
LONG = {"crime": 30.0, "income": 30.0, "wine": 6.0, "student": 3.0, "beta_paper": 20.0}


class Result(NamedTuple):
    """All records in the order of the plan, and what data is missing.

    `missing` says why without naming a folder, for files that others will read; `said`
    is the whole sentence of the loader, for the screen.
    """

    settings: Settings
    records: list[Record]
    missing: Mapping[str, str] = {}
    said: Mapping[str, str] = {}

    @property
    def there(self) -> list[str]:
        """The datasets that were run."""
        return [name for name in self.settings.data if name not in self.missing]


def reproduce(
    out: Path, settings: Settings, *, jobs: int = 2, quiet: bool = True
) -> Result:
    """Run all cells that are not in the cache, and write records.csv and run.json.

    The records do not depend on the number of jobs.
    """
    found = find_data(settings)
    around = surroundings()
    todo = plan(settings, found.fingerprints)
    work = Memory(out / "cache", verbose=0).cache(_remembered)
    done: dict[Cell, list[Record]] = {}
    for stage, title in enumerate(STAGES):
        known = [row for records in done.values() for row in records]
        chosen = {name: choose(known, name) for name in found.fingerprints}
        these = sorted((it for it in todo if it.stage == stage), key=_turn)
        running = Parallel(jobs, return_as="generator_unordered")(
            delayed(_attempt)(
                work,
                cell,
                settings.of_each_cell,
                chosen[cell.data],
                around | {"data": found.fingerprints[cell.data]},
            )
            for cell in these
        )
        for cell, records in track(
            running, title, len(these), console=Console(stderr=True), disable=quiet
        ):
            done[cell] = records
    records = [row for cell in todo for row in done[cell]]
    described = asdict(settings) | around | {"fingerprints": found.fingerprints}
    write(out / "run.json", json.dumps(described, indent=1) + "\n")
    write(out / "records.csv", _csv(records))
    said = {name: str(error) for name, error in found.errors.items()}
    return Result(settings, records, found.missing, said)


def _remembered(
    cell: Cell, settings: Settings, chosen: Choices, around: Mapping[str, str]
) -> list[Record]:
    """Run a cell; the cache knows it by all arguments, `around` among them."""
    return run_cell(cell, settings, chosen)


def _attempt(work: Any, cell: Cell, *rest: Any) -> tuple[Cell, list[Record]]:
    """Run a cell, or take it from the cache; a failure is a record, and not cached."""
    try:
        return cell, work(cell, *rest)
    except Exception as error:
        return cell, [cell.head | {"error": f"{type(error).__name__}: {error}"}]


def _turn(cell: Cell) -> tuple[float, str, int]:
    """Long cells first; those of one repeat together, so that its data is made once."""
    long = LONG.get(cell.data, 1.0) * LONG.get(cell.method, 1.0)
    return -long, cell.data, cell.repeat


def surroundings() -> dict[str, str]:
    """Return what the records depend on beside settings and data."""
    code = hashlib.sha256()
    package = Path(rankfair.__file__).parent
    own = (Path(str(it.__file__)) for it in (cases, cells, methods, tuning))
    for path in (*sorted(package.rglob("*.py")), *own):
        code.update(path.read_bytes())
    libraries = ("numpy", "scipy", "scikit-learn")
    return {
        "code": code.hexdigest()[:16],
        "machine": platform.machine(),
        "version of Python": platform.python_version(),
        **{f"version of {name}": version(name) for name in libraries},
    }


def write(path: Path, content: str | bytes) -> Path:
    """Write a file, and the folder that it lies in."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


def _csv(records: Sequence[Record]) -> str:
    text = io.StringIO()
    writer = csv.DictWriter(text, COLUMNS, lineterminator="\n")
    writer.writeheader()
    writer.writerows(records)
    return text.getvalue()
