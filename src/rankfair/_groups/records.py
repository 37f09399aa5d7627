"""Records of protected attributes: where labels come from, and groups of rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from rankfair._frames import Codes, Column, Floats, find_labels, shown

__all__ = ["Bools", "Groups", "Source", "masks_of"]

Bools: TypeAlias = NDArray[np.bool_]


@dataclass(frozen=True)
class Source:
    """Where labels come from: columns of X (``at``) or an array passed to fit."""

    argument: str
    columns: list[Column]
    at: tuple[int, ...]
    names: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        """The name of the only column."""
        return self.names[0] if self.names else ""

    def labels(self) -> tuple[Codes, NDArray[Any]]:
        """Return codes and sorted labels."""
        return find_labels(self.columns, self.argument)

    def parts(self) -> list[Source]:
        """Return each column alone, called by its name where there are several."""
        if len(self.columns) == 1:
            return [self]
        whole = self.argument.partition(" (")[0]
        return [
            Source(f"{whole} ({shown(name)})", [column], (), (name,))
            for column, name in zip(self.columns, self.names, strict=True)
        ]


@dataclass(frozen=True)
class Groups:
    """The group of each row as a place in the labels, −1 where it is not known.

    Labels are sorted, or in the order of the bins where a number was cut at ``edges``:
    a bin starts at its edge, and the last ends with the last edge.
    """

    codes: Codes
    labels: NDArray[Any]
    name: str = ""
    edges: Floats | None = field(default=None, compare=False)

    @property
    def in_a(self) -> Bools:
        """Which rows are in the last group: with two, the one that sorts last."""
        found: Bools = self.codes == len(self.labels) - 1
        return found

    @cached_property
    def known(self) -> Bools | None:
        """Which rows have a group; None if all do."""
        found: Bools = self.codes >= 0
        return None if found.all() else found

    @property
    def n_unknown(self) -> int:
        """How many rows have none."""
        return 0 if self.known is None else int((~self.known).sum())

    def masks(self) -> Bools:
        """What is compared with the rest: A of two groups, of more each; a row each."""
        if len(self.labels) == 2:
            return self.in_a[None]
        found: Bools = self.codes == np.arange(len(self.labels))[:, None]
        return found

    def take(self, rows: Bools) -> Groups:
        """Return the groups of some rows."""
        return replace(self, codes=self.codes[rows])

    def sizes(self, weights: Floats | None = None) -> Floats:
        """Return how many rows, or how much weight, each group has."""
        codes, w = self.codes, weights
        if self.known is not None:
            codes = codes[self.known]
            w = None if weights is None else weights[self.known]
        return np.bincount(codes, w, len(self.labels)).astype(np.float64)


def masks_of(attributes: Sequence[Groups]) -> tuple[Bools, Bools | None]:
    """Return the groups to be held level with the rest, and whose group is known.

    A row each for A of two groups, and for each of more; None if all are known.

    Examples
    --------
    >>> sex = Groups(np.array([0, 1, 1]), np.array(["F", "M"]), "sex")
    >>> masks_of([sex])
    (array([[False,  True,  True]]), None)
    """
    masks = [each.masks() for each in attributes]
    if all(each.known is None for each in attributes):
        return np.vstack(masks), None
    known = [
        np.broadcast_to(True if each.known is None else each.known, mask.shape)
        for each, mask in zip(attributes, masks, strict=True)
    ]
    return np.vstack(masks), np.vstack(known)
