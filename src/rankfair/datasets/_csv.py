"""CSV files as columns of text: nothing is guessed, so `01001` stays `01001`."""

import csv
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["Columns", "above", "fill", "numbers", "read_columns", "stack"]

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


def fill(column: NDArray[np.float64], tasks: NDArray[np.str_]) -> NDArray[np.float64]:
    """Replace NaN by the task's own mean, or else by the median of the column."""
    known = ~np.isnan(column)
    index = np.unique(tasks, return_inverse=True)[1]
    count = np.bincount(index, weights=known)
    total = np.bincount(index, weights=np.where(known, column, 0.0))
    mean = np.where(count > 0, total / np.maximum(count, 1), np.median(column[known]))
    return np.where(known, column, mean[index])


def stack(columns: Iterable[NDArray[np.float64]]) -> NDArray[np.float64]:
    """Put columns side by side, as a matrix with rows next to each other in memory."""
    return np.ascontiguousarray(np.column_stack(list(columns)))


def above(share: NDArray[np.float64], cut: Any) -> NDArray[np.bool_]:
    """Return which shares, in percent, are above the cut; some must be and some not."""
    if isinstance(cut, bool) or not isinstance(cut, int | float | np.number):
        raise ValueError(f"cut must be a percentage, a number; got {cut!r}")
    found: NDArray[np.bool_] = share > float(cut)
    if found.all() or not found.any():
        raise ValueError(f"cut={cut!r} leaves one group empty: nothing to compare")
    return found
