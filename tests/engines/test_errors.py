"""What cannot be fitted is said in a sentence that names the place."""

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from rankfair.streams import predict_parquet

from rankfair import RankFairRegressor, stream

BY = {"tasks": "task", "sensitive_features": "group", "target": "pay"}


def rows(n_rows=60):
    rng = np.random.default_rng(0)
    return pd.DataFrame(
        {
            "age": rng.standard_normal(n_rows),
            "years": rng.integers(0, 9, n_rows),
            "task": np.arange(n_rows) % 3,
            "group": np.where(np.arange(n_rows) % 2, "f", "m"),
            "pay": rng.standard_normal(n_rows),
        }
    )


@pytest.fixture
def folder(tmp_path):
    """Two files."""
    rows().to_parquet(tmp_path / "a.parquet")
    rows().to_parquet(tmp_path / "b.parquet")
    return tmp_path


def refused(what, match, settings=None, **more):
    """Fitting these files is refused in these words."""
    with pytest.raises((ValueError, FileNotFoundError), match=match):
        RankFairRegressor(**(settings or {})).fit(stream(what, **{**BY, **more}))


@pytest.mark.parametrize("large", [False, True])
@pytest.mark.parametrize(
    ("column", "value", "words"),
    [
        (
            "age",
            np.nan,
            r"b\.parquet: column 'age' has 1 missing value in 60 rows. Fill it,",
        ),
        ("age", np.inf, r"b\.parquet: column 'age' has 1 infinite value in"),
        ("pay", np.nan, r"b\.parquet: column 'pay' has 1 missing value in"),
        ("years", None, r"b\.parquet: column 'years' has 1 missing value in"),
        ("task", None, r"b\.parquet: column 'task' has 1 missing label in 60 rows"),
        ("group", None, r"b\.parquet: column 'group' has 1 missing label in"),
    ],
)
def test_values_that_are_not_there(folder, monkeypatch, large, column, value, words):
    if large:
        monkeypatch.setattr("rankfair.engines.chunked.FEW_ROWS", 10)
    frame = rows()
    frame[column] = frame[column].astype(object)
    frame.loc[7, column] = value
    frame.convert_dtypes().to_parquet(folder / "b.parquet")
    refused(folder, words)


def test_several_missing_and_infinite_values(folder):
    frame = rows()
    frame.loc[[3, 4], "age"] = [np.nan, -np.inf]
    frame.to_parquet(folder / "a.parquet")
    refused(folder, "1 missing and 1 infinite values in 60 rows. Fill them")


def test_values_too_large_to_be_added_are_numbers_all_the_same(folder):
    frame = rows().assign(age=1.5e308)
    frame.to_parquet(folder / "a.parquet")
    frame.to_parquet(folder / "b.parquet")
    model = RankFairRegressor(0.2).fit(stream(folder, **BY))
    assert np.isfinite(model.coef_).all()


@pytest.mark.parametrize("name", ["age", "years"])
def test_values_too_large_to_be_squared(folder, monkeypatch, name):
    """The column is named, and not one whose product with it is too large as well."""
    monkeypatch.setattr("rankfair.engines.chunked.FEW_ROWS", 10)
    frame = rows()
    frame[name] = frame[name] * 1e305
    frame.to_parquet(folder / "b.parquet")
    with np.errstate(all="ignore"):
        refused(folder, f'column "{name}" has values too far apart to be squared')


def test_text_among_the_predictors(folder):
    for name in ("a", "b"):
        rows().assign(town="x").to_parquet(folder / f"{name}.parquet")
    refused(folder, '"town" holds .*string: predictors, target and weights are numbers')
    stream(folder, **BY, features=["age"])


def test_a_broken_file(folder):
    (folder / "b.parquet").write_bytes(b"PAR1 but no more")
    refused(folder, r"b\.parquet cannot be read as Parquet: ")


def test_a_file_that_breaks_off(folder):
    rng = np.random.default_rng(0)
    long = pd.concat([rows()] * 300).assign(age=rng.standard_normal(18_000))
    long.to_parquet(folder / "b.parquet", compression="none")
    raw = bytearray((folder / "b.parquet").read_bytes())
    raw[4:100_000] = b"\xff" * len(raw[4:100_000])
    (folder / "b.parquet").write_bytes(raw)
    refused(folder, r"b\.parquet is broken: ")


