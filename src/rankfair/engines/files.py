"""Parquet files by name, and whether they belong together."""

from __future__ import annotations

import glob
import os
import re
from pathlib import Path
from typing import Any

from rankfair._frames import shown

__all__ = ["common_schema", "find_files", "kind_of"]

INDEX = re.compile(r"__index_level_\d+__")


def find_files(given: Any) -> tuple[Path, ...]:
    """Files by name, folder or pattern, each once; none is an error."""
    parts = [given] if isinstance(given, str | os.PathLike) else list(given)
    found: list[Path] = []
    for part in (str(os.fspath(each)) for each in parts):
        path = Path(part)
        if path.is_dir():
            here = sorted(path.rglob("*.parquet"))
        elif path.exists():
            here = [path]
        else:
            here = sorted(map(Path, glob.glob(part, recursive=True)))
        if not here:
            raise FileNotFoundError(f"{part}: no Parquet file is there.")
        found += here
    return tuple(dict.fromkeys(found))


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
        _check_alike(first, schema, path, files[0])
    return first


def _without_index(schema: Any) -> Any:
    """A schema without what pandas adds for the index of a frame."""
    from pyarrow import schema as made

    return made([each for each in schema if not INDEX.fullmatch(each.name)])


def _check_alike(first: Any, other: Any, path: Path, first_path: Path) -> None:
    gone = [name for name in first.names if name not in other.names]
    more = [name for name in other.names if name not in first.names]
    if gone or more:
        what = f"no column {shown(gone[0])}" if gone else f"a column {shown(more[0])}"
        than = ", which" if gone else " that"
        has = "has" if gone else "has not"
        raise ValueError(f"{path} has {what}{than} {first_path} {has}.")
    for name in first.names:
        a, b = first.field(name).type, other.field(name).type
        if kind_of(a) != kind_of(b):
            raise ValueError(
                f"{path}: column {shown(name)} holds {b}, but {a} in {first_path}."
            )


def kind_of(kind: Any) -> str:
    """Numbers, text, or the name of another type."""
    import pyarrow.types as types

    if types.is_dictionary(kind):
        kind = kind.value_type

    if types.is_integer(kind) or types.is_floating(kind) or types.is_boolean(kind):
        return "numbers"
    return "text" if types.is_string(kind) or types.is_large_string(kind) else str(kind)
