"""Write synthetic rows to Parquet files, chunk by chunk, however many there are.

Tasks of uneven sizes, rows in no order, a group gap to be closed: what
``bench_heart.easy_rows`` makes, but never more than a chunk of it in memory.

    python benchmarks/make_rows.py rows/ --rows 1e8
    python benchmarks/make_rows.py rows/ --rows 1e6 --compression zstd
    python benchmarks/make_rows.py rows/ --small --tasks 1e6      3 to 20 rows a task
"""

from __future__ import annotations

import argparse
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

CHUNK = 500_000  # rows made at a time, and rows a row group
FILE = 10_000_000  # rows a file
SMALL = (3, 20)  # rows of a small task


def design(n_features: int, n_tasks: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The share of each task in the rows, its level, and the slopes of all."""
    rng = np.random.default_rng(0)
    share = 0.9 * rng.dirichlet(np.full(n_tasks, 2.0)) + 0.1 / n_tasks
    levels = 0.3 * rng.standard_normal(n_tasks)
    return share, levels, 0.5 * np.abs(rng.standard_normal(n_features))


def small_tasks(n_tasks: int) -> np.ndarray:
    """The task of each row where each has 3 to 20 of them, in no order."""
    rng = np.random.default_rng(2)
    sizes = rng.integers(SMALL[0], SMALL[1] + 1, n_tasks)
    return rng.permutation(np.repeat(np.arange(n_tasks, dtype=np.int32), sizes))


def chunks(
    n_rows: int,
    n_features: int = 10,
    n_tasks: int = 1000,
    seed: int = 1,
    tasks: np.ndarray | None = None,
) -> Iterator[pa.Table]:
    """Rows with columns x0, x1, …, task, group and y; group is a predictor too."""
    share, levels, slopes = design(n_features, n_tasks)
    ends = np.cumsum(share)
    for number, start in enumerate(range(0, n_rows, CHUNK)):
        rng = np.random.default_rng((seed, number))
        size = min(CHUNK, n_rows - start)
        if tasks is None:
            task = np.searchsorted(ends, rng.random(size) * ends[-1]).astype(np.int32)
        else:
            task = tasks[start : start + size]
        group = rng.random(size) < 0.5
        X = rng.standard_normal((n_features - 1, size))
        X[0] += 0.5 * group
        y = rng.standard_normal(size) + 1.5 * group + levels[task]
        y += slopes[1:] @ X
        columns = {f"x{j}": column for j, column in enumerate(X)}
        yield pa.table({**columns, "group": group, "task": task, "y": y})


def write(
    folder: Path,
    n_rows: int,
    n_features: int = 10,
    n_tasks: int = 1000,
    compression: str = "none",
    small: bool = False,
) -> list[Path]:
    """Write the rows, ten million a file, and return the files.

    With ``small`` each task has 3 to 20 rows, and that is how many rows there are.
    """
    folder.mkdir(parents=True, exist_ok=True)
    tasks = small_tasks(n_tasks) if small else None
    n_rows = n_rows if tasks is None else len(tasks)
    files: list[Path] = []
    writer, written = None, 0
    for table in chunks(n_rows, n_features, n_tasks, tasks=tasks):
        if writer is None or written >= FILE:
            if writer is not None:
                writer.close()
            files.append(folder / f"rows-{len(files):03d}.parquet")
            writer = pq.ParquetWriter(
                files[-1],
                table.schema,
                compression=compression,
                use_dictionary=False,
                write_statistics=False,
            )
            written = 0
        writer.write_table(table, row_group_size=CHUNK)
        written += table.num_rows
    if writer is not None:
        writer.close()
    return files


@contextmanager
def filled(folder: Path | None, n_rows: int, **how: Any) -> Iterator[Path]:
    """A folder with the rows: that given, filled if it is empty, or a passing one."""
    here = folder or Path(tempfile.mkdtemp(prefix="rankfair-bench-"))
    try:
        if not list(here.glob("*.parquet")):
            write(here, n_rows, **how)
        yield here
    finally:
        if folder is None:
            shutil.rmtree(here)


def main() -> None:
    """Write what was asked for."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--rows", type=float, default=1e6)
    parser.add_argument("--features", type=int, default=10)
    parser.add_argument("--tasks", type=float, default=1000)
    parser.add_argument("--small", action="store_true", help="3 to 20 rows a task")
    parser.add_argument("--compression", default="none")
    given = parser.parse_args()
    files = write(
        given.folder,
        int(given.rows),
        given.features,
        int(given.tasks),
        given.compression,
        given.small,
    )
    print(f"{len(files)} files, {sum(f.stat().st_size for f in files) / 1e9:.2f} GB")


if __name__ == "__main__":
    main()
