"""Model files that were changed, cut or made by others are refused."""

import io
import json
import tracemalloc
import zipfile
from random import Random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from file_checks import check_model
from rankfair import MultiTaskRegressor, describe_model, load_model
from rankfair.cli.describe import card_of, words_of
from rankfair.files.archive import DIGEST, META, pack, signed, unpack
from rankfair.files.model_files import describe_bytes, model_bytes, model_of
from rankfair.input.disk import write_whole
from rankfair.input.errors import ModelFileError
from saved import (
    MODELS,
    OTHER_ARRAYS,
    PLAIN,
    Y,
    mutated,
    own_rows,
    stored,
    tampered,
    zipped,
)

SMALL = MultiTaskRegressor(tasks=1, penalty="shared", beta=0.1, unseen="shared").fit(
    [[0.0, 1], [1.0, 1], [2.5, 1], [0.0, 2], [1.0, 2], [2.0, 2]], [0, 1, 2, 5, 3, 1.5]
)
RAW = model_bytes(SMALL)
NEW = [[0.5, 1], [0.7, 2], [3.0, 9]]
EXPECTED = SMALL.predict(NEW)
COEF_FILE = f"arrays/{unpack(RAW)[0]['fitted']['coef_']['$array']}.npy"


def npy(array):
    stream = io.BytesIO()
    np.save(stream, array)
    return stream.getvalue()


ONE = npy(np.zeros(1))
HUGE = ONE.replace(b"(1,)", b"(9" + b"9" * 9 + b",)").replace(b" " * 9, b"", 1)
NO_ARRAY = "no .npy array"


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("../evil.npy", b"", "its members are not"),
        ("arrays/7.npy", ONE, "its members are not"),
        ("arrays/0.npy", b"", NO_ARRAY),
        ("arrays/0.npy", HUGE, "bytes follow"),
        ("arrays/0.npy", ONE + b"more", "bytes follow"),
        ("arrays/0.npy", ONE.replace(b"<f8", b"<f\xff"), NO_ARRAY),
        ("arrays/0.npy", npy(np.zeros(2, "U3")), NO_ARRAY),
        ("arrays/0.npy", npy(np.zeros((3, 2), order="F")), NO_ARRAY),
        (COEF_FILE, npy(np.zeros((2, 5))), "coef_ should be finite numbers"),
        (COEF_FILE, npy(np.full((2, 1), np.nan)), "coef_ should be finite"),
        (COEF_FILE, npy(np.zeros((2, 1), np.float32)), "coef_ is of another"),
    ],
)
def test_a_forged_member_is_refused(name, content, said):
    with pytest.raises(ModelFileError, match=said):
        model_of(tampered(RAW, {name: content}))


FITTED_TO_ARRAYS = MultiTaskRegressor().fit(PLAIN[["x1", "x2"]], Y, tasks=PLAIN["task"])


def saved(name):
    if name == "arrays":
        return model_bytes(FITTED_TO_ARRAYS)
    return RAW if name == "small" else stored(name)


GONE = object()


def forged(raw, path, value):
    """Return the bytes with one part of the description lost or replaced."""
    body = inner = unpack(raw)[0]
    for key in path[:-1]:
        inner = inner[key]
    if value is GONE:
        del inner[path[-1]]
    else:  # a text in <> is what another part beside it is
        same = isinstance(value, str) and value.startswith("<")
        inner[path[-1]] = inner[value[1:-1]] if same else value
    return tampered(raw, {}, body)


def test_what_is_no_number_in_json_is_not_known():
    found = describe_bytes(forged(RAW, ("extra",), {"a": [np.nan, np.inf]}))
    assert found["extra"] == {"a": [None, None]}


