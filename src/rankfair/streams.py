"""Rows that are not in memory: Parquet files, Dask frames, and what their columns are.

`stream` names files; `RankFairRegressor.fit` reads them as often as it has to.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rankfair._disk import whole
from rankfair._frames import label_array, listed, shown
from rankfair._groups import Encoder
from rankfair._validation import Layout, nearest
from rankfair.engines.chunked import Rows
from rankfair.engines.coding import Coding, Roles
from rankfair.engines.files import (
    common_schema,
    find_files,
    kind_of,
    named,
    refuse_own,
)
from rankfair.engines.journal import Journal
from rankfair.engines.parquet import (
    OnRows,
    ParquetRows,
    batches_of_files,
    read_coding,
)

__all__ = [
    "Opened",
    "Stream",
    "column_names",
    "is_elsewhere",
    "layout_of",
    "one_column",
    "open_rows",
    "predict_elsewhere",
    "predict_parquet",
    "roles_of",
    "stream",
    "two_groups",
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
    tasks: tuple[str, ...]
    sensitive: str | None
    weight: str | None
    features: tuple[str, ...] | None
    scratch: Path | None
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
        labels = {*self.tasks, self.sensitive}
        only = None if self.features is None else {*self.features, *labels}
        return tuple(
            name
            for name in self.schema.names
            if name not in apart and (only is None or name in only)
        )

    @property
    def n_rows(self) -> int:
        """Rows of all files."""
        from pyarrow.parquet import ParquetFile

        return sum(ParquetFile(each).metadata.num_rows for each in self.files)


def stream(
    files: str | os.PathLike[str] | Sequence[str | os.PathLike[str]],
    *,
    target: str | None = None,
    tasks: str | Sequence[str] | None = None,
    sensitive_features: str | None = None,
    sample_weight: str | None = None,
    features: Sequence[str] | None = None,
    scratch: str | os.PathLike[str] | None = None,
    on_rows: OnRows | None = None,
) -> Stream:
    """Name Parquet files to be fitted without being held in memory.

    Rows may come in any order, a task may be spread over all files, and columns may
    stand in another order in each.  A fit reads the files a few times; what it keeps is
    a batch of rows, the sums of every task, and a few bytes a row on disk.

    Parameters
    ----------
    files : str, path or sequence of them
        Files, folders with Parquet files in them, or patterns (``"rows/*.parquet"``).
    target : str, optional
        The column to predict; needed to fit.
    tasks : str or sequence of str, optional
        The column or columns that say which task a row is of.
    sensitive_features : str, optional
        The column with the protected group; it must have two labels.
    sample_weight : str, optional
        The column with weights.
    features : sequence of str, optional
        Columns to predict from; by default all others.
    scratch : path, optional
        A folder for what is kept on disk meanwhile; by default one for the time of the
        fit.  With a folder of one's own a fit that was stopped goes on where it was.
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
        tasks=column_names("tasks", tasks),
        sensitive=sensitive_features,
        weight=sample_weight,
        features=None if features is None else column_names("features", features),
        scratch=None if scratch is None else Path(scratch),
        on_rows=on_rows,
        given=named(files),
    )
    _check_columns(found)
    return found


@dataclass(frozen=True)
class Opened:
    """Rows ready for an engine, how their labels are coded, and the columns of X."""

    rows: Rows
    coding: Coding
    names: tuple[str, ...]


def is_elsewhere(X: Any) -> bool:
    """Tell whether rows are in files or on a cluster."""
    return isinstance(X, Stream) or type(X).__module__.startswith(("dask.", "dask_"))


@contextmanager
def open_rows(
    X: Any, y: Any, weight: str | None, named: Any, on_rows: OnRows | None = None
) -> Iterator[Opened]:
    """Open a `Stream` or a Dask frame with the columns that an estimator names.

    Parameters
    ----------
    X : Stream or dask.dataframe.DataFrame
        The rows.
    y : str, dask Series or None
        The target, or its column.
    weight : str or None
        The column with weights.
    named : Columns
        What the constructor of the estimator names.
    on_rows : callable, optional
        Told how reading goes on where the stream names nobody else.

    Yields
    ------
    Opened
        What is kept on disk goes when the block ends.
    """
    if not isinstance(X, Stream):
        from rankfair.clusters import open_frame

        yield open_frame(X, y, weight, named)
        return
    if weight is not None:
        X = replace(X, weight=weight)
    found = _with_names(replace(X, on_rows=X.on_rows or on_rows), y, named)
    assert found.target is not None
    roles = roles_of(
        found.names,
        found.target,
        found.tasks,
        found.sensitive,
        found.weight,
        named.blind,
    )
    coding = read_coding(found.files, roles, found.on_rows)
    two_groups(coding.groups.known, roles.group)
    with _scratch(found, roles) as (folder, journal):
        rows = ParquetRows(found.files, coding, folder, journal, found.on_rows)
        yield Opened(rows, coding, found.names)


