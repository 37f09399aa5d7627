import numpy as np
import pytest

from rankfair.datasets.base import fill, numbers, read_columns


def test_files_are_read_as_text_one_below_the_other(tmp_path):
    path = tmp_path / "a.csv"
    path.write_bytes(b'code,x\n01001,"1,5"\n01003,\n')
    columns = read_columns([path, path])
    assert columns["code"].tolist() == ["01001", "01003"] * 2
    assert columns["x"].tolist() == ["1,5", ""] * 2


def test_only_an_empty_cell_is_missing():
    np.testing.assert_array_equal(numbers(np.array(["1.5", ""])), [1.5, np.nan])
    with pytest.raises(ValueError, match="could not convert"):
        numbers(np.array(["1.5", "?"]))


def test_fill_takes_the_task_then_all():
    column = np.array([1.0, np.nan, np.nan, 5.0, 9.0])
    before = column.copy()
    filled = fill(column, np.array(["a", "a", "b", "c", "c"]))
    np.testing.assert_array_equal(filled, [1.0, 1.0, 5.0, 5.0, 9.0])
    np.testing.assert_array_equal(column, before)


def test_fill_does_not_depend_on_the_order_of_rows():
    rng = np.random.default_rng(0)
    column = np.where(rng.random(60) < 0.3, np.nan, rng.integers(0, 9, 60))
    tasks = rng.choice(["a", "b", "c"], 60)
    order = rng.permutation(60)
    np.testing.assert_allclose(
        fill(column[order], tasks[order]), fill(column, tasks)[order]
    )
