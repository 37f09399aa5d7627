"""Streaming fits: seconds a row against memory, peak memory, seconds of each pass.

Every fit runs in a process of its own.  In memory are the first twelve million rows (or
all, if there are fewer), as NumPy arrays, and only the fit is timed; the stream starts
at files.  Files are made first, unless the folder has them, and deleted afterwards.

    python benchmarks/bench_stream.py                       10⁸ rows, about 9 GB of disk
    python benchmarks/bench_stream.py --rows 1e6            a quick look
    python benchmarks/bench_stream.py --write docs/scale.md
    python benchmarks/bench_stream.py --tasks 1e6           3 to 20 rows a task
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
from itertools import pairwise
from pathlib import Path

import numpy as np
from make_rows import filled
from marks import put, row
from memory import peak

BY = {"tasks": "task", "sensitive_features": "group"}
PENALTIES = ("ridge", "task")
MEMORY_ROWS = 12_000_000  # all of 10⁶ small tasks


def in_memory(folder: Path, penalty: str, rows: int = MEMORY_ROWS) -> dict[str, object]:
    """One fit of rows that are NumPy arrays already."""
    from rankfair import RankFairRegressor

    X, y, tasks, group = arrays(folder, rows)
    start, used = time.perf_counter(), time.process_time()
    model = RankFairRegressor(penalty=penalty).fit(
        X, y, tasks=tasks, sensitive_features=group
    )
    return {
        "seconds": time.perf_counter() - start,
        "processor": time.process_time() - used,
        "rows": len(y),
        "peak": peak(),
        "status": model.status_,
    }


def arrays(folder: Path, rows: int) -> tuple[np.ndarray, ...]:
    """The first rows of the files: X (the group among them), target, tasks, groups."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    parts, there = [], 0
    for path in sorted(folder.glob("*.parquet")):
        if there < rows:
            parts.append(pq.read_table(path).slice(0, rows - there))
            there += parts[-1].num_rows
    table = pa.concat_tables(parts)
    names = [name for name in table.column_names if name not in ("y", "task")]
    X = np.empty((table.num_rows, len(names)))
    for j, name in enumerate(names):
        X[:, j] = table[name].to_numpy()
    found = (table[name].to_numpy() for name in ("y", "task", "group"))
    return X, *found


def streamed(folder: Path, penalty: str) -> dict[str, object]:
    """One fit of the files."""
    from rankfair import RankFairRegressor, stream

    told: list[tuple[float, str, int]] = []

    def watch(what: str, done: int, total: int) -> None:
        told.append((time.perf_counter(), what, done))

    start, used = time.perf_counter(), time.process_time()
    rows = stream(folder, target="y", **BY, on_rows=watch)
    model = RankFairRegressor(penalty=penalty).fit(rows)
    return {
        "seconds": time.perf_counter() - start,
        "processor": time.process_time() - used,
        "rows": rows.n_rows,
        "peak": peak(),
        "status": model.status_,
        "auc": model.rank_auc_,
        "passes": passes(told),
    }


def passes(told: list[tuple[float, str, int]]) -> list[tuple[str, float]]:
    """What each pass over the files was for, and its seconds a row."""
    found: list[tuple[str, float]] = []
    first, rows = told[0], told[0][2]
    for one, other in pairwise([*told, (0.0, "", 0)]):
        if other[2] <= one[2]:
            found.append((one[1], (one[0] - first[0]) / max(one[2] - rows, 1)))
            first, rows = other, other[2]
    return found


def apart(case: str, folder: Path, penalty: str, script: str = __file__) -> dict:
    """Run a case in a process of its own."""
    asked = ["--case", case, "--folder", folder, "--penalty", penalty]
    out = subprocess.run(
        [sys.executable, script, *asked],
        check=True,
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONWARNINGS": "ignore"},
    )
    return json.loads(out.stdout.splitlines()[-1])


