"""Rows in Parquet files: named by `stream`, read batch by batch, fitted, predicted.

Files are found by name and held to be unchanged while their rows are read.
"""

from __future__ import annotations

import glob
import hashlib
import os
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from fnmatch import fnmatch
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar, TypeVar
from uuid import uuid4

import numpy as np

from rankfair.engines.chunked import Chunk, ChunkedRows, Held, Kept, LeftOut, Sizes
from rankfair.engines.dask import open_frame
from rankfair.engines.labels import (
    Coding,
    StreamRoles,
    coded,
    column_names,
    kind_of,
    one_column,
    refuse_unknown,
    tally,
)
from rankfair.input.arrays import Floats
from rankfair.input.disk import real, visible, whole, working_folder
from rankfair.input.errors import InputError, shown

P = TypeVar("P")
T = TypeVar("T")
OnRows = Callable[[str, int, int], None]

LEAST_ROWS = 4096  # of a batch
INDEX = re.compile(r"__index_level_\d+__")


def find_files(given: Iterable[str]) -> tuple[Path, ...]:
    """Files by name, folder or pattern, each once; none is an error.

    What is hidden in a folder (its name begins with a dot) is left out, and links to
    folders are not followed.
    """
    found: dict[Path, Path] = {}
    for part in given:
        here = [Path(part)]
        if Path(part).is_dir() or not os.path.lexists(part):
            top, pattern = _search(part)
            inside = (each.relative_to(top) for each in top.glob(pattern))
            here = sorted(top / each for each in inside if visible(each))
        if not here:
            raise FileNotFoundError(f"{part}: no Parquet file is there.")
        for each in here:
            found.setdefault(real(each), each)
    return tuple(found.values())


def _search(part: str) -> tuple[Path, str]:
    """The folder in which a folder or a pattern finds files, and what it finds."""
    if Path(part).is_dir():
        return Path(part), "**/*.parquet"
    parts = Path(part).parts
    wild = [i for i, each in enumerate(parts) if glob.has_magic(each)]
    place = wild[0] if wild else len(parts) - 1
    return Path(*parts[:place]), str(Path(*parts[place:]))


def refuse_own(out: Path, files: Iterable[Path], given: Iterable[str]) -> None:
    """Raise if a file to be written is read, or would be read the next time.

    Parameters
    ----------
    out : Path
        The file to be written.
    files : iterable of Path
        The files that are read; other names of the same file count.
    given : iterable of str
        Folders and patterns by which they were found.
    """
    path, there = real(out), out.exists()
    for each in files:
        if real(each) == path or (there and out.samefile(each)):
            raise ValueError(
                f"{out} is read and would be written over: give another name."
            )
    for part in given:
        if Path(part).is_file():
            continue
        top, pattern = _search(part)
        whole = str(real(top) / pattern)
        here = path.match(whole.replace("**/", ""))
        if here or ("**" in whole and fnmatch(str(path), whole)):
            raise ValueError(
                f"{out} would be read as one of the rows of {part} the next time: "
                "write to another folder."
            )


@dataclass(frozen=True)
class UnchangedFiles:
    """Parquet files, and what they were like when they were first looked at.

    Who reads them several times would otherwise add up rows of two kinds.
    """

    files: tuple[Path, ...]
    states: tuple[Any, ...]

    @classmethod
    def of(cls, files: Iterable[str | os.PathLike[str]]) -> UnchangedFiles:
        """Look at some files."""
        paths = tuple(map(Path, files))
        return cls(paths, tuple(map(_state, paths)))

    def check(self) -> None:
        """Raise if a file is not what it was."""
        for path, state in zip(self.files, self.states, strict=True):
            try:
                same = _state(path) == state
            except OSError:
                same = False
            if not same:
                raise ValueError(
                    f"{path} was changed while its rows were read: files have to stay "
                    "as they are until the end. Start again when nobody writes to it."
                )


