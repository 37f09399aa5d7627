import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy import stats

from oracles import brute_twice_u
from rankfair.core.ranks import (
    Duels,
    Grid,
    binned_twice_u,
    smooth_density,
    twice_u,
    twice_u_between,
)

floats = st.floats(-1e6, 1e6)
tied = st.integers(-3, 3).map(float)


def samples(values=floats | tied, most=12):
    return st.lists(values, min_size=1, max_size=most).map(np.array)


def counted(grid, values, weights=None):
    return np.bincount(grid.index(values), weights, grid.bins)


def centres(grid):
    return grid.low + grid.width * np.arange(0.5, grid.bins)


def brute(a, b, weights=None):
    return brute_twice_u(np.append(a, b), np.arange(len(a) + len(b)) < len(a), weights)


@st.composite
def weighted(draw, weights):
    a, b = draw(samples()), draw(samples())
    return (
        a,
        b,
        draw(arrays(*weights[:1], len(a), elements=weights[1])),
        draw(arrays(*weights[:1], len(b), elements=weights[1])),
    )


class TestTwiceU:
    @given(a=samples(), b=samples())
    def test_counts_all_pairs(self, a, b):
        count = twice_u(a, b)
        assert isinstance(count, int)
        assert count == brute(a, b)

    @given(problem=weighted((np.int64, st.integers(0, 5))))
    def test_whole_weights_are_repeats(self, problem):
        a, b, weight_a, weight_b = problem
        count = twice_u(a, b, weight_a, weight_b)
        assert isinstance(count, int)
        assert count == brute(a.repeat(weight_a), b.repeat(weight_b))
        assert twice_u(a, b, None, weight_b) == brute(a, b.repeat(weight_b))
        assert twice_u(a, b, weight_a) == brute(a.repeat(weight_a), b)

    @given(problem=weighted((np.float64, st.floats(0, 10))))
    def test_float_weights(self, problem):
        a, b, weight_a, weight_b = problem
        wanted = brute(a, b, np.append(weight_a, weight_b))
        assert twice_u(a, b, weight_a, weight_b) == pytest.approx(wanted)

    def test_large_counts_do_not_overflow(self):
        n = 200_000
        a = np.arange(n) + float(n)
        assert twice_u(a, np.arange(n, dtype=float)) == 2 * n**2
        heavy = np.full(n, 30)
        assert twice_u(a, a - n, heavy, heavy) == 2 * 900 * n**2


