"""Settings and fitted attributes as JSON and arrays, and back, with their types.

JSON has no tuples, no NaN and no arrays; an object with one key that begins with ``$``
stands for them.  Nothing is looked up by a name from the file except in fixed lists.
"""

from __future__ import annotations

import datetime
import math
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import fields
from decimal import Decimal
from numbers import Integral, Real
from types import UnionType
from typing import Any, Union, get_args, get_origin, get_type_hints

import numpy as np
from numpy.typing import NDArray

from rankfair.constraints import CONSTRAINTS
from rankfair.estimators.outcome import TradeOff
from rankfair.input.errors import ModelFileError
from rankfair.input.frames import find_labels
from rankfair.input.training import GroupEncoder, Layout
from rankfair.penalties import PENALTIES
from rankfair.solvers import SOLVERS


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
_WHOLE = {np.dtype(kind).newbyteorder("<").str for kind in "bBhHiIlLqQ?"}


def fits(value: Any, kind: Any) -> bool:
    """Tell whether a value is what a type annotation says, all the way down.

    An array of anything is one of labels, as rows can have them: all distinct.

    Examples
    --------
    >>> fits((1, 2), tuple[int, ...]), fits({"a": "b"}, dict[str, float] | None)
    (True, False)
    """
    origin, parts = get_origin(kind), get_args(kind)
    if origin in (Union, UnionType):
        return any(fits(value, part) for part in parts)
    if origin is np.ndarray:
        return _fits_array(value, *get_args(parts[1]))
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


def _fits_array(value: Any, scalar: Any) -> bool:
    if not isinstance(value, np.ndarray):
        return False
    if scalar is not Any:
        return value.dtype.type is scalar
    labels = value.ndim == 1 and len(value) > 0
    return labels and len(find_labels([value], "labels")[1]) == len(value)


class Encoder:
    """Turn values into JSON; arrays are put aside in ``arrays``.

    Examples
    --------
    >>> Encoder().encode((1, float("nan")), "x")
    {'$tuple': [1, {'$float': 'nan'}]}
    """

    def __init__(self) -> None:
        self.arrays: list[NDArray[Any]] = []

    def encode(self, value: Any, where: str) -> Any:
        """Return a value as JSON; ``where`` names it in an error."""
        if value is None or type(value) in (bool, int):
            return value
        if isinstance(value, str):  # also np.str_
            return str(value)
        if isinstance(value, np.generic) and value.dtype.name in _SCALARS:
            return {"$scalar": [value.dtype.name, self.encode(value.item(), where)]}
        if type(value) is float:
            return value if math.isfinite(value) else {"$float": repr(value)}
        if isinstance(value, np.ndarray):
            return self._array(value, where)
        if isinstance(value, list):
            return self._each(value, where)
        if type(value) is tuple:
            return {"$tuple": self._each(value, where)}
        if isinstance(value, Mapping):
            return self._mapping(value, where)
        if isinstance(value, Decimal):
            return {"$decimal": str(value)}
        # A pandas Timestamp is a datetime, and equal to it, unless it has nanoseconds.
        if isinstance(value, datetime.date) and not getattr(value, "nanosecond", 0):
            timed = isinstance(value, datetime.datetime)
            return {"$datetime" if timed else "$date": value.isoformat()}
        if type(value) in _KINDS:
            own = (field.name for field in fields(value) if field.init)
            parts = {k: self.encode(getattr(value, k), f"{where}.{k}") for k in own}
            return {"$record": [_KINDS[type(value)], parts]}
        raise _refuse(value, where)

    def _each(self, values: Any, where: str) -> list[Any]:
        return [self.encode(value, where) for value in values]

    def _mapping(self, value: Mapping[Any, Any], where: str) -> Any:
        if all(type(key) is str and not key.startswith("$") for key in value):
            return {k: self.encode(v, f"{where}[{k!r}]") for k, v in value.items()}
        return {"$dict": [self._each(pair, where) for pair in value.items()]}

    def _array(self, value: NDArray[Any], where: str) -> Any:
        if value.dtype.kind in "biu" and value.ndim == 1:  # labels, for the most part
            return {"$whole": [value.dtype.newbyteorder("<").str, value.tolist()]}
        if value.dtype.kind in "biuf" and value.dtype.itemsize <= 8:
            self.arrays.append(value)
            return {"$array": len(self.arrays) - 1}
        if value.dtype.kind not in "UO" or value.ndim != 1:
            raise _refuse(value, where)
        return {"$objects": self._each(value.tolist(), where)}