N_ITER, COEF = ("fitted", "n_iter_"), ("fitted", "coef_")
LAYOUT = ("fitted", "_layout", "$record", 1)
NOTHING = "stands for nothing known here"
ENCODERS = (*LAYOUT, "protected")
FIRST = (*ENCODERS, "$tuple", 0, "$record", 1)
LINE = ("fitted", "_trade_off", "$record", 1)
INF = {"$float": "inf"}
MARKS = [{"$what": 1}, {"$array": -1}, {"$tuple": 3}, {"$float": "1"}, {"$date": 3}]
MARKS += [{"$scalar": ["object", 1]}, {"$record": ["os.system", {}]}]
# Which model, where in its description, what is put there, and what is said of it.
FORGERIES = [
    ("small", ("estimator",), "os.system", "it holds a 'os.system'"),
    ("small", ("estimator",), 3, "lacks 'estimator'"),
    ("small", ("params", "other"), 1, "setting 'other'"),
    ("small", ("fitted", "__class__"), 1, "attribute '__class__'"),
    ("small", ("fitted", "beta"), 1, "attribute 'beta'"),
    ("small", COEF, None, "coef_ is of another type"),
    ("small", COEF, {"$array": 99}, "unsound"),
    ("small", COEF, {"$array": 0, "$b": 1}, NOTHING),
    *[("small", N_ITER, mark, NOTHING) for mark in MARKS],
    ("small", N_ITER, {"$decimal": "x"}, "unsound"),
    ("small", N_ITER, {"$dict": [[[], 1]]}, "unsound"),
    ("small", N_ITER, {"$record": ["ridge", {"beta": "a"}]}, "beta of a ridge"),
    ("small", ("fitted", "n_features_in_"), 1, "not there"),
    ("small", ("fitted", "n_features_in_"), "2", "of another type"),
    ("small", ("fitted", "resolution_"), 0.3, "power of two"),
    ("small", ("fitted", "shared_coef_"), "<coef_>", "shared_coef_ should be"),
    ("small", ("fitted", "shared_intercept_"), INF, "shared_intercept_ should"),
    ("small", ("fitted", "feature_names_in_"), {"$objects": ["a"]}, "names of columns"),
    ("small", ("fitted", "feature_names_in_"), {"$objects": ["a", 1]}, "are unsound"),
    ("small", (*LAYOUT, "tasks"), {"$objects": [1, 1]}, "tasks of a layout"),
    ("small", (*LAYOUT, "tasks"), {"$objects": [1]}, "coef_ should be"),
    ("small", (*LAYOUT, "predictors"), {"$tuple": [-1]}, "not there"),
    ("small", (*LAYOUT, "predictors"), {"$tuple": [1]}, "not use each of them once"),
    ("small", (*LAYOUT, "task_columns"), {"$tuple": []}, "not use each of them once"),
    ("small", (*LAYOUT, "unused"), {"$tuple": [1]}, "not use each of them once"),
    ("small", ("fitted", "n_features_in_"), 10**12, "not there"),
    ("small", (*LAYOUT, "extra"), 1, "unsound"),
    ("protected", ENCODERS, None, "protected of a layout"),
    ("protected", ENCODERS, {"$tuple": []}, "differ in number"),
    ("protected", (*FIRST, "column"), 99, "no predictor"),
    ("protected", (*FIRST, "labels"), None, r"stands for no z should be .* \(1,\)"),
    ("protected", (*FIRST, "labels"), {"$objects": ["a"]}, "one label only"),
    ("protected", (*FIRST, "labels"), {"$objects": ["a"] * 2}, "labels of a group_enc"),
    ("protected", (*LAYOUT, "predictors"), {"$tuple": []}, "no predictors"),
    ("arrays", (*LAYOUT, "task_columns"), None, "does not read which"),
    ("protected", ("fitted", "tasks_"), GONE, "lacks tasks_"),
    ("protected", ("fitted", "status_"), 3, "status_"),
    ("protected", ("fitted", "tasks_"), {"$objects": ["p", "q"]}, "tasks_ are not"),
    (
        "protected",
        ("fitted", "predictors_"),
        {"$objects": ["p"]},
        "predictors_ are not",
    ),
    ("protected", ("params", "epsilon"), -1.0, "a setting of it is unsound"),
    ("line", LINE[:2], 3, "_trade_off is of another type"),
    ("line", (*LINE, "table"), None, "no table"),
    ("line", (*LINE, "table"), "<intercept>", "no table"),
    ("line", (*LINE, "coef"), "<intercept>", "coef of its line"),
    ("line", (*LINE, "intercept_slope"), "<coef>", "intercept_slope of its line"),
]


@pytest.mark.parametrize(("name", "path", "value", "said"), FORGERIES)
def test_a_forged_description_is_refused(name, path, value, said):
    with pytest.raises(ModelFileError, match=said):
        model_of(forged(saved(name), path, value))


def with_meta(text, kind=zipfile.ZIP_STORED):
    return zipped([(META, text)], kind)


GOOD = {"format": "rankfair-model", "version": 3}


