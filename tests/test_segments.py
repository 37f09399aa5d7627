import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from oracles import brute_twice_u
from rankfair.problem import Groups
from rankfair.segments import Segments

rng = np.random.default_rng(3)
SIZES = np.array([0, 0, 1, 1, 2, 3, 3, 5, 8, 13])
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
    return Segments.of(SIZES, Groups(IN_A, WEIGHTS[request.param]))


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
    st.lists(st.integers(0, 4), min_size=1, max_size=6),
    st.integers(0, 2**32 - 1),
)
def test_any_sizes_and_ties(sizes, seed):
    luck = np.random.default_rng(seed)
    sizes = np.sort(sizes)
    n = int(sizes.sum())
    in_a, m = luck.random(n) < 0.5, luck.integers(0, 3, n).astype(float)
    found = Segments.of(sizes, Groups(in_a)).twice_u(m)
    assert found.tolist() == [brute_twice_u(m[i], in_a[i]) for i in rows_of(sizes)]


def test_totals_and_pairs_are_those_of_groups(segments):
    for j, rows in enumerate(rows_of(SIZES)):
        alone = Groups(IN_A, segments.groups.weights).take(rows)
        assert segments.total_a[j] == pytest.approx(alone.total_a)
        assert segments.total_b[j] == pytest.approx(alone.total_b)
        assert segments.both[j] == (alone.total_a > 0 and alone.total_b > 0)
        if segments.both[j]:
            assert segments.pair[j] == pytest.approx(alone.pair)


def test_the_density_is_a_sum_of_kernels(segments):
    m, width = rng.normal(size=N), rng.uniform(0.2, 1.0, len(SIZES))
    found, w = segments.densities(m, width), segments.weights
    for j, rows in enumerate(rows_of(SIZES)):
        for i in rows:
            rivals = rows[IN_A[rows] != IN_A[i]]
            if not w[rivals].sum() > 0:
                assert found[i] == 0
                continue
            reach = np.sqrt(5) * width[j]
            u = (m[i] - m[rivals]) / reach
            kernel = 0.75 * np.maximum(1 - u * u, 0) / reach
            wanted = (w[rivals] * kernel).sum() / w[rivals].sum()
            assert found[i] == pytest.approx(wanted, abs=1e-9)


def test_the_density_integrates_to_one():
    """Seen by many rows of one group, spread evenly, of a few of the other."""
    sizes = np.array([2003])
    in_a = np.arange(2003) < 3
    m = np.concatenate(([-0.5, 0.1, 1.0], np.linspace(-4, 5, 2000)))
    f = Segments.of(sizes, Groups(in_a)).densities(m, np.array([0.3]))
    assert np.trapezoid(f[3:], m[3:]) == pytest.approx(1.0, abs=1e-3)


def test_a_far_row_does_not_disturb_the_others():
    in_a = np.array([True, False, True, False, True])
    one = Segments.of(np.array([5]), Groups(in_a))
    m = np.array([0.0, 0.1, 0.2, 0.3, 1e9])
    f = one.densities(m, np.array([0.2]))
    assert np.isfinite(f).all()
    assert f[4] == 0


def test_constant_predictions_have_level_ranks_and_finite_densities(segments):
    m = np.full(N, 2.5)
    assert segments.twice_u(m) == pytest.approx(segments.total_a * segments.total_b)
    assert np.isfinite(segments.densities(m, np.zeros(len(SIZES)))).all()


def test_no_rows_at_all():
    none = Segments.of(np.array([0, 0]), Groups(np.zeros(0, bool)))
    assert none.twice_u(np.zeros(0)).tolist() == [0, 0]
