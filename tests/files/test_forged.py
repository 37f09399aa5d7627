"""Model files that were changed, cut or made by others are refused."""

import io
import json
import tracemalloc
import warnings
import zipfile
from functools import cache
from random import Random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from file_checks import check_model
from rankfair import (
    DecisionBoundaryCovariance,
    MultiTaskRegressor,
    RankFairRegressor,
    StratifiedEqualMeans,
    load_model,
)
from rankfair.cli.describe import card_of, words_of
from rankfair.files.archive import META, pack, unpack
from rankfair.files.model_files import (
    describe_bytes,
    describe_model,
    model_bytes,
    model_of,
)
from rankfair.input.disk import write_whole
from rankfair.input.errors import ModelFileError
from saved import (
    FRAME,
    NAMED,
    OTHER_ARRAYS,
    Y,
    mutated,
    own_rows,
    several_groups,
    tampered,
    zipped,
)

SMALL = MultiTaskRegressor(tasks=1, penalty="shared", beta=0.1, unseen="shared").fit(
    [[0.0, 1], [1.0, 1], [2.5, 1], [0.0, 2], [1.0, 2], [2.0, 2]], [0, 1, 2, 5, 3, 1.5]
)
RAW = model_bytes(SMALL)
NEW = [[0.5, 1], [0.7, 2], [3.0, 9]]
EXPECTED = SMALL.predict(NEW)
BODY, ARRAYS = unpack(RAW)
COEF_FILE = f"arrays/{BODY['fitted']['coef_']['$array']}.npy"


def npy(array):
    stream = io.BytesIO()
    np.save(stream, array)
    return stream.getvalue()


HUGE = (
    npy(np.zeros(1))
    .replace(b"(1,)", b"(9" + b"9" * 9 + b",)")
    .replace(b" " * 9, b"", 1)
)
ONE = npy(np.zeros(1))


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("../evil.npy", b"", "no part of a model file"),
        ("model.pkl", b"", "no part of a model file"),
        ("arrays/7.npy", ONE, "not numbered one by one"),
        ("arrays/0.npy", b"", "no .npy array"),
        ("arrays/0.npy", HUGE, "bytes follow"),
        ("arrays/0.npy", ONE + b"more", "bytes follow"),
        ("arrays/0.npy", ONE.replace(b"<f8", b"<f\xff"), "no .npy array"),
        ("arrays/0.npy", ONE.replace(b"{'d", b"{(d"), "no .npy array"),
        ("arrays/0.npy", npy(np.zeros(2, "U3")), "no .npy array"),
        ("arrays/0.npy", npy(np.zeros((3, 2), order="F")), "no .npy array"),
        (COEF_FILE, npy(np.zeros((2, 5))), "coef_ should be finite numbers"),
        (COEF_FILE, npy(np.full((2, 1), np.nan)), "coef_ should be finite"),
        (COEF_FILE, npy(np.zeros((2, 1), np.float32)), "coef_ is of another"),
    ],
)
def test_a_forged_member_is_refused(name, content, said):
    with pytest.raises(ModelFileError, match=said):
        model_of(tampered(RAW, {name: content}))


def test_forging_with_the_same_members_changes_nothing():
    np.testing.assert_array_equal(model_of(tampered(RAW, {})).predict(NEW), EXPECTED)


@cache
def protected():
    rng = np.random.default_rng(0)
    frame = several_groups().assign(age=rng.uniform(20, 70, len(FRAME)))
    groups = {"sensitive_features": ["z", "age"], "blind": False, "bins": 2}
    model = RankFairRegressor(0.1, tasks="task", max_iter=5, **groups)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a few steps are enough here
        return model_bytes(model.fit(frame, Y))


def forged(raw, path, value):
    """Return the bytes with one part of the description lost or replaced."""
    body = inner = unpack(raw)[0]
    for key in path[:-1]:
        inner = inner[key]
    if value is GONE:
        del inner[path[-1]]
    else:
        inner[path[-1]] = value
    return tampered(raw, {}, body)


GONE = object()
N_ITER, COEF = ("fitted", "n_iter_"), ("fitted", "coef_")
LAYOUT = ("fitted", "_layout", "$record", 1)


