"""Dask: two worker processes against memory, bytes a pass, and a worker that is lost.

Rows are in the workers before the clock starts.  The memory path runs in a process of
its own on the same rows.  Bytes are what is sent to the workers and what comes back, as
they would be packed.

    python benchmarks/bench_dask.py                  10⁷ rows
    python benchmarks/bench_dask.py --rows 1e6       a quick look
    python benchmarks/bench_dask.py --write docs/scale.md
"""

from __future__ import annotations

import argparse
import json
import os
import pickle
import signal
import statistics
import time
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import count
from pathlib import Path

import numpy as np
from bench_stream import BY, apart, in_memory, load
from make_rows import filled
from marks import put, row

WORKERS = 2
SMALL = 200_000  # with fewer rows all are brought together and fitted in memory
LINK = 1.25e9  # bytes a second between machines: assumed, 10 Gbit/s


@contextmanager
def cluster() -> Iterator[object]:
    """Two processes of one thread each."""
    from distributed import Client, LocalCluster

    with (
        LocalCluster(
            n_workers=WORKERS, threads_per_worker=1, dashboard_address=":0"
        ) as made,
        Client(made) as client,
    ):
        yield client


@contextmanager
def weighed() -> Iterator[list[tuple[str, int]]]:
    """What each call over all workers is, and its bytes there and back."""
    from rankfair.engines import dask as engine

    said, found = engine.said, []

    def counted(client, function, *parts):
        name, size = _name(function), 0
        for answer in said(client, function, *parts):
            size += len(pickle.dumps(function)) + len(pickle.dumps(answer))
            yield answer
        found.append((name, size))

    engine.said = counted
    try:
        yield found
    finally:
        engine.said = said


def _name(function) -> str:
    while function.args:
        function = function.args[0]
        if not hasattr(function, "args"):
            return function.__name__.lstrip("_")
    return function.func.__name__.lstrip("_")


def fitted(frame, penalty: str):
    """One fit, and its seconds."""
    from rankfair import RankFairRegressor

    start = time.perf_counter()
    model = RankFairRegressor(penalty=penalty, **BY).fit(frame, "y")
    return model, time.perf_counter() - start


def there(client, folder: Path, rows: int):
    """The first rows of the files as a frame in the memory of the workers."""
    import dask.dataframe as dd
    import pyarrow.parquet as pq
    from distributed import wait

    whole = sum(pq.ParquetFile(f).metadata.num_rows for f in folder.glob("*.parquet"))
    frame = dd.read_parquet(folder, split_row_groups=1)
    if rows < whole:
        share = rows / whole
        frame = frame.map_partitions(lambda part: part[: round(share * len(part))])
    frame = frame.persist()
    wait(frame)
    return frame


def growth(client, folder: Path, sizes: list[int]) -> dict[int, dict]:
    """Seconds and bytes by kind of call, at several numbers of rows."""
    found = {}
    for rows in sizes:
        frame = there(client, folder, rows)
        fitted(frame, "ridge")
        with weighed() as calls:
            _, seconds = fitted(frame, "ridge")
        kinds: dict[str, list[int]] = {}
        for name, size in calls:
            kinds.setdefault(name, []).append(size)
        found[rows] = {"seconds": seconds, "calls": kinds}
        del frame
    return found


def lost(client, folder: Path, rows: int) -> float:
    """The largest relative difference of coefficients once a worker was killed."""
    from rankfair.engines import dask as engine

    frame = there(client, folder, rows)
    known, _ = fitted(frame, "ridge")
    said, calls = engine.said, count(1)

    def kill(cluster, function, *parts):
        if next(calls) == 3:  # when workers hold what they have read
            os.kill(next(iter(client.run(os.getpid).values())), signal.SIGKILL)
        return said(cluster, function, *parts)

    engine.said = kill
    try:
        found, _ = fitted(frame, "ridge")
    finally:
        engine.said = said
    assert next(calls) > 3
    return float(np.abs(found.coef_ - known.coef_).max() / np.abs(known.coef_).max())