def many(kind, n, rng):
    """Values that are sorted by their places, or that cannot be."""
    values = rng.normal(size=n)
    some = rng.permutation(n)[: n // 20]
    if kind == "some ties":
        values[some] = np.round(values[some], 1)
    elif kind == "many ties":
        values = np.round(values, 1)
    elif kind == "one bit apart":
        values[some] = np.nextafter(values[some[::-1]], np.inf)
    elif kind == "crowded":
        values[some[0]] = 1e12
    elif kind == "infinite":
        values[some] = np.inf
    elif kind == "one value":
        values[:] = 0.1
    return values


KINDS = ["plain", "some ties", "many ties", "one bit apart", "crowded", "infinite"]


@pytest.mark.parametrize("n", [70_000, 200_000])
@pytest.mark.parametrize("kind", [*KINDS, "one value"])
def test_many_rows_are_counted_as_mid_ranks_say(kind, n):
    rng = np.random.default_rng(0)
    values, in_a = many(kind, n, rng), rng.random(n) < 0.3
    n_a = int(in_a.sum())
    wanted = 2 * stats.rankdata(values)[in_a].sum() - n_a * (n_a + 1)
    assert twice_u_between(values, in_a) == wanted
    assert Duels.of(values, in_a.astype(int), 2).twice[1, 0] == wanted


class TestBinned:
    @given(a=samples(), b=samples(), bins=st.integers(1, 40), margin=st.floats(0, 10))
    def test_the_bound_holds(self, a, b, bins, margin):
        grid = Grid.around(np.append(a, b), bins, margin)
        count, bound = binned_twice_u(counted(grid, a), counted(grid, b))
        assert abs(count - twice_u(a, b)) <= bound

    @given(a=samples(tied), b=samples(tied))
    def test_is_exact_where_bins_hold_one_value(self, a, b):
        grid = Grid(-3.5, 1.0, 7)
        count, bound = binned_twice_u(counted(grid, a), counted(grid, b))
        assert count == twice_u(a, b)
        assert bound == np.equal.outer(a, b).sum()

    @given(problem=weighted((np.float64, st.floats(0, 10))))
    def test_weights(self, problem):
        a, b, weight_a, weight_b = problem
        grid = Grid.around(np.append(a, b), 9)
        count, bound = binned_twice_u(
            counted(grid, a, weight_a), counted(grid, b, weight_b)
        )
        exact = twice_u(a, b, weight_a, weight_b)
        assert abs(count - exact) <= bound + 1e-9 * (1 + exact)


class TestGrid:
    @given(values=samples(most=30), bins=st.integers(1, 50), margin=st.floats(0, 10))
    def test_holds_every_value(self, values, bins, margin):
        grid = Grid.around(values, bins, margin)
        assert counted(grid, values).sum() == len(values)
        assert len(counted(grid, values)) == len(centres(grid)) == bins
        assert grid.width > 0

    @given(values=samples(most=30), bins=st.integers(1, 50))
    def test_keeps_the_order(self, values, bins):
        index = Grid.around(values, bins).index(np.sort(values))
        assert np.all(np.diff(index) >= 0)

    def test_values_outside_go_to_the_ends(self):
        grid = Grid(0.0, 1.0, 4)
        index = grid.index(np.array([-7.0, 0.0, 3.9, 4.0, 99.0]))
        assert index.tolist() == [0, 0, 3, 3, 3]

    @pytest.mark.parametrize("values", [[3.0], [3.0, 3.0], [0.0]])
    def test_constant_values(self, values):
        grid = Grid.around(np.array(values), 5)
        assert grid.width == 1
        assert counted(grid, np.array(values)).tolist() == [len(values), 0, 0, 0, 0]

    @pytest.mark.parametrize("unit", [1e-200, 1e200])
    def test_odd_units(self, unit):
        values = np.linspace(0, 1, 11)
        index = Grid.around(unit * values, 4).index(unit * values)
        assert index.tolist() == Grid.around(values, 4).index(values).tolist()


def kernel_density(values, places, bandwidth, weights=None):
    """The sum of Gaussian kernels, written out."""
    weights = np.ones(len(values)) if weights is None else weights
    kernels = stats.norm.pdf(places[:, None], values, bandwidth)
    return kernels @ weights / weights.sum()


class TestSmoothDensity:
    @pytest.mark.parametrize("weighted", [False, True])
    @pytest.mark.parametrize("bandwidth", [0.05, 0.3, 1.0])
    def test_is_the_sum_of_kernels(self, weighted, bandwidth):
        rng = np.random.default_rng(2)
        values = np.append(rng.normal(size=150), rng.normal(4, 0.5, size=50))
        weights = rng.random(200) if weighted else None
        grid = Grid.around(values, 4_000, margin=5 * bandwidth)
        f = smooth_density(counted(grid, values, weights), grid, bandwidth)
        centred = centres(grid)[grid.index(values)]
        binned = kernel_density(centred, centres(grid), bandwidth, weights)
        assert f == pytest.approx(binned, abs=1e-5 * binned.max())
        # A value moves by half a bin; a kernel is no steeper than 0.25 / bandwidth².
        exact = kernel_density(values, centres(grid), bandwidth, weights)
        assert f == pytest.approx(exact, abs=0.125 * grid.width / bandwidth**2)

    @pytest.mark.parametrize("bandwidth", [1e-3, 0.1, 1.0])
    def test_integrates_to_one_and_is_never_negative(self, bandwidth):
        values = np.random.default_rng(4).normal(size=80)
        grid = Grid.around(values, 500, margin=5 * bandwidth)
        f = smooth_density(counted(grid, values), grid, bandwidth)
        assert f.min() >= 0
        assert f.sum() * grid.width == pytest.approx(1, rel=1e-3)

    @pytest.mark.parametrize("values", [[2.0], [2.0, 2.0, 2.0]])
    def test_constant_values_give_one_kernel(self, values):
        grid = Grid.around(np.array(values), 1_001, margin=5.0)
        f = smooth_density(counted(grid, np.array(values)), grid, 1.0)
        wanted = stats.norm.pdf(centres(grid), 2.0)
        assert f == pytest.approx(wanted, abs=1e-4)

    def test_is_mirrored_with_its_values(self):
        count, grid = np.random.default_rng(5).integers(0, 4, 400), Grid(0.0, 0.05, 400)
        f, g = (smooth_density(each, grid, 0.3) for each in (count, count[::-1]))
        assert g[::-1] == pytest.approx(f, rel=1e-9, abs=1e-12)

    def test_what_falls_outside_the_grid_is_not_put_back(self):
        (f,) = smooth_density(np.array([3]), Grid(0.0, 2.0, 1), 1.0)
        assert 2.0 * f == pytest.approx(2.0 * stats.norm.pdf(0.0), rel=0.02)

    def test_no_values_have_no_density(self):
        f = smooth_density(np.zeros(10), Grid(0.0, 1.0, 10), 1.0)
        assert np.array_equal(f, np.zeros(10))
