"""Files that are whole or not there."""

import os
import tempfile
from pathlib import Path

__all__ = ["write_whole"]


def write_whole(path: Path, content: str | bytes) -> Path:
    """Write beside the target and rename, so that nobody meets half a file.

    Whatever goes wrong (a full disk, a folder that may not be written, Ctrl-C), a file
    that was there before is still there, and no part of the new one is.

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
    path.parent.mkdir(parents=True, exist_ok=True)
    # The folder beside it is on the same disk, so the rename is one step.
    with tempfile.TemporaryDirectory(dir=path.parent) as beside:
        part = Path(beside) / path.name
        with part.open("wb") as stream:
            stream.write(raw)
            stream.flush()
            # Else a power cut after the rename could leave an empty file.
            os.fsync(stream.fileno())
        part.replace(path)
    return path