def _refuse(value: Any, where: str) -> ModelFileError:
    kind = f"{type(value).__module__}.{type(value).__qualname__}"
    cure = "Use a plain value before saving: text, a number, a list, an array."
    if where == "random_state":
        cure = "A whole number can be stored: model.set_params(random_state=0)."
    reason = f"{where} holds a {kind}, which a model file does not store"
    return ModelFileError(reason, cure)


class Decoder:
    """Turn what `Encoder` made back into values; what it did not make is an error.

    Whoever decodes a file does so inside `distrusted`.

    Examples
    --------
    >>> Decoder([]).decode({"$tuple": [1, {"$float": "nan"}]})
    (1, nan)
    """

    def __init__(self, arrays: list[NDArray[Any]]):
        self.arrays = arrays
        self._readers: dict[str, Callable[[Any], Any]] = {
            "$float": self._float,
            "$tuple": lambda stored: tuple(self._list(stored)),
            "$dict": lambda stored: dict(self._list(stored)),
            "$scalar": self._scalar,
            "$array": self._array,
            "$whole": self._whole,
            "$objects": self._objects,
            "$record": self._record,
            "$decimal": Decimal,
            "$datetime": datetime.datetime.fromisoformat,
            "$date": datetime.date.fromisoformat,
        }

    def decode(self, stored: Any) -> Any:
        """Return the value that a piece of JSON stands for."""
        if isinstance(stored, list):
            return [self.decode(each) for each in stored]
        if not isinstance(stored, dict):
            return stored
        marks = [key for key in stored if key.startswith("$")]
        if not marks:
            return {key: self.decode(each) for key, each in stored.items()}
        if marks[0] not in self._readers or len(stored) > 1:
            raise ValueError(f"{marks[0][:20]!r} is not known here")
        return self._readers[marks[0]](stored[marks[0]])

    def _list(self, stored: Any) -> list[Any]:
        if not isinstance(stored, list):
            raise ValueError("a list is expected")
        return [self.decode(each) for each in stored]

    def _float(self, stored: Any) -> float:
        if stored not in ("nan", "inf", "-inf"):
            raise ValueError(f"{str(stored)[:20]} as a number")
        return float(stored)

    def _scalar(self, stored: Any) -> Any:
        name, value = stored
        if name not in _SCALARS or not isinstance(value, int | float | dict):
            raise ValueError(f"{str(name)[:20]} as a type, or its value")
        return np.dtype(name).type(self.decode(value))

    def _array(self, stored: Any) -> NDArray[Any]:
        if type(stored) is not int or stored < 0:
            raise ValueError("an array without a number")
        return self.arrays[stored]

    def _whole(self, stored: Any) -> NDArray[Any]:
        name, values = stored
        if name not in _WHOLE or not all(type(v) in (int, bool) for v in values):
            raise ValueError("whole numbers are expected")
        return np.array(values, dtype=np.dtype(name).newbyteorder("="))

    def _objects(self, stored: Any) -> NDArray[Any]:
        values = self._list(stored)
        out = np.empty(len(values), dtype=object)
        out[:] = values
        return out

    def _record(self, stored: Any) -> Any:
        kind, parts = stored
        cls, own = _known_record(kind), self.decode(parts)
        for name, declared in get_type_hints(cls).items():
            if name in own and not fits(own[name], declared):
                raise ValueError(f"{name} of a {kind} is of another type")
        return cls(**own)


def _known_record(kind: Any) -> type:
    if not isinstance(kind, str) or kind not in RECORDS:
        raise ValueError(f"no record is called {str(kind)[:40]}")
    return RECORDS[kind]


def plain(stored: Any) -> Any:
    """Return what `Encoder` made as plain JSON to be shown, without marks.

    Examples
    --------
    >>> plain({"$tuple": [1, {"$float": "nan"}]}), plain({"$array": 0})
    ([1, None], 'array 0')
    """
    if isinstance(stored, list):
        return [plain(each) for each in stored]
    if not isinstance(stored, dict):
        return stored
    mark: str = next(iter(stored), "")
    value: Any = stored.get(mark)
    match mark:
        case "$float":
            return None
        case "$tuple" | "$objects":
            return plain(value)
        case "$whole" | "$scalar":
            return plain(value[1])
        case "$dict":
            return {str(plain(key)): plain(each) for key, each in value}
        case "$record":
            return {"record": _known_record(value[0]).__name__, **plain(value[1])}
        case "$array":
            return f"array {value}"
    if mark.startswith("$"):
        return str(value)
    return {key: plain(each) for key, each in stored.items()}