@pytest.mark.parametrize(
    ("path", "value", "said"),
    [
        (("estimator",), "os.system", "it holds a 'os.system'"),
        (("estimator",), 3, "lacks 'estimator'"),
        (("params", "other"), 1, "setting 'other'"),
        (("fitted", "predict"), 1, "attribute 'predict'"),
        (("fitted", "__class__"), 1, "attribute '__class__'"),
        (("fitted", "beta"), 1, "attribute 'beta'"),
        (COEF, None, "coef_ is of another type"),
        (COEF, {"$array": 99}, "unsound"),
        *(
            (N_ITER, {mark: held}, "stands for nothing known here")
            for mark, held in [
                *(("$what", 1), ("$array", -1), ("$tuple", 3), ("$float", "1")),
                *(("$scalar", ["object", 1]), ("$record", ["os.system", {}])),
                *(("$record", [["ridge"], {}]), ("$date", 3)),
            ]
        ),
        (COEF, {"$array": 0, "$b": 1}, "stands for nothing known here"),
        (N_ITER, {"$decimal": "x"}, "unsound"),
        (N_ITER, {"$dict": [[[], 1]]}, "unsound"),
        (N_ITER, {"$record": ["ridge", {"beta": "a"}]}, "beta of a ridge"),
        (("fitted", "n_features_in_"), 1, "not there"),
        (("fitted", "n_features_in_"), "2", "of another type"),
        (("fitted", "resolution_"), 0.3, "power of two"),
        (("fitted", "shared_coef_"), BODY["fitted"]["coef_"], "shared_coef_ should be"),
        (("fitted", "shared_intercept_"), None, "shared_intercept_ should be"),
        (
            ("fitted", "shared_intercept_"),
            {"$float": "inf"},
            "shared_intercept_ should",
        ),
        (("fitted", "feature_names_in_"), {"$objects": ["a"]}, "names of columns"),
        (("fitted", "feature_names_in_"), {"$objects": ["a", 1]}, "are no text"),
        ((*LAYOUT, "tasks"), {"$objects": [1, 1]}, "tasks of a layout"),
        ((*LAYOUT, "tasks"), {"$objects": [1]}, "coef_ should be"),
        ((*LAYOUT, "names"), {"$tuple": []}, "coef_ should be"),
        ((*LAYOUT, "predictors"), {"$tuple": [-1]}, "not there"),
        ((*LAYOUT, "predictors"), {"$tuple": [1]}, "reads a column twice"),
        ((*LAYOUT, "task_columns"), {"$tuple": []}, "neither tasks nor predictors"),
        ((*LAYOUT, "task_columns"), {}, "task_columns of a layout"),
        ((*LAYOUT, "extra"), 1, "unsound"),
    ],
)
def test_a_forged_description_is_refused(path, value, said):
    with pytest.raises(ModelFileError, match=said):
        model_of(forged(RAW, path, value))


ENCODERS = (*LAYOUT, "protected")
FIRST = (*ENCODERS, "$tuple", 0, "$record", 1)


@pytest.mark.parametrize(
    ("path", "value", "said"),
    [
        (ENCODERS, None, "protected of a layout"),
        (ENCODERS, {"$tuple": []}, "differ in number"),
        ((*FIRST, "column"), 99, "no predictor"),
        ((*FIRST, "column"), "z", "column of a group_encoder"),
        ((*FIRST, "labels"), None, r"stands for no z should be .* \(1,\)"),
        ((*FIRST, "labels"), {"$objects": ["a"]}, "one label only"),
        (
            (*FIRST, "labels"),
            {"$objects": ["a", "b", "b"]},
            "labels of a group_encoder",
        ),
        ((*FIRST, "fill"), {"$float": "nan"}, "fill of a group_encoder"),
        ((*LAYOUT, "predictors"), {"$tuple": []}, "no predictors"),
        ((*LAYOUT, "task_columns"), None, "does not read which"),
        ((*LAYOUT, "groups"), 3, "groups of a layout"),
        (("fitted", "tasks_"), GONE, "lacks tasks_"),
        (("fitted", "groups_"), GONE, "lacks groups_"),
        (("fitted", "bin_edges_"), GONE, "lacks bin_edges_"),
        (("fitted", "status_"), 3, "status_"),
        (("fitted", "groups_"), {"z": 3}, "groups_"),
        (("fitted", "bin_edges_"), {"age": 3}, "bin_edges_"),
        (("fitted", "tasks_"), {"$objects": ["p", "q", "r", "s"]}, "tasks_ are not"),
        (("fitted", "predictors_"), {"$objects": ["p"]}, "predictors_ are not"),
        (("params", "epsilon"), -1.0, "setting"),
        (("params", "beta"), [1], "setting"),
        (("params", "penalty"), 3, "setting"),
        (("params", "bins"), "2", "setting"),
        (("params", "tasks"), {"a": 1}, "setting"),
        (("params", "sensitive_features"), [1.5], "setting"),
    ],
)
def test_parts_that_do_not_fit_are_refused_before_they_are_used(path, value, said):
    with pytest.raises(ModelFileError, match=said):
        model_of(forged(protected(), path, value))


