"""Any bytes as a model file: a `ModelFileError`, or the same predictions.

A fuzzer cannot guess a checksum, so the bytes are tried as they are, as changes of a
sound file, and as a description and an array that are packed with their checksums.
"""

import json
from contextlib import suppress

from engine import go, instrumented

with instrumented():
    from file_checks import check_model
    from rankfair.files import archive
    from rankfair.files import model_files as files
    from rankfair.input.errors import ModelFileError

from rankfair import MultiTaskRegressor

X = [[0.0, 1], [1.0, 1], [2.5, 1], [0.0, 2], [1.0, 2], [2.0, 2]]
MODEL = MultiTaskRegressor(tasks=1, penalty="shared", beta=0.1, unseen="shared")
MODEL.fit(X, [0, 1, 2, 5, 3, 1.5])
RAW = files.model_bytes(MODEL)
BODY, ARRAYS = archive.unpack(RAW)
EXPECTED = MODEL.predict(X)


def check(raw: bytes) -> None:
    """Try the bytes in three ways; the first byte chooses."""
    check_model(raw, X, EXPECTED)
    if len(raw) < 4:
        return
    kind, place, rest = raw[0] % 3, int.from_bytes(raw[1:3], "little"), raw[3:]
    if kind == 0:
        at = place % len(RAW)
        check_model(RAW[:at] + rest + RAW[at + len(rest) :], X, EXPECTED)
    elif kind == 1:
        _forged_description(rest)
    else:
        _forged_array(rest)


def _forged_description(rest: bytes) -> None:
    """Put any JSON in place of an attribute: refused, or a model all the same."""
    try:
        stored = json.loads(rest)
        name = sorted(BODY["fitted"])[len(rest) % len(BODY["fitted"])]
        body = {**BODY, "fitted": {**BODY["fitted"], name: stored}}
        packed = archive.pack(body, ARRAYS)
    except (ValueError, RecursionError):
        return
    with suppress(ModelFileError):
        files.model_of(packed)
        files.describe_bytes(packed)


def _forged_array(rest: bytes) -> None:
    with suppress(ModelFileError):
        archive._from_npy(rest, "an array")


SEEDS = [
    RAW,
    b"\x00\x10\x00abc",
    b'\x01\x00\x00{"$tuple": [1, {"$float": "nan"}]}',
    b'\x01\x00\x00{"$record": ["rankfair.penalties", "Ridge", {"beta": 1.0}]}',
    b'\x01\x00\x00{"$array": 1}',
    b'\x01\x00\x00{"$dict": [["a", {"$scalar": ["float64", 1.5]}]]}',
    b"\x02\x00\x00" + archive._to_npy(ARRAYS[0]),
]

if __name__ == "__main__":
    go(check, SEEDS)