def _state(path: Path) -> tuple[int, int, bytes]:
    """Size and time of a Parquet file, and a digest of its footer.

    The footer has the places, sizes and extremes of all columns, and its own length
    before the last four bytes.
    """
    with path.open("rb") as source:
        state = os.fstat(source.fileno())
        source.seek(max(0, state.st_size - 8))
        length = int.from_bytes(source.read(8)[:4], "little")
        source.seek(max(0, state.st_size - 8 - length))
        footer = hashlib.file_digest(source, "sha256").digest()
    return state.st_size, state.st_mtime_ns, footer


@contextmanager
def open_parquet(path: str | os.PathLike[str]) -> Iterator[Any]:
    """Open a file with pyarrow; what goes wrong meanwhile is an error that names it."""
    from pyarrow import ArrowException
    from pyarrow.parquet import ParquetFile

    try:
        with ParquetFile(path) as file:
            yield file
    except (ArrowException, OSError) as error:
        why = (str(error).splitlines() or [type(error).__name__])[0].rstrip(".")
        raise ValueError(f"{path} cannot be read as Parquet: {why}.") from error


def n_rows_of(files: Iterable[Path]) -> int:
    """Rows of all files together."""
    total = 0
    for path in files:
        with open_parquet(path) as file:
            total += file.metadata.num_rows
    return total


def common_schema(files: tuple[Path, ...]) -> Any:
    """The columns of the first file; all others have the same, in any order."""
    schemas = {path: _schema_of(path) for path in files}
    first = schemas[files[0]]
    for path, other in schemas.items():
        for has, lacks in ((files[0], path), (path, files[0])):
            for name in schemas[has].names:
                if name not in schemas[lacks].names:
                    raise ValueError(
                        f"{lacks} has no column {shown(name)}, which {has} has: all "
                        "files must have the same columns."
                    )
        for name in first.names:
            a, b = first.field(name).type, other.field(name).type
            if kind_of(a) != kind_of(b):
                raise ValueError(
                    f"{path}: column {shown(name)} holds {b}, but {a} in {files[0]}: "
                    "write it as the same kind in all files."
                )
    return first


def _schema_of(path: Path) -> Any:
    """The columns of a file; what pandas adds for the index of a frame is none."""
    import pyarrow as pa

    with open_parquet(path) as file:
        columns = file.schema_arrow
    found = pa.schema([each for each in columns if not INDEX.fullmatch(each.name)])
    for name in found.names:
        first, *again = found.get_all_field_indices(name)
        if again:
            raise ValueError(
                f"{path}: columns {first + 1} and {again[0] + 1} are both called "
                f"{shown(name)}: rename one of them."
            )
    return found


