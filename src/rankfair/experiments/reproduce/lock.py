"""One run at a time in a folder: a file that names the process at work."""

from __future__ import annotations

import json
import os
import platform
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from rankfair.experiments.reproduce.journal import RefusedError

__all__ = ["LOCK", "locked"]

LOCK = "run.lock"


@contextmanager
def locked(folder: Path) -> Iterator[Path]:
    """Keep other runs out of a folder; it is made if it is missing.

    What a process of this machine left behind when it was killed is taken over.

    Parameters
    ----------
    folder : Path

    Yields
    ------
    Path
        The file that keeps others out; it is gone afterwards.

    Raises
    ------
    RefusedError
        If another run is at work there; the sentence names it and the file.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as name:
    ...     with locked(Path(name)) as path:
    ...         print(path.exists())
    ...     print(path.exists())
    True
    False
    """
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / LOCK
    try:
        _create(path)
    except FileExistsError:
        _remove_stale(path)
        _create_once_more(path)
    try:
        yield path
    finally:
        path.unlink(missing_ok=True)


def _create(path: Path) -> None:
    handle = os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY)
    with os.fdopen(handle, "w", encoding="utf-8") as stream:
        json.dump({"pid": os.getpid(), "machine": platform.node()}, stream)


def _create_once_more(path: Path) -> None:
    try:
        _create(path)
    except FileExistsError:
        raise _refused(path, "another process") from None


def _remove_stale(path: Path) -> None:
    """Take away the lock of a dead process, and nobody else's."""
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError:
        return  # its owner has just finished
    try:
        holder = json.loads(text)
        pid, machine = int(holder["pid"]), str(holder["machine"])
    except (ValueError, KeyError, TypeError):
        raise _refused(path, "a process that did not give its name") from None
    if machine != platform.node() or _is_alive(pid):
        raise _refused(path, f"process {pid} on {machine}")
    aside = path.with_name(f"{LOCK}.{os.getpid()}")
    path.replace(aside)
    if aside.read_text(encoding="utf-8") != text:
        # Someone else was quicker: that was the new lock.
        aside.replace(path)
        raise _refused(path, "another process")
    aside.unlink()


def _is_alive(pid: int) -> bool:
    if os.name == "nt":
        return True  # there the call below would end the process
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except (PermissionError, OverflowError):
        pass
    return True


def _refused(path: Path, who: str) -> RefusedError:
    return RefusedError(
        f"{who} is at work in {path.parent}: wait for it, choose another --out, or "
        f"remove {path} if no run is at work there"
    )
