import itertools
import math

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from rankfair.report.text import Scale, around_half, covering, ticks

numbers = st.floats(-1e6, 1e6)


@given(numbers, numbers, st.integers(2, 8))
def test_ticks_are_even_inside_and_near_the_number_asked_for(low, width, about):
    high = low + abs(width)
    assume(high - low > 1e-3 * max(1.0, abs(low)))
    found = ticks(low, high, about)
    slack = 1e-6 * (high - low)
    assert all(low - slack <= tick <= high + slack for tick in found)
    assert 1 <= len(found) <= about + 2
    steps = [b - a for a, b in itertools.pairwise(found)]
    assert steps == pytest.approx([steps[0]] * len(steps), rel=1e-6) if steps else True


@given(st.lists(st.one_of(numbers, st.just(math.nan)), max_size=5))
def test_all_values_are_covered(values):
    low, high = covering(values)
    assert low < high
    assert all(low <= value <= high for value in values if not math.isnan(value))


@given(st.lists(st.one_of(st.floats(0, 1), st.just(math.nan)), max_size=5))
def test_a_half_is_in_the_middle(values):
    low, high = around_half(values)
    assert low + high == pytest.approx(1)
    assert all(low <= value <= high for value in values if not math.isnan(value))


@given(numbers, st.floats(1, 1e3), numbers)
def test_a_scale_is_straight_and_clips(low, width, value):
    scale = Scale(low, low + width, 10, 110)
    assert scale(low) == 10
    assert scale(low + width) == pytest.approx(110)
    assert 10 <= scale.clipped(value) <= 110


def test_the_widest_range_has_places_and_ticks():
    most = 1.7976931348623157e308
    scale = Scale(-most, most, 0, 100)
    assert [scale(v) for v in (-most, 0.0, most)] == [0, 50, 100]
    found = ticks(-most, most)
    assert len(found) >= 3 and all(map(math.isfinite, found))
    assert found == sorted(found) and -most <= found[0] and found[-1] <= most
    assert covering([-most, most]) == (-most, most)
