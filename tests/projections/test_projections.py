import importlib
import itertools

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from oracles import brute_twice_u, closest_in_band
from rankfair import projections
from rankfair.core.blocks import resolution_of

subsets = importlib.import_module("rankfair.projections.paper")

SMALL = 8
METHODS = {
    "shift": projections.shift,
    "index": projections.paper,
    "ratio": lambda m, in_a, band: projections.paper(m, in_a, band, search="ratio"),
}


def band_of(in_a, epsilon=0.0, side="both", weights=None):
    weights = np.ones(len(in_a), np.int64) if weights is None else weights
    pairs = weights[in_a].sum() * weights[~in_a].sum()
    half = max(2 * epsilon * pairs, 1)
    return (pairs if side == "upper" else pairs - half), pairs + half


def inside(m, in_a, band):
    return band[0] <= brute_twice_u(m, in_a) <= band[1]


def distance(m, other):
    return float(np.linalg.norm(m - other))


def group_masks(n):
    masks = st.lists(st.booleans(), min_size=n, max_size=n)
    return masks.filter(lambda mask: any(mask) and not all(mask)).map(np.array)


@st.composite
def problems(draw, values, most=SMALL):
    n = draw(st.integers(2, most))
    m = draw(st.lists(values, min_size=n, max_size=n))
    in_a = draw(group_masks(n))
    epsilon = draw(st.sampled_from([0.0, 0.01, 0.1, 0.3]))
    return np.array(m, dtype=float), in_a, band_of(in_a, epsilon)


# Far apart or equal compared with the rounding of the largest.
floats = st.integers(-(2**30), 2**30).map(lambda i: i / 2**20)
whole = st.integers(-4, 4)


def best_delta(m, in_a, band, weights=None):
    """The nearest count that a shift can have, and the least |δ| that has it.

    2U is constant between two pairwise differences; at one of them its pairs tie.
    """
    weights = np.ones(len(m), np.int64) if weights is None else weights
    differences = np.subtract.outer(m[in_a], m[~in_a]).ravel()
    pairs = np.outer(weights[in_a], weights[~in_a]).ravel()
    jumps = np.unique(np.append(differences, 0.0))
    ends = np.concatenate(([jumps[0] - 1], jumps, [jumps[-1] + 1]))
    places = [(d, abs(d)) for d in jumps]
    places += [
        ((low + high) / 2, min(abs(low), abs(high)))
        for low, high in itertools.pairwise(ends)
    ]
    found = []
    for delta, size in places:
        above = pairs[differences > delta].sum()
        count = 2 * above + pairs[differences == delta].sum()
        found.append((max(count - band[1], band[0] - count, 0), size))
    return min(found)


@pytest.mark.parametrize("method", ["index", "ratio"])
@given(problem=problems(floats) | problems(whole))
def test_small_problems_are_no_closer_than_the_oracle(method, problem):
    m, in_a, band = problem
    result = METHODS[method](m, in_a, band)
    assert inside(result, in_a, band)
    assert distance(m, result) >= closest_in_band(m, in_a, band) - 1e-9


@pytest.mark.parametrize("method", METHODS)
@given(problem=problems(floats))
def test_inside_is_left_alone(method, problem):
    m, in_a, band = problem
    assume(inside(m, in_a, band))
    result = METHODS[method](m, in_a, band)
    assert np.array_equal(result, m)
    assert result is not m


@pytest.mark.parametrize("decimals", [0, 1])
@given(
    problem=problems(whole, most=12) | problems(whole.map(lambda i: i**3), most=12),
    weights=st.none() | st.lists(st.integers(1, 9), min_size=12),
)
def test_shift_moves_groups_as_wholes_by_the_least_delta(problem, weights, decimals):
    """In the band or as near as a shift can get, also where rounding hides ties."""
    m, in_a, _ = problem
    w = None if weights is None else np.array(weights[: len(m)])
    band = band_of(in_a, 0.0, "both", w)
    least, delta = best_delta(m, in_a, band, w)
    moved = projections.shift(m / 10**decimals, in_a, band, w)
    count = brute_twice_u(moved, in_a, w)
    assert max(count - band[1], band[0] - count, 0) == least
    shares = np.ones(len(m)) if w is None else w
    a, b = shares[in_a].sum(), shares[~in_a].sum()
    steps = moved - m / 10**decimals
    assert np.sqrt(shares @ steps**2) == pytest.approx(
        np.sqrt(a * b / (a + b)) * delta / 10**decimals, abs=1e-9
    )
    for group in (in_a, ~in_a):
        assert np.ptp(steps[group]) <= 1e-9
    assert np.array_equal(projections.shift(moved, in_a, band, w), moved)


