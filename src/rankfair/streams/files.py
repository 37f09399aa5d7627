"""Parquet files by name, and what their columns are for."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from rankfair.engines.files import (
    common_schema,
    find_files,
    kind_of,
    n_rows_of,
    named,
)
from rankfair.engines.parquet import OnRows
from rankfair.input.errors import listed, shown
from rankfair.input.settings import nearest

__all__ = [
    "Stream",
    "check_columns",
    "check_kinds",
    "column_names",
    "is_elsewhere",
    "one_column",
    "stream",
]


@dataclass(frozen=True)
class Stream:
    """Parquet files and what their columns are for; `stream` makes it.

    Attributes
    ----------
    files : tuple of Path
        The files, in the order in which they are read.
    names : tuple of str
        The columns of X: all but the target and the weights.
    n_rows : int
        Rows of all files.
    """

    files: tuple[Path, ...]
    target: str | None
    task: str | None
    sensitive: str | None
    weight: str | None
    features: tuple[str, ...] | None
    on_rows: OnRows | None = field(default=None, repr=False)
    given: tuple[str, ...] = field(default=(), repr=False)  # as the files were named

    @property
    def is_stream(self) -> bool:
        """True: the rows are in files, for those who cannot import this class."""
        return True

    @cached_property
    def schema(self) -> Any:
        """The columns of the first file; all others have the same."""
        return common_schema(self.files)

    @property
    def names(self) -> tuple[str, ...]:
        """Columns of X, in the order of the first file."""
        apart = {self.target, self.weight}
        labels = {self.task, self.sensitive}
        only = None if self.features is None else {*self.features, *labels}
        return tuple(
            name
            for name in self.schema.names
            if name not in apart and (only is None or name in only)
        )

    @property
    def n_rows(self) -> int:
        """Rows of all files."""
        return n_rows_of(self.files)


def stream(
    files: str | os.PathLike[str] | Sequence[str | os.PathLike[str]],
    *,
    target: str | None = None,
    tasks: str | Sequence[str] | None = None,
    sensitive_features: str | None = None,
    sample_weight: str | None = None,
    features: Sequence[str] | None = None,
    on_rows: OnRows | None = None,
) -> Stream:
    """Name Parquet files to be fitted without being held in memory.

    Rows may come in any order, a task may be spread over all files, and columns may
    stand in another order in each.  A fit reads the files a few times; what it keeps is
    a batch of rows, the sums of every task, and a few bytes a row on disk.  A file that
    is changed meanwhile ends it with an error.

    Parameters
    ----------
    files : str, path or sequence of them
        Files, folders with Parquet files in them, or patterns (``"rows/*.parquet"``).
        What is hidden in a folder (its name begins with a dot) is left out.
    target : str, optional
        The column to predict; needed to fit.
    tasks : str, optional
        The column that says which task a row is of.
    sensitive_features : str, optional
        The column with the protected group; it must have two labels.
    sample_weight : str, optional
        The column with weights.
    features : sequence of str, optional
        Columns to predict from; by default all others.
    on_rows : callable, optional
        Told what is being done, how many rows are done, and how many there are.

    Returns
    -------
    Stream
        For ``fit`` and ``predict``.

    Examples
    --------
    >>> import tempfile
    >>> from rankfair import RankFairRegressor, stream
    >>> from rankfair.datasets import make_biased_tasks
    >>> data = make_biased_tasks(10, 30, random_state=0)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     data.frame.assign(y=data.target).to_parquet(f"{folder}/a.parquet")
    ...     rows = stream(folder, target="y", tasks="task", sensitive_features="z")
    ...     model = RankFairRegressor(0.01).fit(rows)
    >>> model.status_
    'satisfied'
    """
    found = Stream(
        files=find_files(files),
        target=target,
        task=one_column("tasks", tasks),
        sensitive=one_column("sensitive_features", sensitive_features),
        weight=sample_weight,
        features=None if features is None else column_names("features", features),
        on_rows=on_rows,
        given=named(files),
    )
    check_columns(found)
    return found


def is_elsewhere(X: Any) -> bool:
    """Tell whether rows are in files or on a cluster."""
    return isinstance(X, Stream) or type(X).__module__.startswith(("dask.", "dask_"))


def check_columns(found: Stream) -> list[str]:
    """Raise if a name is no column; return those that have to hold numbers."""
    known = found.schema.names
    labelled, plain = (
        [name for name in some if name is not None]
        for some in ((found.task, found.sensitive), (found.target, found.weight))
    )
    for name in (*labelled, *plain, *(found.features or ())):
        if name not in known:
            hint = nearest(name, known) or f" There are {listed(known)}."
            raise ValueError(f"{shown(name)} is no column of the files.{hint}")
    return [*plain, *(name for name in found.names if name not in labelled)]


def check_kinds(found: Stream, names: list[str]) -> None:
    """Raise if a column that has to hold numbers does not."""
    for name in names:
        kind = found.schema.field(name).type
        if kind_of(kind) != "numbers":
            raise ValueError(
                f"column {shown(name)} holds {kind}: predictors, target and weights "
                "are numbers. Leave it out with features=…, encode it as numbers, or "
                "name it in tasks= or sensitive_features=."
            )


def column_names(argument: str, given: Any) -> tuple[str, ...]:
    """Return one name or several as a tuple; rows elsewhere know no positions."""
    several = isinstance(given, list | tuple)
    names = () if given is None else tuple(given) if several else (given,)
    for name in names:
        if not isinstance(name, str):
            raise ValueError(
                f"{argument}={shown(name)}: columns of rows in files or on a cluster "
                "are given by their names."
            )
    return names


def one_column(argument: str, given: Any) -> str | None:
    """Return the name of the only column for something, or None."""
    names = column_names(argument, given)
    if len(names) > 1:
        raise ValueError(
            f"{argument}={shown(given)}: rows in files or on a cluster have one column "
            "for it. Join the columns, or fit in memory."
        )
    return names[0] if names else None
