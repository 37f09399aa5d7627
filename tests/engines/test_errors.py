"""What cannot be fitted or predicted is said in a sentence that names the place."""

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from sklearn.linear_model import LinearRegression

from rankfair import (
    MultiTaskRegressor,
    RankFairRegressor,
    RankFairRegressorCV,
    TiltedRegressor,
    predict_parquet,
    stream,
)
from rows_elsewhere import LARGE, sized

BY = {"tasks": "task", "sensitive_features": "group", "target": "pay"}


def rows(n_rows=60, **columns):
    rng = np.random.default_rng(0)
    return pd.DataFrame(
        {
            "age": rng.standard_normal(n_rows),
            "years": rng.integers(0, 9, n_rows),
            "task": np.arange(n_rows) % 3,
            "group": np.where(np.arange(n_rows) % 2, "f", "m"),
            "pay": rng.standard_normal(n_rows),
        }
        | columns
    )


@pytest.fixture
def folder(tmp_path):
    """Two files."""
    both(tmp_path, rows())
    return tmp_path


def both(folder, frame):
    for name in ("a", "b"):
        frame.to_parquet(folder / f"{name}.parquet")


@pytest.fixture
def model(folder):
    return fitted(folder)


def fitted(what, settings=None, sizes=None, **more):
    files = sized(stream(what, **{**BY, **more}), **(sizes or {}))
    return RankFairRegressor(0.1, **(settings or {})).fit(files)


def refused(what, words, *given, **more):
    with pytest.raises((ValueError, FileNotFoundError), match=words):
        fitted(what, *given, **more)


@pytest.mark.parametrize("sizes", [{}, LARGE], ids=["small", "large"])
@pytest.mark.parametrize(
    ("column", "value", "words"),
    [
        ("age", np.nan, r'must be finite, but has 1 NaN in column "age"\. Drop or'),
        ("age", np.inf, r'has 1 inf in column "age"'),
        ("pay", np.nan, r'has 1 NaN in column "pay"'),
        ("years", None, r'has 1 NaN in column "years"'),
        ("task", None, r'column "task" has 1 missing label in 60 rows'),
        ("group", None, r'column "group" has 1 missing label in'),
        ("w", -1.0, r'column "w" has 1 weights below 0 in 60 rows'),
        ("w", np.nan, r'has 1 NaN in column "w"'),
    ],
)
def test_values_that_are_not_there(folder, sizes, column, value, words):
    both(folder, rows(w=1.0))
    frame = rows(w=1.0).astype({column: object})
    frame.loc[7, column] = value
    with np.errstate(invalid="ignore"):  # pandas looks whether inf is a whole number
        frame.convert_dtypes().to_parquet(folder / "b.parquet")
    weight = "w" if column == "w" else None
    refused(folder, rf"b\.parquet.*{words}", None, sizes, sample_weight=weight)


def test_values_too_large_to_be_added_are_numbers_all_the_same(folder):
    both(folder, rows(age=1.5e308))
    assert np.isfinite(fitted(folder).coef_).all()


@pytest.mark.parametrize("name", ["age", "years"])
def test_values_too_large_to_be_squared(folder, name):
    """The column is named, and not one whose product with it is too large as well."""
    rows(**{name: rows()[name] * 1e305}).to_parquet(folder / "b.parquet")
    with np.errstate(all="ignore"):
        refused(
            folder, f'in column "{name}" that are too large to be squared', None, LARGE
        )


def broken(path):
    """A file whose pages are damaged, and whose footer is not."""
    rng = np.random.default_rng(0)
    long = pd.concat([rows()] * 300).assign(age=rng.standard_normal(18_000))
    long.to_parquet(path, compression="none")
    raw = bytearray(path.read_bytes())
    raw[4:100_000] = b"\xff" * len(raw[4:100_000])
    path.write_bytes(raw)