@pytest.mark.parametrize("heavy", [False, True])
@pytest.mark.parametrize("weighted", [False, True])
def test_shift_of_many_rows_is_the_quantile_of_all_differences(heavy, weighted):
    rng = np.random.default_rng(6)
    in_a = rng.random(4_500) < 0.3
    m = rng.standard_cauchy(4_500) if heavy else rng.normal(size=4_500)
    m = m + in_a
    weights = rng.integers(1, 3, 4_500) if weighted else np.ones(4_500, np.int64)
    low, high = band_of(in_a, 0.01, "both", weights)
    result = projections.shift(m, in_a, (low, high), weights if weighted else None)
    delta = np.median((m - result)[in_a]) + np.median((result - m)[~in_a])
    differences = np.subtract.outer(m[in_a], m[~in_a]).ravel()
    order = np.argsort(differences)
    weight = np.multiply.outer(weights[in_a], weights[~in_a]).ravel()[order]
    above = weight.sum() - np.cumsum(weight)
    wanted = differences[order][np.flatnonzero(2 * above <= high)[0]]
    assert delta == pytest.approx(wanted, abs=4 * resolution_of(m))


def test_a_band_out_of_reach_gives_the_nearest_count():
    m, in_a = np.array([2.0, 1.0, 3.0]), np.array([True, False, False])
    assert brute_twice_u(projections.shift(m, in_a, (-4, -2)), in_a) == 0
    assert brute_twice_u(projections.shift(m, in_a, (6, 7)), in_a) == 4
    between = projections.shift(m, in_a, (2.6, 2.8))
    assert brute_twice_u(between, in_a) in (2, 3)
    assert np.array_equal(projections.shift(between, in_a, (2.6, 2.8)), between)


class TestIndexSearch:
    """The search of Algorithm 2 against plain enumeration of its window."""

    @given(
        changes=st.lists(st.integers(1, 60), min_size=1, max_size=10),
        share=st.floats(0.01, 1.5),
        window=st.integers(0, 300),
    )
    def test_best_index(self, changes, share, window):
        changes = np.sort(np.array(changes))[::-1]
        excess = max(int(share * changes.sum()), 1)
        n = len(changes)
        start = 2**n * excess / changes.sum()
        last = 2**n - 1
        low = min(max(int(np.floor(start)) - window, 0), last)
        high = min(int(np.ceil(start)) + window, last)
        gaps = [self.gap(changes, excess, index) for index in range(low, high + 1)]
        wanted = low + int(np.argmin(gaps))
        assert subsets.best_index(changes, excess, window) == wanted

    @staticmethod
    def gap(changes, excess, index):
        digits = [int(digit) for digit in f"{index:0{len(changes)}b}"]
        return abs(int(np.dot(digits, changes)) - excess)

    @given(low=st.integers(0, 500), size=st.integers(1, 500))
    def test_blocks_cover_the_window_once(self, low, size):
        covered = [
            first + i
            for first, free in subsets.dyadic_blocks(low, low + size - 1)
            for i in range(2**free)
        ]
        assert covered == list(range(low, low + size))

    def test_many_rows_and_the_paper_s_window(self):
        changes = np.arange(14_000, 0, -1)
        index = subsets.best_index(changes, 40_000_000, 10**7)
        start = (40_000_000 << 14_000) // int(changes.sum())
        assert abs(index - start) <= 10**7 + 1
        digits = subsets.digits(index, 14_000)
        around = [start - 10**7, start, start + 10**7]
        gap = abs(int(changes[digits].sum()) - 40_000_000)
        for other in around:
            other_digits = subsets.digits(other, 14_000)
            assert gap <= abs(int(changes[other_digits].sum()) - 40_000_000)
