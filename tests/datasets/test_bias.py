import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rankfair.datasets.synthetic import deal, pairs_auc, raise_lowest, raise_share

values = st.lists(st.integers(0, 6), min_size=1, max_size=12)


@given(values, values)
def test_pairs_auc_counts_pairs(a, b):
    a, b = np.array(a, float), np.array(b, float)
    wins = (a[:, None] > b).sum() + 0.5 * (a[:, None] == b).sum()
    assert pairs_auc(a, b) == pytest.approx(wins / (a.size * b.size))


def test_deal_gives_every_task_its_rows():
    labels = deal(5, 7, np.random.default_rng(0))
    assert np.unique(labels, return_counts=True)[1].tolist() == [7] * 5
    assert labels.tolist() != sorted(labels.tolist())


def test_raise_share_touches_that_share_of_group_a_only():
    y, in_a = np.arange(1.0, 101.0), np.arange(100) < 50
    raised = raise_share(y, in_a, 1.75, 0.56, np.random.default_rng(0))
    moved = raised != y
    assert moved.sum() == 28
    assert not moved[~in_a].any()
    np.testing.assert_allclose(raised[moved], 1.75 * y[moved])


def test_raise_lowest_stops_as_soon_as_the_auc_is_reached():
    rng = np.random.default_rng(0)
    y, in_a = rng.uniform(1, 2, 60), np.arange(60) < 30
    raised = raise_lowest(y, in_a, 3.0, 0.8)
    moved = np.flatnonzero(raised != y)
    assert pairs_auc(raised[in_a], raised[~in_a]) >= 0.8
    assert y[moved].max() < y[np.setdiff1d(np.flatnonzero(in_a), moved)].min()
    raised[moved[np.argmax(y[moved])]] /= 3.0
    assert pairs_auc(raised[in_a], raised[~in_a]) < 0.8


def test_raise_lowest_raises_nothing_when_already_there():
    y = np.array([3.0, 4.0, 1.0, 2.0])
    in_a = np.array([True, True, False, False])
    np.testing.assert_array_equal(raise_lowest(y, in_a, 2.0, 0.9), y)
