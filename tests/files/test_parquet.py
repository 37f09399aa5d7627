import datetime
import io
import sys

import numpy as np
import polars as pl
import pyarrow.parquet
import pytest

from rankfair.files.columns import Roles
from rankfair.files.read import load, read_file, read_table
from rankfair.files.table import Reading
from rankfair.input.errors import TableError


def parquet_bytes(**columns):
    stream = io.BytesIO()
    pl.DataFrame(columns).write_parquet(stream)
    return stream.getvalue()


@pytest.fixture(params=["pyarrow", "polars"], autouse=True)
def reader(request, monkeypatch):
    """Both libraries that read, one after the other."""
    if request.param == "polars":
        monkeypatch.setitem(sys.modules, "pyarrow.parquet", None)
    else:
        pytest.importorskip("pyarrow.parquet")
    return request.param


SOUND = parquet_bytes(x=[1.5, None, 3.0], who=["a", "", None], n=[1, 2, 3])


def test_numbers_are_floats_and_the_rest_is_text():
    day = datetime.date(2020, 1, 2)
    raw = parquet_bytes(
        f=[1.5, None], i=[1, 2], b=[True, None], s=["01", ""], d=[day, None]
    )
    table = read_table(raw)
    np.testing.assert_array_equal(table["f"], [1.5, np.nan])
    np.testing.assert_array_equal(table["i"], [1, 2])
    np.testing.assert_array_equal(table["b"], [1, np.nan])
    assert table["s"].tolist() == ["01", None]
    assert table["d"].tolist() == ["2020-01-02", None]
    assert table.line(0) is None
    # Text, and what means not known, may be asked for.
    raw = parquet_bytes(sex=["F", "NA", None], x=[1, 2, 12345678901234567], y=[1, 2, 3])
    table = read_table(
        raw, text=["sex", "x"], missing=["NA", "2"], columns=["sex", "x"]
    )
    assert table.names == ("sex", "x")
    assert table["sex"].tolist() == ["F", None, None]
    assert table["x"].tolist() == ["1", None, "12345678901234567"]


def test_digits_are_not_lost():
    raw = parquet_bytes(i=[2**53 + 1, 2], even=[2**60, None])
    table = read_table(raw)
    assert table["i"].tolist() == [str(2**53 + 1), "2"]
    assert "more digits" in table.notes[0]
    np.testing.assert_array_equal(table["even"], [2.0**60, np.nan])
    with pytest.raises(TableError, match="--text i") as caught:
        read_table(raw, numbers=["i"])
    assert caught.value.column == "i"


