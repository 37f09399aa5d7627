"""Where data files live, whether they are whole, and how they come from UCI."""

import hashlib
import http.client
import io
import os
import sys
import urllib.error
import urllib.request
import zipfile
from dataclasses import dataclass
from pathlib import Path

from rankfair._disk import read_up_to, write_whole

__all__ = ["UCI", "DataFile", "find_files"]

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
    home = _data_home(data_home) / folder
    missing = [file for file in files if not (home / file.name).is_file()]
    if missing and not download:
        names = " and ".join(file.name for file in missing)
        raise FileNotFoundError(
            f"{names} not found: put the file(s) into {home}, or point data_home or "
            f"RANKFAIR_DATA at the folder that holds {folder}/"
        )
    for file in missing:
        _fetch(file, home, base_url)
    return [_checked(home / file.name, file.sha256) for file in files]


def _data_home(data_home: str | os.PathLike[str] | None) -> Path:
    chosen = data_home or os.environ.get("RANKFAIR_DATA") or _cache_folder()
    return Path(chosen).expanduser()


def _cache_folder() -> Path:
    if sys.platform == "win32":
        base = os.environ.get("LOCALAPPDATA", "~/AppData/Local")
    elif sys.platform == "darwin":
        base = "~/Library/Caches"
    else:
        base = os.environ.get("XDG_CACHE_HOME") or "~/.cache"
    return Path(base) / "rankfair"


def _checked(path: Path, sha256: str) -> Path:
    """Return the path if its content has that checksum."""
    found = hashlib.sha256(path.read_bytes()).hexdigest()
    if found != sha256:
        raise ValueError(
            f"{path} is damaged or another version: expected sha256 {sha256}, "
            f"found {found}; put the right file there"
        )
    return path


def _fetch(file: DataFile, home: Path, base_url: str) -> None:
    url = f"{base_url}/{file.source}"
    try:
        content = _member(_read(url), file)
    except (OSError, http.client.HTTPException, zipfile.BadZipFile, KeyError) as error:
        if isinstance(error, urllib.error.HTTPError):
            error.close()  # it holds the connection of the refused answer
        raise OSError(
            f"could not download {file.name} from {url} ({error}): "
            f"check the connection, or put {file.name} into {home} yourself"
        ) from error
    found = hashlib.sha256(content).hexdigest()
    if found != file.sha256:
        raise OSError(
            f"{url} did not give the expected {file.name}: expected sha256 "
            f"{file.sha256}, found {found}; nothing was kept, put the right file "
            f"into {home} yourself"
        )
    write_whole(home / file.name, content)


def _read(url: str) -> bytes:
    with urllib.request.urlopen(url, timeout=TIMEOUT_SECONDS) as response:
        content = read_up_to(response, MAX_BYTES)
        announced = response.headers.get("Content-Length")
    if len(content) > MAX_BYTES:
        raise OSError(f"more than {MAX_BYTES} bytes came")
    # A bounded read does not notice that the connection closed early.
    if announced is not None and len(content) < int(announced):
        raise OSError(f"only {len(content)} of {announced} bytes came")
    return content


def _member(content: bytes, file: DataFile) -> bytes:
    if file.source is None or not file.source.endswith(".zip"):
        return content
    archive = zipfile.ZipFile(io.BytesIO(content))
    with archive, archive.open(file.name) as member:
        return member.read(MAX_BYTES)