@pytest.mark.parametrize(
    ("path", "value", "said"),
    [
        (("table",), None, "no table"),
        (("table",), ("intercept",), "no table"),
        (("coef",), ("intercept",), "coef of its line"),
        (("intercept_slope",), ("coef",), "intercept_slope of its line"),
    ],
)
def test_a_line_of_another_model_is_refused(path, value, said):
    line = unpack(saved("line"))[0]["fitted"]["_trade_off"]["$record"][1]
    path = ("fitted", "_trade_off", "$record", 1, *path)
    value = None if value is None else line[value[0]]
    with pytest.raises(ModelFileError, match=said):
        model_of(forged(saved("line"), path, value))


@pytest.mark.parametrize(
    ("cls", "name", "value"),
    [
        (MultiTaskRegressor, "beta", -1.0),
        (StratifiedEqualMeans, "n_strata", 0),
        (DecisionBoundaryCovariance, "method", "guess"),
    ],
)
@pytest.mark.filterwarnings("ignore:sensitive_features was not given")
def test_each_kind_of_model_checks_its_settings(cls, name, value):
    raw = model_bytes(cls().fit([[0.0], [1.0], [2.5]], [0, 1, 2]))
    body, _ = unpack(raw)
    body["params"][name] = value
    with pytest.raises(ModelFileError, match="a setting of it is unsound"):
        model_of(tampered(raw, {}, body))


def with_meta(text, kind=zipfile.ZIP_STORED, name=META):
    return zipped([(name, text)], kind)


GOOD = {"format": "rankfair-model", "version": 3}