@pytest.mark.parametrize(
    ("raw", "settings", "said"),
    [
        (parquet_bytes(x=[[1], [2]]), {}, "neither numbers nor text"),
        (parquet_bytes(x=[b"a"]), {}, "neither numbers nor text"),
        (parquet_bytes(x=["a"]), {"numbers": ["x"]}, "not numbers"),
        (parquet_bytes(x=[float("inf")]), {}, "is infinite in row 1"),
        (parquet_bytes(x=pl.Series([], dtype=pl.Float64)), {}, "no rows"),
        (parquet_bytes(**{" ": [1]}), {}, "has no name"),
        (parquet_bytes(pay=[1]), {"text": ["Pay"]}, 'mean "pay"'),
        (parquet_bytes(pay=[1]), {"columns": ["Pay"]}, 'mean "pay"'),
        (b"PAR1 and then nothing", {}, "damaged Parquet"),
        (SOUND[: len(SOUND) // 2], {}, "damaged Parquet"),
    ],
)
def test_what_cannot_be_read_is_named(raw, settings, said):
    with pytest.raises(TableError, match=said):
        read_table(raw, **settings)


def test_columns_that_are_not_used_stop_nothing(tmp_path):
    odd = {"l": [[1], [2]], "i": [float("inf"), 1.0]}
    (tmp_path / "a.parquet").write_bytes(parquet_bytes(x=[1.0, 2.0], y=[3, 4], **odd))
    files = [str(tmp_path / "a.parquet")]
    for roles in (Roles("y", drop=("l", "i")), Roles("y", features=("x",))):
        table = load(files, roles, Reading())
        assert table.names == ("x", "y")
        assert table.notes[0].startswith('Left out column "l", which holds List')
    with pytest.raises(TableError, match='column "i": is infinite in row 1'):
        load(files, Roles("y", drop=("l",)), Reading())


def test_all_that_is_wrong_with_a_file_is_said_at_once(tmp_path):
    data = {"pay": ["n.a.", "1"], "sex": [b"f", b"m"], "age": [1, None]}
    (tmp_path / "a.parquet").write_bytes(parquet_bytes(**data))
    roles = Roles("pay", sensitive=("sex",))
    with pytest.raises(TableError, match="has 3 problems") as caught:
        load([str(tmp_path / "a.parquet")], roles, Reading())
    for said in (
        '"pay": holds String',
        '"sex": holds Binary',
        '"age": 1 cell is empty in 2 rows. Fill',
    ):
        assert said in str(caught.value)


def test_columns_of_the_same_name(reader):
    stream, names = io.BytesIO(), ["a", "pay", "a"]
    table = pyarrow.Table.from_arrays([pyarrow.array([1.0])] * 3, names=names)
    pyarrow.parquet.write_table(table, stream)
    said = r'column "a": columns 1 and 3 have the same name\. Rename'
    if reader == "polars":  # which does not say which
        said = r"cannot be read: .*'a'.*\. Rename one of them"
    with pytest.raises(TableError, match=said):
        read_table(stream.getvalue())
    if reader == "pyarrow":
        assert read_table(stream.getvalue(), columns=["pay"]).names == ("pay",)


def test_rows_beyond_memory_are_refused_before_they_are_read():
    with pytest.raises(TableError, match="more than fit in memory"):
        read_file(SOUND, Reading(max_cells=8))
    assert read_file(SOUND, Reading(max_cells=8, columns=("x",))).n_rows == 3


def test_without_polars_it_says_so(monkeypatch):
    monkeypatch.setitem(sys.modules, "polars", None)
    with pytest.raises(TableError, match="needs polars"):
        read_table(SOUND)


def test_a_panic_of_polars_is_a_damaged_file(monkeypatch, reader):
    def panic(*_, **__):
        raise pl.exceptions.PanicException("assertion failed\nat line 1")

    call = "read_parquet" if reader == "polars" else "from_arrow"
    monkeypatch.setattr(pl, call, panic)
    with pytest.raises(TableError, match=r"damaged Parquet file \(assertion failed\)"):
        read_table(SOUND)


def test_columns_of_any_kind_are_read_alike_by_both(monkeypatch):
    hour = datetime.datetime(2020, 1, 2, 3, 4, 5, 678)
    raw = parquet_bytes(
        **{"a.b": [1.0, 2.0], "a": [3, 4], "none": [None, None]},
        small=pl.Series([1, 2], dtype=pl.Int8),
        half=pl.Series([1.5, None], dtype=pl.Float32),
        money=pl.Series(["1.10", "2.25"]).cast(pl.Decimal(10, 2)),
        kind=pl.Series(["x", None], dtype=pl.Categorical),
        hour=[hour, None],
        clock=[datetime.time(1, 2, 3), None],
        utc=pl.Series([hour, None]).dt.replace_time_zone("UTC"),
    )
    found = read_table(raw), read_table(raw, columns=["a", "kind"])
    monkeypatch.setitem(sys.modules, "pyarrow.parquet", None)
    plain = read_table(raw), read_table(raw, columns=["a", "kind"])
    for one, other in zip(found, plain, strict=True):
        assert one.names == other.names
        for name in one.names:
            np.testing.assert_array_equal(one[name], other[name], name)


def test_a_flipped_bit_does_not_end_the_process(reader):
    if reader == "polars":
        pytest.skip("polars alone asks for 2^61 bytes at some bits, and aborts")
    # Where the headers of the pages are, with their lengths.
    places, refused = range(4, 300, 3), 0
    for place in places:
        raw = bytearray(SOUND)
        raw[place] ^= 1
        try:
            read_table(bytes(raw))
        except TableError:
            refused += 1
    assert 0 < refused < len(places)