def table(times: dict[str, tuple[float, float]], rows: int, off: float) -> str:
    """Time against memory, as Markdown."""
    lines = [
        "| penalty | rows | two workers, s | in memory, s | ratio (≤ 1.3) |",
        "|---|---|---|---|---|",
    ]
    for penalty, (ours, known) in times.items():
        figures = (f"{value:.2f}" for value in (ours, known, ours / known))
        lines.append(row([penalty, f"{rows:,}", *figures]))
    words = (
        f"A worker killed during a fit: coefficients differ by {off:.1e} (relative)."
    )
    return "\n".join([*lines, "", words])


def sizes_table(found: dict[int, dict]) -> str:
    """Bytes a call, by kind and number of rows."""
    kinds = [each["calls"] for each in found.values()]
    lines = [
        row(["bytes a call, all workers", *(f"{rows:,} rows" for rows in found)]),
        "|---|" + "---|" * len(found),
    ]
    for name in dict.fromkeys(name for each in kinds for name in each):
        lines.append(row([name, *(_median(each.get(name)) for each in kinds)]))
    return "\n".join(lines)


def _median(sizes: list[int] | None) -> str:
    return f"{statistics.median(sizes):,.0f} (× {len(sizes)})" if sizes else "—"


def predicted(found: dict[int, dict], rows: float = 1e9, workers: int = 100) -> str:
    """What the measured terms say of many rows on many workers."""
    (few, one), (many, other) = min(found.items()), max(found.items())
    a_row = (other["seconds"] - one["seconds"]) / (many - few) * WORKERS
    calls = sum(len(sizes) for sizes in other["calls"].values())
    a_call = max(one["seconds"] - a_row * few / WORKERS, 0.0) / calls
    size = sum(map(sum, other["calls"].values())) / WORKERS
    terms = [
        (
            f"rows: {a_row * 1e9:.0f} ns × {rows:.0e} / {workers}",
            a_row * rows / workers,
        ),
        (f"calls: {calls} × {a_call * 1e3:.0f} ms", calls * a_call),
        (
            f"bytes: {size / 1e6:.0f} MB a worker × {workers} / {LINK / 1e9:.2f} GB/s",
            size * workers / LINK,
        ),
    ]
    lines = ["| term | seconds |", "|---|---|"]
    lines += [f"| {name} | {value:.1f} |" for name, value in terms]
    lines.append(f"| **together** | **{sum(value for _, value in terms):.1f}** |")
    return "\n".join(lines)


def main() -> None:
    """Run what was asked for."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=float, default=1e7)
    parser.add_argument("--folder", type=Path, help="with files, or to keep them in")
    parser.add_argument("--write", type=Path, help="a Markdown file with the marks")
    parser.add_argument("--case", choices=["memory"], help=argparse.SUPPRESS)
    parser.add_argument("--penalty", default="ridge", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.case:
        print(json.dumps(in_memory(given.folder, given.penalty)))
        return
    rows = int(given.rows)
    times: dict[str, tuple[float, float]] = {}
    with filled(given.folder, rows) as folder:
        before = load()
        with cluster() as client:
            frame = there(client, folder, rows)
            fitted(frame, "ridge")  # workers import what they need
            for penalty in ("ridge", "task"):
                ours = fitted(frame, penalty)[1]
                known = apart("memory", folder, penalty, __file__)
                times[penalty] = ours, known["seconds"] * rows / known["rows"]
            del frame
            sizes = [each for each in (SMALL, 10**6, 10**7) if each < rows]
            found = growth(client, folder, [*sizes, rows])
            off = lost(client, folder, min(rows, 10**6))
        after = load()
    text = table(times, rows, off)
    text += f"\n\n{before} before, {after} after."
    print("\n\n".join([text, sizes_table(found), predicted(found)]))
    if given.write:
        put(given.write, "dask", text)
        put(given.write, "bytes", sizes_table(found))
        put(given.write, "model", predicted(found))


if __name__ == "__main__":
    main()
