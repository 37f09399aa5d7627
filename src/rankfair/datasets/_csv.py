"""CSV files as columns of text: nothing is guessed, so `01001` stays `01001`."""

import csv
from collections.abc import Iterable
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

__all__ = ["Columns", "numbers", "read_columns", "stack"]

Columns = dict[str, NDArray[np.str_]]


def read_columns(paths: Iterable[Path], delimiter: str = ",") -> Columns:
    """Read files with the same header, one below the other."""
    rows: list[list[str]] = []
    header: list[str] = []
    for path in paths:
        with path.open(encoding="utf-8", newline="") as stream:
            header, *body = csv.reader(stream, delimiter=delimiter)
        rows += body
    cells = zip(*rows, strict=True)
    return {name: np.array(column) for name, column in zip(header, cells, strict=True)}


def numbers(column: NDArray[np.str_]) -> NDArray[np.float64]:
    """Turn text into floats; an empty cell is NaN."""
    return np.where(column == "", "nan", column).astype(np.float64)


def stack(columns: Iterable[NDArray[np.float64]]) -> NDArray[np.float64]:
    """Put columns side by side, as a matrix with rows next to each other in memory."""
    return np.ascontiguousarray(np.column_stack(list(columns)))
