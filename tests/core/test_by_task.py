import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from oracles import brute_twice_u
from rankfair.core.by_task import Segments
from rankfair.core.problem import Groups

rng = np.random.default_rng(3)
SIZES = np.array([1, 1, 2, 3, 3, 5, 8, 13])
N = int(SIZES.sum())
IN_A = rng.random(N) < 0.5
WEIGHTS = {
    "none": None,
    "whole": rng.integers(1, 5, N),
    "some zero": rng.integers(0, 3, N),
    "fractions": rng.random(N),
}


def rows_of(sizes):
    """The rows of each task."""
    return np.split(np.arange(sizes.sum()), np.cumsum(sizes)[:-1])


@pytest.fixture(params=WEIGHTS)
def segments(request):
    return Segments(SIZES, Groups(IN_A, WEIGHTS[request.param]))


@pytest.mark.parametrize("levels", [1, 3, 1000])
def test_pairs_are_counted_in_each_task_alone(segments, levels):
    m = rng.integers(0, levels, N) / 7
    w = segments.weights
    wanted = [brute_twice_u(m[i], IN_A[i], w[i]) for i in rows_of(SIZES)]
    found = segments.twice_u(m)
    if segments.whole:
        assert found.dtype.kind == "i"
        assert found.tolist() == wanted
    else:
        np.testing.assert_allclose(found, wanted, atol=1e-12)


@given(
    st.lists(st.integers(1, 4), min_size=1, max_size=6),
    st.integers(0, 2**32 - 1),
)
def test_any_sizes_and_ties(sizes, seed):
    luck = np.random.default_rng(seed)
    sizes = np.sort(sizes)
    n = int(sizes.sum())
    in_a, m = luck.random(n) < 0.5, luck.integers(0, 3, n).astype(float)
    found = Segments(sizes, Groups(in_a)).twice_u(m)
    assert found.tolist() == [brute_twice_u(m[i], in_a[i]) for i in rows_of(sizes)]


@given(st.integers(0, 2**32 - 1))
def test_values_that_differ_in_their_last_bit_are_no_ties(seed):
    """Neighbouring floats, signed zeros, the smallest numbers and the largest."""
    luck = np.random.default_rng(seed)
    sizes = np.sort(luck.integers(1, 6, 8))
    n = int(sizes.sum())
    few = [0.0, -0.0, 1.0, np.nextafter(1, 2), -1.0, np.nextafter(-1, 0), 5e-324]
    few += [-5e-324, 1e-323, np.finfo(float).max, 0.5]
    in_a, m = luck.random(n) < 0.5, luck.choice(few, n)
    found = Segments(sizes, Groups(in_a)).twice_u(m)
    assert found.tolist() == [brute_twice_u(m[i], in_a[i]) for i in rows_of(sizes)]


@pytest.mark.parametrize("places", [[7], [2, 5, 6], range(len(SIZES))])
def test_some_tasks_are_counted_as_among_all(segments, places):
    places, m = np.array(places), rng.integers(0, 9, N) / 7
    some, rows = segments.take(places)
    own = rows_of(SIZES)
    assert rows.tolist() == np.concatenate([own[place] for place in places]).tolist()
    np.testing.assert_allclose(some.twice_u(m[rows]), segments.twice_u(m)[places])
    np.testing.assert_allclose(some.means(m[rows]), segments.means(m)[places])


def test_totals_and_pairs_are_those_of_groups(segments):
    for j, rows in enumerate(rows_of(SIZES)):
        alone = Groups(IN_A, segments.groups.weights).take(rows)
        assert segments.total_a[j] == pytest.approx(alone.total_a)
        assert segments.total_b[j] == pytest.approx(alone.total_b)
        assert segments.both[j] == (alone.total_a > 0 and alone.total_b > 0)
        if segments.both[j]:
            assert segments.pair[j] == pytest.approx(alone.pair)


def test_means_are_those_of_each_task(segments):
    m, w = rng.normal(size=N), segments.weights
    found = segments.means(m)
    for j, rows in enumerate(rows_of(SIZES)):
        if w[rows].sum() > 0:
            assert found[j] == pytest.approx(np.average(m[rows], weights=w[rows]))
