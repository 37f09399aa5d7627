"""Predictions of rows in files or on a cluster."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rankfair.engines.files import Unchanged, refuse_own
from rankfair.engines.parquet import batches_of_files
from rankfair.input.disk import whole
from rankfair.input.errors import shown
from rankfair.input.settings import nearest
from rankfair.streams.files import Stream, column_names, stream

__all__ = ["predict_elsewhere", "predict_parquet", "predicted_batches"]


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
        parts = [values for _, values in predicted_batches(model, replace(X))]
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
    # A copy does not know yet what columns there are: files may have changed since.
    rows = replace(rows) if isinstance(rows, Stream) else stream(rows)
    refuse_own(path, rows.files, rows.given)
    kept = column_names("keep", keep)
    _check_kept(kept, name, rows.schema.names)
    with whole(path) as part, ExitStack() as open_files:
        writer = None
        for batch, values in predicted_batches(model, rows, kept):
            columns = {each: _as_first(batch, rows.schema.field(each)) for each in kept}
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


def predicted_batches(
    model: Any, rows: Stream, keep: Sequence[str] = ()
) -> Iterator[tuple[Any, NDArray[np.float64]]]:
    """Yield batches of Arrow columns with their predictions."""
    import pyarrow as pa

    files = Unchanged.of(rows.files)
    names = list(getattr(model, "feature_names_in_", rows.names))
    _check_known("the files do", rows.schema.names, names)
    for name in names:
        kind = rows.schema.field(name).type
        if pa.types.is_nested(kind):
            raise ValueError(
                f"column {shown(name)} holds {kind}: the model reads numbers and "
                "labels."
            )
    columns = list(dict.fromkeys((*names, *keep)))
    for batch, _ in batches_of_files(files, columns, "predicting", rows.on_rows):
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
