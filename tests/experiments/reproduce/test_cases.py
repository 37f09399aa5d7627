import numpy as np
import pytest

from rankfair.experiments.reproduce import cases
from rankfair.experiments.reproduce.cases import fetch, fingerprint, make_case
from rankfair.experiments.reproduce.settings import DATASETS, REAL, Settings

WHOLE = Settings()


def test_synthetic_data_has_the_size_of_the_paper_and_as_much_held_out():
    case = make_case("synthetic 0.7", 0, WHOLE)
    assert case.full is case.train
    for rows in (case.train, case.held_out):
        assert len(rows.y) == 1000
        assert np.unique(rows.tasks, return_counts=True)[1].tolist() == [25] * 40
    assert not case.clustered


def test_repeats_and_seeds_are_other_draws():
    one = fingerprint(make_case("synthetic 0.9", 0, WHOLE))
    assert one == fingerprint(make_case("synthetic 0.9", 0, Settings()))
    assert one != fingerprint(make_case("synthetic 0.9", 1, WHOLE))
    assert one != fingerprint(make_case("synthetic 0.9", 0, Settings(seed=1)))
    # Repeat r draws from seed + r.
    second = fingerprint(make_case("synthetic 0.9", 1, WHOLE))
    assert second == fingerprint(make_case("synthetic 0.9", 0, Settings(seed=1)))


@pytest.mark.parametrize("name", DATASETS)
def test_features_and_target_are_standardised_and_the_group_is_0_or_1(name, real_data):
    rows = make_case(name, 0, WHOLE).full
    X = rows.X[:, : rows.group_column]
    np.testing.assert_allclose(X.mean(axis=0), 0, atol=1e-9)
    np.testing.assert_allclose(X.std(axis=0), 1, atol=1e-9)
    assert rows.y.mean() == pytest.approx(0, abs=1e-9)
    assert rows.y.std() == pytest.approx(1)
    assert (rows.X[:, rows.group_column] == rows.in_a).all()


@pytest.mark.parametrize("name", REAL)
def test_real_rows_are_split_and_no_task_is_lost(name, real_data):
    case = make_case(name, 0, WHOLE)
    assert len(case.train.y) + len(case.held_out.y) == len(case.full.y)
    assert set(case.held_out.tasks) == set(case.train.tasks) == set(case.full.tasks)
    share = len(case.train.y) / len(case.full.y)
    expected = {"crime": 40 / 52, "income": 2 / 3}.get(name, 0.7)
    assert share == pytest.approx(expected, abs=0.02)
    assert case.clustered == (name in ("crime", "income"))
    assert (case.tuning is case.full) == (name == "income")


def test_wine_is_dealt_anew_and_crime_is_not(real_data):
    wine, crime = (
        [fingerprint(make_case(name, repeat, WHOLE)) for repeat in (0, 1)]
        for name in ("wine", "crime")
    )
    assert wine[0] != wine[1]
    assert crime[0] == crime[1]


def test_a_quick_run_keeps_every_tenth_tract(real_data):
    case = make_case("crime", 0, Settings.quick())
    assert len(set(case.full.tasks)) == 81
    assert len(case.full.y) == 81 * 52


def test_only_what_has_an_address_is_fetched(monkeypatch):
    fetched = []
    for name in ("load_wine", "load_student"):
        monkeypatch.setattr(cases, name, lambda name=name: fetched.append(name))
    for name in DATASETS:
        fetch(name)
    assert fetched == ["load_wine", "load_student"]
