"""Parquet files by name, and whether they belong together."""

from __future__ import annotations

import glob
import hashlib
import os
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from fnmatch import fnmatch
from pathlib import Path
from typing import Any

from rankfair.input.disk import real, visible
from rankfair.input.errors import shown

__all__ = [
    "Unchanged",
    "common_schema",
    "find_files",
    "kind_of",
    "n_rows_of",
    "named",
    "refuse_own",
]

INDEX = re.compile(r"__index_level_\d+__")
TEXT = ("string", "large_string", "string_view")


def find_files(given: Any) -> tuple[Path, ...]:
    """Files by name, folder or pattern, each once; none is an error.

    What is hidden in a folder (its name begins with a dot) is left out.
    """
    found: dict[Path, Path] = {}
    for part in named(given):
        path = Path(part)
        if path.is_dir():
            inside = (each.relative_to(path) for each in path.rglob("*.parquet"))
            here = sorted(path / each for each in inside if visible(each))
        elif path.exists():
            here = [path]
        else:
            here = sorted(map(Path, _matching(part)))
        if not here:
            raise FileNotFoundError(f"{part}: no Parquet file is there.")
        for each in here:
            found.setdefault(real(each), each)
    return tuple(found.values())


def _matching(pattern: str) -> Iterator[str]:
    """What a pattern finds; of links that lead in a circle nothing twice."""
    parts = Path(pattern).parts
    if "**" not in parts:
        yield from glob.iglob(pattern)
        return
    place = parts.index("**")
    rest = parts[place + 1 :] or ("*",)
    for top in glob.iglob(str(Path(*parts[:place]))):
        seen: set[Path] = set()
        for folder, inside, _ in os.walk(top, followlinks=True):
            again = real(folder) in seen
            inside[:] = [] if again else [each for each in inside if each[0] != "."]
            if not again:
                seen.add(real(folder))
                yield from _matching(str(Path(glob.escape(folder), *rest)))


def named(given: Any) -> tuple[str, ...]:
    """Names, folders and patterns as text, one or several."""
    parts = [given] if isinstance(given, str | os.PathLike) else list(given)
    return tuple(str(os.fspath(each)) for each in parts)


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
    there = out.exists()
    for each in files:
        if real(each) == real(out) or (there and out.samefile(each)):
            raise ValueError(
                f"{out} is read and would be written over: give another name."
            )
    for part in given:
        if _would_find(part, real(out)):
            raise ValueError(
                f"{out} would be read as one of the rows of {part} the next time: "
                "write to another folder."
            )


def _would_find(part: str, path: Path) -> bool:
    """Tell whether a folder or a pattern finds a file once it is there."""
    if Path(part).is_dir():
        return path.is_relative_to(real(part)) and path.suffix == ".parquet"
    if Path(part).exists():
        return False
    # What stands before the first wild card may be a link.
    fixed = Path(*_fixed(Path(part)))
    pattern = str(real(fixed) / Path(part).relative_to(fixed))
    return path.match(pattern) or ("**" in pattern and fnmatch(str(path), pattern))


def _fixed(path: Path) -> list[str]:
    """Return the leading parts of a pattern that have no wild card."""
    parts = list(path.parts)
    wild = [i for i, each in enumerate(parts) if glob.has_magic(each)]
    return parts[: wild[0]] if wild else parts


@dataclass(frozen=True)
class Unchanged:
    """Parquet files, and what they were like when they were first looked at.

    Who reads them several times would otherwise add up rows of two kinds.
    """

    files: tuple[Path, ...]
    states: tuple[Any, ...]

    @classmethod
    def of(cls, files: Iterable[str | os.PathLike[str]]) -> Unchanged:
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
    """Return size and time of a Parquet file, and a digest of its footer.

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


def n_rows_of(files: Iterable[Path]) -> int:
    """Rows of all files together."""
    from pyarrow.parquet import ParquetFile

    return sum(ParquetFile(each).metadata.num_rows for each in files)


def common_schema(files: tuple[Path, ...]) -> Any:
    """The columns of the first file; all others have the same, in any order."""
    from pyarrow import ArrowException
    from pyarrow.parquet import ParquetFile

    first: Any = None
    for path in files:
        try:
            schema = _without_index(ParquetFile(path).schema_arrow)
        except (ArrowException, OSError) as error:
            raise ValueError(
                f"{path} cannot be read as Parquet: {str(error).splitlines()[0]}"
            ) from error
        if first is None:
            first = schema
        _check_names(schema.names, path)
        _check_alike(first, schema, path, files[0])
    return first


def _without_index(schema: Any) -> Any:
    """A schema without what pandas adds for the index of a frame."""
    from pyarrow import schema as made

    return made([each for each in schema if not INDEX.fullmatch(each.name)])


def _check_names(names: list[str], path: Path) -> None:
    seen: dict[str, int] = {}
    for place, name in enumerate(names):
        first = seen.setdefault(name, place)
        if first != place:
            raise ValueError(
                f"{path}: columns {first + 1} and {place + 1} are both called "
                f"{shown(name)}: rename one of them."
            )


def _check_alike(first: Any, other: Any, path: Path, first_path: Path) -> None:
    gone = [name for name in first.names if name not in other.names]
    more = [name for name in other.names if name not in first.names]
    if gone or more:
        what = f"no column {shown(gone[0])}" if gone else f"a column {shown(more[0])}"
        than = ", which" if gone else " that"
        has = "has" if gone else "has not"
        raise ValueError(
            f"{path} has {what}{than} {first_path} {has}: all files must have the same "
            "columns."
        )
    for name in first.names:
        a, b = first.field(name).type, other.field(name).type
        if kind_of(a) != kind_of(b):
            raise ValueError(
                f"{path}: column {shown(name)} holds {b}, but {a} in {first_path}: "
                "write it as the same kind in all files."
            )


def kind_of(kind: Any) -> str:
    """Numbers, text, or the name of another type."""
    import pyarrow.types as types

    if types.is_dictionary(kind):
        kind = kind.value_type
    if types.is_integer(kind) or types.is_floating(kind) or types.is_boolean(kind):
        return "numbers"
    return "text" if str(kind) in TEXT else str(kind)