@pytest.mark.parametrize(
    ("raw", "said"),
    [
        (b"", "no zip archive"),
        (b"\x80\x04K\x01.", "pickle"),
        (b"PK\x03\x04 and no more", "damaged or cut"),
        (with_meta("", name="a.txt"), "no part of a model file"),
        (zipped([("arrays/0.npy", ONE)]), r"no meta\.json"),
        (zipped([(META, "")] * 2), "twice"),
        (zipped([(f"arrays/{i}.npy", "") for i in range(1001)]), "1001 members"),
        (with_meta("{}", zipfile.ZIP_DEFLATED), "is compressed"),
        (with_meta("{")[:-1] + b"x", "its checksum differs"),
        (with_meta("{"), "not sound JSON"),
        (with_meta(b"\xff"), "not sound JSON"),
        (with_meta("[" * 100_000), "not sound JSON"),
        (with_meta('{"a": 1, "a": 2}'), "twice in one object"),
        (with_meta('{"a": NaN}'), "holds NaN"),
        (with_meta('{"a": 1e999}'), "holds 1e999"),
        (with_meta("[]"), "does not say"),
        (with_meta('{"format": "other"}'), "does not say"),
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


def test_a_bomb_is_refused_before_it_is_inflated():
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr(META, b" " * (50 << 20))
    assert len(stream.getvalue()) < 100_000
    with pytest.raises(ModelFileError, match="is compressed"):
        model_of(stream.getvalue())
    with pytest.raises(ModelFileError, match="larger than 67,108,864 bytes"):
        model_of(with_meta(b" " * (65 << 20)))


def test_sizes_that_lie_are_refused():
    # In the directory at the end the sizes of a member are at 20 and 24.
    place = RAW.index(b"PK\x01\x02")
    lie = bytearray(RAW)
    lie[place + 20 : place + 28] = (10**8).to_bytes(4, "little") * 2
    with pytest.raises(ModelFileError, match="larger than the file"):
        model_of(bytes(lie))
    lie = bytearray(RAW)
    lie[place + 24] ^= 1
    with pytest.raises(ModelFileError, match="size it declares"):
        model_of(bytes(lie))
    locked = bytearray(RAW)
    locked[place + 8] |= 1
    with pytest.raises(ModelFileError, match="encrypted"):
        model_of(bytes(locked))


def test_large_files_are_refused(tmp_path):
    path = write_whole(tmp_path / "a.rankfair", RAW)
    with pytest.raises(ModelFileError, match=r"larger than .* 100 bytes"):
        load_model(path, max_bytes=100)
    assert load_model(path, max_bytes=len(RAW)) is not None
    with pytest.raises(ModelFileError, match="No such file"):
        load_model(tmp_path / "none")
    with pytest.raises(ModelFileError, match="cannot be read"):
        load_model("a\0b")


KINDS = {
    "shared": (MultiTaskRegressor(tasks="task", penalty="shared", unseen="shared"), {}),
    "arrays": (MultiTaskRegressor(), {"tasks": FRAME["task"].to_numpy()}),
    "two": (RankFairRegressor(0.1, **NAMED, blind=False), {}),
    "line": (RankFairRegressor(0.1, **NAMED), {}),
    "both": (
        RankFairRegressor(
            0.1, tasks=["task", "z"], sensitive_features="z", blind=False
        ),
        {},
    ),
    "strata": (StratifiedEqualMeans(**NAMED), {}),
    "covariance": (DecisionBoundaryCovariance(**NAMED), {}),
}


@cache
def saved(name):
    if name == "protected":
        return protected()
    model, passed = KINDS[name]
    return model_bytes(model.fit(FRAME.astype(float), Y, **passed))


@pytest.mark.parametrize("name", [*KINDS, "protected"])
@settings(max_examples=200)
@given(seed=st.integers(0, 2**32))
def test_whatever_is_forged_is_refused_or_works(name, seed):
    random, raw = Random(seed), saved(name)
    body, arrays = unpack(raw)
    members = {}
    if random.random() < 0.2:
        at = random.randrange(len(arrays))
        members[f"arrays/{at}.npy"] = npy(random.choice(OTHER_ARRAYS))
    forged = tampered(raw, members, mutated(body, random))
    try:
        said, model = describe_bytes(forged), model_of(forged)
    except ModelFileError as error:
        assert str(error).strip()
        return
    assert json.loads(json.dumps(said, allow_nan=False)) == said
    assert "".join(words_of(said)) and "".join(card_of(said))
    rows, tasks = own_rows(model)
    predicted = model.predict(rows, tasks=tasks)
    assert predicted.shape == (len(model.tasks_),) and np.isfinite(predicted).all()
    assert model_of(model_bytes(model)).get_params().keys() == model.get_params().keys()


def peak(call):
    tracemalloc.start()
    try:
        found = call()
        return found, tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize(
    "labels",
    [
        [f"{i}" for i in range(500)] + ["z" * 100_000],
        [f"{i:03}" + "z" * 100_000 for i in range(10)],
    ],
    ids=["one", "each"],
)
def test_long_labels_take_the_room_of_their_letters(labels):
    letters = sum(map(len, labels))
    tasks = np.array(labels, object).repeat(2)
    X, y = np.arange(len(tasks))[:, None] % 3.0, np.arange(len(tasks)) % 5.0
    model = MultiTaskRegressor(beta=1.0)
    _, fitting = peak(lambda: model.fit(X, y, tasks=tasks))
    raw, saving = peak(lambda: model_bytes(model))
    again, loading = peak(lambda: model_of(raw))
    assert len(raw) < 3 * letters + 100_000
    assert max(fitting, saving, loading) < 20 * letters + 10_000_000
    predicted = again.predict(X, tasks=tasks)
    np.testing.assert_array_equal(predicted, model.predict(X, tasks=tasks))


@settings(max_examples=300)
@given(st.integers(0, 8 * len(RAW) - 1))
def test_a_flipped_bit_is_seen_or_does_no_harm(bit):
    raw = bytearray(RAW)
    raw[bit // 8] ^= 1 << bit % 8
    check_model(bytes(raw), NEW, EXPECTED)


@given(st.integers(0, len(RAW) - 1))
def test_a_cut_file_is_refused(cut):
    with pytest.raises(ModelFileError):
        model_of(RAW[:cut])


@settings(max_examples=300)
@given(
    st.integers(0, len(RAW)),
    st.integers(0, len(RAW)),
    st.integers(0, len(RAW)),
    st.binary(),
)
def test_a_spliced_file_is_refused_or_does_no_harm(at, start, stop, put):
    check_model(RAW[:at] + put + RAW[at:], NEW, EXPECTED)
    check_model(RAW[:at] + RAW[start:stop] + RAW[at:], NEW, EXPECTED)
    check_model(RAW[:at] + RAW[max(at, stop) :], NEW, EXPECTED)


@given(st.binary(max_size=200))
def test_any_bytes_are_refused(raw):
    with pytest.raises(ModelFileError):
        model_of(raw)
    with pytest.raises(ModelFileError):
        model_of(b"PK\x03\x04" + raw)