WRITE = {
    r"b\.parquet cannot be read as": lambda path: path.write_bytes(b"PAR1, no more"),
    r"b\.parquet cannot be read as Parquet: ": broken,
    r'b\.parquet has no column "age", which .*a\.parquet has': lambda path: (
        rows().drop(columns="age").to_parquet(path)
    ),
    r'a\.parquet has no column "more", which .*b\.parquet has': lambda path: rows(
        more=1.0
    ).to_parquet(path),
    r'b\.parquet: column "age" holds .*string, but double in ': lambda path: (
        rows().astype({"age": str}).to_parquet(path)
    ),
}


@pytest.mark.parametrize(("words", "write"), WRITE.items())
def test_a_file_unlike_the_first(folder, words, write):
    write(folder / "b.parquet")
    refused(folder, words)


@pytest.mark.parametrize("name", ["age", "pay", "group", "task"])
def test_columns_of_the_same_name(folder, name):
    table = pa.table(rows())
    pq.write_table(table.append_column(name, table[name]), folder / "b.parquet")
    place = table.column_names.index(name) + 1
    said = rf'b\.parquet: columns {place} and 6 are both called "{name}": rename'
    refused(folder, said)
    refused(folder / "b.parquet", said)
    with pytest.raises(ValueError, match=said):
        stream(folder)


BY_COLUMNS = {
    'features must be numbers; got column "town", which holds .*string. Leave': {
        "town": "x"
    },
    'has one group only ."f".: there is nothing to compare': {"group": "f"},
    "must have two groups where .* got 3 groups .*Join": {"group": list("abc") * 20},
}
BY_STREAM = {
    '"agee" is no column of the files. Did you mean "age"': {"target": "agee"},
    '"aage" is no column of the files. Did you mean "age"': {"tasks": "aage"},
    '"zz" is no column of the files. There are "age"': {"sensitive_features": "zz"},
    "tasks must name columns, .*no positions; got 3": {"tasks": 3},
    'target must name the column to predict. .*target="pay"': {"target": None},
    'tasks must name another column than target; got "pay"': {"tasks": "pay"},
    "tasks must name another column than sample_weight": {
        "tasks": "age",
        "sample_weight": "age",
    },
    "sensitive_features must name another column than target": {
        "sensitive_features": "pay"
    },
    "features must leave a column to predict from": {"features": []},
    "no rows that weigh more than nothing": {"sample_weight": "none"},
}
BY_MODEL = {
    "tasks must be one column where .* Join": {"tasks": ["task", "age"]},
    "sensitive_features must be one column where": {
        "sensitive_features": ["group", "task"]
    },
    'tasks was given twice: "task" in .*, "years" in the': {"tasks": "years"},
    "sensitive_features was given twice": {"sensitive_features": "task"},
    'solver="ncadmm" needs the rows in memory': {"solver": "ncadmm"},
    'scope="task" needs the rows in memory': {"scope": "task"},
    "bins needs the rows in memory": {"bins": 3},
    "intersect needs the rows in memory": {"intersect": True},
    "constraints=.'rank', 'mean'. needs the": {"constraints": ["rank", "mean"]},
    'constraints="distribution" needs the': {"constraints": "distribution"},
    'direction="density" needs the rows': {"direction": "density"},
}


@pytest.mark.parametrize(("words", "columns"), BY_COLUMNS.items())
def test_columns_that_cannot_be_fitted(folder, words, columns):
    both(folder, rows(**columns))
    refused(folder, words)


@pytest.mark.parametrize(("words", "named"), BY_STREAM.items())
def test_names_that_cannot_be_fitted(folder, words, named):
    both(folder, rows(none=0.0))
    refused(folder, words, **named)


@pytest.mark.parametrize(("words", "settings"), BY_MODEL.items())
def test_settings_that_cannot_be_fitted(folder, words, settings):
    refused(folder, words, settings)


