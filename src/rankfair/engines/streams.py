"""Rows that are not in memory: named by `stream`, opened for a fit, predicted."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from rankfair.engines import parquet
from rankfair.engines.chunked import ChunkedRows, Sizes
from rankfair.engines.dask import open_frame
from rankfair.engines.labels import (
    StreamRoles,
    column_names,
    kind_of,
    one_column,
    refuse_unknown,
)
from rankfair.engines.parquet import OnRows
from rankfair.input.arrays import Floats
from rankfair.input.disk import whole, working_folder
from rankfair.input.errors import InputError, shown

__all__ = ["Stream", "predict_parquet", "stream"]


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
    sizes: Sizes = field(default_factory=Sizes, repr=False)

    @property
    def is_stream(self) -> bool:
        """True: the rows are in files, for those who cannot import this class."""
        return True

    @cached_property
    def schema(self) -> Any:
        """The columns of the first file; all others have the same."""
        return parquet.common_schema(self.files)

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
        return parquet.n_rows_of(self.files)

    def check_columns(self) -> None:
        """Raise if a name is no column."""
        named = self.task, self.sensitive, self.target, self.weight
        names = (*named, *(self.features or ()))
        refuse_unknown(names, self.schema.names, "the files")


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
        What is hidden in a folder (its name begins with a dot) is left out, and links
        to folders are not followed.
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
    several = [files] if isinstance(files, str | os.PathLike) else list(files)
    given = tuple(str(os.fspath(each)) for each in several)
    found = Stream(
        files=parquet.find_files(given),
        target=target,
        task=one_column("tasks", tasks),
        sensitive=one_column("sensitive_features", sensitive_features),
        weight=sample_weight,
        features=None if features is None else column_names("features", features),
        on_rows=on_rows,
        given=given,
    )
    found.check_columns()
    return found


@contextmanager
def open_rows(
    X: Any,
    y: Any,
    weight: str | None,
    named: Any,
    on_rows: OnRows | None = None,
) -> Iterator[ChunkedRows]:
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
    ChunkedRows
        What is kept on disk goes when the block ends.
    """
    if not isinstance(X, Stream):
        yield open_frame(X, y, weight, named)
        return
    files = parquet.UnchangedFiles.of(X.files)
    told = X.on_rows or on_rows
    roles = _roles(X, y, weight, named)
    try:
        coding = parquet.read_coding(files, roles, told)
        with working_folder() as folder:
            yield parquet.ParquetRows(files, coding, folder, X.sizes, told)
    except Exception:
        files.check()  # what went wrong may come of that
        raise


def _roles(X: Stream, y: Any, weight: str | None, named: Any) -> StreamRoles:
    """What the stream says of its columns, with what `fit` and the constructor say."""
    if y is not None and not isinstance(y, str):
        raise InputError(
            "y",
            "must be a column where rows are in files",
            f"a {type(y).__name__}",
            'Name it: stream(…, target="pay").',
        )
    target = _agreed("target", X.target, y, "fit")
    if target is None:
        cure = 'Write stream(…, target="pay").'
        raise InputError("target", "must name the column to predict", cure=cure)
    task = one_column("tasks", named.tasks)
    sensitive = one_column("sensitive_features", named.sensitive_features)
    where = "the constructor"
    # A copy does not know yet what columns there are: files may have changed since.
    found = replace(
        X,
        target=target,
        weight=_agreed("sample_weight", X.weight, weight, "fit"),
        task=_agreed("tasks", X.task, task, where),
        sensitive=_agreed("sensitive_features", X.sensitive, sensitive, where),
    )
    found.check_columns()
    roles = StreamRoles(
        found.names, target, found.task, found.sensitive, found.weight, named.blind
    )
    columns = {each.name: each.type for each in found.schema}
    others = {name for name, kind in columns.items() if kind_of(kind) != "numbers"}
    roles.check({name: columns[name] for name in others})
    return roles


def _agreed(
    argument: str, own: str | None, other: str | None, where: str
) -> str | None:
    """What the stream names, or somebody else; both must not name two things."""
    if own and other and own != other:
        raise InputError(
            argument,
            f"was given twice: {shown(own)} in stream(…), {shown(other)} in {where}",
            cure="Give one of them.",
        )
    return own or other


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
        expected = (
            "must be a column of the rows where these are in files or on a cluster"
        )
        raise InputError("tasks", expected)
    if isinstance(X, Stream):
        parts = [values for _, values in _predicted_batches(model, replace(X))]
        return np.concatenate(parts) if parts else np.zeros(0)
    names = _names_of(model, X.columns, list(X.columns), "the frame")
    return X[names].map_partitions(
        _predict_part, model=model, meta=("prediction", "f8")
    )


def _predict_part(part: Any, model: Any) -> Any:
    values = model.predict(part) if len(part) else []
    return type(part.index.to_series())(values, part.index, dtype=float)


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
    >>> from rankfair import RankFairRegressor, predict_parquet, stream
    >>> from rankfair.datasets import make_biased_tasks
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
    # A copy does not know yet what columns there are: files may have changed since.
    rows = replace(rows) if isinstance(rows, Stream) else stream(rows)
    parquet.refuse_own(path, rows.files, rows.given)
    kept = column_names("keep", keep)
    refuse_unknown(kept, rows.schema.names, "the files", "keep")
    if name in kept:
        raise InputError(
            "keep",
            f"names {shown(name)}, which is the name of the new column",
            cure="Give that another one with name=.",
        )
    with whole(path) as part, ExitStack() as open_files:
        writer = None
        for batch, values in _predicted_batches(model, rows, kept):
            columns = {each: _as_first(batch, rows.schema.field(each)) for each in kept}
            table = pa.table({**columns, name: values})
            if writer is None:
                writer = open_files.enter_context(ParquetWriter(part, table.schema))
            writer.write_table(table)
        if writer is None:
            raise ValueError("the files hold no rows: there is nothing to predict.")
    return path


def _as_first(batch: Any, field: Any) -> Any:
    """A column of a batch in the type that it has in the first file."""
    from pyarrow import ArrowException

    column = batch.column(field.name)
    try:
        return column.cast(field.type)
    except ArrowException:
        raise ValueError(
            f"keep names {shown(field.name)}, which holds {field.type} in the first "
            f"file and {column.type} in another: write it as the same type in all."
        ) from None


def _predicted_batches(
    model: Any, rows: Stream, keep: Sequence[str] = ()
) -> Iterator[tuple[Any, Floats]]:
    """Batches of Arrow columns with their predictions."""
    import pyarrow as pa

    files = parquet.UnchangedFiles.of(rows.files)
    names = _names_of(model, rows.names, rows.schema.names, "the files")
    for name in names:
        kind = rows.schema.field(name).type
        if pa.types.is_nested(kind):
            raise ValueError(
                f"column {shown(name)} holds {kind}: the model reads numbers and "
                "labels."
            )
    columns = list(dict.fromkeys((*names, *keep)))
    batches = parquet.batches_of_files(files, columns, "predicting", rows.on_rows)
    for batch, _ in batches:
        X = pa.Table.from_batches([batch]).select(names)
        yield batch, model.predict(X)


def _names_of(model: Any, default: Any, known: list[str], where: str) -> list[str]:
    """The columns that a model was fitted with, if all are there."""
    names = list(getattr(model, "feature_names_in_", default))
    refuse_unknown(names, known, f"{where}, but the model was fitted with it")
    return names
