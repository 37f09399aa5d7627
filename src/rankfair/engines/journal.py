"""What a fit found in each pass over its rows, on disk, so that it can go on.

A fit is the same sequence of passes each time, and a pass is known by what it is given:
the files, the columns and the numbers it works with.  A fit that was stopped and is
started again therefore finds what the passes before gave, and reads rows only from
where it was.
"""

from __future__ import annotations

import hashlib
import shutil
import zipfile
from collections.abc import Callable
from dataclasses import dataclass, fields, is_dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rankfair._disk import whole, write_whole

__all__ = ["Journal", "digest"]

Arrays = dict[str, NDArray[Any]]


@dataclass(frozen=True)
class Journal:
    """Answers by the digest of the question, in a folder; without one, none are kept.

    Examples
    --------
    >>> import numpy as np
    >>> Journal(None).remember("sum", lambda: {"total": np.array(3.0)})
    {'total': array(3.)}
    """

    folder: Path | None

    @classmethod
    def open(cls, folder: Path, fit: Any, state: Any) -> Journal:
        """The journal of a fit in a folder; begun anew where its inputs have changed.

        ``fit`` says which fit it is, ``state`` what its files were like.
        """
        own = folder / f"rankfair-{digest(fit)[:16]}"
        mark = own / "inputs.txt"
        if not mark.exists() or mark.read_text(encoding="utf-8") != digest(state):
            shutil.rmtree(own, ignore_errors=True)
            write_whole(mark, digest(state))
        return cls(own)

    def remember(self, question: Any, answer: Callable[[], Arrays]) -> Arrays:
        """The answer given last time, or a new one."""
        if self.folder is None:
            return answer()
        path = self.folder / f"{digest(question)[:32]}.npz"
        try:
            with np.load(path, allow_pickle=False) as found:
                return {name: found[name] for name in found.files}
        except (OSError, ValueError, zipfile.BadZipFile):
            pass  # not asked yet
        arrays = answer()
        with whole(path) as part, part.open("wb") as out:
            np.savez(out, **arrays)  # type: ignore[arg-type]
        return arrays

    def close(self) -> None:
        """Forget all: the fit has ended."""
        if self.folder is not None:
            shutil.rmtree(self.folder, ignore_errors=True)


def digest(thing: Any) -> str:
    """A fingerprint of numbers, texts, arrays, records and functions of them.

    Examples
    --------
    >>> digest((1, "a")) == digest((1, "a")), digest((1, "a")) == digest(("1", "a"))
    (True, False)
    """
    found = hashlib.sha256()
    _feed(found, thing)
    return found.hexdigest()


def _feed(found: Any, thing: Any) -> None:
    if isinstance(thing, np.ndarray):
        _say(found, "array", thing.dtype.str, str(thing.shape))
        found.update(np.ascontiguousarray(thing).tobytes())
    elif isinstance(thing, partial):
        _say(found, "call", thing.func.__qualname__)
        _feed(found, (thing.args, thing.keywords))
    elif is_dataclass(thing) and not isinstance(thing, type):
        _say(found, type(thing).__qualname__)
        _feed(found, {each.name: getattr(thing, each.name) for each in fields(thing)})
    elif isinstance(thing, dict):
        _feed(found, list(thing.items()))
    elif isinstance(thing, list | tuple):
        _say(found, "list", str(len(thing)))
        for each in thing:
            _feed(found, each)
    elif callable(thing):
        _say(found, "function", thing.__qualname__)
    else:
        _say(found, type(thing).__name__, repr(thing))


def _say(found: Any, *words: str) -> None:
    for word in words:
        found.update(f"{len(word)}:{word};".encode())
