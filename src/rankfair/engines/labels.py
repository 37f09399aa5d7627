"""What columns are for, which labels they hold, and Arrow batches as numbers."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rankfair.core.blocks import Floats, Ints
from rankfair.engines.chunked import Chunk
from rankfair.input.errors import (
    Argument,
    InputError,
    counted,
    listed,
    nearest,
    no_column,
    one_group,
    shown,
)
from rankfair.input.frames import label_array, refuse_infinite

SPARSE = 8  # whole labels spread no wider than this many times their number: a table
TEXT = ("string", "large_string", "string_view")


@dataclass(frozen=True)
class StreamRoles:
    """What the columns of rows in files or on a cluster are for."""

    names: tuple[str, ...]  # columns of X
    target: str
    task: str | None = None
    group: str | None = None
    weight: str | None = None
    blind: bool = True

    @property
    def predictors(self) -> tuple[str, ...]:
        """The columns of X that predict."""
        apart = {self.task, self.group if self.blind else None}
        return tuple(name for name in self.names if name not in apart)

    @property
    def columns(self) -> list[str]:
        """All that are read, each once."""
        return list(dict.fromkeys([*self.predictors, self.target, *self.counted]))

    @property
    def counted(self) -> list[str]:
        """Those that say which rows there are: labels and weights, else the target."""
        names = [it for it in (self.task, self.group, self.weight) if it is not None]
        return list(dict.fromkeys(names)) or [self.target]

    def check(self, others: Mapping[str, Any]) -> None:
        """Raise if columns have two roles, or hold no numbers where they have to.

        ``others`` are columns that hold no numbers, and what they hold.
        """
        seen: dict[str, str] = {}
        for role, name in (
            ("target", self.target),
            ("sample_weight", self.weight),
            ("tasks", self.task),
            ("sensitive_features", self.group),
        ):
            first = seen.setdefault(name, role) if name else role
            # A column of groups may also say which task a row is of.
            if first != role and (first, role) != ("tasks", "sensitive_features"):
                other = "must name another column than ", Argument(first)
                raise InputError(role, other, shown(name))
        if not self.predictors:
            raise InputError("features", "must leave a column to predict from")
        for name in self.columns:
            if name in others and name not in (self.task, self.group):
                roles = {self.target: "target", self.weight: "sample_weight"}
                raise InputError(
                    roles.get(name, "features"),
                    "must be numbers",
                    f"column {shown(name)}, which holds {others[name]}",
                    (
                        "Leave it out, encode it as numbers, or name it as ",
                        Argument("tasks"),
                        " or ",
                        Argument("sensitive_features"),
                        ".",
                    ),
                )


def column_names(argument: str, given: Any) -> tuple[str, ...]:
    """One name or several as a tuple; rows that are not in memory know no positions."""
    several = isinstance(given, list | tuple)
    names = () if given is None else tuple(given) if several else (given,)
    for name in names:
        if not isinstance(name, str):
            raise InputError(
                argument,
                "must name columns, as rows in files or on a cluster have no positions",
                shown(name),
            )
    return names


def one_column(argument: str, given: Any) -> str | None:
    """The name of the only column for something, or None."""
    names = column_names(argument, given)
    if len(names) > 1:
        raise InputError(
            argument,
            "must be one column where rows are in files or on a cluster",
            shown(given),
            "Join the columns, or fit in memory.",
        )
    return names[0] if names else None


def refuse_unknown(
    names: Iterable[str | None], known: Sequence[str], where: str, argument: str = ""
) -> None:
    """Raise for a name that is no column of the files, or where rows are else."""
    for name in names:
        if name is not None and name not in known:
            subject = Argument(argument, name) if argument else shown(name)
            there = nearest(name, known) or f"There are {listed(known)}."
            raise no_column(subject, where=where, cure=there)


@dataclass(frozen=True)
class Labels:
    """The labels of a column, in an Arrow array, sorted as the estimators sort them."""

    values: Any

    @cached_property
    def known(self) -> list[Any]:
        """The labels as Python has them."""
        found: list[Any] = self.values.to_pylist()
        return found

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
        # Where other rows have fractions, whole numbers are floats as well.
        column = label_column(column).cast(self.values.type)
        places = pc.index_in(column, value_set=self.values)
        found: Ints = places.to_numpy(zero_copy_only=False)
        return found

    @cached_property
    def _places(self) -> NDArray[np.int32] | None:
        """The place of every whole number from the least label to the greatest."""
        import pyarrow as pa

        width = 0
        if self.values.type == pa.int64():
            width = self.known[-1] - self.known[0] + 1
        if not 0 < width <= SPARSE * len(self.known) + 4096:
            return None
        places = np.zeros(width, np.int32)
        places[np.array(self.known) - self.known[0]] = np.arange(len(self.known))
        return places


@dataclass(frozen=True)
class Coding:
    """The labels of tasks and of groups, and the rows of each task."""

    roles: StreamRoles
    tasks: Labels | None
    groups: Labels | None
    sizes: Ints = field(repr=False)  # (k,)

    @property
    def task_labels(self) -> NDArray[Any]:
        """The labels of the tasks; one task has the label 0."""
        return np.array([0]) if self.tasks is None else label_array(self.tasks.known)

    @property
    def group_labels(self) -> NDArray[Any] | None:
        """The labels of B and A, if there are groups."""
        return None if self.groups is None else label_array(self.groups.known)

    def chunk(self, batch: Any, source: str, number: int = 0) -> Chunk:
        """The rows of an Arrow batch that weigh something, as numbers and codes."""
        batch, roles = weighing(batch, self.roles, source), self.roles
        codes: Ints = np.zeros(batch.num_rows, np.int32)
        if self.tasks is not None:
            found = self.tasks.codes(batch.column(roles.task))
            codes = found.astype(np.int32, copy=False)
        in_a = np.zeros(batch.num_rows, bool)
        if self.groups is not None:
            in_a = self.groups.codes(batch.column(roles.group)) == 1

        def column(name: str) -> Floats:
            if name == roles.group:
                return in_a.astype(float)
            values = numbers(batch.column(name))
            refuse_infinite(values, [name], source)
            return values

        predictors = tuple(map(column, roles.predictors))
        weights = None if roles.weight is None else column(roles.weight)
        y = column(roles.target)
        return Chunk(predictors, y, codes, in_a, weights, number)


def tally(batch: Any, roles: StreamRoles, source: str) -> tuple[Any, Any, int]:
    """The tasks, the groups and the rows of an Arrow batch that weigh something.

    The first two are Arrow tables of a column ``label`` and the number of its ``rows``.
    """
    batch = weighing(batch, roles, source)
    tasks, groups = (_tallied(batch, it, source) for it in (roles.task, roles.group))
    return tasks, groups, batch.num_rows


def coded(parts: Iterable[tuple[Any, Any, int]], roles: StreamRoles) -> Coding:
    """What all rows together have, from each `tally`; groups are two, if any."""
    tasks = groups = None
    n_rows = 0
    for more_tasks, more_groups, more_rows in parts:
        tasks, groups = _added(tasks, more_tasks), _added(groups, more_groups)
        n_rows += more_rows
    if not n_rows:
        more = "" if roles.weight is None else " that weigh more than nothing"
        raise ValueError(f"there are no rows{more}: there is nothing to fit.")
    by_task, sizes = _sorted(tasks, n_rows)
    by_group, _ = _sorted(groups, n_rows)
    if by_group is not None:
        _check_two(by_group.known, roles.group)
    return Coding(roles, by_task, by_group, sizes)


def _tallied(batch: Any, name: str | None, source: str) -> Any:
    """The labels of a column and the rows of each; a missing one is an error."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if name is None:
        return None
    column = label_column(batch.column(name))
    missing = pc.sum(column.is_null(nan_is_null=True)).as_py()
    if missing:
        raise ValueError(
            f"{source}: column {shown(name)} has {counted(missing, 'missing label')} "
            f"in {counted(len(column), 'row')}; tasks and groups must be known. Leave "
            "such rows out."
        )
    rows = np.ones(len(column), np.int64)
    return _summed(pa.table([column, rows], names=["label", "rows"]))


