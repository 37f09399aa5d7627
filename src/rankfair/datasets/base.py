"""A dataset: its record, its file (found or downloaded) and its columns."""

from __future__ import annotations

import csv
import hashlib
import http.client
import io
import os
import sys
import urllib.error
import urllib.request
import zipfile
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import narwhals as nw
import numpy as np
from numpy.typing import NDArray

from rankfair.input.disk import read_up_to, write_whole


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class Dataset:
    """Rows with a target, a task and a group.

    `frame` holds the features followed by the task and the sensitive column, so it can
    go to an estimator as it is:
    `RankFairRegressor(tasks=data.task_name, sensitive_features=data.sensitive_name)`.

    Attributes
    ----------
    name : str
    X : ndarray of float64, shape (n_rows, n_features)
        The explanatory features, without task and sensitive feature.
    target : ndarray of float64, shape (n_rows,)
    tasks, sensitive : ndarray of str, shape (n_rows,)
        Labels are text: the county `01001` keeps its zero.
    feature_names : tuple of str
    target_name, task_name, sensitive_name : str
    group_a : str
        The label of the group that the paper calls A.
    description, licence : str
    biased : bool
        Whether a bias was put into the target.
    period : ndarray of int or None, shape (n_rows,)
        The week or year of a row, to hold out the last ones:
        `train = data.period < data.period.max()`. It is not among the features.
    period_name : str or None
    fair_score : ndarray of float64 or None, shape (n_rows,)
        The best prediction of the target that does not depend on the group, where
        whoever drew the rows knows it.

    Examples
    --------
    >>> from rankfair.datasets import make_biased_tasks
    >>> data = make_biased_tasks(3, [4, 2, 5], random_state=0)
    >>> data
    Dataset('synthetic': 11 rows, 3 tasks, 4 features, biased)
    >>> data.X.shape, data.group_a, data.task_name, data.sensitive_name
    ((11, 4), '1', 'task', 'z')
    >>> list(data.frame.columns)
    ['x1', 'x2', 'x3', 'x4', 'task', 'z']
    """

    name: str
    X: NDArray[np.float64]
    target: NDArray[np.float64]
    tasks: NDArray[np.str_]
    sensitive: NDArray[np.str_]
    feature_names: tuple[str, ...]
    target_name: str
    task_name: str
    sensitive_name: str
    group_a: str
    description: str
    licence: str
    biased: bool
    period: NDArray[np.int64] | None = None
    period_name: str | None = None
    fair_score: NDArray[np.float64] | None = None

    def __repr__(self) -> str:
        n_rows, n_features = self.X.shape
        ending = ", biased" if self.biased else ""
        return (
            f"Dataset({self.name!r}: {n_rows} rows, {len(set(self.tasks))} tasks, "
            f"{n_features} features{ending})"
        )

    @cached_property
    def frame(self) -> Any:
        """Features, task and sensitive feature, of pandas or else polars."""
        columns: dict[str, Any] = dict(zip(self.feature_names, self.X.T, strict=True))
        columns[self.task_name] = self.tasks.tolist()
        columns[self.sensitive_name] = self.sensitive.tolist()
        here = next(filter(find_spec, ("pandas", "polars")), None)
        if here is None:
            raise ImportError(
                "Dataset.frame needs pandas or polars, and none is installed: "
                "pip install pandas, or use Dataset.X, .tasks and .sensitive"
            )
        return nw.from_dict(columns, backend=here).to_native()  # type: ignore[arg-type]


UCI = "https://archive.ics.uci.edu/ml/machine-learning-databases"
TIMEOUT_SECONDS = 30
# The largest file is under 4 MB: a server that sends more is not sending the data.
MAX_BYTES = 16 * 2**20


@dataclass(frozen=True)
class DataFile:
    """A file of a dataset: its name, its sha256, and where UCI keeps it, if it does.

    `source` is relative to the base address; if it ends in `.zip` the file is a member.
    """

    name: str
    sha256: str
    source: str | None = None


def find_files(
    folder: str,
    files: tuple[DataFile, ...],
    data_home: str | os.PathLike[str] | None,
    *,
    download: bool = False,
    base_url: str = UCI,
) -> list[Path]:
    """Return the checked paths of `files`, after fetching missing ones if allowed."""
    chosen = data_home or os.environ.get("RANKFAIR_DATA") or _cache_folder()
    home = Path(chosen).expanduser() / folder
    missing = [file for file in files if not (home / file.name).is_file()]
    if missing and not download:
        names = " and ".join(file.name for file in missing)
        raise FileNotFoundError(
            f"{names} not found: put the file(s) into {home}, or point data_home or "
            f"RANKFAIR_DATA at the folder that holds {folder}/"
        )
    for file in missing:
        _fetch(file, home, base_url)
    for file in files:
        _check((home / file.name).read_bytes(), file, home, home / file.name)
    return [home / file.name for file in files]


def _check(content: bytes, file: DataFile, home: Path, origin: object) -> bytes:
    """Return the content of a file if it is what its checksum says."""
    found = hashlib.sha256(content).hexdigest()
    if found != file.sha256:
        raise ValueError(
            f"{origin} is damaged or another version: expected sha256 {file.sha256}, "
            f"found {found}; put the right {file.name} into {home}"
        )
    return content


def _cache_folder() -> Path:
    places = {
        "win32": os.environ.get("LOCALAPPDATA", "~/AppData/Local"),
        "darwin": "~/Library/Caches",
    }
    other = os.environ.get("XDG_CACHE_HOME") or "~/.cache"
    return Path(places.get(sys.platform, other)) / "rankfair"


def _fetch(file: DataFile, home: Path, base_url: str) -> None:
    url = f"{base_url}/{file.source}"
    try:
        content = _download(url, file)
    except (OSError, http.client.HTTPException, zipfile.BadZipFile, KeyError) as error:
        if isinstance(error, urllib.error.HTTPError):
            error.close()  # it holds the connection of the refused answer
        raise OSError(
            f"could not download {file.name} from {url} ({error}): "
            f"check the connection, or put {file.name} into {home} yourself"
        ) from error
    write_whole(home / file.name, _check(content, file, home, url))


def _download(url: str, file: DataFile) -> bytes:
    """Return what a server sends; the checksum tells if that is not all, or more."""
    with urllib.request.urlopen(url, timeout=TIMEOUT_SECONDS) as response:
        content = read_up_to(response, MAX_BYTES)
    if not url.endswith(".zip"):
        return content
    archive = zipfile.ZipFile(io.BytesIO(content))
    with archive, archive.open(file.name) as member:
        return member.read(MAX_BYTES)


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