def a_row(found: dict[str, dict], what: str = "seconds") -> tuple[float, float]:
    """Nanoseconds a row of the stream, and of the same fit in memory."""
    ours, known = (
        found[case][what] / found[case]["rows"] * 1e9 for case in ("stream", "memory")
    )
    return ours, known


def peaks(found: dict[str, dict]) -> list[str]:
    """The most memory of either."""
    return [f"{found[case]['peak'] / 1e9:.2f} GB" for case in ("stream", "memory")]


def table(results: dict[str, dict[str, dict]]) -> str:
    """The results as Markdown."""
    lines = [
        "| penalty | rows | streaming, ns a row | in memory, ns a row (rows) | ratio "
        "(≤ 3) | peak memory (< 2 GB) | that of memory |",
        "|---|---|---|---|---|---|---|",
    ]
    for penalty, found in results.items():
        ours, known = a_row(found)
        in_all, some = (found[case]["rows"] for case in ("stream", "memory"))
        cells = [f"{ours:.0f}", f"{known:.0f} ({some:,})", f"{ours / known:.2f}"]
        lines.append(row([penalty, f"{in_all:,}", *cells, *peaks(found)]))
    return "\n".join([*lines, "", passes_table(results)])


def passes_table(results: dict[str, dict[str, dict]]) -> str:
    """What each pass of a stream took, and the rest."""
    lines = [row(["pass", *results]), "|---|" + "---|" * len(results)]
    every = [found["stream"]["passes"] for found in results.values()]
    for i, (name, _) in enumerate(every[0]):
        cells = [f"{each[i][1] * 1e9:.0f}" if i < len(each) else "" for each in every]
        lines.append(row([f"{i + 1}. {name}, ns a row", *cells]))
    left = [
        a_row(found)[0] - sum(spent for _, spent in each) * 1e9
        for found, each in zip(results.values(), every, strict=True)
    ]
    cells = [f"{max(each, 0.0):.0f}" for each in left]
    lines.append(row(["counts on what was kept, and the rest", *cells]))
    return "\n".join(lines)


def tasks_table(results: dict[str, dict[str, dict]], n_tasks: int) -> str:
    """The results of many small tasks as Markdown."""
    lines = [
        "| penalty | tasks | rows | streaming, ns a row | in memory | ratio (≤ 3) | "
        "processor alone | peak memory | that of memory |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    for penalty, found in results.items():
        (ours, known), used = a_row(found), a_row(found, "processor")
        sizes = [f"{n_tasks:,}", f"{found['stream']['rows']:,}"]
        cells = [f"{ours:.0f}", f"{known:.0f}", f"{ours / known:.2f}"]
        cells.append(f"{used[0] / used[1]:.2f}")
        lines.append(row([penalty, *sizes, *cells, *peaks(found)]))
    return "\n".join(lines)


def load() -> str:
    """How busy the machine is."""
    return f"load {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores"


def main() -> None:
    """Run what was asked for."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=float, default=1e8)
    parser.add_argument("--tasks", type=float, help="many, of 3 to 20 rows each")
    parser.add_argument("--folder", type=Path, help="with files, or to keep them in")
    parser.add_argument("--write", type=Path, help="a Markdown file with the marks")
    parser.add_argument("--case", choices=["memory", "stream"], help=argparse.SUPPRESS)
    parser.add_argument("--penalty", default="ridge", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.case:
        run = in_memory if given.case == "memory" else streamed
        print(json.dumps(run(given.folder, given.penalty)))
        return
    how = {"n_tasks": int(given.tasks or 1000), "small": given.tasks is not None}
    with filled(given.folder, int(given.rows), **how) as folder:
        before = load()
        results = {
            penalty: {
                case: apart(case, folder, penalty) for case in ("memory", "stream")
            }
            for penalty in PENALTIES
        }
        after = load()
    mark, text = "stream", table(results)
    if given.tasks:
        mark, text = "many tasks", tasks_table(results, int(given.tasks))
    text += f"\n\n{before} before, {after} after."
    print(text)
    if given.write:
        put(given.write, mark, text)


if __name__ == "__main__":
    main()
