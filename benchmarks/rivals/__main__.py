"""Run the cells, each in a process of its own, and write page and picture."""

from __future__ import annotations

import argparse
import csv
import json
import multiprocessing
import os
import signal
import time
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor, as_completed, wait
from dataclasses import asdict
from importlib.metadata import version
from itertools import chain
from typing import Any

from .cases import CASES, Base, Case, available, choose_base, draw
from .cell import METHODS, Job
from .cell import main as cell_main
from .methods import Method
from .near import settings_of
from .page import Run, page
from .points import MEASURES, OURS
from .store import ROOT, STORE, lines_of, path_of, read_cell

DOCS = ROOT / "docs"
PACKAGES = (
    "rankfair", "fairlearn", "holisticai", "equipy", "scikit-lego", "fairret",
    "scikit-learn", "numpy", "pandas", "torch", "jax",
)  # fmt: skip
# One process imports what all need and is forked for each cell; one thread each.
FRESH = multiprocessing.get_context("forkserver")
THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
QUICK_SEEDS, QUICK_ROWS = 2, 10**4

Wanted = tuple[str, Method, Base, bool]


def seeds_of(case: Case, quick: bool) -> int:
    return min(case.seeds, QUICK_SEEDS) if quick else case.seeds


def run_cell(name: str, method: Method, base: Base, quick: bool) -> str:
    """Run a cell in a process of its own; return a line about it."""
    path = path_of(name, method)
    path.parent.mkdir(parents=True, exist_ok=True)
    part, start = path.with_suffix(".part"), time.perf_counter()
    seeds, settings = seeds_of(CASES[name], quick), settings_of(name, method, quick)
    job = Job(name, method.key, base, seeds, settings, CASES[name].limit)
    process = FRESH.Process(target=cell_main, args=(job, part))
    process.start()
    process.join()
    # Without a note its points were not done when it ended.
    if not any("note" in record for record in lines_of(part)):
        with part.open("a", encoding="utf-8") as lines:
            note = _ending(process.exitcode, job.limit)
            lines.write("\n" + json.dumps({"note": note}) + "\n")
    part.replace(path)
    busy = next((r["processor"] for r in lines_of(path) if "processor" in r), job.limit)
    spent = f"{time.perf_counter() - start:6.1f} s ({busy:4.1f} s of processor time)"
    return f"{spent}  {name}  {method.key}  {read_cell(name, method).note}"


def _ending(code: int | None, limit: int) -> str:
    """What an exit code says of a process that could not say it itself."""
    if code == -signal.SIGXCPU:
        return f"stopped at the limit of {limit} s"
    return f"ended with code {code}"


def plan(names: list[str]) -> dict[str, Any]:
    """Base learner and rows of each dataset, and why some are left out."""
    bases, rows, skipped = {}, {}, {}
    for name in names:
        why = available(CASES[name])
        if why:
            skipped[CASES[name].title] = why
            continue
        bases[name] = asdict(choose_base(CASES[name]))
        rows[name] = len(draw(CASES[name], 0)[0].y)
    versions = {name: version(name) for name in PACKAGES}
    return {"bases": bases, "rows": rows, "skipped": skipped, "versions": versions}


def jobs_of(planned: dict[str, Any]) -> list[tuple[str, Method, Base]]:
    return [
        (name, method, Base(**base))
        for name, base in planned["bases"].items()
        for method in METHODS.values()
        if base["kind"] in method.kinds
    ]


def write_pages(planned: dict[str, Any]) -> None:
    from .picture import picture

    jobs = jobs_of(planned)
    # A dataset that some methods have not seen yet says nothing of who is better.
    partial = {name for name, method, _ in jobs if not path_of(name, method).exists()}
    cells = [read_cell(name, m) for name, m, _ in jobs if name not in partial]
    titles = {name: CASES[name].title for name in {cell.case: None for cell in cells}}
    absent = {
        case.title: "Not part of this run."
        for name, case in CASES.items()
        if name not in titles and case.title not in planned["skipped"]
    }
    run = Run(
        titles=titles,
        rows=planned["rows"],
        bases={name: Base(**planned["bases"][name]).title for name in titles},
        skipped={**planned["skipped"], **absent},
        versions=planned["versions"],
        cells=cells,
        minutes=planned["minutes"],
        quick=planned["quick"],
    )
    (DOCS / "rivals.md").write_text(page(run), encoding="utf-8")
    picture(run, DOCS / "images" / "rivals.png")
    with (STORE / "points.csv").open("w", encoding="utf-8", newline="") as file:
        write_points(run, file)


