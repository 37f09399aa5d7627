"""Cells in processes of their own, one thread each: same bits with any number of jobs.

A worker takes a cell from its pipe and sends the result back.  When the parent is gone,
killed or not, the pipe ends and so does the worker.
"""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from multiprocessing import get_context
from multiprocessing.connection import Connection, wait
from typing import Any

from rankfair.experiments.reproduce.cells import Cell
from rankfair.experiments.reproduce.journal import Done
from rankfair.experiments.reproduce.methods import Choices
from rankfair.experiments.reproduce.settings import Settings
from rankfair.experiments.reproduce.work import run_cell

__all__ = ["LostWorkerError", "Workers"]

THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")


class LostWorkerError(Exception):
    """A process that ended before its work was done."""


class Workers:
    """Some processes that work on cells.

    Parameters
    ----------
    jobs : int
        How many.
    settings : Settings
        Handed to `run_cell` with every cell.

    Examples
    --------
    >>> with Workers(1, Settings(n_tasks=4)) as workers:
    ...     cells = [(Cell("table", "synthetic 0.9", "Rank"), Choices())]
    ...     [len(done.records) for done in workers.run(cells)]
    [2]
    """

    def __init__(self, jobs: int, settings: Settings):
        self.jobs, self.settings = jobs, settings
        self._processes: dict[Connection, Any] = {}

    def __enter__(self) -> Workers:
        context = get_context("spawn")
        with _inherited():
            for _ in range(self.jobs):
                mine, theirs = context.Pipe()
                process = context.Process(
                    target=_work, args=(theirs, self.settings), daemon=True
                )
                process.start()
                theirs.close()
                self._processes[mine] = process
        return self

    def __exit__(self, *_: object) -> None:
        for connection, process in self._processes.items():
            connection.close()
            process.terminate()
            process.join()

    def run(
        self,
        cells: Iterable[tuple[Cell, Choices]],
        on_start: Callable[[Cell], None] | None = None,
    ) -> Iterator[Done]:
        """Give finished cells as they come, in no particular order."""
        waiting = iter(cells)
        busy: dict[Connection, tuple[Cell, Choices]] = {}
        idle = list(self._processes)
        while True:
            for connection, work in zip(idle, waiting, strict=False):
                self._send(connection, work)
                busy[connection] = work
                if on_start is not None:
                    on_start(work[0])
            if not busy:
                return
            idle = []
            for connection in _ready(busy):
                idle.append(connection)
                yield self._received(connection, *busy.pop(connection))

    def _send(self, connection: Connection, work: tuple[Cell, Choices]) -> None:
        try:
            connection.send(work)
        except OSError:
            raise self._lost(connection, f"before {work[0].label}") from None

    def _received(self, connection: Connection, cell: Cell, chosen: Choices) -> Done:
        try:
            records, seconds = connection.recv()
        except (EOFError, ConnectionError):
            raise self._lost(connection, f"while at {cell.label}") from None
        return Done(cell, records, seconds, chosen)

    def _lost(self, connection: Connection, when: str) -> LostWorkerError:
        process = self._processes[connection]
        process.join()
        return LostWorkerError(
            f"a worker process ended (code {process.exitcode}) {when}; --resume goes "
            "on with what is done"
        )


def _ready(busy: Iterable[Connection]) -> list[Connection]:
    """The pipes with something in them, waited for."""
    found: list[Any] = wait(list(busy))
    return found


@contextmanager
def _inherited() -> Iterator[None]:
    """What new processes take over: one thread, and no ear for Ctrl-C.

    Threads are counted when libraries load, and Ctrl-C reaches every process of a
    terminal, even one that is still loading them: the parent decides what ends.
    """
    before = {name: os.environ.get(name) for name in THREADS}
    os.environ.update(dict.fromkeys(THREADS, "1"))
    handler = _ignore_interrupts()
    try:
        yield
    finally:
        if handler is not None:
            signal.signal(signal.SIGINT, handler)
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value


def _ignore_interrupts() -> Any:
    """Return what was done with Ctrl-C before; only a main thread may change that."""
    if threading.current_thread() is not threading.main_thread():
        return None
    return signal.signal(signal.SIGINT, signal.SIG_IGN)


def _work(connection: Connection, settings: Settings) -> None:
    """The loop of a worker."""
    # It comes with scikit-learn and has no types.
    from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

    # Not inherited on every system.
    _ignore_interrupts()
    with threadpool_limits(1):
        while True:
            try:
                cell, chosen = connection.recv()
                start = time.perf_counter()
                records = run_cell(cell, settings, chosen)
                connection.send((records, time.perf_counter() - start))
            except (EOFError, ConnectionError):
                return