def _added(one: Any, other: Any) -> Any:
    import pyarrow as pa

    if one is None or other is None:
        return other
    # Whole numbers here and fractions there are fractions.
    return _summed(pa.concat_tables([one, other], promote_options="permissive"))


def _summed(table: Any) -> Any:
    """The rows of each label, once."""
    found = table.group_by("label", use_threads=False).aggregate([("rows", "sum")])
    return found.select(["label", "rows_sum"]).rename_columns(["label", "rows"])


def _sorted(table: Any, n_rows: int) -> tuple[Labels | None, Ints]:
    """Labels in order, and the rows of each; all rows where there are no labels."""
    if table is None:
        return None, np.array([n_rows])
    table = table.sort_by("label")
    return Labels(table["label"].combine_chunks()), table["rows"].to_numpy()


def _check_two(labels: list[Any], name: str | None) -> None:
    if len(labels) == 1:
        raise one_group(f"sensitive_features ({shown(name)})", labels[0])
    if len(labels) > 2:
        raise InputError(
            "sensitive_features",
            f"({shown(name)}) must have two groups where rows are in files or on a "
            "cluster",
            f"{len(labels)} groups ({listed(labels)})",
            "Join groups, or fit in memory.",
        )


def kind_of(kind: Any) -> str:
    """Numbers, text, or the name of another Arrow type."""
    import pyarrow.types as types

    if types.is_dictionary(kind):
        kind = kind.value_type
    if types.is_integer(kind) or types.is_floating(kind) or types.is_boolean(kind):
        return "numbers"
    return "text" if str(kind) in TEXT else str(kind)


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


def weighing(batch: Any, roles: StreamRoles, source: str) -> Any:
    """The rows of a batch that weigh more than nothing."""
    if roles.weight is None:
        return batch
    weights = numbers(batch.column(roles.weight))
    refuse_infinite(weights, [roles.weight], source)
    negative = int((weights < 0).sum())
    if negative:
        raise ValueError(
            f"{source}: column {shown(roles.weight)} has {negative} weights below 0 in "
            f"{counted(len(weights), 'row')}: weights are 0 or more."
        )
    if weights.all():
        return batch
    return batch.take(np.flatnonzero(weights))
