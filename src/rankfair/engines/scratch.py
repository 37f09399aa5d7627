"""What is kept beside chunks on disk, and passes over chunks that are read anew."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from rankfair.engines.chunk import Chunk, Held
from rankfair.engines.chunked import Kept

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
    """Arrays of every chunk, one after another in a file."""

    path: Path
    sizes: tuple[int, ...]  # rows of each chunk
    kinds: tuple[Any, ...]  # of m, p, group and weights; None for what there is not
    chunks: Callable[[], Iterator[Chunk]]

    @classmethod
    def write(
        cls,
        path: Path,
        chunks: Callable[[], Iterator[Chunk]],
        function: Callable[[Chunk], Held],
    ) -> OnDisk:
        """Work through the chunks and write what is made of each."""
        sizes: list[int] = []
        kinds: tuple[Any, ...] = ()
        with path.open("wb") as out:
            for chunk in chunks():
                parts = _parts(function(chunk))
                kinds = tuple(None if it is None else it.dtype for it in parts)
                sizes.append(len(chunk))
                for part in parts:
                    if part is not None:
                        part.tofile(out)
        return cls(path, tuple(sizes), kinds, chunks)

    def each(self, function: Callable[[Held], T]) -> Iterator[T]:
        """What a function says of what is kept of each chunk."""
        return map(function, ahead(self._read()))

    def beside(self, function: Callable[[Chunk, Held], T]) -> Iterator[T]:
        """The same for a function of the chunk and what is kept of it."""
        return map(function, self.chunks(), self._read())

    def drop(self) -> None:
        """Delete the file."""
        self.path.unlink(missing_ok=True)

    def _read(self) -> Iterator[Held]:
        with self.path.open("rb") as source:
            for size in self.sizes:
                parts: list[Any] = [
                    None if kind is None else np.fromfile(source, kind, size)
                    for kind in self.kinds
                ]
                yield Held(*parts)


def _parts(held: Held) -> tuple[Any, ...]:
    return held.m, held.p, held.in_a, held.weights