def test_columns_that_are_left_out_may_hold_text(folder):
    both(folder, rows(town="x"))
    assert fitted(folder, features=["age"]).predictors_.tolist() == ["age"]


def test_no_rows_and_no_files(tmp_path):
    refused(tmp_path, "no Parquet file is there")
    refused(tmp_path / "*.parquet", "no Parquet file is there")
    rows()[:0].to_parquet(tmp_path / "a.parquet")
    refused(tmp_path, "there are no rows: there is nothing to fit")


@pytest.mark.parametrize(
    ("words", "given"),
    [
        ('target was given twice: "pay" in .*, "age" in fit', {"y": "age"}),
        ("sample_weight was given .* Give one of them", {"sample_weight": "age"}),
        (
            "y must be a column where rows are in files; got a ndarray",
            {"y": np.zeros(120)},
        ),
        ("tasks was passed as an array", {"tasks": np.zeros(120)}),
        ("sample_weight was passed as an", {"sample_weight": np.zeros(120)}),
        ("features was passed as an", {"sensitive_features": np.zeros(120)}),
    ],
)
def test_what_fit_says_beside_a_stream(folder, words, given):
    both(folder, rows(w=1.0))
    there = stream(folder, **BY, sample_weight="w")
    with pytest.raises(ValueError, match=words):
        RankFairRegressor(0.1).fit(there, **given)
    same = RankFairRegressor(0.1, tasks="task", sensitive_features="group")
    same.fit(there, "pay", sample_weight="w")
    assert same.predictors_.tolist() == ["age", "years"]


def test_a_column_may_be_called_none(folder):
    both(folder, rows().rename(columns={"task": "None"}))
    assert fitted(folder, tasks="None").tasks_.tolist() == [0, 1, 2]


def test_the_index_of_a_pandas_frame_is_no_predictor(folder):
    rows().set_index(np.arange(60) * 7).to_parquet(folder / "b.parquet")
    names = fitted(folder).feature_names_in_
    assert list(names) == ["age", "years", "task", "group"]


@pytest.mark.parametrize(
    ("kind", "first"),
    [("string", 1), ("large_string", 0), ("string_view", 1), ("category", 0)],
)
def test_text_of_another_type_is_text(folder, model, tmp_path, kind, first):
    """Predictions keep the type that a column has in the first file."""
    if not (kind == "category" or hasattr(pa, kind)):
        pytest.skip("pyarrow has no such type before 16")
    table = pa.table(rows())
    text = table.column("group").cast(pa.string())
    as_kind = text.dictionary_encode() if kind == "category" else text.cast(kind)
    other = table.set_column(table.column_names.index("group"), "group", as_kind)
    pq.write_table(other, folder / ("a.parquet" if first else "b.parquet"))
    np.testing.assert_array_equal(fitted(folder).coef_, model.coef_)
    out = predict_parquet(model, folder, tmp_path / "p.pq", keep=["group", "years"])
    found = pq.read_table(out)
    assert found["group"].cast(pa.string()).to_pylist() == 2 * text.to_pylist()


def test_kept_columns_that_do_not_fit_together(folder, model, tmp_path):
    rows().astype({"years": "int8"}).to_parquet(folder / "a.parquet")
    rows(years=1000).to_parquet(folder / "b.parquet")
    said = 'keep names "years", which holds int8 in the first file and int64 in another'
    with pytest.raises(ValueError, match=said):
        predict_parquet(model, folder, tmp_path / "p.pq", keep=["years"])
    assert not (tmp_path / "p.pq").exists()


@pytest.mark.parametrize("value", [[1.0], {"a": 1.0}])
def test_predictors_that_are_neither_numbers_nor_text(folder, model, value):
    both(folder, rows(age=[value] * 60))
    with pytest.raises(ValueError, match=r'"age" holds .*: the model reads numbers'):
        model.predict(stream(folder))