def test_files_with_other_columns(folder):
    rows().drop(columns="age").to_parquet(folder / "b.parquet")
    refused(folder, r'b\.parquet has no column "age", which .*a\.parquet has')
    rows().assign(more=1.0).to_parquet(folder / "b.parquet")
    refused(folder, r'b\.parquet has a column "more" that .*a\.parquet has not')
    rows().astype({"age": str}).to_parquet(folder / "b.parquet")
    refused(folder, r'b\.parquet: column "age" holds .*string, but double in ')


@pytest.mark.parametrize("name", ["age", "pay", "group", "task"])
def test_columns_of_the_same_name(folder, name):
    table = pa.table(rows())
    column = table.column(name)
    pq.write_table(table.append_column(name, column), folder / "b.parquet")
    place = table.column_names.index(name) + 1
    said = rf'b\.parquet: columns {place} and 6 are both called "{name}": rename'
    refused(folder, said)
    refused(folder / "b.parquet", said)
    with pytest.raises(ValueError, match=said):
        stream(folder)


@pytest.mark.parametrize("first", [True, False])
@pytest.mark.parametrize("kind", ["string", "large_string", "string_view", "category"])
def test_text_of_another_type_is_text(folder, tmp_path, kind, first):
    """Predictions keep the type that a column has in the first file."""
    known = RankFairRegressor(0.1).fit(stream(folder, **BY))
    table = pa.table(rows())
    text = table.column("group").cast(pa.string())
    as_kind = text.dictionary_encode() if kind == "category" else text.cast(kind)
    other = table.set_column(table.column_names.index("group"), "group", as_kind)
    pq.write_table(other, folder / ("a.parquet" if first else "b.parquet"))
    model = RankFairRegressor(0.1).fit(stream(folder, **BY))
    np.testing.assert_array_equal(model.coef_, known.coef_)
    out = predict_parquet(model, folder, tmp_path / "p.pq", keep=["group", "years"])
    found = pq.read_table(out)
    assert found["group"].cast(pa.string()).to_pylist() == 2 * text.to_pylist()


def test_kept_columns_that_do_not_fit_together(folder, tmp_path):
    model = RankFairRegressor(0.1).fit(stream(folder, **BY))
    rows().astype({"years": "int8"}).to_parquet(folder / "a.parquet")
    rows().assign(years=1000).to_parquet(folder / "b.parquet")
    said = 'keep names "years", which holds int8 in the first file and int64 in another'
    with pytest.raises(ValueError, match=said):
        predict_parquet(model, folder, tmp_path / "p.pq", keep=["years"])
    assert not (tmp_path / "p.pq").exists()


@pytest.mark.parametrize("value", [[1.0], {"a": 1.0}])
def test_predictors_that_are_neither_numbers_nor_text(folder, value):
    model = RankFairRegressor(0.1).fit(stream(folder, **BY))
    for name in ("a", "b"):
        odd = rows().assign(age=[value] * 60)
        odd.to_parquet(folder / f"{name}.parquet")
    with pytest.raises(
        ValueError, match=r'column "age" holds .*: the model reads numb'
    ):
        model.predict(stream(folder))


def test_numbers_of_another_width_are_numbers(folder):
    kinds = {"age": "float32", "years": "uint8", "task": "int16"}
    rows().astype(kinds).to_parquet(folder / "b.parquet")
    model = RankFairRegressor(0.1).fit(stream(folder, **BY))
    assert model.tasks_.tolist() == [0, 1, 2]


@pytest.mark.parametrize("role", ["target", "tasks", "sensitive_features"])
def test_a_column_that_is_not_there(folder, role):
    refused(
        folder, '"agee" is no column of the files. Did you mean "age"', **{role: "agee"}
    )
    refused(folder, '"zzz" is no column of the files. There are ', **{role: "zzz"})


