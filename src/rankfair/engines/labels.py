"""Columns of an Arrow batch as numbers and codes, and which labels there are."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rankfair.core.blocks import Floats, Ints
from rankfair.engines.chunk import Chunk
from rankfair.engines.files import kind_of
from rankfair.input.errors import counted

__all__ = ["Coding", "Labels", "Roles", "Tally", "checked", "coded", "tally"]

SPARSE = 8  # whole labels spread no wider than this many times their number: a table


@dataclass(frozen=True)
class Roles:
    """What the columns of the files are for."""

    predictors: tuple[str, ...]
    target: str
    task: str | None = None
    group: str | None = None
    weight: str | None = None

    @property
    def columns(self) -> list[str]:
        """All that are read, each once."""
        return list(dict.fromkeys([*self.predictors, self.target, *self.counted]))

    @property
    def counted(self) -> list[str]:
        """Those that say which rows there are: labels and weights, each once."""
        names = (self.task, self.group, self.weight)
        return list(dict.fromkeys(name for name in names if name is not None))


@dataclass(frozen=True)
class Labels:
    """The labels of a column, sorted as the estimators sort them."""

    known: list[Any]

    @classmethod
    def of(cls, labels: set[Any]) -> Labels:
        """Sort labels; those of several kinds by their text.

        Where all are whole they are whole numbers, in whatever type they came.
        """
        if all(type(each) is float and each.is_integer() for each in labels):
            labels = set(map(int, labels))
        try:
            return cls(sorted(labels))
        except TypeError:
            return cls(sorted(labels, key=str))

    def __len__(self) -> int:
        return len(self.known)

    def codes(self, column: Any) -> Ints:
        """The place of each cell of an Arrow column among the labels."""
        import pyarrow as pa
        import pyarrow.compute as pc

        if self._places is not None and pa.types.is_integer(column.type):
            values = column.to_numpy(zero_copy_only=False)
            if self.known[0]:
                # In a narrow type the difference could wrap around.
                values = values.astype(np.int64) - self.known[0]
            table: Ints = self._places.take(values, mode="clip")
            return table
        column = label_column(column)
        if self._fractions:
            column = column.cast(pa.float64())
        places = pc.index_in(column, value_set=self._values(column.type))
        found: Ints = places.to_numpy(zero_copy_only=False)
        return found

    def _values(self, kind: Any) -> Any:
        """The labels as an Arrow array of a type, made once: there may be many."""
        import pyarrow as pa

        if kind not in self._arrays:
            self._arrays[kind] = pa.array(self.known, type=kind)
        return self._arrays[kind]

    @cached_property
    def _arrays(self) -> dict[Any, Any]:
        return {}

    @cached_property
    def _fractions(self) -> bool:
        return any(type(each) is float for each in self.known)

    @cached_property
    def _places(self) -> NDArray[np.int32] | None:
        """The place of every whole number from the least label to the greatest."""
        if not self.known or any(type(each) is not int for each in self.known):
            return None
        low, width = self.known[0], self.known[-1] - self.known[0] + 1
        if width > SPARSE * len(self.known) + 4096 or self.known[-1] >= 1 << 63:
            return None
        places = np.zeros(width, np.int32)
        places[np.array(self.known) - low] = np.arange(len(self.known))
        return places


@dataclass(frozen=True)
class Coding:
    """The labels of tasks and of groups, and the rows of each task."""

    roles: Roles
    tasks: Labels
    groups: Labels
    sizes: Ints = field(repr=False)  # (k,)

    @property
    def n_tasks(self) -> int:
        """How many tasks there are."""
        return len(self.sizes)

    def chunk(self, batch: Any, source: str) -> Chunk:
        """The rows of an Arrow batch that weigh something, as numbers and codes."""
        batch, roles = weighing(batch, self.roles, source), self.roles
        codes: Ints = np.zeros(batch.num_rows, np.int32)
        if roles.task is not None:
            codes = self.tasks.codes(batch.column(roles.task))
        in_a = np.zeros(batch.num_rows, bool)
        if roles.group is not None:
            in_a = self.groups.codes(batch.column(roles.group)) == 1
        columns = tuple(
            in_a.astype(float) if name == roles.group else numbers(batch.column(name))
            for name in roles.predictors
        )
        weights = None if roles.weight is None else numbers(batch.column(roles.weight))
        y = numbers(batch.column(roles.target))
        codes = codes.astype(np.int32, copy=False)
        return Chunk(columns, y, codes, in_a, weights, source)


@dataclass(frozen=True)
class Tally:
    """The labels of tasks and of groups in some rows.

    Each is an Arrow table of a column ``label`` and the number of its ``rows``.
    """

    tasks: Any
    groups: Any
    n_rows: int


def tally(batch: Any, roles: Roles, source: str) -> Tally:
    """Count the rows of an Arrow batch that weigh something."""
    batch = weighing(batch, roles, source)

    def of(name: str | None) -> Any:
        if name is None:
            return None
        column = _known(label_column(batch.column(name)), name, source)
        return _counted(column, np.ones(len(column), np.int64))

    return Tally(of(roles.task), of(roles.group), batch.num_rows)


def coded(parts: Iterable[Tally], roles: Roles) -> Coding:
    """What all rows together have."""
    tasks = groups = None
    n_rows = 0
    for part in parts:
        tasks, groups = _added(tasks, part.tasks), _added(groups, part.groups)
        n_rows += part.n_rows
    if not n_rows:
        more = "" if roles.weight is None else " that weigh more than nothing"
        raise ValueError(f"there are no rows{more}: there is nothing to fit.")
    by_group = Labels.of(set() if groups is None else {*groups["label"].to_pylist()})
    if tasks is None:
        return Coding(roles, Labels([]), by_group, np.array([n_rows]))
    by_task = Labels.of({*tasks["label"].to_pylist()})
    sizes = np.zeros(len(by_task), np.int64)
    sizes[by_task.codes(tasks["label"])] = tasks["rows"].to_numpy()
    return Coding(roles, by_task, by_group, sizes)


def _added(one: Any, other: Any) -> Any:
    import pyarrow as pa

    if one is None or other is None:
        return other
    # Whole numbers here and fractions there are fractions.
    both = pa.concat_tables([one, other], promote_options="permissive")
    return _counted(both["label"], both["rows"])


def _counted(labels: Any, rows: Any) -> Any:
    """The rows of each label."""
    import pyarrow as pa

    table = pa.table([labels, rows], names=["label", "rows"])
    found = table.group_by("label", use_threads=False).aggregate([("rows", "sum")])
    return found.select(["label", "rows_sum"]).rename_columns(["label", "rows"])


def _known(column: Any, name: str, source: str) -> Any:
    """The column, if no label of it is missing."""
    import pyarrow.compute as pc

    missing = pc.sum(column.is_null(nan_is_null=True)).as_py()
    if missing:
        raise ValueError(
            f"{source}: column {name!r} has {counted(missing, 'missing label')} in "
            f"{counted(len(column), 'row')}; tasks and groups must be known. Leave "
            "such rows out."
        )
    return column


def label_column(column: Any) -> Any:
    """A column of labels in the widest type of its kind, so that files may differ.

    Whole numbers are whole in whatever type they come, as in memory.
    """
    import pyarrow as pa

    types = pa.types
    if types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    if kind_of(column.type) == "text":
        return column.cast(pa.large_string())
    if types.is_integer(column.type) and column.type != pa.uint64():
        return column.cast(pa.int64())
    if types.is_floating(column.type):
        try:
            return column.cast(pa.int64())
        except pa.ArrowInvalid:  # some are fractions
            return column.cast(pa.float64())
    return column


def numbers(column: Any) -> Floats:
    """A column of an Arrow batch as floats; missing values are NaN."""
    import pyarrow as pa

    if pa.types.is_boolean(column.type):
        column = column.cast(pa.uint8())
    found: Floats = column.to_numpy(zero_copy_only=False)
    return found.astype(float, copy=False)


def weighing(batch: Any, roles: Roles, source: str) -> Any:
    """The rows of a batch that weigh more than nothing."""
    if roles.weight is None:
        return batch
    weights = numbers(batch.column(roles.weight))
    wrong = int((~np.isfinite(weights)).sum()), int((weights < 0).sum())
    for count, what in zip(wrong, ("missing or infinite", "negative"), strict=True):
        if count:
            raise ValueError(
                f"{source}: column {roles.weight!r} has {count} {what} weights in "
                f"{len(weights)} rows; weights are numbers, none below 0."
            )
    if weights.all():
        return batch
    return batch.take(np.flatnonzero(weights))


def checked(chunk: Chunk, roles: Roles) -> Chunk:
    """The chunk, if all its numbers are finite; else say where they are not."""
    for name, column in zip(
        (*roles.predictors, roles.target), (*chunk.columns, chunk.y), strict=True
    ):
        with np.errstate(all="ignore"):
            if np.isfinite(column.sum()):
                continue
        missing, infinite = int(np.isnan(column).sum()), int(np.isinf(column).sum())
        kinds = [(missing, "missing"), (infinite, "infinite")]
        what = " and ".join(f"{count} {kind}" for count, kind in kinds if count)
        if what:
            one = missing + infinite == 1
            values, them = ("value", "it") if one else ("values", "them")
            raise ValueError(
                f"{chunk.source}: column {name!r} has {what} {values} in {len(chunk)} "
                f"rows. Fill {them}, or leave such rows out."
            )
    return chunk
