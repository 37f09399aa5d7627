"""What is kept beside chunks on disk, and passes over chunks that are read anew."""

from __future__ import annotations

import operator
import os
import tempfile
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cached_property, partial, reduce
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from rankfair.engines.chunk import Chunk, Extent, Held
from rankfair.engines.rows import Kept, added

__all__ = ["OnDisk", "ahead"]

T = TypeVar("T")


def ahead(items: Iterable[T]) -> Iterator[T]:
    """The items, each made while the one before it is worked on."""
    source = iter(items)
    with ThreadPoolExecutor(1) as aside:
        coming = aside.submit(next, source, None)
        while (item := coming.result()) is not None:
            coming = aside.submit(next, source, None)
            yield item


@dataclass(frozen=True)
class OnDisk(Kept):
    """Arrays of every chunk, one after another in a file, made when first asked for."""

    folder: Path
    chunks: Callable[[str], Iterator[Chunk]]
    function: Callable[[Chunk], Held]

    def total(self, function: Callable[[Held], NDArray[Any]]) -> NDArray[Any]:
        """The sum of what a function says of what is kept of each chunk."""
        return added(map(function, self._all()))

    def extent(self, step: float) -> Extent:
        """The range of the predictions ``step`` along the line, and their sums."""
        return reduce(operator.add, map(partial(Extent.of, step=step), self._all()))

    def each(self, function: Callable[[Held], T]) -> Iterator[T]:
        """What a function says of what is kept of each chunk, in order."""
        return map(function, self._all())

    def drop(self) -> None:
        """Delete the file."""
        if "path" in self.__dict__:
            self.path.unlink(missing_ok=True)
            del self.__dict__["path"]

    @cached_property
    def path(self) -> Path:
        """The file, written when it is first asked for."""
        handle, name = tempfile.mkstemp(dir=self.folder)
        with os.fdopen(handle, "wb") as out:
            for chunk in self.chunks("predicting"):
                _write(out, self.function(chunk))
        return Path(name)

    def _all(self) -> Iterator[Held]:
        return ahead(self._read())

    def _read(self) -> Iterator[Held]:
        with self.path.open("rb") as source:
            while (head := np.fromfile(source, np.int64, 4)).size:
                size, bytes_m, has_p, weighs = head.tolist()
                kind = np.float32 if bytes_m == 4 else np.float64
                m = np.fromfile(source, kind, size)
                p = np.fromfile(source, kind, size) if has_p else None
                in_a = np.fromfile(source, bool, size)
                weights = np.fromfile(source, float, size) if weighs else None
                yield Held(m, p, in_a, weights)


def _write(out: Any, held: Held) -> None:
    """A head of four numbers, then the arrays there are."""
    has_p, weighs = held.p is not None, held.weights is not None
    head = [len(held.m), held.m.itemsize, has_p, weighs]
    for part in (np.array(head, np.int64), held.m, held.p, held.in_a, held.weights):
        if part is not None:
            part.tofile(out)