def test_names_that_are_no_names(folder):
    refused(folder, "tasks=3: columns of rows in files .* by their names", tasks=3)
    more = {"sensitive_features": None}
    settings = {"sensitive_features": ["group", "task"]}
    refused(folder, "sensitive_features=.* one column for it", settings, **more)
    refused(folder, 'name the column to predict: stream.…, target="pay"', target=None)


def test_one_column_for_two_things(folder):
    refused(folder, '"pay" is named as target and as tasks', tasks="pay")
    refused(
        folder,
        '"age" is named as sample_weight and as tasks',
        tasks="age",
        sample_weight="age",
    )
    only = {"sensitive_features": "pay", "features": ["age"]}
    refused(folder, '"pay" is named as target and as sens', **only)
    for name in ("a", "b"):
        rows()[["task", "pay"]].to_parquet(folder / f"{name}.parquet")
    refused(folder, "no column is left to predict from", sensitive_features=None)


@pytest.mark.parametrize(
    ("words", "settings", "fit"),
    [
        ('the target was given twice: "pay" in .*, "age" in fit', {}, ("age", None)),
        ("sample_weight was given .* Give one of them", {}, (None, "age")),
        ('tasks was given twice: "task" in .*, "years" in the', {"tasks": "years"}, ()),
        ("sensitive_features was given", {"sensitive_features": "task"}, ()),
    ],
)
def test_a_stream_and_a_model_that_name_two_things(folder, words, settings, fit):
    rows().assign(w=1.0).to_parquet(folder / "a.parquet")
    there = stream(folder / "a.parquet", **BY, sample_weight="w")
    y, weight = fit or (None, None)
    with pytest.raises(ValueError, match=words):
        RankFairRegressor(0.1, **settings).fit(there, y, sample_weight=weight)
    same = RankFairRegressor(0.1, tasks="task", sensitive_features="group")
    same.fit(there, "pay", sample_weight="w")
    assert same.predictors_.tolist() == ["age", "years"]


def test_a_column_may_be_called_none(folder):
    for name in ("a", "b"):
        renamed = rows().rename(columns={"task": "None"})
        renamed.to_parquet(folder / f"{name}.parquet")
    model = RankFairRegressor(0.1).fit(stream(folder, **{**BY, "tasks": "None"}))
    assert model.tasks_.tolist() == [0, 1, 2]


def test_groups_that_cannot_be_balanced(folder):
    for name in ("a", "b"):
        rows().assign(group="f").to_parquet(folder / f"{name}.parquet")
    refused(folder, 'has one group only ."f".: there is nothing to balance')
    rows().assign(group=np.arange(60) % 3).astype({"group": str}).to_parquet(
        folder / "b.parquet"
    )
    refused(folder, "has 4 groups .*are balanced between two. Join groups")


def test_no_rows_and_no_files(tmp_path):
    refused(tmp_path, "no Parquet file is there")
    refused(tmp_path / "*.parquet", "no Parquet file is there")
    rows()[:0].to_parquet(tmp_path / "a.parquet")
    refused(tmp_path, "there are no rows: there is nothing to fit")
    rows().assign(w=0.0).to_parquet(tmp_path / "a.parquet")
    refused(tmp_path, "no rows that weigh more than nothing", sample_weight="w")


@pytest.mark.parametrize(
    ("weight", "words"),
    [(-1.0, "has 1 negative weights"), (np.nan, "has 1 missing or infinite weights")],
)
def test_weights_that_are_none(folder, weight, words):
    frame = rows().assign(w=1.0)
    frame.to_parquet(folder / "a.parquet")
    frame.loc[3, "w"] = weight
    frame.to_parquet(folder / "b.parquet")
    refused(folder, rf"b\.parquet: column 'w' {words} in 60 rows", sample_weight="w")


@pytest.mark.parametrize("name", ["tasks", "sensitive_features", "sample_weight"])
def test_arrays_beside_a_stream(folder, name):
    with pytest.raises(ValueError, match=f"{name} was passed as an array"):
        RankFairRegressor().fit(stream(folder, **BY), **{name: np.zeros(120)})


