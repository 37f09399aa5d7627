"""Settings and fitted attributes as JSON and arrays, and back, with their types.

JSON has no tuples, no NaN and no arrays; an object with one key that begins with ``$``
stands for them.  Nothing is looked up by a name from the file except in fixed lists.
"""

from __future__ import annotations

import datetime
import importlib
import math
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from decimal import Decimal
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rankfair.files.archive import ModelFileError

# Small frozen records of settings that may stand in a model: looked up here only.
RECORD_HOMES = (
    "rankfair.input.columns",
    "rankfair.penalties",
    "rankfair.constraints",
    "rankfair.solvers",
    "rankfair.estimators.trade_off",
)
_SCALARS = ("float64", "float32", "int64", "int32", "uint8", "bool")
_WHOLE = {np.dtype(kind).newbyteorder("<").str for kind in "bBhHiIlLqQ?"}


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
        if value is None or type(value) in (bool, int, str):
            return value
        if isinstance(value, np.generic) and not isinstance(value, str):
            return self._scalar(value, where)
        if isinstance(value, str):  # also np.str_
            return str(value)
        if isinstance(value, float):
            return value if math.isfinite(value) else {"$float": repr(value)}
        if isinstance(value, np.ndarray):
            return self._array(value, where)
        if isinstance(value, list):
            return self._each(value, where)
        if type(value) is tuple:
            return {"$tuple": self._each(value, where)}
        if isinstance(value, Mapping):
            return self._mapping(value, where)
        if isinstance(value, datetime.date | Decimal):
            return _plain_object(value)
        if is_dataclass(value) and not isinstance(value, type):
            return self._record(value, where)
        raise _refuse(value, where)

    def _each(self, values: Any, where: str) -> list[Any]:
        return [self.encode(value, where) for value in values]

    def _mapping(self, value: Mapping[Any, Any], where: str) -> Any:
        if all(type(key) is str and not key.startswith("$") for key in value):
            return {k: self.encode(v, f"{where}[{k!r}]") for k, v in value.items()}
        pairs = [
            [self.encode(k, where), self.encode(v, where)] for k, v in value.items()
        ]
        return {"$dict": pairs}

    def _scalar(self, value: np.generic, where: str) -> Any:
        name = value.dtype.name
        if name not in _SCALARS:
            raise _refuse(value, where)
        return {"$scalar": [name, self.encode(value.item(), where)]}

    def _array(self, value: NDArray[Any], where: str) -> Any:
        if value.dtype.kind in "biu" and value.ndim == 1:  # labels, for the most part
            return {"$whole": [value.dtype.newbyteorder("<").str, value.tolist()]}
        if value.dtype.kind in "biuf" and value.dtype.itemsize <= 8:
            self.arrays.append(value)
            return {"$array": len(self.arrays) - 1}
        if value.dtype.kind not in "UO" or value.ndim != 1:
            raise _refuse(value, where)
        return {"$objects": self._each(value.tolist(), where)}

    def _record(self, value: Any, where: str) -> Any:
        name = type(value).__name__
        for home in RECORD_HOMES:
            if getattr(importlib.import_module(home), name, None) is type(value):
                parts = {
                    f.name: getattr(value, f.name) for f in fields(value) if f.init
                }
                inner = {k: self.encode(v, f"{where}.{k}") for k, v in parts.items()}
                return {"$record": [home, name, inner]}
        raise _refuse(value, where)


def _plain_object(value: Any) -> Any:
    if isinstance(value, Decimal):
        return {"$decimal": str(value)}
    if isinstance(value, datetime.datetime):
        # A pandas Timestamp is one, and equal to it, unless it counts nanoseconds.
        if getattr(value, "nanosecond", 0):
            raise _refuse(value, "a label")
        return {"$datetime": value.isoformat()}
    return {"$date": value.isoformat()}


def _refuse(value: Any, where: str) -> ModelFileError:
    cure = "Use a plain value before saving: text, a number, a list, an array."
    if where == "random_state":
        cure = "A whole number can be stored: model.set_params(random_state=0)."
    return ModelFileError(
        f"{where} holds a {type(value).__module__}.{type(value).__qualname__}, which a "
        f"model file does not store. {cure}"
    )


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

    def decode(self, stored: Any) -> Any:
        """Return the value that a piece of JSON stands for."""
        if isinstance(stored, list):
            return [self.decode(each) for each in stored]
        if not isinstance(stored, dict):
            return stored
        marks = [key for key in stored if key.startswith("$")]
        if not marks:
            return {key: self.decode(each) for key, each in stored.items()}
        read = _READERS.get(marks[0])
        if read is None or len(stored) > 1:
            raise ModelFileError(
                f"it holds {marks[0][:20]!r}, which is not known here."
            )
        return read(self, stored[marks[0]])

    def _list(self, stored: Any) -> list[Any]:
        if not isinstance(stored, list):
            raise ModelFileError("a list is expected where it has another value.")
        return [self.decode(each) for each in stored]

    def _float(self, stored: Any) -> float:
        if stored not in ("nan", "inf", "-inf"):
            raise ValueError(f"{str(stored)[:20]} as a number")
        return float(stored)

    def _dict(self, stored: Any) -> dict[Any, Any]:
        return dict(self._list(stored))

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
        home, name, parts = stored
        if home not in RECORD_HOMES or not isinstance(name, str):
            raise ValueError(f"a record of {str(home)[:40]}")
        cls = getattr(importlib.import_module(home), name, None)
        if not (isinstance(cls, type) and is_dataclass(cls)):
            raise ValueError(f"no record is called {name[:40]}")
        return cls(**self.decode(parts))


_READERS: dict[str, Any] = {
    "$float": Decoder._float,
    "$tuple": lambda self, stored: tuple(self._list(stored)),
    "$dict": Decoder._dict,
    "$scalar": Decoder._scalar,
    "$array": Decoder._array,
    "$whole": Decoder._whole,
    "$objects": Decoder._objects,
    "$record": Decoder._record,
    "$decimal": lambda self, stored: Decimal(stored),
    "$datetime": lambda self, stored: datetime.datetime.fromisoformat(stored),
    "$date": lambda self, stored: datetime.date.fromisoformat(stored),
}


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
    if not mark.startswith("$"):
        return {key: plain(each) for key, each in stored.items()}
    if mark == "$float":
        return None
    if mark in ("$tuple", "$objects"):
        return plain(value)
    if mark in ("$whole", "$scalar"):
        return plain(value[1])
    if mark == "$dict":
        return {str(plain(key)): plain(each) for key, each in value}
    if mark == "$record":
        return {"record": value[1], **plain(value[2])}
    return f"array {value}" if mark == "$array" else str(value)
