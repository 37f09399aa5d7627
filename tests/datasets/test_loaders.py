"""The real files against the figures known of them; skipped where they are not."""

import numpy as np
import pytest

from rankfair.datasets.crime import load_crime
from rankfair.datasets.income import load_income
from rankfair.datasets.student import load_student
from rankfair.datasets.synthetic import pairs_auc
from rankfair.datasets.wine import load_wine

pytestmark = pytest.mark.usefixtures("real_data")


def in_a(data):
    return data.sensitive == data.group_a


def auc(data):
    return pairs_auc(data.target[in_a(data)], data.target[~in_a(data)])


def mean_difference(data):
    return data.target[in_a(data)].mean() - data.target[~in_a(data)].mean()


def impact_rank_ratio(data):
    """Mean rank of A over mean rank of B: with two groups a function of AUC alone."""
    n_a, n_b = in_a(data).sum(), (~in_a(data)).sum()
    return ((n_a + 1) / 2 + n_b * auc(data)) / ((n_b + 1) / 2 + n_a * (1 - auc(data)))


@pytest.mark.parametrize(
    ("load", "k", "h", "n_a", "n_b", "n"),
    [
        (load_wine, 89, 73, 1599, 4898, 11),
        (load_student, 36, 29, 453, 591, 40),
        (load_crime, 801, 52, 13676, 27976, 14),
        (load_income, 3142, 3, 2567, 6859, 15),
    ],
)
def test_counts(load, k, h, n_a, n_b, n):
    data = load()
    labels, sizes = np.unique(data.tasks, return_counts=True)
    assert labels.size == k
    assert set(sizes) == {h}
    assert (in_a(data).sum(), (~in_a(data)).sum()) == (n_a, n_b)
    assert data.X.shape == (k * h, n) == (k * h, len(data.feature_names))
    assert np.isfinite(data.X).all()
    assert np.isfinite(data.target).all()


@pytest.mark.parametrize(
    ("load", "expected_auc", "md", "irr"),
    [
        (load_wine, 0.489, -0.091, 0.978),
        (load_student, 0.474, -0.245, 0.949),
        (load_crime, 0.750, 4.32, 1.598),
        (load_income, 0.376, -3843, 0.767),
    ],
)
def test_figures_without_injection(load, expected_auc, md, irr):
    data = load(biased=False)
    assert not data.biased
    assert auc(data) == pytest.approx(expected_auc, abs=0.0006)
    assert mean_difference(data) == pytest.approx(md, rel=0.006)
    assert impact_rank_ratio(data) == pytest.approx(irr, abs=0.001)


@pytest.mark.parametrize(
    ("load", "expected_auc", "irr"),
    [
        (load_wine, 0.769, 0.611),
        (load_student, 0.798, 0.541),
        (load_income, 0.815, 0.567),
    ],
)
def test_figures_with_injection(load, expected_auc, irr):
    data = load()
    assert data.biased
    assert auc(data) == pytest.approx(expected_auc, abs=0.015)
    assert 1 / impact_rank_ratio(data) == pytest.approx(irr, abs=0.02)


def test_crime_has_no_injection():
    with pytest.raises(ValueError, match="no injection"):
        load_crime(biased=True)


@pytest.mark.parametrize(
    ("load", "share", "factor"), [(load_wine, 0.56, 1.75), (load_student, 0.8, 1.75)]
)
def test_injection_raises_the_share_of_group_a(load, share, factor):
    plain, biased = load(biased=False), load()
    np.testing.assert_array_equal(plain.tasks, biased.tasks)
    ratio = biased.target / np.where(plain.target == 0, 1, plain.target)
    moved = np.isclose(ratio, factor)
    assert not moved[~in_a(plain)].any()
    zeros = (plain.target[in_a(plain)] == 0).mean()
    assert moved[in_a(plain)].mean() == pytest.approx(share, abs=zeros + 0.001)


@pytest.mark.parametrize("load", [load_wine, load_student])
def test_seed_decides_tasks_and_raised_rows(load):
    first, again, other = load(), load(), load(random_state=1)
    np.testing.assert_array_equal(first.tasks, again.tasks)
    np.testing.assert_array_equal(first.target, again.target)
    assert not np.array_equal(first.tasks, other.tasks)
    assert not np.array_equal(first.target, other.target)


def test_student_without_earlier_grades():
    names = set(load_student().feature_names)
    assert names - set(load_student(grades=False).feature_names) == {"G1", "G2"}


@pytest.mark.parametrize("load", [load_crime, load_income])
def test_every_task_has_every_period_once(load):
    data = load()
    pairs = set(zip(data.tasks.tolist(), data.period.tolist(), strict=True))
    periods = set(data.period.tolist())
    assert len(pairs) == data.target.size == len(set(data.tasks)) * len(periods)


def test_identifiers_stay_text():
    frame = load_income(backend="polars").frame
    assert frame["fips"][0] == "01001"


def test_income_never_has_the_target_or_the_group_as_feature():
    data = load_income()
    forbidden = {"income_median", "saipe_median_hh_income", "race_black_perc"}
    assert not {*forbidden, "pep_black"} & set(data.feature_names)


def test_income_cut_must_leave_two_groups():
    with pytest.raises(ValueError, match="cut must leave two groups"):
        load_income(cut=100)
    for cut in ("a", None, [1, 2], True):
        with pytest.raises(ValueError, match="cut must be a number in"):
            load_income(cut=cut)