def predict_elsewhere(model: Any, X: Any, tasks: Any = None) -> Any:
    """Return the predictions of a stream's rows in order, or a lazy Dask series.

    Parameters
    ----------
    model : TaskRegressor
        A fitted model.
    X : Stream or dask.dataframe.DataFrame
        The rows.
    tasks : None
        Rows elsewhere have their tasks in a column.
    """
    if tasks is not None:
        raise ValueError("tasks of rows in files or on a cluster are a column of them.")
    if isinstance(X, Stream):
        parts = [values for _, values in predicted_batches(model, X)]
        return np.concatenate(parts) if parts else np.zeros(0)
    names = list(getattr(model, "feature_names_in_", X.columns))
    _check_known("the frame does", list(X.columns), names)
    return X[names].map_partitions(
        _predict_part, model=model, meta=("prediction", "f8")
    )


def predict_parquet(
    model: Any,
    rows: Stream | str | os.PathLike[str] | Sequence[str | os.PathLike[str]],
    out: str | os.PathLike[str],
    *,
    name: str = "prediction",
    keep: str | Sequence[str] = (),
) -> Path:
    """Predict the rows of a stream and write them to a Parquet file, batch by batch.

    Parameters
    ----------
    model : estimator
        A fitted model.
    rows : Stream, str, path or sequence of them
        The rows: what `stream` returned, or what it takes.
    out : str or path
        The file; a file that is there is replaced when all is written, not before.  A
        file that is read, or a place in a folder that is, is refused.
    name : str, default="prediction"
        The name of the new column.
    keep : str or sequence of str
        Columns of the files to write beside it, none of them of that name.

    Returns
    -------
    Path
        The same path.

    Examples
    --------
    >>> import tempfile
    >>> import pyarrow.parquet as pq
    >>> from rankfair import RankFairRegressor, stream
    >>> from rankfair.datasets import make_biased_tasks
    >>> from rankfair.streams import predict_parquet
    >>> data = make_biased_tasks(10, 30, random_state=0)
    >>> model = RankFairRegressor(tasks="task", sensitive_features="z")
    >>> _ = model.fit(data.frame, data.target)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     data.frame.to_parquet(f"{folder}/a.parquet")
    ...     rows = stream(f"{folder}/a.parquet", tasks="task")
    ...     out = predict_parquet(model, rows, f"{folder}/p.parquet", keep=["task"])
    ...     pq.read_table(out).column_names
    ['task', 'prediction']
    """
    import pyarrow as pa
    from pyarrow.parquet import ParquetWriter

    path = Path(out)
    rows = rows if isinstance(rows, Stream) else stream(rows)
    refuse_own(path, rows.files, rows.given)
    kept = column_names("keep", keep)
    _check_kept(kept, name, rows.schema.names)
    with whole(path) as part, ExitStack() as open_files:
        writer = None
        for batch, values in predicted_batches(model, rows, kept):
            columns = {each: batch.column(each) for each in kept}
            table = pa.table({**columns, name: values})
            if writer is None:
                writer = open_files.enter_context(ParquetWriter(part, table.schema))
            writer.write_table(table)
        if writer is None:
            raise ValueError("the files hold no rows: there is nothing to predict.")
    return path


def _check_kept(kept: Sequence[str], name: str, known: list[str]) -> None:
    for each in kept:
        if each not in known:
            hint = nearest(each, known)
            raise ValueError(f"keep names {shown(each)}, which is no column.{hint}")
    if name in kept:
        raise ValueError(
            f"keep names {shown(name)}, which is the name of the new column: give that "
            "another one with name=."
        )


def predicted_batches(
    model: Any, rows: Stream, keep: Sequence[str] = ()
) -> Iterator[tuple[Any, NDArray[np.float64]]]:
    """Yield batches of Arrow columns with their predictions."""
    import pyarrow as pa

    names = list(getattr(model, "feature_names_in_", rows.names))
    _check_known("the files do", rows.schema.names, names)
    columns = list(dict.fromkeys((*names, *keep)))
    for batch, _ in batches_of_files(rows.files, columns, "predicting", rows.on_rows):
        X = pa.Table.from_batches([batch]).select(names)
        yield batch, model.predict(X)


def _check_known(who: str, known: list[str], names: list[str]) -> None:
    for name in names:
        if name not in known:
            raise ValueError(
                f"the model was fitted with a column {shown(name)}, which {who} not "
                f"have.{nearest(name, known)}"
            )


def _predict_part(part: Any, model: Any) -> Any:
    values = model.predict(part) if len(part) else []
    return type(part.index.to_series())(values, part.index, dtype=float)


def _with_names(X: Stream, y: Any, named: Any) -> Stream:
    """Return the stream with what the estimator names beside what it has itself."""
    if y is not None and not isinstance(y, str):
        raise ValueError(
            f"y is a {type(y).__name__}, but the rows are in files: name its column, "
            'stream(…, target="pay").'
        )
    target = X.target if y is None else y
    if target is None:
        raise ValueError('name the column to predict: stream(…, target="pay").')
    tasks = X.tasks or column_names("tasks", named.tasks)
    sensitive = X.sensitive or one_column(named.sensitive_features)
    found = replace(X, target=target, tasks=tasks, sensitive=sensitive)
    _check_kinds(found, _check_columns(found))
    return found