@pytest.mark.parametrize(
    ("raw", "said"),
    [
        (b"", "no zip archive"),
        (b"\x80\x04K\x01.", "pickle"),
        (b"PK\x03\x04 and no more", "its checksum differs"),
        (signed(b"PK\x03\x04" + bytes(DIGEST)), "unsound, .*BadZipFile"),
        (zipped([("arrays/0.npy", ONE)]), "its members are not"),
        (zipped([(META, "")] * 2), "its members are not"),
        (zipped([(f"arrays/{i}.npy", "") for i in range(1001)]), "1001 members"),
        (with_meta("{}", zipfile.ZIP_DEFLATED), "is compressed"),
        (with_meta("{")[:-1] + b"x", "its checksum differs"),
        (with_meta("{"), "not sound JSON"),
        (with_meta(b"\xff"), "not sound JSON"),
        (with_meta("[" * 100_000), "not sound JSON"),
        (with_meta("[]"), "does not say"),
        (with_meta(json.dumps({**GOOD, "version": 2})), "version 2; this release r"),
        (with_meta(json.dumps({**GOOD, "version": True})), "version True"),
        (with_meta(json.dumps(GOOD)), "no object"),
        (pack({}, []), "lacks 'estimator'"),
    ],
)
def test_another_file_is_refused_with_the_reason(tmp_path, raw, said):
    path = tmp_path / "a.rankfair"
    path.write_bytes(raw)
    for read in (load_model, describe_model):
        with pytest.raises(ModelFileError, match=said) as caught:
            read(path)
        assert str(path) in str(caught.value)


def test_sizes_that_lie_and_bombs_are_refused(tmp_path):
    with pytest.raises(ModelFileError, match="larger than 67,108,864 bytes"):
        model_of(with_meta(b" " * (65 << 20)))
    # In the directory at the end the sizes of a member are at 20 and 24.
    place = RAW.index(b"PK\x01\x02")
    for at, put, said in (
        (20, (10**8).to_bytes(4, "little") * 2, "larger than the file"),
        (24, bytes([RAW[place + 24] ^ 1]), "unsound"),
        (8, bytes([RAW[place + 8] | 1]), "encrypted"),
    ):
        lie = RAW[: place + at] + put + RAW[place + at + len(put) :]
        with pytest.raises(ModelFileError, match=said):
            model_of(signed(lie))
    path = write_whole(tmp_path / "a.rankfair", RAW)
    with pytest.raises(ModelFileError, match=r"larger than .* 100 bytes"):
        load_model(path, max_bytes=100)
    assert load_model(path, max_bytes=len(RAW)) is not None
    with pytest.raises(ModelFileError, match="No such file"):
        load_model(tmp_path / "none")
    with pytest.raises(ModelFileError, match="cannot be read"):
        load_model("a\0b")


@settings(max_examples=120)
@given(name=st.sampled_from(["arrays", *MODELS]), seed=st.integers(0, 2**32))
def test_whatever_is_forged_is_refused_or_works(name, seed):
    random, raw = Random(seed), saved(name)
    body, arrays = unpack(raw)
    members = {}
    if random.random() < 0.2:
        at = random.randrange(len(arrays))
        members[f"arrays/{at}.npy"] = npy(random.choice(OTHER_ARRAYS))
    changed = tampered(raw, members, mutated(body, random))
    try:
        said, model = describe_bytes(changed), model_of(changed)
    except ModelFileError as error:
        assert str(error).strip()
        return
    assert json.loads(json.dumps(said, allow_nan=False)) == said
    assert "".join(words_of(said)) and "".join(card_of(said))
    rows, tasks = own_rows(model)
    predicted = model.predict(rows, tasks=tasks)
    assert predicted.shape == (len(model.tasks_),) and np.isfinite(predicted).all()
    assert model_of(model_bytes(model)).get_params().keys() == model.get_params().keys()


def test_long_labels_take_the_room_of_their_letters():
    labels = [f"{i:03}" for i in range(500)] + ["z" * 100_000]
    tasks = np.array(labels, object).repeat(2)
    X, y = np.arange(len(tasks))[:, None] % 3.0, np.arange(len(tasks)) % 5.0
    tracemalloc.start()
    try:
        model = MultiTaskRegressor(beta=1.0).fit(X, y, tasks=tasks)
        raw = model_bytes(model)
        again = model_of(raw)
        most = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    letters = sum(map(len, labels))
    assert len(raw) < 3 * letters + 100_000
    assert most < 20 * letters + 10_000_000
    predicted = again.predict(X, tasks=tasks)
    np.testing.assert_array_equal(predicted, model.predict(X, tasks=tasks))


PLACES = st.integers(0, len(RAW))


@settings(max_examples=60)
@given(PLACES, PLACES, st.integers(0, 7), st.binary(max_size=200))
def test_whatever_is_damaged_is_refused_or_does_no_harm(at, other, bit, put):
    flipped = bytearray(RAW)
    flipped[min(at, len(RAW) - 1)] ^= 1 << bit
    start, stop = sorted((at, other))
    for raw in (
        bytes(flipped),
        RAW[:at] + put + RAW[at:],
        RAW[:at] + RAW[start:stop] + RAW[at:],
        RAW[:start] + RAW[stop:],
    ):
        check_model(raw, NEW, EXPECTED)
    for raw in (RAW[: min(at, len(RAW) - 1)], put, b"PK\x03\x04" + put):
        with pytest.raises(ModelFileError):
            model_of(raw)