def batches_of_files(
    files: UnchangedFiles,
    columns: list[str],
    what: str,
    on_rows: OnRows | None,
    size: int = Sizes.batch,
    least: int = LEAST_ROWS,
) -> Iterator[tuple[Any, str]]:
    """The rows of some columns of all files, in batches, and where each is from.

    A batch has ``size`` numbers, and ``least`` rows or more, if its file has.  Files
    that cannot be read, or are not what they were after the last batch, are named.
    """
    files.check()
    n_rows = max(LEAST_ROWS, least, size // max(len(columns), 1))
    total = n_rows_of(files.files)
    done = 0
    for path in files.files:
        with open_parquet(path) as file:
            for batch in file.iter_batches(n_rows, columns=columns):
                yield batch, str(path)
                done += batch.num_rows
                if on_rows is not None:
                    on_rows(what, done, total)
    files.check()


@dataclass(frozen=True)
class ParquetRows(ChunkedRows):
    """Rows of some files, read again for each pass."""

    files: UnchangedFiles
    coding: Coding
    folder: Path  # for what is kept beside the rows
    sizes: Sizes
    on_rows: OnRows | None = None

    def gather(self, function: Callable[[Iterable[Chunk]], T]) -> Iterator[T]:
        """What a function says of all chunks: files are one place."""
        yield function(ahead(self._chunks("reading")))

    def keep(self, design: LeftOut) -> list[Kept]:
        """The lines of each chunk, in files of the folder."""
        paths = [self.folder / uuid4().hex for _ in range(design.n_lines)]
        with ExitStack() as files:
            out = [files.enter_context(path.open("wb")) for path in paths]
            for chunk in ahead(self._chunks("predicting")):
                for file, held in zip(out, design(chunk), strict=True):
                    _write(file, held)
        return [OnDisk(path) for path in paths]

    def _chunks(self, what: str) -> Iterator[Chunk]:
        # What is done for each task that occurs is done once a row at most.
        least, columns = self.n_tasks, self.coding.roles.columns
        for batch, source in batches_of_files(
            self.files, columns, what, self.on_rows, self.sizes.batch, least
        ):
            yield self.coding.chunk(batch, source)


@dataclass(frozen=True)
class OnDisk(Kept):
    """What is kept of every chunk, one after another in a file."""

    path: Path

    def gather(self, function: Callable[[Iterable[Held]], T]) -> Iterator[T]:
        """What a function says of all that is kept."""
        yield function(ahead(self._read()))

    def _read(self) -> Iterator[Held]:
        with self.path.open("rb") as source:
            while (head := np.fromfile(source, np.int64, 2)).size:
                size, weighs = head.tolist()
                m, d = (np.fromfile(source, float, size) for _ in range(2))
                in_a = np.fromfile(source, bool, size)
                weights = np.fromfile(source, float, size) if weighs else None
                yield Held(m, d, in_a, weights)


def _write(out: Any, held: Held) -> None:
    """A head of two numbers, then the arrays there are."""
    head = np.array([len(held.m), held.weights is not None], np.int64)
    for part in (head, held.m, held.d, held.in_a, held.weights):
        if part is not None:
            part.tofile(out)


def ahead(items: Iterable[P]) -> Iterator[P]:
    """The items, each made while the one before it is worked on."""
    source = iter(items)
    with ThreadPoolExecutor(1) as aside:
        coming = aside.submit(next, source, None)
        while (item := coming.result()) is not None:
            coming = aside.submit(next, source, None)
            yield item


# What a fit and a prediction are given


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
    is_stream: ClassVar[bool] = True  # for those who cannot import this class

    @cached_property
    def schema(self) -> Any:
        """The columns of the first file; all others have the same."""
        return common_schema(self.files)

    @property
    def names(self) -> tuple[str, ...]:
        """Columns of X, in the order of the first file."""
        names = self.schema.names if self.features is None else self.features
        wanted = {*names, self.task, self.sensitive} - {self.target, self.weight}
        return tuple(name for name in self.schema.names if name in wanted)

    @property
    def n_rows(self) -> int:
        """Rows of all files."""
        return n_rows_of(self.files)

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
        The column with the group; it must have two labels.
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
        files=find_files(given),
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
    X: Any, y: Any, weight: str | None, named: Any, on_rows: OnRows | None = None
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
    files = UnchangedFiles.of(X.files)
    told = X.on_rows or on_rows
    roles = _roles(X, y, weight, named)
    try:
        batches = batches_of_files(files, roles.counted, "labels", told)
        coding = coded((tally(batch, roles, part) for batch, part in batches), roles)
        with working_folder() as folder:
            yield ParquetRows(files, coding, folder, X.sizes, told)
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
    others = [each for each in found.schema if kind_of(each.type) != "numbers"]
    roles.check({each.name: each.type for each in others})
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
    refuse_own(path, rows.files, rows.given)
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

    files = UnchangedFiles.of(rows.files)
    names = _names_of(model, rows.names, rows.schema.names, "the files")
    for name in names:
        kind = rows.schema.field(name).type
        if pa.types.is_nested(kind):
            raise ValueError(
                f"column {shown(name)} holds {kind}: the model reads numbers and "
                "labels."
            )
    columns = list(dict.fromkeys((*names, *keep)))
    batches = batches_of_files(files, columns, "predicting", rows.on_rows)
    for batch, _ in batches:
        X = pa.Table.from_batches([batch]).select(names)
        yield batch, model.predict(X)


def _names_of(model: Any, default: Any, known: list[str], where: str) -> list[str]:
    """The columns that a model was fitted with, if all are there."""
    names = list(getattr(model, "feature_names_in_", default))
    refuse_unknown(names, known, f"{where}, but the model was fitted with it")
    return names
