import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rankfair.balances import Band
from rankfair.solvers.landing import Landing, land

LIMIT = 1e6


class Counter:
    """A function that remembers where it was asked."""

    def __init__(self, function):
        self.function = function
        self.seen = []

    def __call__(self, x):
        self.seen.append(x)
        return self.function(x)


def walk(function, band, tolerance=0.0, first=1.0, limit=LIMIT, at=0.0):
    """Land from ``at``; checks what holds for every landing."""
    count = Counter(function)
    start = Landing(at, function(at), band.miss(function(at)))
    landing = land(count, band, tolerance, start, first, limit)
    assert landing.value == function(landing.x)
    assert landing.miss == band.miss(landing.value)
    assert landing.inside == (band.low <= landing.value <= band.high)
    misses = [abs(band.miss(function(x))) for x in [at, *count.seen]]
    assert abs(landing.miss) == min(misses)
    return landing, count.seen


def steps(places, heights):
    """A step function: 100 at the left, lower by a height at each place."""
    order = np.argsort(places)
    places, falls = np.array(places)[order], np.cumsum(np.array(heights)[order])

    def function(x):
        passed = int(np.searchsorted(places, x, "right"))
        return 100 - (int(falls[passed - 1]) if passed else 0)

    return function


@given(
    places=st.lists(st.floats(0.001, 1e4), min_size=1, max_size=60),
    heights=st.data(),
    high=st.integers(0, 99),
    width=st.integers(0, 30),
    first=st.floats(1e-3, 1e3),
)
def test_falling_steps(places, heights, high, width, first):
    falls = heights.draw(
        st.lists(st.integers(0, 10), min_size=len(places), max_size=len(places))
    )
    function, band = steps(places, falls), Band(high - width, high)
    landing, _ = walk(function, band, first=first)
    levels = [function(0.0), *(function(x) for x in places)]
    if any(band.miss(level) == 0 for level in levels):
        inside = max(level for level in levels if band.miss(level) == 0)
        assert landing.inside
        assert landing.value <= inside
    else:
        assert abs(landing.miss) == min(abs(band.miss(level)) for level in levels)


@given(slope=st.floats(0.01, 100), first=st.floats(0.01, 100))
def test_it_lands_just_inside_the_edge_it_comes_from(slope, first):
    band, tolerance = Band(-5.0, 5.0), 0.1
    above, _ = walk(lambda x: 50 - slope * x, band, tolerance, first)
    assert 5 - tolerance <= above.value <= 5
    below, _ = walk(lambda x: slope * x - 50, band, tolerance, first)
    assert -5 <= below.value <= -5 + tolerance


@given(slope=st.floats(0.01, 100), first=st.floats(0.01, 100), high=st.booleans())
def test_a_mirrored_function_is_landed_at_the_same_place(slope, first, high):
    def falling(x):
        return 50 - math.floor(slope * x)

    band = Band(-2, 3)
    mirror = Band(-3, 2)
    one, _ = walk(falling, band, 1.0, first)
    other, _ = walk(lambda x: -falling(x), mirror, 1.0, first)
    back, _ = walk(lambda x: falling(-x), band, 1.0, -first)
    assert (one.x, one.value) == (other.x, -other.value) == (-back.x, back.value)


@pytest.mark.parametrize("start", [-3.0, 0.0, 12.5])
def test_the_walk_may_begin_anywhere(start):
    landing, seen = walk(lambda x: 20 - x, Band(-1, 1), 0.5, at=start)
    assert landing.inside
    assert min(seen) > start


@pytest.mark.parametrize("first", [0.01, 0.37, 1.0, 20.0])
@pytest.mark.parametrize("wave", [3.0, 9.0, 30.0])
def test_functions_that_rise_and_fall(first, wave):
    def function(x):
        return 40 - x + wave * math.sin(x)

    landing, _ = walk(function, Band(-1, 1), 0.2, first)
    assert landing.inside


@pytest.mark.parametrize("first", [1.0, -1.0, 1e-3])
@pytest.mark.parametrize("limit", [10.0, 1e6])
def test_what_cannot_be_reached_ends_at_the_limit(first, limit):
    landing, seen = walk(lambda x: 10, Band(0, 1), 1.0, first, limit)
    assert not landing.inside
    assert landing.x == 0
    assert len(seen) <= 40
    assert limit <= max(abs(x) for x in seen) <= 20 * limit


def test_a_walk_without_a_limit_ends_all_the_same():
    landing, seen = walk(lambda x: 10, Band(0, 1), 1.0, limit=math.inf)
    assert landing.x == 0
    assert len(seen) <= 200


def test_going_the_wrong_way_returns_the_start():
    landing, _ = walk(lambda x: 10 + x, Band(0, 1), 1.0)
    assert landing.x == 0


def test_a_function_that_levels_off_gives_the_closest():
    landing, _ = walk(lambda x: 10 - 5 * (1 - math.exp(-x)), Band(0, 1), 1.0)
    assert landing.value == pytest.approx(5, abs=1e-6)


@pytest.mark.parametrize("place", [0.3, 1.0, 77.7])
@pytest.mark.parametrize(("low", "closest"), [(3, 0), (8, 10)])
def test_a_jump_across_the_band_gives_the_nearer_side(place, low, closest):
    landing, seen = walk(lambda x: 10 if x < place else 0, Band(low, low + 1), 1.0)
    assert landing.value == closest
    assert len(seen) < 150


def test_a_value_at_one_float_alone_is_found():
    place = 7.3

    def function(x):
        return 10 if x < place else 5 if x == place else 0

    landing, _ = walk(function, Band(5, 5), 0.0)
    assert landing.x == place


@given(
    first=st.floats(1e-3, 1e3),
    place=st.floats(1e-3, 1e3),
    power=st.sampled_from([0.5, 1.0, 2.0]),
)
def test_few_counts_are_needed(first, place, power):
    def function(x):
        return 100 - 100 * (x / place) ** power

    landing, seen = walk(function, Band(-1, 1), 1.0, first, limit=1e14)
    assert landing.inside
    assert len(seen) <= 100


def test_a_smooth_function_takes_a_handful():
    _, seen = walk(lambda x: 1e4 * math.erfc(x) - 5e3, Band(-1, 1), 1.0, first=0.4)
    assert len(seen) <= 8