def one_column(given: Any) -> str | None:
    """Return the protected column by its name; rows elsewhere have one at most."""
    if given is None or isinstance(given, str):
        return given
    if isinstance(given, list | tuple) and len(given) == 1:
        return one_column(given[0])
    raise ValueError(
        f"sensitive_features={shown(given)}: rows in files or on a cluster are "
        "balanced between two groups of one column, given by its name."
    )


def roles_of(
    names: Sequence[str],
    target: str,
    tasks: tuple[str, ...],
    sensitive: str | None,
    weight: str | None,
    blind: bool,
) -> Roles:
    """Return what the columns are for, or raise if one is for two things."""
    places = [("target", target), ("sample_weight", weight)]
    places += [*(("tasks", name) for name in tasks), ("sensitive_features", sensitive)]
    seen: dict[str, str] = {}
    for role, name in places:
        if name is None:
            continue
        other = seen.get(name)
        # A column of groups may also say which task a row is of.
        if other is not None and (other, role) != ("tasks", "sensitive_features"):
            raise ValueError(
                f"column {shown(name)} is named as {other} and as {role}: name "
                "another one."
            )
        seen[name] = role
    apart = {*tasks, *((sensitive,) if blind else ())}
    predictors = tuple(name for name in names if name not in apart)
    if not predictors:
        raise ValueError("no column is left to predict from.")
    return Roles(predictors, target, tasks, sensitive, weight)


def layout_of(names: Sequence[str], coding: Coding, share: float) -> Layout:
    """Return the layout that a frame with these columns would have."""
    roles, place = coding.roles, {name: j for j, name in enumerate(names)}
    groups = two_groups(coding.groups.known, roles.group)
    protected: tuple[Encoder, ...] = ()
    if roles.group is not None and roles.group in roles.predictors:
        fill = np.array([share])
        protected = (Encoder(place[roles.group], roles.group, groups, fill),)
    return Layout(
        predictors=tuple(place[name] for name in roles.predictors),
        names=roles.predictors,
        task_columns=tuple(place[name] for name in roles.tasks) or None,
        tasks=_task_labels(coding),
        protected=protected,
        groups=groups,
    )


def two_groups(labels: list[Any], name: str | None) -> NDArray[Any] | None:
    """Return the labels of B and A, or raise if there are not two."""
    if name is None:
        return None
    if len(labels) == 1:
        raise ValueError(
            f"sensitive_features ({shown(name)}) has one group only "
            f"({shown(labels[0])}): there is nothing to balance."
        )
    if len(labels) != 2:
        raise ValueError(
            f"sensitive_features ({shown(name)}) has {len(labels)} groups "
            f"({listed(labels)}): rows in files or on a cluster are balanced between "
            "two. Join groups, or fit in memory."
        )
    return label_array(labels)


def _task_labels(coding: Coding) -> NDArray[Any]:
    if not coding.tasks:
        return np.array([0])
    if coding.cells is None:
        return label_array(coding.tasks[0].known)
    shape = tuple(len(labels) for labels in coding.tasks)
    places = np.unravel_index(coding.cells, shape)
    parts = [
        [labels.known[i] for i in place.tolist()]
        for labels, place in zip(coding.tasks, places, strict=True)
    ]
    return label_array(list(zip(*parts, strict=True)))


@contextmanager
def _scratch(found: Stream, roles: Roles) -> Iterator[tuple[Path, Journal]]:
    """A folder for what is kept, and a journal where the user named the folder.

    What is in a folder of the user's stays there if the fit is stopped.
    """
    if found.scratch is None:
        with tempfile.TemporaryDirectory(prefix="rankfair-") as made:
            yield Path(made), Journal(None)
        return
    states = [each.stat() for each in found.files]
    fit = ([str(each.resolve()) for each in found.files], roles)
    state = [(each.st_size, each.st_mtime_ns) for each in states]
    journal = Journal.open(found.scratch, fit, state)
    assert journal.folder is not None
    yield journal.folder, journal
    journal.close()


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


def _check_columns(found: Stream) -> list[str]:
    """Raise if a name is no column; return those that have to hold numbers."""
    known = found.schema.names
    labelled = (*found.tasks, *((found.sensitive,) if found.sensitive else ()))
    plain = tuple(name for name in (found.target, found.weight) if name is not None)
    for name in (*labelled, *plain, *(found.features or ())):
        if name not in known:
            hint = nearest(name, known) or f" There are {listed(known)}."
            raise ValueError(f"{shown(name)} is no column of the files.{hint}")
    return [*plain, *(name for name in found.names if name not in labelled)]


def _check_kinds(found: Stream, names: list[str]) -> None:
    for name in names:
        kind = found.schema.field(name).type
        if kind_of(kind) != "numbers":
            raise ValueError(
                f"column {shown(name)} holds {kind}: predictors, target and weights "
                "are numbers. Leave it out with features=…, encode it as numbers, or "
                "name it in tasks= or sensitive_features=."
            )
