"""The real files against the figures known of them; skipped where they are not."""

from functools import cache

import numpy as np
import pytest
from sklearn.metrics import roc_auc_score

from rankfair.datasets import load_crime, load_income, load_student, load_wine

pytestmark = pytest.mark.usefixtures("real_data")


@cache
def loaded(load, biased=False):
    return load(biased=biased)


def in_a(data):
    return data.sensitive == data.group_a


def auc(data):
    return roc_auc_score(in_a(data), data.target)


def impact_rank_ratio(data):
    """Mean rank of A over mean rank of B: with two groups a function of AUC alone."""
    n_a, n_b = in_a(data).sum(), (~in_a(data)).sum()
    return ((n_a + 1) / 2 + n_b * auc(data)) / ((n_b + 1) / 2 + n_a * (1 - auc(data)))


@pytest.mark.parametrize(
    ("load", "k", "h", "n_a", "n", "expected_auc", "md", "irr"),
    [
        (load_wine, 89, 73, 1599, 11, 0.489, -0.091, 0.978),
        (load_student, 36, 29, 453, 40, 0.474, -0.245, 0.949),
        (load_crime, 801, 52, 13676, 14, 0.750, 4.32, 1.598),
        (load_income, 3142, 3, 2567, 15, 0.376, -3843, 0.767),
    ],
)
def test_counts_and_figures_without_injection(
    load, k, h, n_a, n, expected_auc, md, irr
):
    data = loaded(load)
    labels, sizes = np.unique(data.tasks, return_counts=True)
    assert labels.size == k and set(sizes) == {h}
    assert in_a(data).sum() == n_a
    assert data.X.shape == (k * h, n) == (k * h, len(data.feature_names))
    assert np.isfinite(data.X).all() and np.isfinite(data.target).all()
    assert not data.biased
    assert auc(data) == pytest.approx(expected_auc, abs=0.0006)
    gap = data.target[in_a(data)].mean() - data.target[~in_a(data)].mean()
    assert gap == pytest.approx(md, rel=0.006)
    assert impact_rank_ratio(data) == pytest.approx(irr, abs=0.001)
    if data.period is not None:
        pairs = set(zip(data.tasks.tolist(), data.period.tolist(), strict=True))
        assert len(pairs) == k * h == k * len(set(data.period.tolist()))


@pytest.mark.parametrize(
    ("load", "expected_auc", "irr", "share"),
    [
        (load_wine, 0.769, 0.611, 0.56),
        (load_student, 0.798, 0.541, 0.8),
        (load_income, 0.815, 0.567, None),
    ],
)
def test_figures_with_injection(load, expected_auc, irr, share):
    plain, data = loaded(load), loaded(load, biased=True)
    assert data.biased
    assert auc(data) == pytest.approx(expected_auc, abs=0.015)
    assert 1 / impact_rank_ratio(data) == pytest.approx(irr, abs=0.02)
    np.testing.assert_array_equal(plain.tasks, data.tasks)
    ratio = data.target / np.where(plain.target == 0, 1, plain.target)
    moved = np.isclose(ratio, 1.75)
    assert not moved[~in_a(plain)].any()
    if share is not None:
        zeros = (plain.target[in_a(plain)] == 0).mean()
        assert moved[in_a(plain)].mean() == pytest.approx(share, abs=zeros + 0.001)


def test_what_is_among_the_features_and_what_is_refused():
    assert {"G1", "G2"} < {*loaded(load_student).feature_names}
    income = loaded(load_income)
    assert income.tasks[0] == "01001"
    target_or_group = {"income_median", "saipe_median_hh_income", "race_black_perc"}
    assert not {*target_or_group, "pep_black"} & {*income.feature_names}
    first, other = loaded(load_student, biased=True), load_student(random_state=1)
    assert not np.array_equal(first.tasks, other.tasks)
    with pytest.raises(ValueError, match="no injection"):
        load_crime(biased=True)
