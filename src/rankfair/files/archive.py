"""A zip of one JSON document and plain arrays, distrusted until it is proved whole.

Members are stored, not compressed: arrays are never larger than the file.  JSON has no
tuples, no NaN and no arrays; an object with one key that begins with ``$`` stands for
them.  Nothing is looked up by a name from the file except in fixed lists.
"""

from __future__ import annotations

import datetime
import hashlib
import io
import json
import math
import os
import re
import zipfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, fields
from decimal import Decimal
from numbers import Integral, Real
from pathlib import Path
from types import UnionType
from typing import Any, Union, get_args, get_origin, get_type_hints

import numpy as np
from numpy.typing import NDArray

from rankfair.constraints import CONSTRAINTS
from rankfair.estimators.outcome import TradeOff
from rankfair.input.disk import write_whole
from rankfair.input.errors import ModelFileError
from rankfair.input.frames import find_labels
from rankfair.input.training import GroupEncoder, Layout
from rankfair.penalties import PENALTIES
from rankfair.solvers import SOLVERS

FORMAT, VERSION = "rankfair-model", 3
META = "meta.json"
MAX_META = 64 << 20
MAX_MEMBERS = 1000
DIGEST = 64  # letters of the SHA-256 of all before it: the comment of the zip
_EPOCH = (1980, 1, 1, 0, 0, 0)  # the same model makes the same bytes


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
    small = len(text) <= MAX_META and len(arrays) < MAX_MEMBERS
    demand(small, f"The model is too large for a model file: {said}")
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
    """Return an array, after its header was found to fit the bytes that follow."""
    only = "is no .npy array of numbers: only these are read, never pickled objects"
    stream = io.BytesIO(raw)
    with distrusted(f"{name} {only}"):
        first = np.lib.format.read_magic(stream)
        shape, by_column, dtype = np.lib.format.read_array_header_1_0(stream)
    ours = first == (1, 0) and dtype.kind in "biuf" and not by_column
    demand(ours, f"{name} {only}")
    left = len(raw) - stream.tell()
    whole = math.prod(shape) * dtype.itemsize == left
    demand(whole, f"{name} declares shape {shape} of {dtype}, but {left} bytes follow")
    values = np.frombuffer(raw, dtype, offset=stream.tell()).reshape(shape)
    return values.astype(dtype.newbyteorder("="), copy=True)


# Values as JSON and arrays, and back, with their types


def by_kind(classes: Iterable[type]) -> dict[str, type]:
    """Return classes by the short names that files have for them.

    Examples
    --------
    >>> by_kind([TradeOff, *SOLVERS.values()]).keys()
    dict_keys(['trade_off', 'tilt', 'ncadmm', 'paper'])
    """
    names = (re.sub(r"(?<=[a-z])(?=[A-Z])", "_", cls.__name__) for cls in classes)
    return dict(zip((name.lower() for name in names), classes, strict=True))


# Small frozen records that may stand in a model.
RECORDS = by_kind(
    (
        *(Layout, GroupEncoder, TradeOff),
        *PENALTIES.values(),
        *CONSTRAINTS.values(),
        *SOLVERS.values(),
    )
)
_KINDS = {cls: kind for kind, cls in RECORDS.items()}
_SCALARS = ("float64", "float32", "int64", "int32", "uint8", "bool")


def fits(value: Any, kind: Any) -> bool:
    """Tell whether a value is what a type annotation says, all the way down.

    An array of anything is one of labels, as rows can have them: all distinct.

    Examples
    --------
    >>> fits((1, 2), tuple[int, ...]), fits({"a": "b"}, dict[str, float] | None)
    (True, False)
    """
    origin, parts = get_origin(kind), get_args(kind)
    if hasattr(origin, "__value__"):  # from NumPy 2.5 on NDArray is a lazy alias
        return fits(value, origin.__value__[parts])
    if origin in (Union, UnionType):
        return any(fits(value, part) for part in parts)
    if origin is np.ndarray:
        return isinstance(value, np.ndarray) and _fits_array(value, *get_args(parts[1]))
    if origin is tuple and parts[-1] is not ...:
        same = isinstance(value, tuple) and len(value) == len(parts)
        return same and all(map(fits, value, parts))
    if origin in (list, tuple):
        return isinstance(value, origin) and all(fits(it, parts[0]) for it in value)
    if origin is dict:
        pairs = value.items() if isinstance(value, dict) else [(None, None)]
        return all(fits(key, parts[0]) and fits(it, parts[1]) for key, it in pairs)
    if kind in (int, float):
        number = Integral if kind is int else Real
        return isinstance(value, number) and not isinstance(value, bool)
    return kind is Any or isinstance(value, kind)


def _fits_array(value: NDArray[Any], scalar: Any) -> bool:
    if scalar is not Any:
        return value.dtype.type is scalar
    labels = value.ndim == 1 and len(value) > 0
    return labels and len(find_labels([value], "labels")[1]) == len(value)