def test_a_target_beside_a_stream(folder):
    with pytest.raises(ValueError, match="y is a ndarray, but the rows are in files"):
        RankFairRegressor().fit(stream(folder, **BY), np.zeros(120))


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"solver": "ncadmm"}, 'solver="ncadmm" needs the rows in memory'),
        ({"scope": "task"}, 'scope="task" needs the rows in memory'),
        ({"bins": 3}, "bins needs the rows in memory"),
        (
            {"constraints": "distribution"},
            'constraints="distribution" needs the rows in mem',
        ),
    ],
)
def test_what_needs_the_rows_in_memory(folder, settings, words):
    refused(folder, words, settings)


def test_predictions_of_files_without_a_column(folder, tmp_path):
    model = RankFairRegressor(0.1).fit(stream(folder, **BY))
    other = tmp_path.with_name("other")
    other.mkdir(exist_ok=True)
    rows().drop(columns="age").to_parquet(other / "a.parquet")
    with pytest.raises(ValueError, match='fitted with a column "age", which the files'):
        model.predict(stream(other))
    with pytest.raises(ValueError, match='keep names "pai", which is no column'):
        predict_parquet(model, stream(folder), other / "p.parquet", keep=["pai"])
    with pytest.raises(ValueError, match=r'no column\. Did you mean "pay"'):
        predict_parquet(model, stream(folder), other / "p.parquet", keep="pai")
    with pytest.raises(ValueError, match='"pay", which is the name of the new column'):
        predict_parquet(model, folder, tmp_path / "p.pq", keep=["pay"], name="pay")
    with pytest.raises(ValueError, match="tasks of rows in files"):
        model.predict(stream(folder), tasks=np.zeros(120))
    rows()[:0].to_parquet(other / "a.parquet")
    with pytest.raises(ValueError, match="no rows: there is nothing to predict"):
        predict_parquet(model, stream(other), tmp_path / "p.parquet")
    assert len(model.predict(stream(other))) == 0
    assert not (tmp_path / "p.parquet").exists()


@pytest.mark.parametrize("what", ["same", "link", "hard", "through a folder"])
def test_predictions_do_not_go_over_the_rows(folder, what):
    model = RankFairRegressor(0.1).fit(stream(folder, **BY))
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
        ("**/*.parquet", "sub/deep/p.parquet", True),
        ("*.parquet", "sub/p.parquet", False),
        ("a*", "p.parquet", False),
        ("a.parquet", "p.parquet", False),
        ("", "p.pq", False),
    ],
)
def test_predictions_do_not_go_among_the_rows(folder, given, out, refused):
    model = RankFairRegressor(0.1).fit(stream(folder, **BY))
    rows = folder / given if given else folder
    if refused:
        with pytest.raises(ValueError, match="the next time: write to another folder"):
            predict_parquet(model, rows, folder / out)
        assert not (folder / out).exists()
    else:
        assert predict_parquet(model, rows, folder / out).exists()


def test_a_batch_that_fails_leaves_nothing(folder, tmp_path):
    model = RankFairRegressor(0.1).fit(stream(folder, **BY))
    rows().assign(age=np.nan).to_parquet(folder / "b.parquet")
    out = tmp_path / "new" / "p.parquet"
    with pytest.raises(ValueError, match="age"):
        predict_parquet(model, [folder / "a.parquet", folder / "b.parquet"], out)
    assert list(out.parent.iterdir()) == []


def test_a_path_is_not_rows(folder):
    for given in (str(folder), folder):
        for y in ("pay", None):
            with pytest.raises(TypeError, match=r"pass rankfair\.stream\("):
                RankFairRegressor(0.1, tasks="task").fit(given, y)


def test_no_cluster():
    dd = pytest.importorskip("dask.dataframe")
    frame = dd.from_pandas(rows(), npartitions=2)
    distributed = pytest.importorskip("distributed")
    try:
        distributed.get_client()
    except ValueError:
        with pytest.raises(ValueError, match="start a cluster first"):
            RankFairRegressor().fit(frame, "pay")


def test_the_index_of_a_pandas_frame_is_no_predictor(folder):
    rows().set_index(np.arange(60) * 7).to_parquet(folder / "b.parquet")
    model = RankFairRegressor(0.1).fit(stream(folder, **BY))
    assert list(model.feature_names_in_) == ["age", "years", "task", "group"]