def test_predictions_that_cannot_be_made(folder, model, tmp_path):
    place = tmp_path.with_name("other")
    place.mkdir(exist_ok=True)
    rows().drop(columns="age").to_parquet(place / "a.parquet")
    with pytest.raises(ValueError, match='"age" is no column of the files, but'):
        model.predict(stream(place))
    with pytest.raises(ValueError, match="tasks must be a column of the rows"):
        model.predict(stream(folder), tasks=np.zeros(120))
    for words, keep in (
        (r'keep="pai" is no column of the files\. Did you mean "pay"', "pai"),
        ('"pay", which is the name of the new column', ["pay"]),
    ):
        with pytest.raises(ValueError, match=words):
            predict_parquet(model, folder, place / "p.pq", keep=keep, name="pay")
    rows()[:0].to_parquet(place / "a.parquet")
    with pytest.raises(ValueError, match="no rows: there is nothing to predict"):
        predict_parquet(model, stream(place), tmp_path / "p.parquet")
    assert len(model.predict(stream(place))) == 0
    assert not (tmp_path / "p.parquet").exists()


@pytest.mark.parametrize("what", ["same", "link", "hard", "through a folder"])
def test_predictions_do_not_go_over_the_rows(folder, model, what):
    own = folder / "a.parquet"
    before = own.read_bytes()
    place = folder / "elsewhere" / "p.parquet"
    place.parent.mkdir()
    if what == "same":
        place = place.parent / ".." / "a.parquet"
    elif what == "link":
        place.symlink_to(own)
    elif what == "hard":
        place.hardlink_to(own)
    else:
        (place.parent / "link").symlink_to(folder)
        place = place.parent / "link" / "a.parquet"
    with pytest.raises(ValueError, match="is read and would be written over: give"):
        predict_parquet(model, stream([own, folder / "b.parquet"]), place)
    assert own.read_bytes() == before


@pytest.mark.parametrize(
    ("given", "out", "refused"),
    [
        ("", "p.parquet", True),
        ("", "sub/p.parquet", True),
        ("*.parquet", "p.parquet", True),
        ("**/*.parquet", "p.parquet", True),
        ("**/*.parquet", "sub/deep/p.parquet", True),
        ("*.parquet", "sub/p.parquet", False),
        ("a*", "p.parquet", False),
        ("a.parquet", "p.parquet", False),
        ("", "p.pq", False),
    ],
)
def test_predictions_do_not_go_among_the_rows(folder, model, given, out, refused):
    rows = folder / given if given else folder
    if refused:
        with pytest.raises(ValueError, match="the next time: write to another folder"):
            predict_parquet(model, rows, folder / out)
        assert not (folder / out).exists()
    else:
        assert predict_parquet(model, rows, folder / out).exists()


def test_a_batch_that_fails_leaves_nothing(folder, model, tmp_path):
    rows(age=np.nan).to_parquet(folder / "b.parquet")
    out = tmp_path / "new" / "p.parquet"
    with pytest.raises(ValueError, match="age"):
        predict_parquet(model, [folder / "a.parquet", folder / "b.parquet"], out)
    assert list(out.parent.iterdir()) == []


@pytest.mark.parametrize("y", ["pay", None])
@pytest.mark.parametrize("kind", [str, lambda path: path])
def test_a_path_is_not_rows(folder, kind, y):
    with pytest.raises(ValueError, match=r"pass rankfair\.stream\("):
        RankFairRegressor(0.1, tasks="task").fit(kind(folder), y)


@pytest.mark.parametrize("y", [None, np.zeros(120)], ids=["no y", "y"])
@pytest.mark.parametrize(
    "other",
    [MultiTaskRegressor(), RankFairRegressorCV(), TiltedRegressor(LinearRegression())],
    ids=lambda model: type(model).__name__,
)
def test_other_estimators_need_rows_in_memory(folder, other, y):
    with pytest.raises(ValueError, match="must be rows in memory"):
        other.fit(stream(folder, **BY), y)