@dataclass
class Encoder:
    """Turn values into JSON; arrays are put aside in ``arrays``.

    Examples
    --------
    >>> Encoder().encode((1, float("nan")), "x")
    {'$tuple': [1, {'$float': 'nan'}]}
    """

    arrays: list[NDArray[Any]] = field(default_factory=list)

    def encode(self, value: Any, where: str) -> Any:
        """Return a value as JSON; ``where`` names it in an error."""
        match value:
            case None | int():
                return value
            case str():  # also np.str_
                return str(value)
            case np.generic() if value.dtype.name in _SCALARS:
                return {"$scalar": [value.dtype.name, self.encode(value.item(), where)]}
            case float():
                return value if math.isfinite(value) else {"$float": repr(value)}
            case np.ndarray() if value.dtype.kind in "biuf" and value.itemsize <= 8:
                self.arrays.append(value)
                return {"$array": len(self.arrays) - 1}
            case np.ndarray() if value.dtype.kind in "UO" and value.ndim == 1:
                return {"$objects": self.encode(value.tolist(), where)}
            case list():
                return [self.encode(each, where) for each in value]
            case tuple():
                return {"$tuple": self.encode([*value], where)}
            case Mapping():
                if all(type(key) is str and not key.startswith("$") for key in value):
                    return {
                        k: self.encode(v, f"{where}[{k!r}]") for k, v in value.items()
                    }
                pairs = [[*pair] for pair in value.items()]
                return {"$dict": self.encode(pairs, where)}
            case Decimal():
                return {"$decimal": str(value)}
            # A pandas Timestamp is a datetime, and equal to it, but for nanoseconds.
            case datetime.date() if not getattr(value, "nanosecond", 0):
                timed = isinstance(value, datetime.datetime)
                return {"$datetime" if timed else "$date": value.isoformat()}
        if type(value) not in _KINDS:
            raise _refuse(value, where)
        parts = {k: self.encode(v, f"{where}.{k}") for k, v in _own(value).items()}
        return {"$record": [_KINDS[type(value)], parts]}


def _own(record: Any) -> dict[str, Any]:
    """Return the fields that a record is made of."""
    return {it.name: getattr(record, it.name) for it in fields(record) if it.init}


def _refuse(value: Any, where: str) -> ModelFileError:
    kind = f"{type(value).__module__}.{type(value).__qualname__}"
    cure = "Use a plain value before saving: text, a number, a list, an array."
    if where == "random_state":
        cure = "A whole number can be stored: model.set_params(random_state=0)."
    reason = f"{where} holds a {kind}, which a model file does not store"
    return ModelFileError(reason, cure)


def decode(stored: Any, arrays: list[NDArray[Any]]) -> Any:
    """Return the value that JSON of an `Encoder` stands for.

    What it did not make is an error of any kind: files are decoded inside `distrusted`.

    Examples
    --------
    >>> decode({"$tuple": [1, {"$float": "nan"}]}, [])
    (1, nan)
    """
    if isinstance(stored, list):
        return [decode(each, arrays) for each in stored]
    if not isinstance(stored, dict):
        return stored
    mark = next((key for key in stored if key.startswith("$")), None)
    if mark is None:
        return {key: decode(each, arrays) for key, each in stored.items()}
    match [mark, stored[mark]] if len(stored) == 1 else []:
        case "$float", "nan" | "inf" | "-inf" as number:
            return float(number)
        case "$tuple", [*parts]:
            return tuple(decode(parts, arrays))
        case "$dict", [*pairs]:
            return dict(decode(pairs, arrays))
        case "$objects", [*labels]:
            found = np.empty(len(labels), dtype=object)
            found[:] = decode(labels, arrays)
            return found
        case "$scalar", [kind, int() | float() | dict() as number] if kind in _SCALARS:
            return np.dtype(kind).type(decode(number, arrays))
        case "$array", int(place) if place >= 0:
            return arrays[place]
        case "$record", [str(kind), parts] if kind in RECORDS:
            return _record(kind, decode(parts, arrays))
        case "$decimal", str(text):
            return Decimal(text)
        case "$datetime", str(text):
            return datetime.datetime.fromisoformat(text)
        case "$date", str(text):
            return datetime.date.fromisoformat(text)
    raise ValueError(f"{str(stored)[:80]} stands for nothing known here")


def _record(kind: str, own: dict[str, Any]) -> Any:
    cls = RECORDS[kind]
    for name, declared in get_type_hints(cls).items():
        if name in own and not fits(own[name], declared):
            raise ValueError(f"{name} of a {kind} is of another type")
    return cls(**own)


def as_json(value: Any) -> Any:
    """Return a value as plain JSON to be shown.

    Examples
    --------
    >>> as_json((1, float("nan"))), as_json({1: np.arange(2)})
    ([1, None], {'1': [0, 1]})
    """
    if isinstance(value, np.ndarray | np.generic):
        value = value.tolist()
    if isinstance(value, list | tuple):
        return [as_json(each) for each in value]
    if isinstance(value, Mapping):
        return {str(as_json(key)): as_json(each) for key, each in value.items()}
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return (
        value if value is None or isinstance(value, int | float | str) else str(value)
    )
