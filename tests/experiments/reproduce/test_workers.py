import os
import signal
import threading
from multiprocessing import Pipe

import pytest

from rankfair.experiments.reproduce import workers
from rankfair.experiments.reproduce.cells import Cell
from rankfair.experiments.reproduce.methods import Choices
from rankfair.experiments.reproduce.work import run_cell
from rankfair.experiments.reproduce.workers import LostWorkerError, Workers

CELLS = [
    Cell("table", "synthetic 0.9", name, repeat)
    for repeat in (0, 1)
    for name in ("Rank", "unconstrained", "constant shift")
]


def test_cells_come_back_with_what_this_process_would_find(tiny):
    started = []
    with Workers(2, tiny) as pool:
        work = ((cell, Choices()) for cell in CELLS)
        found = {done.cell: done for done in pool.run(work, started.append)}
        assert list(pool.run([])) == []
    assert started == CELLS
    assert set(found) == set(CELLS)
    for cell, done in found.items():
        assert done.seconds > 0 and done.chosen == Choices()
        here = run_cell(cell, tiny, Choices())
        assert done.records[0]["rmse"] == pytest.approx(here[0]["rmse"])


needs_kill = pytest.mark.skipif(
    not hasattr(signal, "SIGKILL"), reason="no such signal on this system"
)


@needs_kill
def test_a_worker_that_died_while_idle_is_named(tiny):
    with Workers(1, tiny) as pool:
        (process,) = pool._processes.values()
        os.kill(process.pid, signal.SIGKILL)
        process.join()
        with pytest.raises(LostWorkerError, match=r"code -9\) before synthetic 0.9"):
            list(pool.run([(CELLS[0], Choices())]))


def test_a_worker_has_no_ear_for_interrupts(tiny):
    before = signal.getsignal(signal.SIGINT)
    mine, theirs = Pipe()
    mine.close()
    try:
        workers._work(theirs, tiny)
        assert signal.getsignal(signal.SIGINT) == signal.SIG_IGN
    finally:
        signal.signal(signal.SIGINT, before)


@needs_kill
def test_a_worker_that_dies_is_named_with_its_cell(tiny):
    with Workers(1, tiny) as pool:
        (process,) = pool._processes.values()

        def kill(cell):
            os.kill(process.pid, signal.SIGKILL)

        with pytest.raises(LostWorkerError, match=r"code -9.*synthetic 0.9: Rank"):
            list(pool.run([(CELLS[0], Choices())], kill))


def test_the_loop_of_a_worker_ends_with_its_pipe(tiny):
    mine, theirs = Pipe()
    mine.send((CELLS[0], Choices()))
    thread = threading.Thread(target=workers._work, args=(theirs, tiny))
    thread.start()
    records, _ = mine.recv()
    assert [row["rows"] for row in records] == ["train", "held-out"]
    mine.close()
    thread.join(timeout=30)
    assert not thread.is_alive()


def test_what_workers_inherit_is_put_back(monkeypatch):
    monkeypatch.setenv("OMP_NUM_THREADS", "7")
    monkeypatch.delenv("MKL_NUM_THREADS", raising=False)
    handler = signal.getsignal(signal.SIGINT)
    with workers._inherited():
        assert os.environ["OMP_NUM_THREADS"] == os.environ["MKL_NUM_THREADS"] == "1"
        assert signal.getsignal(signal.SIGINT) == signal.SIG_IGN
    assert os.environ["OMP_NUM_THREADS"] == "7"
    assert "MKL_NUM_THREADS" not in os.environ
    assert signal.getsignal(signal.SIGINT) == handler


def test_workers_start_in_any_thread():
    seen = []

    def enter():
        with workers._inherited():
            seen.append(os.environ["OMP_NUM_THREADS"])

    thread = threading.Thread(target=enter)
    thread.start()
    thread.join()
    assert seen == ["1"]
