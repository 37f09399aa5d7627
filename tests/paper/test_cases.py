import numpy as np
import pytest

from paper import cases
from paper.cases import find_data, make_case
from paper.settings import DATASETS, REAL, Settings

WHOLE = Settings()


def test_synthetic_data_has_the_size_of_the_paper_and_as_much_held_out():
    case = make_case("synthetic 0.7", 0, WHOLE)
    assert case.full is case.train and not case.clustered
    for rows in (case.train, case.held_out):
        assert np.unique(rows.tasks, return_counts=True)[1].tolist() == [25] * 40


@pytest.mark.parametrize("name", DATASETS)
def test_features_and_target_are_standardised_and_the_group_is_0_or_1(name, real_data):
    rows = make_case(name, 0, WHOLE).full
    scaled = np.column_stack((rows.X[:, : rows.group_column], rows.y))
    np.testing.assert_allclose(scaled.mean(axis=0), 0, atol=1e-9)
    np.testing.assert_allclose(scaled.std(axis=0), 1, atol=1e-9)
    assert (rows.X[:, rows.group_column] == rows.in_a).all()


@pytest.mark.parametrize("name", REAL)
def test_real_rows_are_split_and_no_task_is_lost(name, real_data):
    case, again = (make_case(name, repeat, WHOLE) for repeat in (0, 1))
    assert len(case.train.y) + len(case.held_out.y) == len(case.full.y)
    assert set(case.held_out.tasks) == set(case.train.tasks) == set(case.full.tasks)
    share = len(case.train.y) / len(case.full.y)
    expected = {"crime": 40 / 52, "income": 2 / 3}.get(name, 0.7)
    assert share == pytest.approx(expected, abs=0.02)
    fixed = name in ("crime", "income")
    assert case.clustered == (case.fingerprint == again.fingerprint) == fixed
    assert (case.tuning is case.full) == (name == "income")


def test_data_that_is_missing_is_named_without_the_folders_of_the_machine(
    monkeypatch, tmp_path
):
    def refuse():
        raise OSError("wine cannot be had")

    monkeypatch.setattr(cases, "load_wine", refuse)
    monkeypatch.setenv("RANKFAIR_DATA", str(tmp_path))
    cases._cached.cache_clear()
    (tmp_path / "income").mkdir()
    (tmp_path / "income" / "income.csv").write_text("other")
    found = find_data(Settings(("synthetic 0.9", "crime", "income", "wine")))
    assert list(found.fingerprints) == ["synthetic 0.9"]
    assert str(tmp_path) in str(found.errors["crime"])
    tail = "; the variable RANKFAIR_DATA names the folder that holds"
    assert found.missing == {
        "crime": f"crime.csv not found{tail} crime/",
        "income": f"its files are damaged or of another version{tail} income/",
        "wine": f"its files could not be had{tail} wine/",
    }
