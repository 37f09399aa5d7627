"""Commands on a CSV file against a polars process that reads the same file.

    python benchmarks/bench_commands.py              10⁶ rows, medians of five
    python benchmarks/bench_commands.py --rows 100000
    python benchmarks/bench_commands.py --write docs/scale.md

Counted is CPU time, user and system, of whole processes, one after the other in turn:
imports, reading, work and output.  The file has ten columns of numbers, 1,000 tasks and
two groups, both text.
"""

from __future__ import annotations

import argparse
import os
import resource
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import numpy as np
import polars as pl

from benchmarks.marks import put, table

TASKS, TIMES = 1_000, 5
COLUMNS = ["--target", "pay", "--sensitive", "sex", "--task", "job"]
TARGETS = {"audit": "≤ 3", "fit -o": "≤ 8", "predict -o": ""}


def make_file(path: Path, n_rows: int) -> None:
    """Write the rows: pay follows the columns, the first of which follows the group."""
    rng = np.random.default_rng(0)
    task, group = rng.integers(0, TASKS, n_rows), rng.integers(0, 2, n_rows)
    X = rng.normal(size=(n_rows, 10))
    X[:, 0] += 0.5 * group
    level = 0.3 * rng.normal(size=TASKS)[task]
    pay = 0.3 * X.sum(axis=1) + level + rng.normal(size=n_rows)
    columns = {f"x{j}": X[:, j].round(5) for j in range(10)}
    columns["job"] = np.char.add("job-", task.astype(str))
    columns["sex"] = np.where(group == 1, "male", "female")
    columns["pay"] = pay.round(5)
    pl.DataFrame(columns).write_csv(path)


def spent(command: list[str]) -> float:
    """CPU seconds of a process and its children."""
    begin = resource.getrusage(resource.RUSAGE_CHILDREN)
    env = {**os.environ, "OMP_NUM_THREADS": "1"}
    subprocess.run(command, check=True, capture_output=True, env=env)
    end = resource.getrusage(resource.RUSAGE_CHILDREN)
    return end.ru_utime + end.ru_stime - begin.ru_utime - begin.ru_stime


def measured(folder: Path, n_rows: int, times: int) -> list[tuple[str, float]]:
    """Each command's CPU time over that of the reading process; medians."""
    rows, model, found = (folder / name for name in ("r.csv", "m.rankfair", "p.csv"))
    make_file(rows, n_rows)
    code = f"import polars; polars.read_csv({str(rows)!r})"
    ours = [sys.executable, "-m", "rankfair"]
    commands: dict[str, list[str]] = {
        "read": [sys.executable, "-c", code],
        "audit": [*ours, "audit", str(rows), *COLUMNS],
        "fit -o": [*ours, "fit", str(rows), *COLUMNS, "-o", str(model)],
        "predict -o": [*ours, "predict", str(model), str(rows), "-o", str(found)],
    }
    seconds: dict[str, list[float]] = {name: [] for name in commands}
    for _ in range(times):
        for name, command in commands.items():
            seconds[name].append(spent(command))
    of_reading = statistics.median(seconds.pop("read"))
    return [(name, statistics.median(s) / of_reading) for name, s in seconds.items()]


def lines(found: list[tuple[str, float]], n_rows: int) -> str:
    """The table."""
    head = (f"{n_rows:,} rows of CSV, CPU", "ratio to reading with polars", "target")
    named = [(f"`rankfair {n}`", f"{r:.1f}", TARGETS[n]) for n, r in found]
    return table(head, named)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=float, default=1e6)
    parser.add_argument("--times", type=int, default=TIMES)
    parser.add_argument("--write", type=Path, metavar="PAGE")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        found = measured(Path(folder), int(given.rows), given.times)
    text = lines(found, int(given.rows))
    print(text)
    if given.write is not None:
        put(given.write, "bench-commands", text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
