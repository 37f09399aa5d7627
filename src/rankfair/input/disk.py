"""Files that are whole or not there, no larger than allowed, and no leftovers."""

from __future__ import annotations

import io
import os
import shutil
import stat
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

PREFIX = ".rankfair-"  # a dot hides folders from readers of folders
PIECE = 1 << 20


def read_up_to(stream: Any, most: int) -> bytes:
    """Return what a stream holds; of more than ``most`` bytes, one more than that.

    Python takes the room for all bytes asked for before it reads the first: a small
    file must not need the room of the largest one allowed.

    Examples
    --------
    >>> read_up_to(io.BytesIO(b"abcdef"), 3)
    b'abcd'
    """
    held = io.BytesIO()
    while left := most + 1 - held.tell():
        piece = stream.read(min(left, PIECE))
        if not piece:
            break
        held.write(piece)
    return held.getvalue()


def write_whole(path: Path, content: str | bytes) -> Path:
    """Write beside the target and rename, so that nobody meets half a file.

    Whatever goes wrong (a full disk, a folder that may not be written, Ctrl-C), a file
    that was there before is still there, and no part of the new one is.  For links,
    pipes and permissions see `whole`.

    Parameters
    ----------
    path : Path
        Where to; its folder is made if it is missing.
    content : str or bytes
        Text is written as UTF-8, its line ends as they are.

    Returns
    -------
    Path
        The same path.

    Raises
    ------
    OSError
        If the file could not be written; nothing was changed.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_whole(Path(folder) / "new" / "a.txt", "all").read_text()
    'all'
    """
    raw = content.encode() if isinstance(content, str) else content
    with whole(path) as part, part.open("wb") as stream:
        stream.write(raw)
    return path


@contextmanager
def whole(path: Path) -> Iterator[Path]:
    """Give a place to write to; what is there at the end goes to ``path`` in one step.

    A link stays a link: the file that it names is replaced.  A file that was there
    keeps its permissions.  A pipe or a device is written to, when all is known, and is
    not replaced.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "a.txt"
    ...     with whole(path) as part:
    ...         _ = part.write_text("all")
    ...         path.exists()
    ...     path.read_text()
    False
    'all'
    """
    try:
        mode = path.stat().st_mode  # of what stands at the end of all links
    except FileNotFoundError:
        mode = None
    if mode is not None and not (stat.S_ISREG(mode) or stat.S_ISDIR(mode)):
        with working_folder() as elsewhere:
            part = elsewhere / "part"
            yield part
            with part.open("rb") as source, path.open("wb") as stream:
                shutil.copyfileobj(source, stream)
        return
    target = real(path)
    target.parent.mkdir(parents=True, exist_ok=True)
    # The folder beside it is on the same disk, so the rename is one step.
    with working_folder(target.parent) as beside:
        part = beside / "part"
        yield part
        # Else a power cut after the rename could leave an empty file.
        with part.open("r+b") as stream:
            os.fsync(stream.fileno())
        if mode is not None and stat.S_ISREG(mode):
            part.chmod(stat.S_IMODE(mode))
        part.replace(target)
        sync(target.parent)


@contextmanager
def working_folder(parent: Path | None = None) -> Iterator[Path]:
    """Give a hidden folder that only its user may open; it is deleted at the end.

    Parameters
    ----------
    parent : Path, optional
        Where to make it; by default where temporary files are.

    Examples
    --------
    >>> with working_folder() as folder:
    ...     folder.is_dir(), visible(folder)
    (True, False)
    >>> folder.exists()
    False
    """
    settings: Any = {"dir": parent, "ignore_cleanup_errors": True}
    with tempfile.TemporaryDirectory(prefix=PREFIX, **settings) as made:
        yield Path(made)


def sync(path: Path) -> None:
    """Put a file, or the names in a folder, on the disk before going on."""
    with suppress(OSError):  # some disks cannot, and folders of Windows
        handle = os.open(path, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


def real(path: str | os.PathLike[str]) -> Path:
    """Return the place behind all links; those that lead in a circle stay as they are.

    Examples
    --------
    >>> real("/a/../b").as_posix()
    '/b'
    """
    return Path(os.path.realpath(path))


def visible(path: Path) -> bool:
    """Tell whether no part of a name begins with a dot, as those of leftovers do.

    Examples
    --------
    >>> visible(Path("a/b.parquet")), visible(Path(".rankfair-x/b.parquet"))
    (True, False)
    """
    return not any(part.startswith(".") for part in path.parts)