def write_points(run: Run, file: Any) -> None:
    """Every point, ours with every ε: means and standard errors."""
    out = csv.writer(file, lineterminator="\n")
    ends = [f"{m}{end}" for m in MEASURES for end in ("", "_se")]
    out.writerow(["data", "package", "method", "setting", "seeds", *ends])
    for point in (point for cell in run.cells for point in cell.points):
        figures = [f"{f(m):.6f}" for m in MEASURES for f in (point.mean, point.error)]
        names = [point.case, point.library, point.method, point.setting]
        out.writerow([*names, len(point.seeds), *figures])


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.rivals")
    parser.add_argument("names", nargs="*", help=f"datasets: {', '.join(CASES)}")
    parser.add_argument("--quick", action="store_true", help="few seeds, small data")
    parser.add_argument("--resume", action="store_true", help="keep cells there are")
    parser.add_argument("--page", action="store_true", help="write the page only")
    parser.add_argument("--workers", type=int, default=2, help="cells at a time")
    arguments = parser.parse_args()
    unknown = [name for name in arguments.names if name not in CASES]
    if unknown:
        parser.error(f"no such data: {unknown[0]}; there is {', '.join(CASES)}")
    store = STORE / "plan.json"
    if not arguments.page:
        store.parent.mkdir(parents=True, exist_ok=True)
        planned = {**plan(wanted_names(arguments)), "quick": arguments.quick}
        # Written at once: a run that was stopped has a page too.
        store.write_text(json.dumps({**planned, "minutes": None}), encoding="utf-8")
        minutes = measure_all(planned, arguments)
        planned["minutes"] = None if arguments.resume else minutes
        store.write_text(json.dumps(planned), encoding="utf-8")
    write_pages(json.loads(store.read_text(encoding="utf-8")))


def wanted_names(arguments: argparse.Namespace) -> list[str]:
    """The datasets asked for; all but the large ones if it has to be quick."""
    small = [
        name
        for name, case in CASES.items()
        if case.sizes is None or case.sizes[0] * case.sizes[1] <= QUICK_ROWS
    ]
    return arguments.names or (small if arguments.quick else list(CASES))


def is_ours(job: Wanted) -> bool:
    return job[1].library == OURS


def finished(jobs: list[Wanted], workers: int) -> Iterator[str]:
    """Run cells, some at a time; yield a line about each that is done.

    Ours wait for the rivals on the same data, to be set beside where they landed.
    Those were handed in earlier, so that somebody is always at work.
    """
    rivals: dict[str, list[Future[str]]] = {}

    def ours(job: Wanted) -> str:
        wait(rivals.get(job[0], []))
        return run_cell(*job)

    names = list(dict.fromkeys(job[0] for job in jobs))
    later: list[Future[str]] = []
    with ThreadPoolExecutor(workers) as pool:
        for name, last in zip([*names, ""], ["", *names], strict=True):
            for job in (job for job in jobs if job[0] == name and not is_ours(job)):
                rivals.setdefault(name, []).append(pool.submit(run_cell, *job))
            for job in (job for job in jobs if job[0] == last and is_ours(job)):
                later.append(pool.submit(ours, job))
        for done in as_completed([*chain(*rivals.values()), *later]):
            yield done.result()


def measure_all(planned: dict[str, Any], arguments: argparse.Namespace) -> float:
    """Run every cell that is wanted; return the minutes it took."""
    start = time.perf_counter()
    os.environ.update(dict.fromkeys(THREADS, "1"))
    FRESH.set_forkserver_preload(["benchmarks.rivals.cell"])
    wanted = [
        (name, method, base, arguments.quick)
        for name, method, base in jobs_of(planned)
        if not (arguments.resume and path_of(name, method).exists())
    ]
    for i, line in enumerate(finished(wanted, arguments.workers), 1):
        print(f"{i:4d}/{len(wanted)} {line}", flush=True)
    return (time.perf_counter() - start) / 60


if __name__ == "__main__":
    main()
