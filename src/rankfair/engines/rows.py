"""Chunks of rows, wherever they are, and what is kept beside each of them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator
from functools import reduce
from operator import iadd
from typing import Any, TypeVar

from numpy.typing import NDArray

from rankfair.engines.chunk import Chunk, Extent, Held
from rankfair.engines.coding import Coding
from rankfair.engines.summary import Summary

__all__ = ["Kept", "Rows", "Summand", "added"]

T = TypeVar("T")
Summand = NDArray[Any]


class Rows(ABC):
    """All rows, chunk by chunk: what can be asked of them."""

    coding: Coding

    @property
    def n_rows(self) -> int:
        """How many rows weigh something."""
        return int(self.coding.sizes.sum())

    @property
    def n_tasks(self) -> int:
        """How many tasks there are."""
        return self.coding.n_tasks

    @property
    def n_features(self) -> int:
        """How many predictors there are."""
        return len(self.coding.roles.predictors)

    @abstractmethod
    def scan(self) -> Summary:
        """Sums over all rows."""

    @abstractmethod
    def each(self, function: Callable[[Chunk], T]) -> Iterator[T]:
        """What a function says of each chunk, in order."""

    @abstractmethod
    def total(self, function: Callable[[Chunk], Summand]) -> NDArray[Any]:
        """The sum of what a function says of each chunk."""

    @abstractmethod
    def keep(self, function: Callable[[Chunk], Held]) -> Kept:
        """What a function makes of each chunk, kept where the chunk is."""


class Kept(ABC):
    """What is kept beside the chunks."""

    @abstractmethod
    def total(self, function: Callable[[Held], NDArray[Any]]) -> NDArray[Any]:
        """The sum of what a function says of what is kept of each chunk."""

    @abstractmethod
    def extent(self, step: float) -> Extent:
        """The range of the predictions ``step`` along the line, and their sums."""

    @abstractmethod
    def each(self, function: Callable[[Held], T]) -> Iterator[T]:
        """What a function says of what is kept of each chunk, in order."""

    @abstractmethod
    def drop(self) -> None:
        """Let it go."""


def added(parts: Iterable[Summand]) -> Summand:
    """The sum of arrays, taken in one by one, in the first of them."""
    return reduce(iadd, parts)
