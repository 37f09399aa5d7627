"""Rows in Parquet files: found by name, held to be unchanged, read batch by batch."""

from __future__ import annotations

import glob
import hashlib
import os
import re
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from fnmatch import fnmatch
from pathlib import Path
from typing import Any, TypeVar
from uuid import uuid4

import numpy as np

from rankfair.engines.chunk import Chunk, Held, LeftOut
from rankfair.engines.chunked import ChunkedRows, Kept, Sizes
from rankfair.engines.labels import Coding, StreamRoles, coded, kind_of, tally
from rankfair.input.disk import real, visible
from rankfair.input.errors import shown

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


def refuse_own(out: Path, files: Iterable[Path], given: Iterable[str] = ()) -> None:
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
        raise unreadable(path, error) from error


def unreadable(path: str | os.PathLike[str], error: BaseException) -> ValueError:
    """An error that names a file and what is wrong with it."""
    why = (str(error).splitlines() or [type(error).__name__])[0].rstrip(".")
    return ValueError(f"{path} cannot be read as Parquet: {why}.")


def n_rows_of(files: Iterable[Path]) -> int:
    """Rows of all files together."""
    total = 0
    for path in files:
        with open_parquet(path) as file:
            total += file.metadata.num_rows
    return total


def common_schema(files: tuple[Path, ...]) -> Any:
    """The columns of the first file; all others have the same, in any order.

    What pandas adds for the index of a frame is no column.
    """
    import pyarrow as pa

    first: Any = None
    for path in files:
        with open_parquet(path) as file:
            columns = file.schema_arrow
        schema = pa.schema([each for each in columns if not INDEX.fullmatch(each.name)])
        if first is None:
            first = schema
        _check_names(schema.names, path)
        _check_alike(first, schema, path, files[0])
    return first


def _check_names(names: list[str], path: Path) -> None:
    """Raise if two columns have one name."""
    seen: dict[str, int] = {}
    for place, name in enumerate(names):
        first = seen.setdefault(name, place)
        if first != place:
            raise ValueError(
                f"{path}: columns {first + 1} and {place + 1} are both called "
                f"{shown(name)}: rename one of them."
            )


def _check_alike(first: Any, other: Any, path: Path, first_path: Path) -> None:
    """Raise if two files differ in their columns."""
    for one, two, has, lacks in (
        (first, other, first_path, path),
        (other, first, path, first_path),
    ):
        gone = [name for name in one.names if name not in two.names]
        if gone:
            raise ValueError(
                f"{lacks} has no column {shown(gone[0])}, which {has} has: all files "
                "must have the same columns."
            )
    for name in first.names:
        a, b = first.field(name).type, other.field(name).type
        if kind_of(a) != kind_of(b):
            raise ValueError(
                f"{path}: column {shown(name)} holds {b}, but {a} in {first_path}: "
                "write it as the same kind in all files."
            )


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
    that cannot be read, or are not what they were, before the first batch or after the
    last, are named.
    """
    files.check()
    n_rows = max(LEAST_ROWS, least, size // max(len(columns), 1))
    total = n_rows_of(files.files)
    done = 0
    for path in files.files:
        try:
            with open_parquet(path) as file:
                for batch in file.iter_batches(n_rows, columns=columns):
                    yield batch, str(path)
                    done += batch.num_rows
                    if on_rows is not None:
                        on_rows(what, done, total)
        except ValueError:
            files.check()
            raise
    files.check()


def read_coding(
    files: UnchangedFiles, roles: StreamRoles, on_rows: OnRows | None = None
) -> Coding:
    """Read the columns of labels once and return what they hold."""
    columns = roles.counted or [roles.target]
    batches = batches_of_files(files, columns, "labels", on_rows)
    return coded((tally(batch, roles, source) for batch, source in batches), roles)


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
