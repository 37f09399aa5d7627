"""A zip of one JSON document and plain arrays, distrusted until it is proved whole.

Members are stored, not compressed: arrays are never larger than the file.
"""

from __future__ import annotations

import hashlib
import io
import json
import math
import os
import re
import zipfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rankfair.input.disk import write_whole
from rankfair.input.errors import ModelFileError

FORMAT, VERSION = "rankfair-model", 3
META = "meta.json"
MAX_META = 64 << 20
MAX_MEMBERS = 1000
DIGEST = 64  # letters of the SHA-256 of all before it: the comment of the zip
_EPOCH = (1980, 1, 1, 0, 0, 0)  # the same model makes the same bytes
_HEADER = re.compile(
    rb"\x93NUMPY\x01\x00..\{'descr': '(<f[48]|<[iu][248]|\|[iub]1)', "
    rb"'fortran_order': False, "
    rb"'shape': \(((?:[0-9]{1,18}, ?)*[0-9]{0,18})\), \} *\n",
    re.DOTALL,
)


@contextmanager
def distrusted(
    otherwise: str = "its parts are unsound, or do not fit together",
) -> Iterator[None]:
    """Turn every error that a damaged or forged file causes into a `ModelFileError`.

    Examples
    --------
    >>> with distrusted():
    ...     int("x")
    Traceback (most recent call last):
    ...
    rankfair.input.errors.ModelFileError: its parts are unsound, or do not fit
    together (ValueError: invalid literal for int() with base 10: 'x').
    """
    try:
        yield
    except (ModelFileError, MemoryError):
        raise
    except Exception as error:
        why = f"{type(error).__name__}: {error}"[:200].rstrip(".")
        raise ModelFileError(f"{otherwise} ({why})") from None


def demand(kept: object, otherwise: str) -> None:
    """Refuse a file unless this holds."""
    if not kept:
        raise ModelFileError(otherwise)


def write_model(path: str | os.PathLike[str], raw: bytes) -> Path:
    """Write a file whole, or say why not."""
    try:
        return write_whole(Path(path), raw)
    except OSError as error:
        reason = f"could not be written: {error.strerror or error}"
        name = os.fspath(path)
        raise ModelFileError(reason, "Nothing was changed.", source=name) from error


def names_of(n_arrays: int) -> list[str]:
    """Return the members of a file, in order."""
    return [META, *(f"arrays/{i}.npy" for i in range(n_arrays))]


def pack(body: Mapping[str, Any], arrays: Sequence[NDArray[Any]]) -> bytes:
    """Return the bytes of a model file.

    Examples
    --------
    >>> import numpy as np
    >>> raw = pack({"a": 1}, [np.arange(3)])
    >>> unpack(raw)
    ({'a': 1}, [array([0, 1, 2])])
    """
    meta = {"format": FORMAT, "version": VERSION, "body": body}
    text = json.dumps(meta, indent=1, allow_nan=False, ensure_ascii=True)
    said = f"{len(text):,} bytes of labels and settings, {len(arrays)} arrays"
    fits = len(text) <= MAX_META and len(arrays) < MAX_MEMBERS
    demand(fits, f"The model is too large for a model file: {said}")
    stream = io.BytesIO()
    members = [text.encode(), *map(_to_npy, arrays)]
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_STORED) as archive:
        for name, raw in zip(names_of(len(arrays)), members, strict=True):
            archive.writestr(zipfile.ZipInfo(name, _EPOCH), raw)
        archive.comment = bytes(DIGEST)
    return signed(stream.getvalue())


def signed(raw: bytes) -> bytes:
    """Return the bytes of an archive with the checksum of all that is before it."""
    return raw[:-DIGEST] + hashlib.sha256(raw[:-DIGEST]).hexdigest().encode()


def unpack(raw: bytes) -> tuple[Any, list[NDArray[Any]]]:
    """Return body and arrays of a model file; refuse one that is not whole.

    Behind a right checksum only what was forged is unsound, in ways that bring about
    errors of any kind: files are read inside `distrusted`.
    """
    pickled = "it looks like a pickle, which can run any code when it is opened"
    demand(not raw.startswith(b"\x80"), pickled)
    demand(raw.startswith(b"PK\x03\x04"), "it is no zip archive")
    other = "it is damaged, cut or another kind of zip: its checksum differs"
    demand(signed(raw) == raw, other)
    with zipfile.ZipFile(io.BytesIO(raw)) as archive:
        members = archive.infolist()
        few = len(members) <= MAX_MEMBERS
        demand(few, f"it has {len(members)} members, more than {MAX_MEMBERS}")
        names = names_of(len(members) - 1)
        ours = [member.orig_filename for member in members] == names
        demand(ours, f"its members are not {META} and numbered arrays")
        stored = all(each.compress_type == zipfile.ZIP_STORED for each in members)
        demand(stored, "it is compressed; model files never are")
        # What is stored is read to the length that is claimed, whatever is there.
        total = sum(member.file_size for member in members)
        demand(total <= len(raw), "its members claim to be larger than the file")
        small = members[0].file_size <= MAX_META
        demand(small, f"{META} is larger than {MAX_META:,} bytes")
        arrays = [_from_npy(archive.read(name), name) for name in names[1:]]
        return _body(archive.read(META)), arrays


def _body(raw: bytes) -> Any:
    """Return the description in the JSON document."""
    with distrusted(f"{META} is not sound JSON"):
        meta = json.loads(raw.decode("utf-8"))
    ours = isinstance(meta, dict) and meta.get("format") == FORMAT
    demand(ours, f"{META} does not say that it is a {FORMAT}")
    version = meta.get("version")
    known = type(version) is int and version == VERSION
    said = f"it has format version {str(version)[:20]}; this release reads {VERSION}"
    demand(known, said)
    return meta.get("body")


def _to_npy(array: NDArray[Any]) -> bytes:
    stream = io.BytesIO()
    plain = np.ascontiguousarray(array).reshape(array.shape)
    little = plain.astype(plain.dtype.newbyteorder("<"), copy=False)
    np.lib.format.write_array(stream, little, version=(1, 0), allow_pickle=False)
    return stream.getvalue()


def _from_npy(raw: bytes, name: str) -> NDArray[Any]:
    """Return an array, after its header was found to fit the bytes that follow.

    NumPy reads the header as a Python literal; here it is what `_to_npy` writes, letter
    by letter, or nothing.
    """
    start = 10 + int.from_bytes(raw[8:10], "little")
    header = _HEADER.fullmatch(raw[:start])
    only = "is no .npy array of numbers: only these are read, never pickled objects"
    demand(header, f"{name} {only}")
    assert header is not None
    shape = tuple(int(n) for n in header[2].decode().replace(",", " ").split())
    dtype = np.dtype(header[1].decode())
    left = len(raw) - start
    fits = math.prod(shape) * dtype.itemsize == left
    demand(fits, f"{name} declares shape {shape} of {dtype}, but {left} bytes follow")
    values = np.frombuffer(raw, dtype, offset=start).reshape(shape)
    return values.astype(dtype.newbyteorder("="), copy=True)
